"""The manifest of a results folder: origin and hashes of its outputs."""

import hashlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from simstudy.atomic_files import read_json, write_json
from simstudy.errors import StoreError, in_one_line
from simstudy.remote.paths import Place

MANIFEST = "manifest.json"
PROTOCOL = "protocol.json"  # the plan, in the same folder
NAMES: dict[tuple[type, ...], str] = {
    (str,): "study question code digest design made",
    (dict,): "config made_from versions files captions alt_texts data seconds_per_replicate",
    (dict, type(None)): "part",
    (list,): "git origins noticed drawn figures_failed tables_failed",
    (int,): "scenarios replicates failed_replicates blocks_computed warnings",
    (int, dict): "replicates_per_scenario",
    (int, type(None)): "seed",
    (int, float, type(None)): "largest_mcse wall_seconds core_seconds publish_seconds",
}
TYPES = {name: types for types, names in NAMES.items() for name in names.split()}
"""Types of a manifest's values by name; each value may be missing."""
RUN_AGAIN = "Run the study again, or delete the file"


def read_manifest(folder: Place) -> dict[str, Any] | None:
    """Read the manifest of a folder; None if there is none.

    Raises
    ------
    StoreError
        If it cannot be read, or a value has a wrong type, in one line.
    """
    path = folder / MANIFEST
    if not path.exists():
        return None
    content = read_json(path)
    if content is None:
        raise StoreError(f"{path} is damaged: it is not a JSON object. {RUN_AGAIN}")
    for name, types in TYPES.items():
        value = content.get(name)
        if name in content and not _is_one(value, types):
            shown = in_one_line(repr(value))[:60]
            raise StoreError(f"{path} is damaged: {name} is {shown}. {RUN_AGAIN}")
    return content


def _is_one(value: Any, types: tuple[type, ...]) -> bool:
    """Whether a value has one of the types and is neither NaN nor a text with a zero byte."""
    if isinstance(value, dict):
        return dict in types and not any("\0" in name for name in value)
    if isinstance(value, bool) or not isinstance(value, types):
        return False
    return "\0" not in value if isinstance(value, str) else value == value


def listed_files(manifest: Mapping[str, Any], folder: Place) -> dict[str, str]:
    """List the files of a manifest that are below the folder, with their hashes.

    A manifest from an untrusted source may name other files, or reach them through a link.
    """
    files = manifest.get("files")
    named = files.items() if isinstance(files, dict) else ()
    return {name: str(digest) for name, digest in named if is_below(folder, name)}


def is_below(folder: Place, name: str) -> bool:
    """Whether a relative path leads to a place below a folder, after all links are resolved."""
    path = PurePosixPath(name)
    if not name or "\0" in name or path.is_absolute() or ".." in path.parts:
        return False
    if not isinstance(folder, Path):
        return True
    try:
        return (folder / name).resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a loop of links
        return False


def file_hash(path: Place) -> str:
    """Hash a file; the hash is empty if it does not exist or is not a regular file."""
    if isinstance(path, Path) and not path.is_file():
        return ""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except OSError:
        return ""


def mark_outdated(folder: Place) -> None:
    """Mark outputs as outdated, because the stored blocks will change."""
    manifest = read_json(folder / MANIFEST)
    if manifest is not None:
        write_json(folder / MANIFEST, {**manifest, "made_from": {}})
