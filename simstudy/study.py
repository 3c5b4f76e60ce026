"""A study: what an experiment declares, and how it is run."""

from __future__ import annotations

import math
import numbers
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simstudy.analysis.precision import forecast, next_sizes, read_targets, shortfalls
from simstudy.analysis.result import Result
from simstudy.analysis.summary import KeepMoments, streamable
from simstudy.claims import Claim
from simstudy.data.parts import data_parts
from simstudy.design import Plan, factors_of, refuse_twins
from simstudy.engine.block import Address, simulate_columns
from simstudy.engine.failures import raising
from simstudy.engine.ownership import Ownership, learn_from_run, ownership_of
from simstudy.engine.runner import (
    Job,
    Keep,
    Outcome,
    Progress,
    Silent,
    Workers,
    failed_jobs,
    in_shard,
    missing_jobs,
    run_jobs,
)
from simstudy.engine.threads import drawn_with_one_thread, one_thread_each
from simstudy.errors import ConfigError, StoreError, StudyError
from simstudy.lazy.pandas import pd
from simstudy.measures import Measure
from simstudy.store.blocks import Store
from simstudy.store.files import trouble_in_words
from simstudy.store.guard import MOMENTS, ROWS, refuse_foreign, refuse_other_blocks, start_over
from simstudy.store.layout import rows_of
from simstudy.store.manifest import mark_outdated

if TYPE_CHECKING:
    from simstudy.analysis.solve import Solution

