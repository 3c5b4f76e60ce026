"""Runs a study until the requested replicates or precision are reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from simstudy.analysis.precision import grown_until_precise
from simstudy.analysis.result import Result, remarks_of
from simstudy.data.parts import data_parts
from simstudy.design.plan import Plan, method_of
from simstudy.engine.graceful_stop import OutOfTime, time_budget
from simstudy.engine.loop import Loop
from simstudy.engine.per_replicate import recorded_warnings
from simstudy.engine.progress import DefaultBar, Progress, Silent, progress_of
from simstudy.engine.provenance import RunProvenance, compute_provenance
from simstudy.engine.run_monitor import RunStats
from simstudy.engine.work_queue import share_label
from simstudy.engine.workers import Workers
from simstudy.errors import SimstudyError, StudyError, UndefinedError, describe, warn
from simstudy.store.blocks import Store
from simstudy.store.files import translate_io_errors
from simstudy.store.runs import StudyFolder
from simstudy.study.results import blocks_of_each, result_of
from simstudy.study.run_options import RunOptions, read_seconds
from simstudy.study.spec import StudySpec
from simstudy.study.stored_blocks import (
    adopt,
    count_other_versions,
    describe_other_code,
    other_code,
    repeated,
)

Sizes = Mapping[str, int]  # replicates by scenario key


def run(study: StudySpec, options: RunOptions) -> Result:
    """Draw missing replicates and return the result.

    Raises
    ------
    ConfigError, StoreError
        If a setting is not allowed, or the folder cannot be used.
    OutOfTime
        If the budget is spent before every scenario has a block.
    """
    with progress_of(study.name, options.progress) as progress:
        plan, home, loop = _begin(study, options, progress)
        with (
            translate_io_errors(home.store.files),
            time_budget(read_seconds(options.budget)) as is_spent,
        ):
            sizes, n_left = _draw(study, options, plan, home, loop, is_spent)
            loop.compact(is_all=options.is_all)
        details = result_of(study, plan, home, loop.stats, sizes).details
        return Result(replace(details, targets=options.targets(study), n_left=n_left))


def _begin(
    study: StudySpec, options: RunOptions, progress: Progress
) -> tuple[Plan, StudyFolder, Loop]:
    """Check the data, open the folder, compare stored blocks of other code."""
    plan = options.planned(study)
    _check_data(plan)
    provenance = compute_provenance(plan)
    home = StudyFolder.open(
        plan.work_units,
        options.out,
        provenance.of_blocks,
        at_once=options.is_all,
        label=share_label(plan.work_units, provenance.of_blocks, options.share),
    )
    workers = options.workers.limited(study.rules.block_seconds)
    notes = _compared_with_other_code(plan, home, provenance, workers, options)
    for note in notes:
        _say(note, progress)
    loop = Loop(
        plan.work_units,
        home.store,
        workers,
        progress,
        folder=home.path,
        provenance=provenance,
        try_measures=partial(_try_measures, study, plan, home),
    )
    loop.stats.notes += notes
    return plan, home, loop


def _draw(
    study: StudySpec,
    options: RunOptions,
    plan: Plan,
    home: StudyFolder,
    loop: Loop,
    is_spent: Callable[[], bool],
) -> tuple[Sizes, int]:
    """Draw until all is stored or time is up.

    Returns
    -------
    tuple
        The replicates by scenario key, and the blocks that were not drawn.
    """
    sizes = options.sizes(plan)
    try:
        if options.retry:
            loop.redraw_failures(plan.drawn_sizes(sizes))
        if options.redraw:
            _draw_again(options, plan, loop, sizes)
        loop.draw(plan.drawn_sizes(sizes), options.share)
        grown = grown_until_precise(
            sizes,
            options.targets(study),
            partial(result_of, study, plan, home, loop.stats),
            lambda more: loop.draw(plan.drawn_sizes(more)),
            ceiling=options.max_rep,
        )
    except OutOfTime as stop:
        stored = blocks_of_each(plan, home.store)
        if not options.is_all or not is_spent() or not min(stored.values()):
            raise
        return _balanced(options, plan, stored), stop.n_left
    return grown, 0


def _draw_again(options: RunOptions, plan: Plan, loop: Loop, sizes: Sizes) -> None:
    """Draw stored blocks again although nothing changed, and say what did not repeat."""
    chosen = options.redraw or ()
    units = plan.work_units.keys.items()
    keys = [key for key, drawn in units if True in chosen or method_of(drawn) in chosen]
    drawn = loop.draw_again(plan.drawn_sizes(sizes), keys)
    if drawn is not None:
        note = repeated(plan.work_units, *drawn)
        _say(note, loop.progress)
        loop.stats.notes.append(note)


def _balanced(options: RunOptions, plan: Plan, n_blocks: Sizes) -> Sizes:
    """Replicates from stored blocks: equal for all scenarios, unless there are targets."""
    size, least = plan.block_size, min(n_blocks.values())
    if options.is_by_scenario:
        wanted = options.sizes(plan).items()
        return {key: min(n, n_blocks[key] * size) for key, n in wanted}
    return {key: (n if options.precision else least) * size for key, n in n_blocks.items()}


def warn_of(result: Result, options: RunOptions, *, stacklevel: int) -> None:
    """Issue the warnings of a run, unless the caller's progress object shows them."""
    if options.progress is not None and not isinstance(options.progress, bool):
        return
    texts = list(result.outcome.noticed)
    if options.is_all:
        texts += remarks_of(result)
    for text in texts:
        warn(text, stacklevel=stacklevel + 1)


def _compared_with_other_code(
    plan: Plan, home: StudyFolder, provenance: RunProvenance, workers: Workers, options: RunOptions
) -> list[str]:
    """Compare stored blocks of other versions, and adopt those of other code if requested.

    Returns
    -------
    list[str]
        Lines on what was compared, and on what no longer counts.
    """
    units, is_all = plan.work_units, options.is_all
    notes = count_other_versions(units, home, provenance, workers, is_all=is_all)
    compared: set[tuple[str, str]] = set()
    while options.adopt and (adoptable := other_code(units, home.store, without=compared)):
        notes.append(adopt(adoptable, home, provenance, workers))
        compared |= {(key, adoptable.provenance.origin(key)) for key in adoptable.keys}
    seen = {key for key, _ in compared}
    changed = other_code(units, home.store, data=True)
    rest = changed.only([key for key in changed.keys if key not in seen])
    if rest:
        notes.append(describe_other_code(rest, home))
    return notes


def _say(note: str, progress: Progress) -> None:
    """Show a line about stored blocks: by the progress display, or as a warning in Python."""
    if type(progress) in (Silent, DefaultBar):
        warn(note, stacklevel=5)  # the caller of `Study.run`
    else:
        progress.note(note)


def _check_data(plan: Plan) -> None:
    """Refuse data that changed since the study was declared."""
    owners = (*plan.scenarios, *plan.methods)
    for part in {id(part): part for own in owners for part in data_parts(own)}.values():
        part.check(anew=True)


# ---------------------------------------------------------------- measures of a first block
def _try_measures(study: StudySpec, plan: Plan, home: StudyFolder, store: Store) -> bool:
    """Compute the measures from a first block in a store; false if it has none."""
    of_each = plan.drawn_keys.items()
    key = next((key for key, each in of_each if all(map(store.n_blocks, each))), None)
    if key is not None:
        first, sizes = plan.only([plan.keys[key]]), {key: plan.block_size}
        try_measures(result_of(study, first, replace(home, store=store), RunStats(), sizes))
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
