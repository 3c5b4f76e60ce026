"""Whose results a folder holds: refused where they are another's."""

from pathlib import Path

from simstudy.design import Plan
from simstudy.errors import StoreError, first_few
from simstudy.store.blocks import Store
from simstudy.store.manifest import MANIFEST
from simstudy.whole_files import read_json

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


def refuse_other_blocks(plan: Plan, folder: Path, store: Store) -> None:
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
            least = min((other.differences(store.owner, key) for other in others), key=len)
            raise StoreError(
                f"{folder} was computed by something else: {first_few(least)}. "
                f"Its replicates cannot be mixed with new ones. {WAYS_ON}"
            )