ROUNDS = 5  # of drawing what another run deleted meanwhile
KEEPS = ("replicates", "summary")
ON_FAILURE = ("record", "abort", "impute_worst")


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
    axes
        Axes of the columns after the replicate, each with the names of its positions, such as
        `{"method": ("studentized", "vanilla")}`.
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
    """

    name: str
    scenarios: Sequence[Any]
    measures: Sequence[Measure] = ()
    axes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    block_size: int = 1000
    n_rep: int = 1000
    figures: Mapping[str, Callable[[Result], Any]] = field(default_factory=dict)
    claims: Sequence[Claim] = ()
    common: tuple[str, ...] = ()
    may_be_missing: tuple[str, ...] = ()
    on_failure: str = "record"
    worst: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._refuse_bad_names()
        if self.block_size < 1:
            raise StudyError(f"block_size={self.block_size}: a block holds at least 1 replicate.")
        if self.on_failure not in ON_FAILURE:
            raise StudyError(f"on_failure={self.on_failure!r}: say {' or '.join(ON_FAILURE)}.")
        if bool(self.worst) != (self.on_failure == "impute_worst"):
            raise StudyError(
                f"on_failure={self.on_failure!r} with worst={dict(self.worst)}: 'impute_worst' "
                "needs the worst value of each column that measures read, and nothing else does."
            )
        if not self.scenarios:
            raise StudyError(f"study {self.name!r} has no scenarios: there is nothing to simulate.")
        refuse_twins(self.scenarios)

    def _refuse_bad_names(self) -> None:
        if not self.name or not all(c.isalnum() or c in "-_" for c in self.name):
            raise StudyError(
                f"study name {self.name!r} names a folder: use letters, digits, '-' and '_'."
            )
        factors = {name for one in self.scenarios for name in factors_of(one)}
        both = sorted(factors & set(self.axes))
        if both:
            raise StudyError(
                f"{both[0]!r} is a factor of the scenarios and an axis, and the summary has one "
                "column for it: rename one of the two."
            )
        labels = [label for axis in self.axes.values() for label in axis]
        if any(set(label) & set("[],") for label in labels):
            raise StudyError(f"axis labels {labels} name columns: leave out brackets and commas.")
        names = [measure.name for measure in self.measures]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise StudyError(f"two measures are named {twice[0]!r}: give one of them name=...")

    def plan(self, seed: int = 1) -> Plan:
        """What is to be drawn, without how much of it."""
        axes = {axis: tuple(labels) for axis, labels in self.axes.items()}
        check_seed(seed)
        return Plan(
            self.name, int(seed), tuple(self.scenarios), axes, self.block_size,
            self.common, self.may_be_missing, self.on_failure,
        )  # fmt: skip

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
        precision
            Monte Carlo standard errors to reach, by measure: `{"power": 0.005}`, or `"2%"` of the
            estimate. Each scenario then runs on, from `n_rep` up to `max_rep` replicates, until
            it has them: still the first so many of the same sequence.

        Raises
        ------
        ConfigError, StoreError
            Where a setting makes no sense, or the folder cannot be used.
        """
        plan = self.plan(seed)
        sizes = self._sizes(plan, self.n_rep if n_rep is None else n_rep, keep)
        targets = read_targets(precision or {}, self.measures)
        check_retry(retry)
        if targets and shard:
            raise ConfigError(
                "shard with precision: a shard cannot know when the whole study is precise enough. "
                "Run the shards with a fixed n_rep, then precision=... without shard."
            )
        self._check_data()
        ownership = ownership_of(plan, self._streamed(keep), self.worst)
        home = Folder.open(plan, out, ownership, keep=keep, restart=restart)
        work = _Work(self, plan, home, keep, workers or Workers(), progress or Silent())
        work.say_unfollowed()
        with trouble_in_words(home.store.folder):
            if retry:
                work.redraw_failures(sizes)
            work.draw(sizes, shard)
            while targets:
                short = shortfalls(work.result(sizes), targets)
                larger = next_sizes(sizes, short, block_size=self.block_size, ceiling=max_rep)
                if larger == sizes:
                    break
                sizes = larger
                work.draw(sizes)
            if shard is None:
                home.store.compact()
        return replace(work.result(sizes), targets=targets)

    def _check_data(self) -> None:
        """Refuse data that changed since the study was made: its scenarios are named by them."""
        for part in {id(part): part for one in self.scenarios for part in data_parts(one)}.values():
            part.check(anew=True)

    def _streamed(self, keep: str) -> Sequence[Measure]:
        """The measures whose moments are kept, if that is all that is kept."""
        return streamable(self.measures) if keep == "summary" else ()

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
        home = Folder.open(plan, out, ownership_of(plan), keep="replicates", restart=False)
        there = {key: min(home.store.n_blocks(key) * self.block_size, most) for key in plan.keys}
        begun = plan.only(one for key, one in plan.keys.items() if there[key])
        if not begun.scenarios:
            raise StoreError(
                f"{home.path} holds no block of this study yet, with its replicates: nothing to "
                "look at."
            )
        sizes = {key: there[key] for key in begun.keys}
        result = _Work(self, begun, home, "replicates", Workers(), Silent()).result(sizes)
        return replace(result, design=tuple(plan.keys))

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

    def _sizes(self, plan: Plan, n_rep: int, keep: str) -> dict[str, int]:
        check_n_rep(n_rep)
        if keep not in KEEPS:
            raise ConfigError(f"keep={keep!r}: there is {', '.join(KEEPS)}.")
        if keep == "summary" and n_rep % self.block_size:
            whole = plan.n_blocks(n_rep) * self.block_size
            raise ConfigError(
                f"n_rep={n_rep} with keep=summary: only whole blocks of {self.block_size} "
                f"replicates are kept; nearest that works: n_rep={whole}"
            )
        return dict.fromkeys(plan.keys, int(n_rep))

    def solve(self, scenario: Any, factor: str, **question: Any) -> Solution:
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
        plan = self.plan(seed)
        if address.key not in plan.keys:
            raise ConfigError(
                f"replay={address}: study {self.name!r} has no scenario {address.key} with these "
                "settings. Give the settings of the run that reported the address."
            )
        block, row = divmod(address.rep, plan.block_size)
        draw = partial(simulate_columns, plan, plan.keys[address.key], block)
        with raising(row), one_thread_each():
            columns = drawn_with_one_thread(draw)
        return {name: one[row] if one.ndim else one[()] for name, one in columns.items()}


