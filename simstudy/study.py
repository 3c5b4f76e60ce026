"""A study: what an experiment declares, and how it is run."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simstudy.analysis.precision import forecast, grown_until_precise
from simstudy.analysis.result import Figure, Result
from simstudy.analysis.targets import read_targets
from simstudy.claims import Claim
from simstudy.data.parts import data_parts
from simstudy.design import Scenario, refuse_twins
from simstudy.engine.block import Address, replicate_at
from simstudy.engine.declarations import (
    check_axes,
    check_derived,
    check_drawing,
    check_measures,
    check_methods,
    check_policy,
    check_study_name,
    check_vectors,
    factor_names_of,
)
from simstudy.engine.derived import columns_behind
from simstudy.engine.drawing import Drawing
from simstudy.engine.outcome import Outcome
from simstudy.engine.ownership import ownership_of
from simstudy.engine.progress import Progress, Silent
from simstudy.engine.refusals import (
    check_keep,
    check_n_rep,
    check_redraw,
    check_retry,
    check_seed,
    check_shard,
)
from simstudy.engine.workers import Workers
from simstudy.errors import StoreError, StudyError
from simstudy.lazy.pandas import pd
from simstudy.measures import Measure
from simstudy.plan import Derived, Method, Plan
from simstudy.store.compaction import compact
from simstudy.store.disk import trouble_in_words
from simstudy.store.home import Home
from simstudy.store.layout import Keep, KeepReplicates
from simstudy.store.moments import KeepMoments, streamable
from simstudy.store.owner import Owner

if TYPE_CHECKING:
    from simstudy.analysis.solve import ScenarioOf, Solution


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

    def __post_init__(self) -> None:
        check_methods(self.methods, self.methods_axis, self.axes)
        check_study_name(self.name)
        check_axes(self.all_axes, factor_names_of(self.scenarios))
        if self.block_size < 1:
            raise StudyError(f"block_size={self.block_size}: a block holds at least 1 replicate.")
        check_n_rep(self.n_rep)
        check_policy(self.on_failure, self.worst)
        if not self.scenarios:
            raise StudyError(f"study {self.name!r} has no scenarios: there is nothing to simulate.")
        refuse_twins(self.scenarios)
        check_drawing(self.scenarios, self.methods)
        check_vectors(self.vectors, self.scenarios)
        taken = {*self.vectors, *self.all_axes, *factor_names_of(self.scenarios)}
        check_derived(self.derived, taken)
        check_measures(self.measures, self.vectors)

    @property
    def all_axes(self) -> dict[str, tuple[str, ...]]:
        """The axes of a result's columns: that of the methods first."""
        own = {self.methods_axis: tuple(self.methods)} if self.methods else {}
        return own | {axis: tuple(labels) for axis, labels in self.axes.items()}

    def plan(self, seed: int = 1, keep: str = "replicates") -> Plan:
        """What is to be drawn, without how much of it."""
        check_seed(seed)
        derived = tuple(Derived(name, function) for name, function in self.derived.items())
        return Plan(
            name=self.name,
            seed=int(seed),
            scenarios=tuple(self.scenarios),
            axes=self.all_axes,
            block_size=self.block_size,
            common=self.common,
            may_be_missing=self.may_be_missing,
            on_failure=self.on_failure,
            methods=tuple(
                Method(name, function, self.methods_axis) for name, function in self.methods.items()
            ),
            vectors=self.vectors,
            derived=derived,
            at_drawing=self._at_drawing(derived, keep),
            keep_vectors=self.keep_vectors,
        )

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
        out: str | os.PathLike[str] | None = None,
        workers: Workers | None = None,
        keep: str = "replicates",
        shard: tuple[int, int] | None = None,
        restart: bool = False,
        retry: str | None = None,
        redraw: str | Collection[str] = (),
        precision: Mapping[str, Any] | None = None,
        max_rep: int = 1_000_000,
        progress: Progress | None = None,
    ) -> Result:
        """Draw what is missing, and give the result.

        Parameters
        ----------
        n_rep
            Replicates in each scenario; the first so many of an endless sequence.
        seed
            Another seed is another sequence.
        out
            Folder under which the study keeps its own; None keeps the blocks in a temporary
            folder, for as long as the result lives.
        keep
            `replicates`, or `summary`: only moments of whole blocks, for very long runs.
        shard
            `(i, n)`: compute only the i-th of n shares of the blocks.
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

        Raises
        ------
        ConfigError, StoreError
            Where a setting makes no sense, or the folder cannot be used.
        """
        n_rep = self.n_rep if n_rep is None else n_rep
        check_n_rep(n_rep)
        check_keep(keep, n_rep, self.block_size)
        check_retry(retry)
        redraw = check_redraw(redraw, self.methods)
        check_shard(shard, precision or {})
        targets = read_targets(precision or {}, self.measures)
        plan = self.plan(seed, keep)
        home = partial(Home.open, plan.drawn, out, restart=restart, redraw=redraw)
        work = self._begun(plan, home, keep, workers or Workers(), progress or Silent())
        sizes: Mapping[str, int] = dict.fromkeys(plan.keys, int(n_rep))
        result_of = partial(self._result, plan, work.home, work.outcome, work.keep)
        with trouble_in_words(work.home.store.files):
            if retry:
                work.redraw_failures(plan.drawn_sizes(sizes))
            work.draw(plan.drawn_sizes(sizes), shard)
            sizes = grown_until_precise(
                sizes,
                targets,
                result_of,
                lambda larger: work.draw(plan.drawn_sizes(larger)),
                ceiling=max_rep,
            )
            if shard is None:
                compact(work.home.store)
        return replace(result_of(sizes), targets=targets)

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
            return KeepMoments(streamable(self.measures), self.worst)
        return KeepReplicates()

    def _result(
        self, plan: Plan, home: Home, outcome: Outcome, keep: Keep, sizes: Mapping[str, int]
    ) -> Result:
        return Result(
            plan=plan,
            store=home.store,
            n_rep=dict(sizes),
            declared=self.measures,
            figures=self.figures,
            claimed=self.claims,
            worst=self.worst,
            moments_only=isinstance(keep, KeepMoments),
            folder=home.path,
            outcome=outcome,
            keep_alive=home.temporary,
        )

    def look(
        self, n_rep: int | None = None, seed: int = 1, *, out: str | os.PathLike[str]
    ) -> Result:
        """The result of the blocks that are there, of a run that may still be going on.

        Blocks are drawn breadth first, so this is the whole study with fewer replicates. A
        scenario without any block is left out.
        """
        plan = self.plan(seed)
        most = self.n_rep if n_rep is None else n_rep
        check_n_rep(most)
        if not (Path(out) / plan.name).exists():
            raise StoreError(
                f"{Path(out) / plan.name} holds no block of this study yet: nothing to look at."
            )
        keep = KeepReplicates()
        home = Home.open(plan.drawn, out, ownership_of(plan).owner, keep)
        blocks = {
            key: min(home.store.n_blocks(drawn) for drawn in of_each_method)
            for key, of_each_method in plan.drawn_keys.items()
        }
        there = {key: min(n * self.block_size, most) for key, n in blocks.items()}
        begun = plan.only(scenario for key, scenario in plan.keys.items() if there[key])
        if not begun.scenarios:
            raise StoreError(
                f"{home.path} holds no block of this study yet, with its replicates: nothing to "
                "look at."
            )
        sizes = {key: there[key] for key in begun.keys}
        result = self._result(begun, home, Outcome(), keep, sizes)
        return replace(result, design=tuple(plan.drawn.keys))

    def forecast(
        self, precision: Mapping[str, Any], n_rep: int | None = None, seed: int = 1
    ) -> pd.DataFrame:
        """What a precision will cost, scenario by scenario, from a pilot that is not kept.

        Returns
        -------
        DataFrame
            `n_rep`, `seconds` on one core, and `bytes` of each scenario.
        """
        targets = read_targets(precision, self.measures)
        pilot = self.run(n_rep or 2 * self.block_size, seed, workers=Workers("inline", 1))
        return forecast(pilot, targets)

    def solve(self, scenario: Scenario | ScenarioOf, factor: str, **question: Any) -> Solution:
        """The value of a factor at which a measure reaches a target, by simulation alone.

        For example `study.solve(trial, "n2", measure="power", target=0.8, low=50, high=1000)`;
        `simstudy.analysis.solve.solve` says what else may be asked.
        """
        from simstudy.analysis.solve import solve

        return solve(self, scenario, factor, **question)

    def replay(self, address: Address, seed: int = 1) -> dict[str, Any]:
        """One replicate drawn again with its whole block; an error in it is raised, not recorded.

        Returns
        -------
        dict
            The replicate's columns: a value, or an array over the axes.
        """
        return replicate_at(self.plan(seed), address)
