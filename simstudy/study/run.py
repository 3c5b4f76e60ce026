"""Runs a study until it has the requested replicates or precision; results of stored blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from simstudy.analysis.precision import next_sizes, precision_ratios
from simstudy.analysis.replicates import StoredReplicates
from simstudy.analysis.result import Result, ResultParts, warnings_of_measures
from simstudy.data.parts import data_parts
from simstudy.design.plan import Plan, method_of
from simstudy.engine.graceful_stop import OutOfTime, time_budget
from simstudy.engine.loop import Loop
from simstudy.engine.methods import recorded_warnings
from simstudy.engine.progress import DefaultBar, Progress, Silent, progress_of
from simstudy.engine.provenance import RunProvenance, compute_provenance
from simstudy.engine.run_monitor import RunStats
from simstudy.engine.tasks import shard_label
from simstudy.errors import SimstudyError, StudyError, UndefinedError, describe, warn
from simstudy.places import place_of
from simstudy.store.blocks import Store
from simstudy.store.files import REPLICATES, translate_io_errors
from simstudy.store.runs import StudyFolder, no_blocks_error, read_records
from simstudy.study import stored_blocks
from simstudy.study.run_options import RunOptions, read_seconds
from simstudy.study.spec import StudySpec

Sizes = Mapping[str, int]  # replicates by scenario key


def run(study: StudySpec, options: RunOptions, *, in_full: bool = False) -> Result:
    """Draw missing replicates and return the result.

    Parameters
    ----------
    in_full
        Whether the second drawing of blocks may take as long as it needs.

    Raises
    ------
    ConfigError, StoreError
        If a setting is not allowed, or the folder cannot be used.
    OutOfTime
        If the budget is spent before every scenario has a block.
    """
    plan = study.plan(options.seed, options.block_seconds)
    owners = (*plan.scenarios, *plan.methods)
    for part in {id(part): part for own in owners for part in data_parts(own)}.values():
        part.check(anew=True)  # it may have changed since the study was declared
    provenance = compute_provenance(plan)
    label = shard_label(plan.work_units, provenance.of_blocks, options.share)
    folder = StudyFolder.open(plan.work_units, options.out, provenance.of_blocks, label=label)
    with progress_of(study.name, options.progress) as progress:
        notes = []
        for note in _compare_other_code(options, plan.work_units, folder, provenance):
            _say(note, progress)
            notes.append(note)
        loop = Loop(
            plan.work_units,
            folder.store,
            options,
            progress,
            blocks_folder=folder.blocks,
            provenance=provenance,
            try_measures=partial(_try_measures, study, plan, folder),
            checks_in_full=in_full,
        )
        loop.stats.notes += notes
        with (
            translate_io_errors(folder.store.files),
            time_budget(read_seconds(options.budget)) as is_spent,
        ):
            sizes, n_left = _draw(study, options, plan, folder, loop, is_spent)
            loop.compact(is_all=options.is_all)
    parts = result_of(study, plan, folder, loop.stats, sizes).details
    return Result(replace(parts, targets=options.targets(study), n_left=n_left))


def _draw(
    study: StudySpec,
    options: RunOptions,
    plan: Plan,
    folder: StudyFolder,
    loop: Loop,
    is_spent: Callable[[], bool],
) -> tuple[Sizes, int]:
    """Draw until all is stored or time is up.

    Returns
    -------
    tuple
        The replicates by scenario key, and the blocks that were not drawn.
    """
    sizes = dict.fromkeys(plan.keys, options.size)
    try:
        if options.retry:
            loop.redraw(plan.unit_sizes(sizes), shard=options.share)
        if options.redraw:
            units = plan.work_units.keys.items()
            anew = [key for key, unit in units if {True, method_of(unit)} & {*options.redraw}]
            loop.redraw(plan.unit_sizes(sizes), anew, options.share)
        loop.draw(plan.unit_sizes(sizes), options.share)
        grown, targets = sizes, options.targets(study)
        while targets:
            ratios = precision_ratios(result_of(study, plan, folder, loop.stats, grown), targets)
            before = grown
            grown = next_sizes(grown, ratios, block_size=plan.block_size, ceiling=options.max_rep)
            if grown == before:
                break
            loop.draw(plan.unit_sizes(grown))
    except OutOfTime as stop:
        n_blocks = blocks_of_each(plan, folder.store)
        least = min(n_blocks.values())
        if not options.is_all or not is_spent() or not least:
            raise
        each = n_blocks if options.precision else dict.fromkeys(n_blocks, least)
        return {key: n * plan.block_size for key, n in each.items()}, stop.n_left
    return grown, 0


def warn_of(result: Result, options: RunOptions, *, stacklevel: int) -> None:
    """Issue the warnings of a run, unless the caller's progress object shows them."""
    if options.progress is not None and not isinstance(options.progress, bool):
        return
    of_measures = warnings_of_measures(result) if options.is_all else []
    for text in [*result.outcome.warnings, *of_measures]:
        warn(text, stacklevel=stacklevel + 1)


