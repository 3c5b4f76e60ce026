"""Runs a study until the requested replicates or precision are reached."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from simstudy.analysis.precision import Target, grown_until_precise
from simstudy.analysis.result import Result, remarks_of
from simstudy.atomic_files import write_json
from simstudy.data.parts import data_parts
from simstudy.design.plan import Plan, method_of
from simstudy.engine.graceful_stop import OutOfTime, time_budget
from simstudy.engine.loop import Loop
from simstudy.engine.per_replicate import recorded_warnings
from simstudy.engine.progress import DefaultBar, Progress, Silent, progress_of
from simstudy.engine.provenance import RunProvenance, compute_provenance
from simstudy.engine.run_monitor import RunStats
from simstudy.engine.tasks import TaskResult
from simstudy.engine.work_queue import share_label
from simstudy.engine.workers import Workers
from simstudy.errors import SimstudyError, StudyError, UndefinedError, describe
from simstudy.remote import Place
from simstudy.store.blocks import Store
from simstudy.store.compaction import compact
from simstudy.store.files import translate_io_errors
from simstudy.store.run_records import merge_records
from simstudy.store.runs import forget_run, unfinished_run
from simstudy.store.study_folder import StudyFolder
from simstudy.study.results import blocks_of_each, result_of
from simstudy.study.run_options import RunOptions, read_seconds
from simstudy.study.spec import StudySpec
from simstudy.study.stored_code import adopt, describe_other_code, other_code, repeated
from simstudy.study.stored_versions import count_other_versions

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
        under_way = _Run.begun(study, options, progress)
        with (
            translate_io_errors(under_way.home.store.files),
            time_budget(read_seconds(options.budget)) as is_spent,
        ):
            sizes = under_way.draw(is_spent)
            under_way.compact()
        return under_way.result(sizes)


def warn_of(result: Result, options: RunOptions, *, stacklevel: int) -> None:
    """Issue the warnings of a run, unless the caller's progress object shows them."""
    if options.progress is not None and not isinstance(options.progress, bool):
        return
    texts = list(result.outcome.noticed)
    if options.is_all:
        texts += remarks_of(result)
    for text in texts:
        warnings.warn(text, stacklevel=stacklevel + 1)