@dataclass
class _Work:
    """A run under way."""

    study: Study
    plan: Plan
    home: Folder
    keep: str
    workers: Workers
    progress: Progress
    outcome: Outcome = field(default_factory=Outcome)

    def draw(self, sizes: Mapping[str, int], shard: tuple[int, int] | None = None) -> None:
        """Compute what is missing of these sizes, or a shard's share of it."""
        jobs = self._missing(sizes, shard, tentative=True)
        never = {(job.key, job.block) for job in jobs}
        every = self._missing(sizes, shard, tentative=False)
        careful = [job for job in every if (job.key, job.block) not in never]
        for _ in range(ROUNDS):
            if not (jobs or careful):
                return
            self._run(jobs, careful=careful)
            jobs = self._missing(sizes, shard, tentative=True)  # another run may have started over
            careful = []
        raise StoreError(
            f"the blocks of {self.home.store.folder} vanish as they are written: another run keeps "
            "starting over there. Run this again when it has ended, or choose another out=..."
        )

    def _missing(
        self, sizes: Mapping[str, int], shard: tuple[int, int] | None, *, tentative: bool
    ) -> list[Job]:
        blocks = {key: self.plan.n_blocks(n) for key, n in sizes.items()}
        jobs = missing_jobs(self.plan, blocks, self.home.store, tentative=tentative)
        return in_shard(self.plan, jobs, shard) if shard else jobs

    def _run(self, jobs: Sequence[Job], *, rank: int = 0, careful: Sequence[Job] = ()) -> None:
        self.outcome += run_jobs(
            self.plan, jobs, self.home.store,
            keep=self._keeper(), workers=self.workers, progress=self.progress,
            ownership=self.home.ownership, rank=rank, careful=careful,
        )  # fmt: skip
        self.home.store.scan()
        if self.workers.backend != "loky":
            learn_from_run(self.plan, self.home.ownership, self.study._streamed(self.keep))

    def redraw_failures(self, sizes: Mapping[str, int]) -> None:
        """Draw the blocks that hold failures again; what comes outranks what is stored."""
        blocks = {key: self.plan.n_blocks(n) for key, n in sizes.items()}
        jobs = failed_jobs(self.plan, blocks, self.home.store)
        if jobs:
            if self.home.path is not None:
                mark_outdated(self.home.path)
            self._run(jobs, rank=self.home.store.highest_rank + 1)

    def say_unfollowed(self) -> None:
        """Name once what nobody can tell the content of."""
        for name, what in self.home.ownership.unfollowed.items():
            self.progress.note(
                f"{name} ({what}) has neither source nor content that could be compared, so it "
                "counts as changed: what is drawn now will not be found again by a later run"
            )

    def _keeper(self) -> Keep:
        if self.keep == "summary":
            return KeepMoments(streamable(self.study.measures), self.study.worst)
        return rows_of

    def result(self, sizes: Mapping[str, int]) -> Result:
        study = self.study
        return Result(
            plan=self.plan,
            store=self.home.store,
            n_rep=dict(sizes),
            declared=study.measures,
            figures=study.figures,
            claimed=study.claims,
            worst=study.worst,
            moments_only=self.keep == "summary",
            folder=self.home.path,
            outcome=self.outcome,
            keep_alive=self.home.temporary,
        )


@dataclass
class Folder:
    """A study's own folder, claimed and checked."""

    path: Path | None
    store: Store
    ownership: Ownership
    temporary: Any = None

    @classmethod
    def open(
        cls,
        plan: Plan,
        out: str | os.PathLike[str] | None,
        ownership: Ownership,
        *,
        keep: str,
        restart: bool,
    ) -> Folder:
        kind, rows = (MOMENTS, 1) if keep == "summary" else (ROWS, plan.block_size)
        owner = ownership.owner
        if out is None:
            temporary = tempfile.TemporaryDirectory(prefix="simstudy-")
            store = Store(Path(temporary.name) / kind, rows, owner)
            return cls(None, store, ownership, temporary)
        path = Path(out) / plan.name
        refuse_foreign(plan.name, path)
        if restart:
            start_over(plan.name, path)
        try:
            store = Store(path / kind, rows, owner)
        except OSError as error:
            raise StoreError(
                f"cannot write results to {path}: {error.strerror}. Choose another out=..."
            ) from None
        refuse_other_blocks(plan, store)
        return cls(path, store, ownership)


def check_retry(retry: Any) -> None:
    """Refuse anything but `failed` and None."""
    if retry not in (None, "failed"):
        raise ConfigError(
            f"retry={retry}: allowed is failed, which draws blocks with recorded failures again; "
            "nearest that works: retry=failed"
        )


def check_n_rep(n_rep: Any) -> None:
    """Refuse anything but a whole number of at least 1."""
    if not _is_whole(n_rep) or n_rep < 1:
        number = isinstance(n_rep, int | float) and math.isfinite(n_rep)
        near = max(1, round(n_rep)) if number else 1000
        raise ConfigError(
            f"n_rep={n_rep}: allowed is a whole number at least 1; nearest that works: n_rep={near}"
        )


def check_seed(seed: Any) -> None:
    """Refuse anything but a whole number of at least 0."""
    if not _is_whole(seed) or seed < 0:
        raise ConfigError(
            f"seed={seed}: allowed is a whole number at least 0, which names a sequence of random "
            "numbers; nearest that works: seed=1"
        )


def _is_whole(value: Any) -> bool:
    """Python's whole numbers and NumPy's, but not the truth values."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
