"""What all tasks of a run have in common, and tasks made of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from simstudy.design import Analysed, Plan, scenario_behind
from simstudy.engine.jobs import Job
from simstudy.engine.methods import Returned
from simstudy.engine.ownership import Ownership, digest_of
from simstudy.engine.tasks import Task
from simstudy.store.blocks import Store
from simstudy.store.columns import simulated_columns
from simstudy.store.layout import Keep, KeepReplicates


@dataclass(frozen=True)
class Assignment:
    """What all tasks of a run have in common.

    Parameters
    ----------
    ownership
        What workers are held to: their code must be this process's. None holds them to nothing.
    rank
        Above that of stored blocks which these replace.
    """

    plan: Plan
    store: Store
    keep: Keep
    ownership: Ownership | None = None
    rank: int = 0

    def task(self, jobs: Sequence[Job]) -> Task:
        """Some of the run's blocks, with what the scenarios of these need."""
        scenarios = {job.key: job.scenario for job in jobs}
        return Task(
            plan=self.plan.only(scenarios.values()),
            jobs=tuple(jobs),
            keep=self.keep,
            folder=self.store.folder,
            owner=self.store.owner.only(scenarios),
            rank=self.rank,
            witnesses=self.ownership.witnesses if self.ownership else (),
            expected=self.expected,
            beside=tuple(self._stored_beside(jobs)),
        )

    def _stored_beside(self, jobs: Sequence[Job]) -> Iterator[tuple[str, Returned]]:
        """By scenario key, a stored method that is not drawn with these jobs, and its columns."""
        drawn = {job.key for job in jobs}
        scenarios = {id(each): each for each in (scenario_behind(job.scenario) for job in jobs)}
        for place, scenario in scenarios.items() if isinstance(self.keep, KeepReplicates) else ():
            methods = [named for named in self._methods.get(place, ()) if named[1] not in drawn]
            for name, key in methods:
                if stored := self.store.column_names_of(key):
                    yield self.plan.key_of(scenario), (name, tuple(simulated_columns(stored)))
                    break

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