def _compare_other_code(
    options: RunOptions, plan: Plan, folder: StudyFolder, code: RunProvenance
) -> Iterator[str]:
    """Compare stored blocks of other versions, and adopt those of other code if requested.

    Yields
    ------
    str
        Lines on what was compared, and on what no longer counts.
    """
    yield from stored_blocks.count_other_versions(plan, folder, code, options)
    if options.adopt:
        yield from stored_blocks.adopt_other_code(plan, folder, code, options)
    changed = stored_blocks.other_code(plan, folder.store, data=True, without=folder.verdicts)
    if changed:
        yield stored_blocks.describe_other_code(changed, folder, adopts=options.adopt)


def _say(note: str, progress: Progress) -> None:
    """Show a line about stored blocks: by the progress display, or as a warning in Python."""
    if type(progress) in (Silent, DefaultBar):
        warn(note, stacklevel=4)  # the caller of `Study.run`
    else:
        progress.note(note)


# ---------------------------------------------------------------- measures of a first block
def _try_measures(study: StudySpec, plan: Plan, folder: StudyFolder, store: Store) -> bool:
    """Compute the measures from a first block in a store; false if it has none."""
    of_each = plan.unit_keys.items()
    key = next((key for key, each in of_each if all(map(store.n_blocks, each))), None)
    if key is not None:
        first, sizes = plan.only([plan.keys[key]]), {key: plan.block_size}
        try_measures(result_of(study, first, replace(folder, store=store), RunStats(), sizes))
    return key is not None


def try_measures(result: Result) -> None:
    """Compute every measure from the replicates of one block, to find mistakes early.

    Raises
    ------
    StudyError
        If a measure, or a derived column that it reads, cannot be computed.
    """
    if result.n_failed == sum(result.n_rep.values()):  # no replicate to compute a measure from
        return
    (scenario,), declared = result.plan.scenarios, result.details.declared
    with recorded_warnings(), np.errstate(all="ignore"):  # they may be due to the few replicates
        estimate = result.details.estimator(declared)
        for measure in declared:
            try:
                estimate(scenario, measure)
            except UndefinedError:  # other scenarios may have a value
                continue
            except SimstudyError:
                raise
            except Exception as error:
                raise StudyError(
                    f"{scenario!r}: measure {measure.name!r} cannot be computed from the first "
                    f"block: {describe(error)}. The run stopped, because the error would be the "
                    "same for all blocks. Check that the columns and the truth have the shapes "
                    "and types that the measure needs."
                ) from error


# ---------------------------------------------------------------- results of stored blocks
def result_of(
    study: StudySpec, plan: Plan, folder: StudyFolder, outcome: RunStats, sizes: Sizes
) -> Result:
    """Make the result of some stored replicates."""
    parts = ResultParts(
        replicates=StoredReplicates(plan, folder.store, dict(sizes)),
        declared=study.bound_measures(plan),
        figures=study.figures,
        tables=study.tables,
        value_labels=study.value_labels,
        labels=study.headings,
        claimed=study.claims,
        answer=study.answer,
        folder=folder.path,
        outcome=outcome,
        keep_alive=folder.temporary,
    )
    return Result(parts)


def blocks_of_each(plan: Plan, store: Store) -> dict[str, int]:
    """Count the first blocks of each scenario, by its key, that are stored for all methods."""
    return {key: min(map(store.n_blocks, units)) for key, units in plan.unit_keys.items()}


def partial_result(study: StudySpec, options: RunOptions, *, n_rep: int | None) -> Result:
    """Return the result of the stored blocks.

    Parameters
    ----------
    n_rep
        Maximum number of replicates per scenario; None for all of the stored blocks.

    Raises
    ------
    StoreError
        If no block is stored.
    """
    plan = study.plan(options.seed)
    place = place_of(options.out or "") / study.name
    if not (place / REPLICATES).exists():
        raise no_blocks_error(place)
    provenance = compute_provenance(plan).of_blocks
    folder = StudyFolder.open(plan.work_units, options.out, provenance)
    other = stored_blocks.other_code(plan.work_units, folder.store, versions=True)
    if other:
        folder = replace(folder, store=other.store)
    most = math.inf if n_rep is None else n_rep
    stored = {
        key: int(min(n * study.block_size, most))
        for key, n in blocks_of_each(plan, folder.store).items()
    }
    begun = plan.only(scenario for key, scenario in plan.keys.items() if stored[key])
    if not begun.scenarios:
        raise no_blocks_error(place)
    records = read_records(place / REPLICATES, folder.store.provenance)
    warnings = [*records.first_warnings.values()]
    if other:
        warnings.append(
            f"stored blocks are of other code or libraries: {other.changes(provenance)}. A run "
            "draws them again"
        )
    sizes = {key: stored[key] for key in begun.keys}
    return result_of(study, begun, folder, RunStats(warnings=warnings), sizes)
