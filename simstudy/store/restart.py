"""A study's folder emptied of what the study made."""

from pathlib import Path

from simstudy.errors import StoreError
from simstudy.store.files import DAMAGED, DERIVED, Folder
from simstudy.store.header import owner_in
from simstudy.store.layout import KeepReplicates
from simstudy.store.manifest import MANIFEST, listed_files
from simstudy.store.moments import KeepMoments
from simstudy.store.owner import UNKNOWN
from simstudy.whole_files import read_json

KINDS = (KeepReplicates.folder, KeepMoments.folder)


def start_over(study: str, folder: Path) -> None:
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
        files = Folder(folder / kind)
        for name in files.names():
            if owner_in(files, name).settings.get("study", study) in (study, UNKNOWN):
                _delete(files.path / name)
        for beside in (DAMAGED, DERIVED):
            for path in sorted((files.path / beside).rglob("*.parquet")):
                _delete(path)
    for name in listed_files(read_json(folder / MANIFEST) or {}):
        _delete(folder / name)
    _delete(folder / MANIFEST)


def _delete(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"restart=true cannot delete {path}: {error.strerror}. Nothing was drawn. Make the "
            "folder writable, or choose another out=..."
        ) from error
