"""The manifest of a results folder: what its outputs were made from, and their hashes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simstudy.atomic_files import read_json, write_json
from simstudy.remote.paths import Place

MANIFEST = "manifest.json"
PROTOCOL = "protocol.json"  # beside it, what was planned


def listed_files(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The files that a manifest speaks for, with their hashes: below the folder, none beyond it."""
    files = manifest.get("files")
    names = files if isinstance(files, dict) else {}
    inside = (n for n in names if not Path(n).is_absolute() and ".." not in Path(n).parts)
    return {name: names[name] for name in inside}


def mark_outdated(folder: Place) -> None:
    """Have outputs made again, whatever stops the run: what they were made from is changing."""
    manifest = read_json(folder / MANIFEST)
    if manifest is not None:
        write_json(folder / MANIFEST, {**manifest, "made_from": {}})


def say_part(folder: Place, part: Mapping[str, Any] | None) -> bool:
    """Have the manifest of what was published say to which part it belongs; whether it did not."""
    said = read_json(folder / MANIFEST) or {}
    if said.get("part") == part:
        return False
    rest = {name: value for name, value in said.items() if name != "part"}
    write_json(folder / MANIFEST, rest | ({"part": dict(part)} if part else {}))
    return True
