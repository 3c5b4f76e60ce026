"""The folder of a study: one store of blocks for all runs, and a folder of outputs for each run.

A run of the published settings has its outputs in the study's own folder, any other run in
`runs/NAME` below it. All of them share the blocks in `replicates/`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simstudy.atomic_files import TemporaryFolder, read_json
from simstudy.design.plan import Plan, method_of
from simstudy.errors import StoreError, first_few
from simstudy.remote import Place, place_of
from simstudy.store.block_files import BlockRange
from simstudy.store.blocks import Store, files_at
from simstudy.store.compaction import remove_blocks
from simstudy.store.files import REPLICATES, translate_io_errors
from simstudy.store.provenance import Provenance
from simstudy.store.run_records import forget_records
from simstudy.store.runs import MANIFEST

CHANGED = "changed"  # value of `redraw` for all scenarios and methods whose code changed
ADOPT = "If the code was only rewritten, adopt=True compares some blocks and keeps all. "
WAYS_ON = "Keep both with another out=..., or start over with restart=True."


@dataclass
class StudyFolder:
    """The folder of a study, local or remote.

    Parameters
    ----------
    path
        Folder of the study, such as `results/NAME`; None if it is temporary.
    blocks
        Folder of the block files, which all runs of the study share; None if it is temporary.
    temporary
        Temporary folder, deleted with this object.
    """

    path: Place | None
    store: Store
    blocks: Place | None = None
    temporary: TemporaryFolder | None = None

    @classmethod
    def open(
        cls,
        plan: Plan,
        out: str | os.PathLike[str] | Place | None,
        provenance: Provenance,
        *,
        restart: int = 0,
        redraw: Collection[str] = (),
        adopt: bool = False,
        at_once: bool = True,
        label: str = "",
    ) -> StudyFolder:
        """Open the folder of a plan below `out`, for blocks of some provenance.

        Parameters
        ----------
        restart
            Number of first blocks of each scenario and method to delete.
        redraw
            Methods whose blocks of other code are accepted here, because they are drawn again.
        adopt
            Whether all blocks of other code are accepted here, because they may be adopted.
        at_once
            Whether all files will be read. Otherwise remote files are checked when they are read.
        label
            Label of the share of a run, as for `Store`.

        Raises
        ------
        StoreError
            If the folder holds the results of another study, or cannot be used.
        """
        if out is None:
            temporary = TemporaryFolder()
            blocks = Store(Path(temporary.name) / REPLICATES, plan.block_size, provenance)
            return cls(None, blocks, temporary=temporary)
        place = place_of(out)
        if isinstance(place, Path):
            place = place.absolute()  # a study's own code may change the working directory
        path = place / plan.name
        with translate_io_errors(path):
            check_study(plan.name, path)
            files = files_at(path / REPLICATES, at_once=at_once)
        store = Store(files, plan.block_size, provenance, label=label)
        if restart:
            delete_blocks(store, path / REPLICATES, dict.fromkeys(plan.keys, restart))
        if not adopt:
            check_provenance(plan, path, store, redraw)
        return cls(path, store, path / REPLICATES)


def no_blocks_error(folder: Place) -> StoreError:
    """Make the error for a folder without blocks."""
    return StoreError(f"{folder} holds no block of this study yet: run the study first")


# ---------------------------------------------------------------- checks of the folder
def check_study(study: str, folder: Place) -> None:
    """Refuse a folder whose manifest names another study, or that is not a folder."""
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file, not a folder for results. Choose another out=...")
    owner = (read_json(folder / MANIFEST) or {}).get("study", study)
    if owner != study:
        raise StoreError(
            f"{folder} holds the results of study {owner!r}, which {study!r} would overwrite. "
            "Choose another out=..., or move that folder away."
        )


def check_provenance(plan: Plan, folder: Place, store: Store, redraw: Collection[str] = ()) -> None:
    """Refuse scenarios and methods with stored blocks of other code and none of the current code.

    Blocks of other code are never used. The error prevents that a small edit draws all blocks again
    by accident. Blocks of other settings, such as another seed, belong to other runs and are
    accepted.

    Parameters
    ----------
    redraw
        Methods whose blocks are to be drawn again; `changed` for all whose code changed.

    Raises
    ------
    StoreError
        With the differences, and the options to continue.
    """
    methods: dict[str, None] = {}
    changes: dict[str, None] = {}
    for key, drawn in plan.keys.items():
        others = store.others.get(key)
        if not others or store.has_blocks(key, 1).any() or store.n_blocks(key):
            continue
        method = method_of(drawn)
        if CHANGED in redraw or method in redraw:
            continue
        least = min((other.differences(store.provenance, key) for other in others), key=len)
        if not method:
            raise StoreError(
                f"{folder} was computed from other code or values: {first_few(least)}. Its "
                "replicates cannot be mixed with new ones. Draw the changed parts again with "
                f'redraw="{CHANGED}". {ADOPT}{WAYS_ON}'
            )
        methods[method] = None
        changes |= dict.fromkeys(least)
    if methods:
        raise _methods_changed(folder, [*methods], [*changes])


def _methods_changed(folder: Place, methods: Sequence[str], changes: Sequence[str]) -> StoreError:
    quoted = ",".join(f'"{method}"' for method in methods)  # as in Python and in a shell
    redraw = quoted if len(methods) == 1 else f'[{quoted}] or redraw="{CHANGED}"'
    which = f"method{'s' if len(methods) > 1 else ''} {', '.join(methods)}"
    return StoreError(
        f"{which} changed: {first_few(changes)}. The replicates of the old code in {folder} cannot "
        f"be mixed with new ones. Draw only these again with redraw={redraw}. {ADOPT}{WAYS_ON}"
    )


# ---------------------------------------------------------------- starting over
def delete_blocks(store: Store, folder: Place, n_blocks: Mapping[str, int]) -> None:
    """Delete the first blocks of scenarios and methods with the store's settings, of any code.

    Other blocks, outputs and files of other programs are kept.

    Parameters
    ----------
    folder
        Folder of the block files.
    n_blocks
        Number of blocks to delete, by key.

    Raises
    ------
    StoreError
        If a file cannot be deleted, since the run would then use blocks that it should not.
    """
    ours = store.provenance.settings

    def kept(provenance: Provenance, blocks: BlockRange) -> BlockRange:
        n = n_blocks.get(blocks.key, 0) if provenance.settings == ours else 0
        first = max(blocks.first, n)
        return BlockRange(blocks.key, first, blocks.end - first)

    try:
        remove_blocks(store.files, kept)
        forget_records(folder, store.provenance.only(n_blocks))
    except OSError as error:
        raise StoreError(
            f"restart=True cannot delete blocks in {folder}: {error.strerror}. Nothing was drawn. "
            "Make the folder writable, or choose another out=..."
        ) from error
    store.others.clear()
    store.scan()
