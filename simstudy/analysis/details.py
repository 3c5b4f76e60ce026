"""Details of a result: its store, its declarations, and how it was run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from simstudy.design.plan import Plan
from simstudy.engine.run_monitor import RunStats
from simstudy.errors import StudyError, nearest
from simstudy.store.arrow_schema import CONVERGED
from simstudy.store.files import REPLICATES
from simstudy.store.runs import study_folder

if TYPE_CHECKING:
    from simstudy.analysis.estimates import Estimator, Prepare
    from simstudy.analysis.precision import Target
    from simstudy.analysis.replicates import Replicates
    from simstudy.analysis.result import Result
    from simstudy.claims import Claim
    from simstudy.measures import Estimates, Measure
    from simstudy.remote.paths import Place
    from simstudy.store.blocks import Store
    from simstudy.store.provenance import Provenance
    from simstudy.store.run_records import BlockTimings, RunRecord, Times
    from simstudy.tables.table import Table

Figure = Callable[["Result"], Any]
MakesTable = Callable[["Result"], "Table"]


@dataclass
class Details:
    """The parts of a result; readers use `Result`.

    Parameters
    ----------
    replicates
        The replicates, with their plan.
    declared
        The study's measures.
    n_left
        Number of blocks that were not drawn when the time budget was spent.
    n_pilot
        Replicates of each scenario in the pilot that fixed how many there are.
    design
        Keys of all scenarios of the study, where some are left out.
    given
        Command or call that repeats a result of other software; empty for a study that was drawn.
    answer
        The study's function that answers its question.
    group_size
        Number of consecutive replicates that may depend on each other.
    """

    replicates: Replicates
    declared: Sequence[Measure]
    figures: Mapping[str, Figure] = field(default_factory=dict)
    claimed: Sequence[Claim] = ()
    worst: Mapping[str, float] = field(default_factory=dict)
    level: float = 0.95
    folder: Place | None = None
    outcome: RunStats = field(default_factory=RunStats)
    targets: Sequence[Target] = ()
    n_left: int = 0
    n_pilot: int = 0
    design: tuple[str, ...] = ()
    keep_alive: object = field(default=None, repr=False)
    tables: Mapping[str, MakesTable] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    given: str = ""
    group_size: int = 1
    answer: Callable[[Result], str | Sequence[str]] | None = None

    @property
    def plan(self) -> Plan:
        """The plan of what was drawn."""
        return self.replicates.plan

    @property
    def n_rep(self) -> Mapping[str, int]:
        """The number of replicates used of each scenario, by its key."""
        return self.replicates.n_rep

    # ---------------------------------------------------------------- measures
    @cached_property
    def measures(self) -> Sequence[Measure]:
        """The study's measures, and the convergence rate if any replicate failed."""
        from simstudy.measures import convergence_rate

        names = {measure.name for measure in self.declared}
        if not self.replicates.any_failed or "convergence_rate" in names:
            return self.declared
        return [*self.declared, convergence_rate(CONVERGED).of_groups(self.group_size)]

    def measure(self, name: str | Measure) -> Measure:
        """The measure with this name; a measure for the axes and the seed of the study."""
        from simstudy.measures import Measure, MeasureContext

        if isinstance(name, Measure):
            plan = self.plan
            return name.bind(MeasureContext(plan.axes, plan.name, plan.seed, self.group_size))
        known = {measure.name: measure for measure in self.measures}
        if not self.declared:
            raise StudyError(
                f"contrast({name!r}): a loaded result knows no measures by name. Give one, such as "
                'simstudy.measures.bias("estimate", truth=0.0).'
            )
        if name not in known:
            raise StudyError(f"{self.plan.name} has no measure {name!r}; {nearest(name, known)}")
        return known[name]

    def estimates(self, measures: Sequence[Measure]) -> dict[tuple[str, str], Estimates]:
        """Estimates of some measures, by scenario key and measure name."""
        estimator = self.estimator(measures)
        return {
            (key, measure.name): estimator(scenario, measure)
            for key, scenario in self.plan.keys.items()
            for measure in measures
        }

    def estimator(self, measures: Sequence[Measure], prepare: Prepare | None = None) -> Estimator:
        """The estimator for some measures."""
        from simstudy.analysis.estimates import Estimator
        from simstudy.store.columns import imputed

        if prepare is None and self.worst:
            prepare = functools.partial(imputed, worst=self.worst)
        return Estimator(self.replicates, measures, prepare, self.level)

    # ---------------------------------------------------------------- where replicates come from
    @property
    def store(self) -> Store:
        """The store of the replicates."""
        if self.replicates.store is None:
            raise StudyError("these replicates are in memory: there is no store of blocks.")
        return self.replicates.store

    @property
    def provenance(self) -> Provenance:
        """The provenance of the replicates."""
        return self.replicates.provenance

    @property
    def drawn_sizes(self) -> dict[str, int]:
        """The number of replicates used, by the key of the work unit."""
        return self.plan.drawn_sizes(self.n_rep)

    # ---------------------------------------------------------------- seconds
    @property
    def seconds_by_method(self) -> dict[str, float]:
        """Seconds per replicate of each method that this run drew, without its data."""
        from simstudy.analysis.stored_replicates import seconds_by_method

        return seconds_by_method(self.plan, self.outcome.seconds_per_block)

    @cached_property
    def spent(self) -> Mapping[str, BlockTimings]:
        """Timings of blocks, by the key of the work unit."""
        return self.outcome.spent if self._record is None else self._record.spent

    @property
    def times(self) -> Times | None:
        """When the blocks were drawn, over all runs; None if unknown."""
        return None if self._record is None else self._record.times

    @property
    def _record(self) -> RunRecord | None:
        from simstudy.store.run_records import read_records

        if self.folder is None or self.replicates.store is None:
            return None
        return read_records(study_folder(self.folder) / REPLICATES, self.provenance)
