"""Makes tasks from what all tasks of a run have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from simstudy.design.plan import Plan
from simstudy.engine.provenance import RunProvenance, digest_of
from simstudy.engine.tasks import Task
from simstudy.engine.work_queue import BlockId
from simstudy.store.arrow_schema import StoragePolicy
from simstudy.store.blocks import Store


@dataclass(frozen=True)
class TaskFactory:
    """Makes the tasks of a run.

    Parameters
    ----------
    provenance
        What workers are held to: their code must be this process's. None holds them to nothing.
    generation
        Above that of stored blocks which these replace.
    block_seconds
        How long drawing a block may take; None is as long as it takes.
    """

    plan: Plan
    store: Store
    keep: StoragePolicy
    provenance: RunProvenance | None = None
    generation: int = 0
    block_seconds: float | None = None

    def task(self, blocks: Sequence[BlockId]) -> Task:
        """Make a task of some blocks."""
        scenarios = {block_id.key: block_id.scenario for block_id in blocks}
        return Task(
            plan=self.plan.only(scenarios.values()),
            blocks=tuple(blocks),
            keep=self.keep,
            files=self.store.files,
            provenance=self.store.provenance.only(scenarios),
            generation=self.generation,
            fingerprint_roots=self.provenance.roots if self.provenance else (),
            expected=self.expected,
            block_seconds=self.block_seconds,
            label=self.store.label,
        )

    @cached_property
    def expected(self) -> str:
        """The hash of the code that workers must have loaded; empty if any will do."""
        return digest_of(self.provenance.expected) if self.provenance else ""
