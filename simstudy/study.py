"""A study: what an experiment declares, and how it is run."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from simstudy.analysis.early import refuse_what_cannot_be_taken
from simstudy.analysis.precision import (
    forecast,
    grown_until_precise,
    seed_of_pilot,
    sizes_by_pilot,
    without_spread,
)
from simstudy.analysis.result import Figure, MakesTable, Result
from simstudy.analysis.targets import read_targets
from simstudy.claims import Claim
from simstudy.data.parts import data_parts
from simstudy.design import Scenario, refuse_twins
from simstudy.engine.block import Address, replicate_at
from simstudy.engine.declarations import (
    check_axes,
    check_block_size,
    check_claim_names,
    check_common,
    check_derived,
    check_drawing,
    check_factors,
    check_figures,
    check_group_size,
    check_mappings,
    check_max_failed,
    check_measures,
    check_methods,
    check_names,
    check_policy,
    check_readings,
    check_study_name,
    check_tables,
    check_vectors,
    factor_names_of,
)
from simstudy.engine.derived import columns_behind
from simstudy.engine.drawing import Drawing
from simstudy.engine.kinds import check_lists
from simstudy.engine.outcome import Outcome
from simstudy.engine.ownership import ownership_of
from simstudy.engine.progress import Progress, Silent
from simstudy.engine.refusals import (
    LOOKS,
    PILOT,
    check_block_seconds,
    check_budget,
    check_keep,
    check_max_rep,
    check_n_rep,
    check_pilot,
    check_precision,
    check_progress,
    check_redraw,
    check_retry,
    check_seed,
    check_shard,
    check_stop_by,
    check_switches,
    check_whole_groups,
    refuse_unordered,
)
from simstudy.engine.replicates import EachReplicate
from simstudy.engine.warning import OutOfTime, time_budget
from simstudy.engine.workers import Workers, refuse_no_workers
from simstudy.errors import StudyError
from simstudy.in_short import names_in_short, shown
from simstudy.lazy.pandas import pd
from simstudy.measures import Measure, Setting
from simstudy.plan import Derived, Method, Plan
from simstudy.remote.paths import Place, RemotePath, place_of
from simstudy.store.blocks import Store
from simstudy.store.compaction import compact
from simstudy.store.disk import trouble_in_words
from simstudy.store.files import files_at
from simstudy.store.home import FOLDERS, Home, nothing_to_look_at
from simstudy.store.layout import Keep, KeepReplicates
from simstudy.store.moments import KeepMoments, streamable
from simstudy.store.owner import Owner
from simstudy.store.remarks import remembered

if TYPE_CHECKING:
    from simstudy.analysis.solve import ScenarioOf, Solution
    from simstudy.output.protocol.made import Protocol


PILOT_REP = 10_000  # replicates that tell an MCSE to a hundredth of itself


@dataclass(frozen=True)
class Study:
    """One question: scenarios, measures, figures, claims.

    Parameters
    ----------
    name
        Names the results folder and is part of every random stream's address.
    scenarios
        Points of the design, from `grid`.
    measures
        What is estimated; each row of the summary is one of them in one scenario.
    methods
        What analyses the data that scenarios draw, by name: see below. None where scenarios
        simulate.
    methods_axis
        Name of the axis that methods make.
    vectors
        Columns with a last axis of a length that belongs to the scenario, such as a p-value for
        each test point: that length as a number, or as the name of what in the scenario says it.
        Measures read what is derived of them.
    keep_vectors
        Whether vectors are stored, or only what is derived of them.
    derived
        Columns that are functions of others, by name. A function's parameters name the columns
        and factors (or the `scenario`) that it is given, for a block: `(rep, *axes)`, a vector
        with its own axis last. It is called when something asks for the column, on what is
        stored, and the result is kept until its code changes: a new function draws nothing anew.
        One may read others that are named before it. NaN counts as missing.
    axes
        Axes of the columns after the replicate, each with the names of its positions, such as
        `{"method": ("studentized", "vanilla")}`; without that of `methods`, which is the first.
    block_size
        Replicates drawn in one vectorized call: part of the study's identity, so changing it
        changes every number.
    n_rep
        Replicates in each scenario where nobody says otherwise: the published number.
    figures
        By the names the document gives them, functions of the result.
    tables
        By name, functions of the result that return a `simstudy.tables.Table`. There is one called
        `summary` unless the study has its own of that name.
    readings
        By factor, what values mean that are not what they say, such as
        `{"n_boot": {0: "∞"}}`: tables for readers have these words, data the values.
    claims
        What the document states.
    common
        Factors whose values share random numbers.
    may_be_missing
        Float columns where NaN is a result and not a failure.
    on_failure
        `record` keeps a failed replicate as a row with its error, and leaves it out of the
        measures; `abort` stops the run; `impute_worst` records it and counts it as `worst`.
    worst
        For `impute_worst`, by column, the value that counts most against a method.
    block_seconds
        How long drawing a block may take: one that takes longer has failed. None is as long as
        it takes. No number depends on it, and who runs the study may say otherwise.
    max_failed
        The largest share of a scenario's replicates that may fail (where there are methods: of
        each one's), from 0 to 1; beyond it the run stops. Failures up to there are recorded. None
        records any number of them, but takes an error that all replicates of a first block have
        in common for a mistake in the study, stops and shows it; 1 records those as well, as for
        a method that cannot work in some of the scenarios.

    group_size
        So many replicates, one after the other, may depend on each other, as antithetic or
        stratified draws do (`simstudy.dgps.in_groups`); groups do not. Every measure's error is
        then that of groups, and numbers of replicates are whole groups.

    Notes
    -----
    A scenario may `simulate`: draw and analyse a block in one call. Or it may `draw` data that the
    study's `methods` analyse, each drawn, stored, timed and failing apart: a method that is added,
    edited or removed draws nothing of the others and moves no bit of them.

    A method is a function of a whole block, or `each_replicate(function)` of one replicate. Its
    parameters name what it is given: data that `draw` returned, factors of the scenario, the
    `scenario` itself, and `streams` (of one replicate: `rng`), random numbers of the method's own.
    Data cannot be written into. It returns columns `(rep,)` or `(rep, *axes)`, of one replicate a
    number each, and every method returns the same ones; truth values are kept as 0 and 1.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from scipy import stats
    >>> from simstudy import Study, each_replicate, grid
    >>> from simstudy.measures import rejection_rate

    >>> @dataclass(frozen=True)
    ... class TwoSample:
    ...     n1: int
    ...     n2: int
    ...     alpha: float = 0.05
    ...
    ...     def draw(self, streams, n_rep):
    ...         rng = streams("data")
    ...         return {
    ...             "x": rng.normal(size=(n_rep, self.n1)),
    ...             "y": rng.normal(scale=3.0, size=(n_rep, self.n2)),
    ...         }

    >>> def welch(x, y, alpha):
    ...     p = stats.ttest_ind(x, y, axis=1, equal_var=False).pvalue
    ...     return {"p": p, "reject": p <= alpha}

    >>> def permuted(x, y, alpha, rng):  # one replicate
    ...     both = stats.permutation_test(
    ...         (x, y), lambda x, y: x.mean() - y.mean(), n_resamples=99, random_state=rng
    ...     )
    ...     return {"p": both.pvalue, "reject": both.pvalue <= alpha}

    >>> study = Study(
    ...     "two_sample_tests",
    ...     grid(TwoSample, n1=20, n2=5),
    ...     measures=[rejection_rate("reject", name="type_1_error")],
    ...     methods={"welch": welch, "permuted": each_replicate(permuted)},
    ...     block_size=100,
    ... )
    >>> result = study.run(n_rep=200)
    >>> result.summary[["n1", "n2", "method", "measure", "n_rep"]]
       n1  n2    method       measure  n_rep
    0  20   5     welch  type_1_error    200
    1  20   5  permuted  type_1_error    200
    >>> paired = result.contrast(
    ...     "type_1_error", axis="method", first="permuted", second="welch"
    ... )
    >>> bool(paired["estimate"].item() > 0)  # under unequal variances the small sample misleads it
    True
    """

    name: str
    scenarios: Sequence[Scenario]
    measures: Sequence[Measure] = ()
    axes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    block_size: int = 1000
    n_rep: int = 1000
    figures: Mapping[str, Figure] = field(default_factory=dict)
    claims: Sequence[Claim] = ()
    common: tuple[str, ...] = ()
    may_be_missing: tuple[str, ...] = ()
    on_failure: str = "record"
    worst: Mapping[str, float] = field(default_factory=dict)
    methods: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    methods_axis: str = "method"
    vectors: Mapping[str, int | str] = field(default_factory=dict)
    keep_vectors: bool = True
    derived: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    block_seconds: float | None = None
    max_failed: float | None = None
    tables: Mapping[str, MakesTable] = field(default_factory=dict)
    readings: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    group_size: int = 1

    def __post_init__(self) -> None:
        check_study_name(self.name)
        self._check_kinds()
        check_methods(self.methods, self.methods_axis, self.axes)
        check_axes(self.all_axes, factor_names_of(self.scenarios))
        check_factors(factor_names_of(self.scenarios), self.measures)
        check_block_size(self.block_size)
        check_n_rep(self.n_rep)
        check_group_size(self.group_size, self.block_size)
        check_whole_groups(self.group_size, self.n_rep)
        check_policy(self.on_failure, self.worst)
        check_block_seconds(self.block_seconds)
        check_max_failed(self.max_failed)
        check_names(may_be_missing=self.may_be_missing, worst=self.worst)
        if not self.scenarios:
            raise StudyError(f"study {self.name!r} has no scenarios: there is nothing to simulate.")
        refuse_twins(self.scenarios)
        check_common(self.common, factor_names_of(self.scenarios))
        check_readings(self.readings, factor_names_of(self.scenarios))
        check_drawing(self.scenarios, self.methods)
        check_vectors(self.vectors, self.scenarios)
        taken = {*self.vectors, *self.all_axes, *factor_names_of(self.scenarios)}
        check_derived(self.derived, taken)
        check_measures(self.measures, self.vectors)
        self._measures_within(1)
        check_claim_names([claim.name for claim in self.claims])

    def __repr__(self) -> str:
        """In a few lines; `study.scenarios` and the other attributes have all of it."""
        return shown(
            f"Study {self.name}",
            self.scenarios,
            f"methods: {names_in_short(self.methods)}" * bool(self.methods),
            f"measures: {names_in_short(measure.name for measure in self.measures)}",
            f"{self.n_rep:,} replicates of each scenario, in blocks of {self.block_size:,}",
        )

    def _check_kinds(self) -> None:
        """Refuse what is not of the kind that all that follows takes it for."""
        check_mappings(
            methods=self.methods,
            vectors=self.vectors,
            derived=self.derived,
            axes=self.axes,
            figures=self.figures,
            tables=self.tables,
            readings=self.readings,
            worst=self.worst,
        )
        for axis, labels in self.axes.items():
            check_names(**{f"axes[{axis!r}]": labels})
            refuse_unordered(f"axes[{axis!r}]", labels)
        check_lists(
            scenarios=(self.scenarios, Scenario, "TwoSample(20, 5)"),
            measures=(self.measures, Measure, "mean('x')"),
            claims=(self.claims, Claim, "Claim(...)"),
        )
        check_figures(self.figures)
        check_tables(self.tables)

    @property
    def all_axes(self) -> dict[str, tuple[str, ...]]:
        """The axes of a result's columns: that of the methods first."""
        own = {self.methods_axis: tuple(self.methods)} if self.methods else {}
        return own | {axis: tuple(labels) for axis, labels in self.axes.items()}

    def _measures_within(self, seed: int) -> tuple[Measure, ...]:
        """The measures that know the names of the axes, and the seed of what they draw."""
        setting = Setting(self.all_axes, self.name, seed, self.group_size)
        return tuple(measure.within(setting) for measure in self.measures)

    def analysed_of(self, n_rep: int, *, whole_blocks: bool) -> int:
        """How many replicates of a block are analysed by methods that go one by one; 0 for all."""
        one_by_one = any(isinstance(method, EachReplicate) for method in self.methods.values())
        is_part = one_by_one and not whole_blocks and n_rep < self.block_size
        return n_rep if is_part else 0

    def plan(self, seed: int = 1, keep: str = "replicates", n_analysed: int = 0) -> Plan:
        """What is to be drawn, without how much of it."""
        check_seed(seed)
        derived = tuple(Derived(name, function) for name, function in self.derived.items())
        return Plan(
            name=self.name,
            seed=int(seed),
            scenarios=tuple(self.scenarios),
            axes=self.all_axes,
            block_size=self.block_size,
            common=tuple(self.common),
            may_be_missing=tuple(self.may_be_missing),
            on_failure=self.on_failure,
            methods=tuple(
                Method(name, function, self.methods_axis) for name, function in self.methods.items()
            ),
            vectors=self.vectors,
            derived=derived,
            at_drawing=self._at_drawing(derived, keep),
            keep_vectors=self.keep_vectors,
            max_failed=self.max_failed,
            reads={measure.name: tuple(measure.reads) for measure in self.measures},
            n_analysed=n_analysed,
            named=self._named(),
        )

    def _named(self) -> dict[str, tuple[str, ...]]:
        """Columns that settings name; those of several classes may have others each."""
        if len({type(scenario) for scenario in self.scenarios}) > 1:
            return {}
        return {"may_be_missing": tuple(self.may_be_missing), "worst": tuple(self.worst)}

    def _at_drawing(self, derived: Sequence[Derived], keep: str) -> tuple[str, ...]:
        """Derived columns that are made while all that they read is at hand."""
        if keep == "summary":
            return tuple(self.derived)
        needy: set[str] = set() if self.keep_vectors else set(self.vectors)
        return tuple(d.name for d in derived if needy.intersection(columns_behind(derived, d)))

    def run(
        self,
        n_rep: int | None = None,
        seed: int = 1,
        *,
        out: str | os.PathLike[str] | RemotePath | None = None,
        workers: Workers | None = None,
        keep: str = "replicates",
        shard: tuple[int, int] | None = None,
        weights: Mapping[str, float] | None = None,
        restart: bool = False,
        retry: str | None = None,
        redraw: str | Collection[str] = (),
        precision: Mapping[str, Any] | None = None,
        max_rep: int = 1_000_000,
        stop_by: str = LOOKS,
        budget: float | None = None,
        progress: Progress | None = None,
        whole_blocks: bool = True,
        explain: bool = True,
    ) -> Result:
        """Draw what is missing, and give the result.

        Parameters
        ----------
        n_rep
            Replicates in each scenario; the first so many of an endless sequence.
        seed
            Another seed is another sequence.
        out
            Folder under which the study keeps its own, or the URL of one, such as
            `s3://bucket/folder`; None keeps the blocks in a temporary folder, for as long as the
            result lives.
        keep
            `replicates`, or `summary`: only moments of whole blocks, for very long runs.
        shard
            `(i, n)`: compute only the i-th of n shares of the blocks.
        weights
            What a block costs, by scenario key, so that shares take equally long; the same for
            all of them, since it decides which blocks are whose. None takes all for equal.
        restart
            Delete what the folder holds of this study first.
        retry
            `failed`: draw the blocks with recorded failures again, and keep what comes of it.
            (Blocks that the machine made fail, by killing a worker, say, always are.)
        redraw
            Methods whose code has changed since their blocks were stored: these are drawn anew,
            and no other method's. (What the old code drew stays in the folder, as another's.)
        precision
            Monte Carlo standard errors to reach, by measure: `{"power": 0.005}`, or `"2%"` of the
            estimate. Each scenario then runs on, from `n_rep` up to `max_rep` replicates, until
            it has them: still the first so many of the same sequence.
        stop_by
            How it is known that a scenario has them. `looks`: by its own error, which stops it
            where that happens to look small, so that rates of rare outcomes come out low by
            about one hit. `pilot`: by that of a pilot of other random numbers, as long as `n_rep`
            or `PILOT_REP`, which is kept beside the blocks; this biases nothing.
        budget
            Seconds after which no more blocks are begun. The result then has as many replicates of
            each scenario as all of them have (or, where a precision decides, as each has), and
            says in `n_left` how many blocks are missing: running again goes on.
        whole_blocks
            False, where a try of fewer replicates than a block has is to be over soon: methods
            that go one by one (`each_replicate`) then analyse these and no others. They are the
            very same, but kept as something else than a run's, which has whole blocks.
        explain
            Whether the folder is to say without this code what it holds (`simstudy.load`):
            scenarios, summary, failures and a manifest. What was published there stays as it is.

        Raises
        ------
        ConfigError, StoreError
            Where a setting makes no sense, or the folder cannot be used.
        OutOfTime
            Where the budget is spent before every scenario has a block.
        """
        n_rep = self.n_rep if n_rep is None else n_rep
        check_switches(restart=restart, whole_blocks=whole_blocks, explain=explain)
        check_progress(progress)
        check_budget(budget)
        check_n_rep(n_rep)
        check_max_rep(max_rep)
        check_whole_groups(self.group_size, n_rep)
        max_rep -= max_rep % self.group_size
        check_keep(keep, n_rep, self.block_size, self.group_size)
        check_retry(retry)
        redraw = check_redraw(redraw, self.methods)
        refuse_no_workers(workers)
        check_precision(precision)
        check_stop_by(stop_by, precision)
        check_shard(shard, precision or {}, weights)
        targets = read_targets(precision or {}, self.measures)
        whole_blocks = whole_blocks or bool(precision) or keep != "replicates"
        plan = self.plan(seed, keep, self.analysed_of(n_rep, whole_blocks=whole_blocks))
        home = partial(
            Home.open, plan.drawn, out, restart=restart, redraw=redraw, at_once=shard is None
        )
        workers = (workers or Workers()).limited(self.block_seconds)
        work = self._begun(plan, home, keep, workers, progress or Silent())
        work.weights = weights
        work.check = partial(self._check_early, plan, work.home, work.keep)
        sizes: Mapping[str, int] = dict.fromkeys(plan.keys, int(n_rep))
        pilot, n_left = None, 0
        result_of = partial(self._result, plan, work.home, work.outcome, work.keep)
        with trouble_in_words(work.home.store.files), time_budget(budget) as is_spent:
            if stop_by == PILOT:
                pilot = self._pilot(n_rep, seed, out, workers, keep, progress)
                asked = sizes_by_pilot(pilot, targets, least=int(n_rep), ceiling=max_rep)
                sizes = dict(zip(plan.keys, asked, strict=True))
            try:
                if retry:
                    work.redraw_failures(plan.drawn_sizes(sizes))
                work.draw(plan.drawn_sizes(sizes), shard)
                sizes = grown_until_precise(
                    sizes,
                    () if pilot else targets,
                    result_of,
                    lambda larger: work.draw(plan.drawn_sizes(larger)),
                    ceiling=max_rep,
                )
            except OutOfTime as stop:
                there = blocks_of_each(plan, work.home.store)
                if shard is not None or not is_spent() or not min(there.values()):
                    raise
                n_left = stop.n_left
                n_each = there if targets else dict.fromkeys(there, min(there.values()))
                sizes = {key: n * self.block_size for key, n in n_each.items()}
            if shard is None:
                compact(work.home.store, n_threads=work.workers.count)
        work.close()
        n_pilot = max(pilot.n_rep.values()) if pilot else 0
        result = replace(result_of(sizes), targets=targets, n_pilot=n_pilot, n_left=n_left)
        if targets and shard is None:
            work.outcome.noticed.extend(without_spread(pilot or result, targets))
        if progress is None:
            for text in work.outcome.noticed:
                warnings.warn(text, stacklevel=2)
        if progress is None and shard is None and explain:  # a pilot's are those of the run
            for text in result.remarks:
                warnings.warn(text, stacklevel=2)
        if explain and shard is None and result.folder is not None:
            from simstudy.output.explained import explain_folder

            explain_folder(result)
        return result

    def _pilot(
        self,
        n_rep: int,
        seed: int,
        out: str | os.PathLike[str] | RemotePath | None,
        workers: Workers,
        keep: str,
        progress: Progress | None,
    ) -> Result:
        """Replicates that tell how large errors are, and are none of the run's own."""
        beside = None if out is None else place_of(out) / self.name / PILOT
        size = self._pilot_rep(n_rep)
        size += -size % self.block_size
        return self.run(
            size,
            seed_of_pilot(seed),
            out=beside,
            workers=workers,
            keep=keep,
            progress=progress,
            explain=False,
        )

    def _pilot_rep(self, n_rep: int) -> int:
        """No more than two blocks or some thousands, so that a pilot is no run."""
        enough = max(2 * self.block_size, PILOT_REP)
        return min(n_rep, enough + -enough % self.group_size)

    def _begun(
        self,
        plan: Plan,
        home: Callable[[Owner, Keep], Home],
        keep: str,
        workers: Workers,
        progress: Progress,
    ) -> Drawing:
        """A run that has its folder, and may draw."""
        self._check_data(plan)
        kept = self.kept(keep)
        ownership = ownership_of(plan, kept.measures, self.worst)
        opened = home(ownership.owner, kept)
        work = Drawing(plan.drawn, opened, kept, ownership, workers, progress)
        work.say_unfollowed()
        return work

    def _check_data(self, plan: Plan) -> None:
        """Refuse data that changed since the study was made: its scenarios are named by them."""
        parts = {
            id(part): part for own in (*plan.scenarios, *plan.methods) for part in data_parts(own)
        }
        for part in parts.values():
            part.check(anew=True)

    def kept(self, keep: str) -> Keep:
        """What is kept of blocks: `replicates`, or as `summary` the moments of the measures."""
        if keep == "summary":
            measures = self._measures_within(1)  # moments are of measures that draw nothing
            return KeepMoments(streamable(measures), self.worst)
        return KeepReplicates()

    def _check_early(self, plan: Plan, home: Home, keep: Keep, store: Store) -> bool:
        """Take the measures of a first block, where a store has one; moments are made of them."""
        there = (key for key, each in plan.drawn_keys.items() if all(map(store.n_blocks, each)))
        key = next(there, None)
        if key is None or isinstance(keep, KeepMoments):
            return key is not None
        first = plan.only([plan.keys[key]])
        size = plan.n_analysed or plan.block_size
        with closing(store):
            refuse_what_cannot_be_taken(
                self._result(first, replace(home, store=store), Outcome(), keep, {key: size})
            )
        return True

    def _result(
        self, plan: Plan, home: Home, outcome: Outcome, keep: Keep, sizes: Mapping[str, int]
    ) -> Result:
        return Result(
            plan=plan,
            store=home.store,
            n_rep=dict(sizes),
            declared=self._measures_within(plan.seed),
            figures=self.figures,
            tables=self.tables,
            readings=self.readings,
            claimed=self.claims,
            worst=self.worst,
            moments_only=isinstance(keep, KeepMoments),
            folder=home.path,
            outcome=outcome,
            keep_alive=home.temporary,
            group_size=self.group_size,
        )

    def result_of(
        self, plan: Plan, home: Home, outcome: Outcome, keep: Keep, sizes: Mapping[str, int]
    ) -> Result:
        """The result of blocks that are in a folder: what a run has, in another process, say.

        Parameters
        ----------
        plan
            As `plan` gives it, with the keep and the replicates of that run.
        sizes
            Replicates to use of each scenario, by its key.
        """
        return self._result(plan, home, outcome, keep, sizes)

    def look(
        self,
        n_rep: int | None = None,
        seed: int = 1,
        *,
        out: str | os.PathLike[str] | RemotePath,
        keep: str = "replicates",
        whole_blocks: bool = True,
    ) -> Result:
        """The result of the blocks that are there, of a run that may still be going on.

        Blocks are drawn breadth first, so this is the whole study with fewer replicates. A
        scenario without any block is left out.

        Parameters
        ----------
        keep
            What that run keeps of its blocks.

        Raises
        ------
        StoreError
            Where there is none.
        """
        most = self.n_rep if n_rep is None else n_rep
        check_n_rep(most)
        check_whole_groups(self.group_size, most)
        check_keep(keep, most, self.block_size, self.group_size)
        whole_blocks = whole_blocks or keep != "replicates"
        n_analysed = self.analysed_of(most, whole_blocks=whole_blocks)
        plan, kept = self.plan(seed, keep, n_analysed), self.kept(keep)
        folder = place_of(out) / self.name
        if not (folder / kept.folder).exists():
            raise nothing_to_look_at(folder, keep)
        owner = ownership_of(plan, kept.measures, self.worst).owner
        home = Home.open(plan.drawn, out, owner, kept)
        blocks = blocks_of_each(plan, home.store)
        there = {key: min(n * self.block_size, most) for key, n in blocks.items()}
        begun = plan.only(scenario for key, scenario in plan.keys.items() if there[key])
        if not begun.scenarios:
            raise nothing_to_look_at(folder, keep)
        sizes = {key: there[key] for key in begun.keys}
        known = list(remembered(folder / kept.folder, owner).values())
        result = self._result(begun, home, Outcome(noticed=known), kept, sizes)
        return replace(result, design=tuple(plan.drawn.keys))

    def forecast(
        self,
        precision: Mapping[str, Any],
        n_rep: int | None = None,
        seed: int = 1,
        *,
        stop_by: str = LOOKS,
    ) -> pd.DataFrame:
        """What a precision will cost, scenario by scenario, from a pilot that is not kept.

        Parameters
        ----------
        n_rep
            Of the pilot, in each scenario; no more than two blocks or some thousands are drawn,
            since a pilot as long as the run would say what it costs after it has cost it.
        stop_by
            What will end a scenario, as for `run`; the cost of its own pilot is not in it.

        Returns
        -------
        DataFrame
            `n_rep` in whole blocks, how many of them are `needed`, `seconds` on one core, and
            `bytes` of each scenario.
        """
        check_precision(precision)
        targets = read_targets(precision, self.measures)
        size = self._pilot_rep(n_rep or 2 * self.block_size)
        pilot = self.run(size, seed, workers=Workers("inline", 1), explain=False)
        return forecast(pilot, targets, stop_by)

    def protocol(
        self,
        n_rep: int | None = None,
        seed: int = 1,
        *,
        precision: Mapping[str, Any] | None = None,
        pilot: int | None = None,
        out: str | os.PathLike[str] | RemotePath | None = None,
        about: str | None = None,
        command: str = "",
        source: str | None = None,
        workers: Workers | None = None,
        replace: bool = False,
    ) -> Protocol:
        """The study as a preregistration after ADEMP-PreReg, before anything of it is drawn.

        Prints as Markdown. What the study knows of itself is filled in; what only a person knows
        are places that begin with `[to fill in`.

        Parameters
        ----------
        n_rep
            Replicates in each scenario; None takes as many as `precision` needs or, without one,
            the study's own number.
        precision
            Monte Carlo standard errors to reach, by measure, as for `run`. How many replicates they
            take follows from theory for shares (their worst case, or what `exact()` of the
            scenarios says), and from a pilot for anything else.
        pilot
            Replicates of each scenario in a pilot: of other random numbers than the study's, and
            not kept. It also tells which Monte Carlo errors are to be expected.
        out
            Folder under which the study will keep its own: `protocol.md` and `protocol.json` are
            written there, and the report of the results says what was done otherwise. None writes
            nothing.
        about
            The text with the five headings; None takes the docstring of the module in which the
            scenarios are, if it has any of them.
        command
            What draws the study, with `{n_rep}` for the replicates; empty for what Python says.
        source
            The study's file, whose commit is named.
        replace
            Whether the protocol of another plan may be replaced; it is kept under its hash.

        Raises
        ------
        ConfigError
            For a precision of which nobody knows how many replicates it takes.
        StoreError
            Where `out` holds the protocol of another plan.
        """
        from simstudy.identity.source_files import source_files
        from simstudy.output.environment import environment, program
        from simstudy.output.protocol.intent import Intent
        from simstudy.output.protocol.made import protocol_of
        from simstudy.output.protocol.replicates import refuse_unknown

        if n_rep is not None:
            check_n_rep(n_rep)
        check_precision(precision)
        targets, plan = read_targets(precision or {}, self.measures), self.plan(seed)
        piloted = None if pilot is None else self._pilot_of_protocol(pilot, seed, workers)
        intent = Intent(
            plan=plan,
            measures=self._measures_within(plan.seed),
            n_rep=n_rep,
            usual_n_rep=self.n_rep,
            targets=targets,
            pilot=piloted,
            about=docstring_behind(self.scenarios) if about is None else about,
            command=command,
            worst=self.worst,
            claims=self.claims,
            block_seconds=self.block_seconds,
        )
        if n_rep is None:
            refuse_unknown(intent.needs, piloted=pilot is not None)
        folder = None if out is None else place_of(out) / self.name
        n_drawn = 0 if folder is None else self._n_drawn(plan, folder)
        libraries = ownership_of(plan).owner.libraries
        files = source_files(source) if source else None
        made_with = environment(files, libraries) if files else program(libraries)
        made = protocol_of(intent, n_drawn=n_drawn, made_with=made_with)
        return made if folder is None else made.write(folder, replace=replace)

    def _pilot_of_protocol(self, n_rep: int, seed: int, workers: Workers | None) -> Result:
        """Some replicates of other random numbers than those of this seed, in no folder."""
        check_pilot(n_rep)
        return self.run(n_rep, seed_of_pilot(seed), workers=workers, whole_blocks=False)

    def _n_drawn(self, plan: Plan, folder: Place) -> int:
        """Blocks of this study that lie in its folder, whatever is kept of them."""
        n_blocks = 0
        for keep, below in FOLDERS.items():
            if (folder / below).exists():
                kept = self.kept(keep)
                owner = ownership_of(plan, kept.measures, self.worst).owner
                files = files_at(folder / kept.folder, at_once=False)
                store = Store(files, kept.rows_per_block(plan.drawn), owner)
                n_blocks += sum(store.n_blocks(key) for key in plan.drawn.keys)
        return n_blocks

    def solve(self, scenario: Scenario | ScenarioOf, factor: str, **question: Any) -> Solution:
        """The value of a factor at which a measure reaches a target, by simulation alone.

        For example `study.solve(trial, "n2", measure="power", target=0.8, low=50, high=1000)`;
        `simstudy.analysis.solve.solve` says what else may be asked.
        """
        from simstudy.analysis.solve import solve

        return solve(self, scenario, factor, **question)

    def replay(self, address: Address | str, seed: int = 1) -> dict[str, Any]:
        """One replicate drawn again with its whole block; an error in it is raised, not recorded.

        Parameters
        ----------
        address
            As tables of failures have it, or made of such a text.

        Returns
        -------
        dict
            The replicate's columns: a value, or an array over the axes.
        """
        return replicate_at(self.plan(seed), Address.parse(str(address)))


def docstring_behind(scenarios: Sequence[Scenario]) -> str:
    """The docstring of the module of some scenarios, if it has one of the five headings."""
    from simstudy.output.headings import headings_of

    text = getattr(sys.modules.get(type(scenarios[0]).__module__), "__doc__", None) or ""
    return text if headings_of(text).parts else ""


def blocks_of_each(plan: Plan, store: Store) -> dict[str, int]:
    """By scenario key, the blocks from the first on that all methods have."""
    return {
        key: min(store.n_blocks(drawn) for drawn in of_each_method)
        for key, of_each_method in plan.drawn_keys.items()
    }
