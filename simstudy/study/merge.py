"""Merges blocks of a study from another results folder."""

from __future__ import annotations

from simstudy.errors import StoreError, first_few
from simstudy.remote.paths import Place, place_of
from simstudy.store.blocks import Store
from simstudy.store.files import Folder
from simstudy.store.merge import copy_blocks, copy_records
from simstudy.store.study_folder import StudyFolder, no_blocks_error
from simstudy.study.results import provenance_of
from simstudy.study.run_options import Out, RunOptions, check_keep
from simstudy.study.spec import StudySpec


def merge(study: StudySpec, options: RunOptions, source: Out) -> int:
    """Copy the blocks of a study from another results folder; returns the number of new blocks.

    Raises
    ------
    StoreError
        Where there is none, or any was made from other code, settings or seed.
    """
    check_keep(options.keep, options.n_rep, study.block_size, study.group_size)
    plan = study.plan(options.seed, options.keep, options.analysed_of(study))
    kept = study.storage_policy(options.keep)
    blocks: Place = place_of(source or "") / study.name / kept.folder
    if not blocks.exists():
        raise no_blocks_error(blocks.parent, options.keep)
    provenance = provenance_of(study, plan, kept)
    theirs = Store(blocks, kept.rows_per_block(plan.work_units), provenance)
    differing = [
        f"{drawn!r}: {first_few(each.differences(provenance, key))}"
        for key, drawn in plan.work_units.keys.items()
        for each in theirs.others.get(key, ())[:1]
        if not theirs.n_blocks(key)
    ]
    if differing:
        raise StoreError(
            f"nothing was merged: blocks in {blocks.parent} were made from something else than "
            f"this study's would be ({'; '.join(differing[:3])}), and these cannot be mixed. Draw "
            "them there with this study's code, settings and seed, or leave them out."
        )
    home = StudyFolder.open(plan.work_units, options.out, provenance, kept)
    n_new = copy_blocks(theirs, home.store)
    if isinstance(home.store.files, Folder):
        copy_records(blocks, home.store.files.path)
    theirs.close()
    return n_new
