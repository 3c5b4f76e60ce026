"""The folder of a study's blocks, claimed and checked, or temporary."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from simstudy.atomic_files import read_json, temporary_folder
from simstudy.design.plan import Plan, method_of
from simstudy.errors import StoreError, first_few
from simstudy.remote.paths import Place, place_of
from simstudy.store.block_files import provenance_of_files
from simstudy.store.blocks import Store, files_at
from simstudy.store.files import DAMAGED, DERIVED, ENDING, REPLICATES, VERIFIED, Files
from simstudy.store.manifest import MANIFEST, listed_files
from simstudy.store.provenance import UNKNOWN, Provenance
from simstudy.store.run_records import record_files

CHANGED = "changed"  # in place of methods' names: all whose code changed
ADOPT = "If the code was only rewritten, adopt=true proves it and keeps them. "
WAYS_ON = "Keep both with another out=..., or start over with restart=true."


@dataclass
class StudyFolder:
    """The folder of a study, local or remote.

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
        provenance: Provenance,
        *,
        restart: bool = False,
        redraw: Collection[str] = (),
        adopt: bool = False,
        at_once: bool = True,
        label: str = "",
    ) -> StudyFolder:
        """Open the folder of a plan below `out`, for blocks of some provenance.

        Parameters
        ----------
        redraw
            Methods whose blocks of other code are no reason to refuse.
        adopt
            Whether blocks of other code are to be adopted, and so are not refused here.
        at_once
            Whether all that is there will be read; else files beyond this machine are checked
            only when they are.
        label
            Of the share that draws, as `Store` has it.

        Raises
        ------
        StoreError
            Where it is another's, or cannot be used.
        """
        if out is None:
            temporary = temporary_folder()
            blocks = Store(Path(temporary.name) / REPLICATES, plan.block_size, provenance)
            return cls(None, blocks, temporary)
        place = place_of(out)
        if isinstance(place, Path):
            place = place.absolute()  # a study's own code may change the working directory
        path = place / plan.name
        check_study(plan.name, path)
        if restart:
            delete_study_data(plan.name, path)
        files = _files(path / REPLICATES, at_once=at_once)
        store = Store(files, plan.block_size, provenance, label=label)
        if not adopt:
            check_provenance(plan, path, store, redraw)
        return cls(path, store)


def _files(blocks: Place, *, at_once: bool) -> Files:
    try:
        return files_at(blocks, at_once=at_once)
    except OSError as error:
        raise StoreError(
            f"cannot write results to {blocks.parent}: {error.strerror}. Choose another out=..."
        ) from None


def no_blocks_error(folder: Place) -> StoreError:
    """The error where no block is stored."""
    return StoreError(f"{folder} holds no block of this study yet: nothing to look at")


# ---------------------------------------------------------------- whose results they are
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
    """Refuse a scenario that has blocks of another provenance and none of this one.

    Blocks of this run are never mixed with them; but where there are none, a user who expects to
    go on should learn that nothing stored is of use, and why.

    Parameters
    ----------
    redraw
        Methods of which that is known, and whose blocks are to be drawn anew; `changed` for all
        whose code changed.

    Raises
    ------
    StoreError
        Naming what is other, and the ways on.
    """
    methods: dict[str, None] = {}
    changes: dict[str, None] = {}
    for key, drawn in plan.keys.items():
        others = store.others.get(key)
        if not others or store.has_blocks(key, 1).any() or store.n_blocks(key):
            continue
        least = min((other.differences(store.provenance, key) for other in others), key=len)
        is_code = any(not other.setting_differences(store.provenance) for other in others)
        if method_of(drawn) in redraw or (is_code and CHANGED in redraw):
            continue
        if not (is_code and method_of(drawn)):
            raise StoreError(
                f"{folder} was computed by something else: {first_few(least)}. Its replicates "
                f"cannot be mixed with new ones. {ADOPT * is_code}{WAYS_ON}"
            )
        methods[method_of(drawn)] = None
        changes |= dict.fromkeys(least)
    if methods:
        raise _methods_changed(folder, [*methods], [*changes])


def _methods_changed(folder: Place, methods: Sequence[str], changes: Sequence[str]) -> StoreError:
    names = ",".join(methods)
    redraw = names if len(methods) == 1 else f"[{names}] or redraw={CHANGED}"
    which = f"method {names}" if len(methods) == 1 else f"methods {', '.join(methods)}"
    return StoreError(
        f"{which} changed: {first_few(changes)}. The replicates of the old code in {folder} cannot "
        f"be mixed with new ones. Draw no others anew with redraw={redraw}. {ADOPT}{WAYS_ON}"
    )


# ---------------------------------------------------------------- starting over
def delete_study_data(study: str, folder: Place) -> None:
    """Delete a study's blocks and the outputs made from them.

    Whatever else lies there is left alone: notes, figures of others, blocks of other studies.

    Raises
    ------
    StoreError
        Where a file cannot be deleted: going on would keep what was to go.
    """
    blocks = folder / REPLICATES
    if blocks.is_dir():
        for name, provenance in provenance_of_files(files_at(blocks, at_once=False)):
            if provenance.settings.get("study", study) in (study, UNKNOWN):
                _delete(blocks / name)
        for path in [*record_files(blocks), blocks / VERIFIED]:
            _delete(path)
        for sibling in (DAMAGED, DERIVED):
            found: list[Place] = [*(blocks / sibling).rglob(f"*{ENDING}")]
            for path in found:
                _delete(path)
    for name in listed_files(read_json(folder / MANIFEST) or {}):
        _delete(folder / name)
    _delete(folder / MANIFEST)


def _delete(path: Place) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"restart=true cannot delete {path}: {error.strerror}. Nothing was drawn. Make the "
            "folder writable, or choose another out=..."
        ) from error
