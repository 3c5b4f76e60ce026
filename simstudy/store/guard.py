"""Whose results a folder holds."""

from pathlib import Path

from simstudy.design import Plan
from simstudy.errors import StoreError
from simstudy.store.blocks import Store, owner_in
from simstudy.store.files import read_json
from simstudy.store.manifest import MANIFEST, listed_files
from simstudy.store.owner import UNKNOWN

ROWS, MOMENTS = "replicates", "moments"
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


def _delete(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"restart=true cannot delete {path}: {error.strerror}. Nothing was drawn. Make the "
            "folder writable, or choose another out=..."
        ) from error
