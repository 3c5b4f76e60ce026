"""What all tasks of a run have in common, and tasks made of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from simstudy.design import Plan
from simstudy.engine.jobs import Job
from simstudy.engine.ownership import Ownership, digest_of
from simstudy.engine.tasks import Task
from simstudy.store.blocks import Store
from simstudy.store.layout import Keep


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
            files=self.store.files,
            owner=self.store.owner.only(scenarios),
            rank=self.rank,
            witnesses=self.ownership.witnesses if self.ownership else (),
            expected=self.expected,
        )

    @cached_property
    def expected(self) -> str:
        """The hash of what a worker must have loaded; empty where anything will do."""
        return digest_of(self.ownership.expected) if self.ownership else ""