@dataclass
class _Run:
    """A run with its folder.

    Parameters
    ----------
    n_left
        Blocks that were not drawn when the budget was spent.
    """

    study: StudySpec
    options: RunOptions
    plan: Plan
    home: StudyFolder
    work: Loop
    targets: Sequence[Target]
    n_left: int = field(default=0, init=False)
    _is_checked: bool = field(default=False, init=False)
    _record: Place | None = field(default=None, init=False)
    _written: list[str] = field(default_factory=list, init=False)

    @classmethod
    def begun(cls, study: StudySpec, options: RunOptions, progress: Progress) -> _Run:
        """Check the data, open the folder, and adopt blocks if requested."""
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
        work = Loop(
            plan.work_units,
            home.store,
            workers,
            progress,
            folder=home.path,
            provenance=provenance,
        )
        work.stats.notes += notes
        started = cls(study, options, plan, home, work, options.targets(study))
        if home.blocks is not None:
            started._record = unfinished_run(home.blocks, started._requested)
        work.on_result = started._take
        return started

    @property
    def _requested(self) -> dict[str, Any]:
        """The request of this run, as a manifest states it."""
        name, n_rep = self.plan.name, self.options.requested
        return {"study": name, "seed": self.options.seed, "replicates_per_scenario": n_rep}

    def draw(self, is_spent: Callable[[], bool]) -> Sizes:
        """Draw until all is stored or time is up, and return the replicates by scenario key."""
        sizes = self.options.sizes(self.plan)
        try:
            if self.options.retry:
                self.work.redraw_failures(self.plan.drawn_sizes(sizes))
            if self.options.redraw:
                self._draw_again(sizes)
            self._draw_missing(sizes, self.options.share)
            return grown_until_precise(
                sizes,
                self.targets,
                self._result,
                self._draw_missing,
                ceiling=self.options.max_rep,
            )
        except OutOfTime as stop:
            there = blocks_of_each(self.plan, self.home.store)
            if not self.options.is_all or not is_spent() or not min(there.values()):
                raise
            self.n_left = stop.n_left
            return self._balanced(there)

    def _draw_again(self, sizes: Sizes) -> None:
        """Draw stored blocks again although nothing changed, and say what did not repeat."""
        chosen = self.options.redraw or ()
        units = self.plan.work_units.keys.items()
        keys = [key for key, drawn in units if True in chosen or method_of(drawn) in chosen]
        drawn = self.work.draw_again(self.plan.drawn_sizes(sizes), keys)
        if drawn is not None:
            note = repeated(self.plan.work_units, *drawn)
            _say(note, self.work.progress)
            self.work.stats.notes.append(note)

    def _draw_missing(self, sizes: Sizes, shard: tuple[int, int] | None = None) -> None:
        drawn_sizes = self.plan.drawn_sizes(sizes)
        if not self._is_checked and self.work.missing(drawn_sizes, shard):
            self._is_checked = self._check_measures(None)
        self.work.draw(drawn_sizes, shard)

    def _take(self, result: TaskResult) -> None:
        """Record the run and compute the measures with the first results: mistakes show early."""
        if self._record is not None and not self._written:
            write_json(self._record, self._requested)
        self._written += result.files
        self._is_checked = self._is_checked or self._check_measures(result.files)

    def _check_measures(self, files: Sequence[str] | None) -> bool:
        """Compute the measures from a first block and return whether there was one."""
        store = self.home.store
        if files is not None:
            store = self._store_of(files)
        of_each = self.plan.drawn_keys.items()
        key = next((key for key, each in of_each if all(map(store.n_blocks, each))), None)
        if key is not None:
            first = self.plan.only([self.plan.keys[key]])
            sizes = {key: self.plan.block_size}
            home = replace(self.home, store=store)
            try_measures(result_of(self.study, first, home, RunStats(), sizes))
        store.close()
        return key is not None

    def compact(self) -> None:
        """Merge small files; a share merges only its own."""
        if self.options.is_all:
            compact(self.home.store)
            if self.work.blocks_folder is not None:
                merge_records(self.work.blocks_folder)
        elif self._written:
            compact(self._store_of(self._written), most_files=1)
            self.home.store.scan()

    def _store_of(self, files: Sequence[str]) -> Store:
        """The store restricted to some files."""
        return self.home.store.reopened(only_files=files)

    def _balanced(self, sizes: Sizes) -> Sizes:
        """Replicates from stored blocks: equal for all scenarios, unless there are targets."""
        n_blocks = sizes if self.targets else dict.fromkeys(sizes, min(sizes.values()))
        n_each = {key: n * self.study.block_size for key, n in n_blocks.items()}
        if self.options.is_by_scenario:
            wanted = self.options.sizes(self.plan).items()
            return {key: min(n, sizes[key] * self.study.block_size) for key, n in wanted}
        return n_each

    def _result(self, sizes: Sizes) -> Result:
        work = self.work
        return result_of(self.study, self.plan, self.home, work.stats, sizes)

    def result(self, sizes: Sizes) -> Result:
        """Make the result."""
        details = self._result(sizes).details
        found = Result(replace(details, targets=self.targets, n_left=self.n_left))
        if self._record is not None and self.options.is_all and not self.n_left:
            forget_run(self._record)
        return found


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
    adoptable = other_code(units, home.store) if options.adopt else None
    if adoptable:
        notes.append(adopt(adoptable, home, provenance, workers))
    changed = other_code(units, home.store, data=True)
    rest = changed.only([key for key in changed.keys if not adoptable or key not in adoptable.keys])
    if rest:
        notes.append(describe_other_code(rest, home))
    return notes


def _say(note: str, progress: Progress) -> None:
    """Show a line about stored blocks: by the progress display, or as a warning in Python."""
    if type(progress) in (Silent, DefaultBar):
        warnings.warn(note, stacklevel=5)  # the caller of `Study.run`
    else:
        progress.note(note)


def _check_data(plan: Plan) -> None:
    """Refuse data that changed since the study was declared."""
    owners = (*plan.scenarios, *plan.methods)
    for part in {id(part): part for own in owners for part in data_parts(own)}.values():
        part.check(anew=True)


# ---------------------------------------------------------------- measures of a first block
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
