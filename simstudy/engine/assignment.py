"""What all tasks of a run have in common, and tasks made of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from simstudy.design.plan import Analysed, Plan, scenario_behind
from simstudy.engine.jobs import Job
from simstudy.engine.methods import Returned, column_over
from simstudy.engine.ownership import Ownership, digest_of
from simstudy.engine.tasks import Lasting, Task
from simstudy.store.blocks import Store
from simstudy.store.columns import has_axes, holds_text
from simstudy.store.layout import CELL_ERROR, ERROR, REP, SCENARIO, Keep, KeepReplicates


@dataclass(frozen=True)
class Assignment:
    """What all tasks of a run have in common.

    Parameters
    ----------
    ownership
        What workers are held to: their code must be this process's. None holds them to nothing.
    rank
        Above that of stored blocks which these replace.
    block_seconds
        How long drawing a block may take; None is as long as it takes.
    """

    plan: Plan
    store: Store
    keep: Keep
    ownership: Ownership | None = None
    rank: int = 0
    block_seconds: float | None = None

    def task(self, jobs: Sequence[Job], lasting: Lasting | None = None) -> Task:
        """Some of the run's blocks, with what the scenarios of these need."""
        again = [job for job, _ in lasting.again] if lasting else []
        scenarios = {job.key: job.scenario for job in (*jobs, *again)}
        return Task(
            plan=self.plan.only(scenarios.values()),
            jobs=tuple(jobs),
            keep=self.keep,
            files=self.store.files,
            owner=self.store.owner.only(scenarios),
            rank=self.rank,
            witnesses=self.ownership.witnesses if self.ownership else (),
            expected=self.expected,
            beside=tuple(self._stored_beside(jobs)),
            block_seconds=self.block_seconds,
            lasting=lasting,
        )

    def _stored_beside(self, jobs: Sequence[Job]) -> Iterator[tuple[str, Returned]]:
        """By scenario key, a stored method that is not drawn with these jobs, and its columns."""
        if not isinstance(self.keep, KeepReplicates):
            return  # moments say nothing of columns
        drawn = {job.key for job in jobs}
        for scenario in {
            id(s): s for s in (scenario_behind(job.scenario) for job in jobs)
        }.values():
            beside = (
                named for named in self._methods.get(id(scenario), ()) if named[1] not in drawn
            )
            stored = ((name, self._columns_of(key)) for name, key in beside)
            found = next((returned for returned in stored if returned[1]), None)
            if found:
                yield self.plan.key_of(scenario), found

    def _columns_of(self, key: str) -> tuple[str, ...]:
        """The columns that are stored of a method, as it returned them."""
        schema = self.store.schema_of(key)
        return tuple(
            column_over(
                self.plan,
                ERROR if column.name == CELL_ERROR else column.name,
                wide=has_axes(self.plan, column),
                is_text=holds_text(column),
            )
            for column in schema
            if column.name not in (SCENARIO, REP)
        )

    @cached_property
    def _methods(self) -> dict[int, list[tuple[str, str]]]:
        """By place in memory of a scenario, names and keys of the methods that analyse it."""
        found: dict[int, list[tuple[str, str]]] = {}
        for key, drawn in self.plan.keys.items():
            if isinstance(drawn, Analysed):
                found.setdefault(id(drawn.scenario), []).append((drawn.method.name, key))
        return found

    @cached_property
    def expected(self) -> str:
        """The hash of what a worker must have loaded; empty where anything will do."""
        return digest_of(self.ownership.expected) if self.ownership else ""
