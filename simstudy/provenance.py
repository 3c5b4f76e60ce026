"""Whose results a folder holds."""

import contextlib
import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simstudy.design import Plan
from simstudy.errors import StoreError
from simstudy.fingerprint.modules import libraries_of, library, modules_behind, source_file
from simstudy.owner import UNKNOWN
from simstudy.store import Store, owner_in

ROWS, MOMENTS = "replicates", "moments"
MANIFEST = "manifest.json"
LOOKS_UP = re.compile(rb"\bimportlib\b|\b__import__\b|\bexec\(")  # modules by their names
WAYS_ON = "Keep both with another out=..., or start over with restart=true."


def refuse_foreign(study: str, folder: Path) -> None:
    """Refuse a folder whose manifest names another study, or that is no folder."""
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file, not a folder for results. Choose another out=...")
    owner = (read_json(folder / MANIFEST) or {}).get("study", study)
    if owner != study:
        raise StoreError(
            f"{folder} holds the results of study {owner!r}, which {study!r} would overwrite. "
            "Choose another out=..., or move that folder away."
        )


def refuse_other_blocks(plan: Plan, store: Store) -> None:
    """Refuse to go on where a scenario has blocks of other owners and none of this one.

    Blocks of this owner are never mixed with them; but where there are none, a user who expects to
    go on should learn that nothing stored is of use, and why.

    Raises
    ------
    StoreError
        Naming what is other, and the two ways on.
    """
    for key in plan.keys:
        others = store.others.get(key)
        if others and not store.have(key, 1).any() and not store.n_blocks(key):
            nearest = min((one.differences(store.owner, key) for one in others), key=len)
            raise StoreError(
                f"{store.folder.parent} was computed by something else: {_first_few(nearest)}. "
                f"Its replicates cannot be mixed with new ones. {WAYS_ON}"
            )


def _first_few(found: list[str], most: int = 5) -> str:
    rest = f"; and {len(found) - most} more" if len(found) > most else ""
    return "; ".join(found[:most]) + rest


def start_over(study: str, folder: Path) -> None:
    """Delete a study's blocks from its results folder, and the outputs that were made of them.

    Whatever else lies there is left alone: notes, figures of others, blocks of other studies.

    Raises
    ------
    StoreError
        Where a file cannot be deleted: going on would keep what was to go.
    """
    for kind in (ROWS, MOMENTS):
        for path in sorted((folder / kind).glob("*.parquet")):
            if owner_in(path).settings.get("study", study) in (study, UNKNOWN):
                _delete(path)
        for path in sorted((folder / kind / "_damaged").glob("*.parquet")):
            _delete(path)
    for name in listed_files(read_json(folder / MANIFEST) or {}):
        _delete(folder / name)
    _delete(folder / MANIFEST)


def listed_files(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The files that a manifest speaks for, with their hashes: below the folder, none beyond it."""
    files = manifest.get("files")
    names = files if isinstance(files, dict) else {}
    inside = (n for n in names if not Path(n).is_absolute() and ".." not in Path(n).parts)
    return {name: names[name] for name in inside}


def mark_outdated(folder: Path) -> None:
    """Have outputs made again, whatever stops the run: what they were made from is changing."""
    manifest = read_json(folder / MANIFEST)
    if manifest is not None:
        write_json(folder / MANIFEST, {**manifest, "made_from": {}})


def _delete(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"restart=true cannot delete {path}: {error.strerror}. Nothing was drawn. Make the "
            "folder writable, or choose another out=..."
        ) from error


def read_json(path: Path) -> dict[str, Any] | None:
    """The file's object; None where there is no such file or it is damaged."""
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    write_bytes(path, (json.dumps(content, indent=2, default=str) + "\n").encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Whole or not at all: to a temporary name, synced, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".writing-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Within it, no other process that asks for the same is at work in a folder."""
    try:
        import fcntl
    except ImportError:  # not on Windows: the manifest's hashes still tell of a mixture
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def sources_digest(module_file: str | None) -> str:
    """Hash of all that turns replicates into outputs: simstudy, and what the experiment imports."""
    digest = hashlib.sha256()
    for path in source_files(module_file):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def source_files(module_file: str | None) -> list[Path]:
    """Sources of simstudy, of an experiment, and of the project's modules that it imports."""
    package = Path(__file__).parent
    own = (path for path in experiment_files(module_file) if not path.is_relative_to(package))
    return [*sorted(package.rglob("*.py")), *own]


def experiment_files(module_file: str | None) -> list[Path]:
    """Source files of an experiment and of the project's modules that it imports, in order."""
    if not module_file:
        return []
    found = (source_file(name) for name in modules_behind(_module_at(module_file)))
    paths = {Path(module_file), *(path for path in found if path)}
    by_name = [path for path in paths if LOOKS_UP.search(path.read_bytes())]
    return sorted(paths.union(*(path.parent.glob("*.py") for path in by_name)))


def experiment_libraries(module_file: str | None) -> dict[str, str]:
    """Versions of the libraries that an experiment and its neighbours import."""
    names = modules_behind(_module_at(module_file)) if module_file else []
    known = (library(used) for name in names for used in libraries_of(name))
    return dict(sorted(filter(None, known)))


def _module_at(file: str) -> str:
    """Name of the loaded module whose source this is; empty where none is."""
    loaded = list(sys.modules.items())
    return next((name for name, one in loaded if getattr(one, "__file__", None) == file), "")
