"""The manifest of a results folder: what its outputs were made from, and their hashes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simstudy.atomic_files import read_json, write_json
from simstudy.remote.paths import Place

MANIFEST = "manifest.json"
PROTOCOL = "protocol.json"  # beside it, what was planned


def listed_files(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The files that a manifest lists, with their hashes; only those below the folder."""
    files = manifest.get("files")
    names = files if isinstance(files, dict) else {}
    inside = (n for n in names if not Path(n).is_absolute() and ".." not in Path(n).parts)
    return {name: names[name] for name in inside}


def mark_outdated(folder: Place) -> None:
    """Mark outputs as outdated, since the stored blocks change now."""
    manifest = read_json(folder / MANIFEST)
    if manifest is not None:
        write_json(folder / MANIFEST, {**manifest, "made_from": {}})


def say_part(folder: Place, part: Mapping[str, Any] | None) -> bool:
    """Write to a published manifest which part it belongs to; returns whether that failed."""
    manifest = read_json(folder / MANIFEST) or {}
    if manifest.get("part") == part:
        return False
    rest = {name: value for name, value in manifest.items() if name != "part"}
    write_json(folder / MANIFEST, rest | ({"part": dict(part)} if part else {}))
    return True
