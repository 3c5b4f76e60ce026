"""Where a study's blocks lie: in a folder of its own, claimed and checked, or a temporary one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from simstudy.errors import StoreError
from simstudy.plan import Plan
from simstudy.store.blocks import Store
from simstudy.store.guard import refuse_foreign, refuse_other_blocks
from simstudy.store.layout import Keep
from simstudy.store.owner import Owner
from simstudy.store.restart import start_over


@dataclass
class Home:
    """A study's own folder.

    Parameters
    ----------
    path
        Where its outputs go; None where it is temporary.
    temporary
        The folder that goes when this does.
    """

    path: Path | None
    store: Store
    temporary: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def open(
        cls,
        plan: Plan,
        out: str | os.PathLike[str] | None,
        owner: Owner,
        keep: Keep,
        *,
        restart: bool = False,
        redraw: Collection[str] = (),
    ) -> Home:
        """The folder of a plan below `out`, for blocks of an owner.

        Parameters
        ----------
        redraw
            Methods whose blocks of other code are no reason to refuse.

        Raises
        ------
        StoreError
            Where it is another's, or cannot be used.
        """
        rows = keep.rows_per_block(plan)
        if out is None:
            temporary = tempfile.TemporaryDirectory(prefix="simstudy-")
            return cls(None, Store(Path(temporary.name) / keep.folder, rows, owner), temporary)
        path = Path(out) / plan.name
        refuse_foreign(plan.name, path)
        if restart:
            start_over(plan.name, path)
        store = _opened(path, Path(keep.folder), rows, owner)
        refuse_other_blocks(plan, path, store, redraw)
        return cls(path, store)


def _opened(path: Path, kind: Path, rows_per_block: int, owner: Owner) -> Store:
    try:
        return Store(path / kind, rows_per_block, owner)
    except OSError as error:
        raise StoreError(
            f"cannot write results to {path}: {error.strerror}. Choose another out=..."
        ) from None
