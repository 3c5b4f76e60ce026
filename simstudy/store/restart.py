"""A study's folder emptied of what the study made."""

from contextlib import suppress
from pathlib import Path

from simstudy.atomic_files import read_json
from simstudy.errors import StoreError
from simstudy.remote.paths import Place
from simstudy.store import remarks, seconds
from simstudy.store.files import files_at
from simstudy.store.header import owner_in
from simstudy.store.layout import KeepReplicates
from simstudy.store.manifest import MANIFEST, listed_files
from simstudy.store.moments import KeepMoments
from simstudy.store.naming import DAMAGED, DERIVED, ENDING
from simstudy.store.owner import UNKNOWN

KINDS = (KeepReplicates.folder, KeepMoments.folder)


def start_over(study: str, folder: Place) -> None:
    """Delete a study's blocks from its results folder, and the outputs that were made of them.

    Whatever else lies there is left alone: notes, figures of others, blocks of other studies.

    Raises
    ------
    StoreError
        Where a file cannot be deleted: going on would keep what was to go.
    """
    for kind in KINDS:
        if not (folder / kind).is_dir():
            continue
        files = files_at(folder / kind, at_once=False)
        for name in files.names():
            if owner_in(files, name).settings.get("study", study) in (study, UNKNOWN):
                _delete(folder / kind / name)
        for said in (remarks, seconds):
            for path in said.files_of(folder / kind):
                _delete(path)
            _forget_empty(folder / kind / said.FOLDER)
        for beside in (DAMAGED, DERIVED):
            found: list[Place] = [*(folder / kind / beside).rglob(f"*{ENDING}")]
            for path in found:
                _delete(path)
    for name in listed_files(read_json(folder / MANIFEST) or {}):
        _delete(folder / name)
    _delete(folder / MANIFEST)


def _forget_empty(folder: Place) -> None:
    """Take away a folder with nothing in it; beyond this machine there is none."""
    if isinstance(folder, Path):
        with suppress(OSError):
            folder.rmdir()


def _delete(path: Place) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"restart=true cannot delete {path}: {error.strerror}. Nothing was drawn. Make the "
            "folder writable, or choose another out=..."
        ) from error
