"""The blocks of a folder, found without the code that drew them: their files say whose they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, cast

from simstudy.errors import StoreError, in_one_line
from simstudy.plan import Plan
from simstudy.remote.paths import Place
from simstudy.store.blocks import Store
from simstudy.store.files import Files, files_at
from simstudy.store.header import owner_in
from simstudy.store.layout import KeepReplicates
from simstudy.store.owner import UNKNOWN, Owner


def stored_blocks(folder: Place, keys: Collection[str], seed: int | None) -> Store:
    """The blocks of replicates of some scenarios.

    Parameters
    ----------
    seed
        Whose blocks are meant where several runs share the folder; None where nobody knows.

    Raises
    ------
    StoreError
        Where there are none, or those of several runs, of which it is not known which are meant.
    """
    place = folder / KeepReplicates.folder
    if not place.exists():
        raise StoreError(
            f"{folder} holds no replicates: they were not kept (keep=summary), or lie elsewhere. "
            "Its summary is there; draw the replicates again to read them."
        )
    files = cast(Files, _OnlyRead(files_at(place)))
    owners = [owner for owner in _owners(files) if seed in (None, owner.settings.get("seed"))]
    owner = _one_owner(folder, owners, keys)
    return Store(files, int(owner.settings["block_size"]), owner)


class _OnlyRead:
    """Files that a store does not move: what is damaged is named, and stays where it is."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def __str__(self) -> str:
        return str(self._files)

    def set_aside(self, name: str) -> None:
        """Refuse it."""
        raise StoreError(
            f"{name} in {self} is damaged, or no file of blocks, so not all replicates can be "
            "read. Run the study again, which draws anew what it held."
        )


def _owners(files: Files) -> Iterable[Owner]:
    for name in files.names():
        owner = owner_in(files, name)
        if owner.settings.get("study") == UNKNOWN:
            files.set_aside(name)
        yield owner


def _one_owner(folder: Place, owners: Iterable[Owner], keys: Collection[str]) -> Owner:
    """What all files say of these scenarios, where they agree."""
    settings: Mapping[str, Any] | None = None
    values, codes = dict[str, str](), dict[str, Any]()
    for owner in owners:
        for key in set(keys) & set(owner.values):
            said = (owner.settings, owner.values[key], owner.codes[key])
            settings = owner.settings if settings is None else settings
            known = (settings, values.get(key, said[1]), codes.get(key, said[2]))
            if said != known:
                raise _several(
                    folder, Owner(known[0], {key: known[1]}, {key: known[2]}), owner, key
                )
            values[key], codes[key] = said[1:]
    if settings is None:
        raise StoreError(f"{folder} holds no block of the scenarios that it names: run it again.")
    return Owner(settings, values, codes)


def _several(folder: Place, known: Owner, other: Owner, key: str) -> StoreError:
    differing = known.differences(other, key)
    what = in_one_line(differing[0]) if differing else "their settings differ"
    return StoreError(
        f"{folder} holds blocks of several runs under one name ({what}), and it is not known which "
        "are meant. Read it with the study's own look(out=...), which knows its own."
    )


def plan_without_code(name: str, store: Store) -> Plan:
    """What is known of how rows lie: axes and vectors, and no scenarios."""
    said = store.owner.settings
    return Plan(
        name=name,
        seed=int(said["seed"]),
        scenarios=(),
        axes={axis: tuple(labels) for axis, labels in said["axes"].items()},
        block_size=store.rows_per_block,
        vectors=dict.fromkeys(said.get("vectors", ()), 0),
    )
