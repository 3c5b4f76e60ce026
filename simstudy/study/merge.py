"""Merges blocks of a study from another results folder."""

from __future__ import annotations

from functools import partial
from io import BufferedRandom

from simstudy.atomic_files import write_bytes
from simstudy.errors import StoreError, first_few
from simstudy.remote.paths import Place, place_of
from simstudy.store.blocks import Store
from simstudy.store.files import Folder, name_by_content
from simstudy.store.run_records import FOLDER, record_files
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


# ---------------------------------------------------------------- copying
def copy_blocks(source: Store, target: Store) -> int:
    """Copy files with blocks that a store lacks; returns the number of such blocks.

    Parameters
    ----------
    source, target
        Stores of one provenance.
    """
    names = {number: key for key, number in source.index.keys.items()}
    lacking: dict[int, int] = {}  # blocks by number of the source's file
    for piece in source.index.slices:
        end = int(piece["first"] + piece["n"])
        is_stored = target.has_blocks(names[piece["key"]], end)[int(piece["first"]) :]
        if not is_stored.all():
            number = int(piece["file"])
            lacking[number] = lacking.get(number, 0) + int((~is_stored).sum())
    for file in source.referenced_files:
        if file.number in lacking:
            with source.files.open(file.name) as stored:
                content = stored.read()
            target.files.write(partial(_fill, content))
    target.scan()
    return sum(lacking.values())


def _fill(content: bytes, file: BufferedRandom) -> str:
    file.write(content)
    return name_by_content(file)


def copy_records(source: Place, target: Place) -> None:
    """Copy the records of runs, such as timings."""
    for path in record_files(source):
        write_bytes(target / FOLDER / path.name, path.read_bytes())
