"""Whose results a folder holds: refused where they are another's."""

from collections.abc import Collection, Sequence

from simstudy.atomic_files import read_json
from simstudy.design.plan import Plan, method_of, scenario_behind
from simstudy.errors import StoreError, first_few
from simstudy.remote.paths import Place
from simstudy.store.blocks import Store
from simstudy.store.manifest import MANIFEST

WAYS_ON = "Keep both with another out=..., or start over with restart=true."


def refuse_foreign(study: str, folder: Place) -> None:
    """Refuse a folder whose manifest names another study, or that is no folder."""
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file, not a folder for results. Choose another out=...")
    owner = (read_json(folder / MANIFEST) or {}).get("study", study)
    if owner != study:
        raise StoreError(
            f"{folder} holds the results of study {owner!r}, which {study!r} would overwrite. "
            "Choose another out=..., or move that folder away."
        )


def refuse_other_blocks(
    plan: Plan, folder: Place, store: Store, redraw: Collection[str] = ()
) -> None:
    """Refuse to go on where a scenario has blocks of other owners and none of this one.

    Blocks of this owner are never mixed with them; but where there are none, a user who expects to
    go on should learn that nothing stored is of use, and why.

    Parameters
    ----------
    redraw
        Methods of which that is known, and whose blocks are to be drawn anew.

    Raises
    ------
    StoreError
        Naming what is other, and the ways on.
    """
    for key, drawn in plan.keys.items():
        least = _least_difference(store, key)
        if not least or method_of(drawn) in redraw:
            continue
        if _others_stand(plan, store, key):
            raise _method_changed(folder, method_of(drawn), least)
        raise StoreError(
            f"{folder} was computed by something else: {first_few(least)}. "
            f"Its replicates cannot be mixed with new ones. {WAYS_ON}"
        )


def _least_difference(store: Store, key: str) -> list[str]:
    """What is other in the blocks that are there, where none is this owner's; else nothing."""
    others = store.others.get(key)
    if not others or store.have(key, 1).any() or store.n_blocks(key):
        return []
    return min((other.differences(store.owner, key) for other in others), key=len)


def _others_stand(plan: Plan, store: Store, key: str) -> bool:
    """Whether blocks of another method of the same scenario are this owner's."""
    scenario = scenario_behind(plan.keys[key])
    beside = (other for other, drawn in plan.keys.items() if scenario_behind(drawn) is scenario)
    return any(store.n_blocks(other) for other in beside)


def _method_changed(folder: Place, method: str, least: Sequence[str]) -> StoreError:
    return StoreError(
        f"method {method} changed: {first_few(least)}. Its replicates in {folder} "
        "cannot be mixed with new ones; those of other methods are as they were. Draw it alone "
        f"anew with redraw={method}, keep both with another out=..., or start all over with "
        "restart=true."
    )
