"""Where a study's blocks lie: in a folder of its own, claimed and checked, or a temporary one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from simstudy.atomic_files import temporary_folder
from simstudy.design.plan import Plan
from simstudy.errors import StoreError
from simstudy.remote.paths import Place, place_of
from simstudy.store.blocks import Store
from simstudy.store.files import Files, files_at
from simstudy.store.guard import refuse_foreign, refuse_other_blocks
from simstudy.store.layout import Keep, KeepReplicates
from simstudy.store.moments import KeepMoments
from simstudy.store.owner import Owner
from simstudy.store.restart import start_over

FOLDERS = {"replicates": KeepReplicates.folder, "summary": KeepMoments.folder}
"""By what is kept of blocks, the folder that has them to itself."""


@dataclass
class Home:
    """A study's own folder, on this machine or beyond it.

    Parameters
    ----------
    path
        Where its outputs go; None where it is temporary.
    temporary
        The folder that goes when this does.
    """

    path: Place | None
    store: Store
    temporary: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def open(
        cls,
        plan: Plan,
        out: str | os.PathLike[str] | Place | None,
        owner: Owner,
        keep: Keep,
        *,
        restart: bool = False,
        redraw: Collection[str] = (),
        at_once: bool = True,
    ) -> Home:
        """The folder of a plan below `out`, for blocks of an owner.

        Parameters
        ----------
        redraw
            Methods whose blocks of other code are no reason to refuse.
        at_once
            Whether all that is there will be read; else files beyond this machine are checked
            only when they are.

        Raises
        ------
        StoreError
            Where it is another's, or cannot be used.
        """
        rows = keep.rows_per_block(plan)
        if out is None:
            temporary = temporary_folder()
            return cls(None, Store(Path(temporary.name) / keep.folder, rows, owner), temporary)
        place = place_of(out)
        if isinstance(place, Path):
            place = place.absolute()  # a study's own code may change the working directory
        path = place / plan.name
        refuse_foreign(plan.name, path)
        if restart:
            start_over(plan.name, path)
        store = Store(_files(path, keep.folder, at_once=at_once), rows, owner)
        refuse_other_blocks(plan, path, store, redraw)
        return cls(path, store)


def _files(path: Place, kind: str, *, at_once: bool) -> Files:
    try:
        return files_at(path / kind, at_once=at_once)
    except OSError as error:
        raise StoreError(
            f"cannot write results to {path}: {error.strerror}. Choose another out=..."
        ) from None


def nothing_to_look_at(folder: Place, keep: str) -> StoreError:
    """The refusal of a look where there is no block, which names what else is kept there.

    Parameters
    ----------
    keep
        What was asked for: `replicates` or `summary`.
    """
    text = (
        f"{folder} holds no block of this study yet, of runs with keep={keep}: nothing to look at"
    )
    others = [kind for kind, below in FOLDERS.items() if kind != keep and (folder / below).exists()]
    return StoreError("; ".join([text, *(f"there is a run with keep={kind}" for kind in others)]))
