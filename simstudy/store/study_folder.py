"""The folder of a study: one store of blocks for all runs, and a folder of outputs for each run.

A run of the published settings has its outputs in the study's own folder, any other run in
`runs/NAME` below it. All of them share the blocks in `replicates/`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from simstudy.atomic_files import TemporaryFolder, read_json
from simstudy.design.plan import Plan
from simstudy.errors import StoreError
from simstudy.remote import Place, place_of
from simstudy.store.blocks import Store, files_at
from simstudy.store.files import REPLICATES, translate_io_errors
from simstudy.store.provenance import Provenance
from simstudy.store.run_records import Verdicts, accepted_origins, read_verdicts
from simstudy.store.runs import MANIFEST


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
    verdicts
        Comparisons of blocks of other versions, as recorded beside the blocks.
    """

    path: Place | None
    store: Store
    blocks: Place | None = None
    temporary: TemporaryFolder | None = None
    verdicts: Verdicts = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        plan: Plan,
        out: str | os.PathLike[str] | Place | None,
        provenance: Provenance,
        *,
        at_once: bool = True,
        label: str = "",
    ) -> StudyFolder:
        """Open the folder of a plan below `out`, for blocks of some provenance.

        Parameters
        ----------
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
        verdicts = read_verdicts(path / REPLICATES, dict(plan.rtol))
        accepted = accepted_origins(verdicts, provenance)
        store = Store(files, plan.block_size, provenance, label=label, accepted=accepted)
        return cls(path, store, path / REPLICATES, verdicts=verdicts)


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
