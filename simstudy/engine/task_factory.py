"""Makes tasks from what all tasks of a run have in common."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from simstudy.design.plan import Analysed, Plan, base_scenario
from simstudy.engine.methods import Returned, column_over
from simstudy.engine.provenance import RunProvenance, digest_of
from simstudy.engine.tasks import Task
from simstudy.engine.work_queue import BlockId
from simstudy.store.arrow_schema import (
    CELL_ERROR,
    ERROR,
    REP,
    SCENARIO,
    ReplicateStorage,
    StoragePolicy,
)
from simstudy.store.blocks import Store
from simstudy.store.columns import has_axes, holds_text


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
            stored_columns=tuple(self._stored_columns(blocks)),
            block_seconds=self.block_seconds,
            label=self.store.label,
        )

    @cached_property
    def expected(self) -> str:
        """The hash of the code that workers must have loaded; empty if any will do."""
        return digest_of(self.provenance.expected) if self.provenance else ""

    def _stored_columns(self, blocks: Sequence[BlockId]) -> Iterator[tuple[str, Returned]]:
        """By scenario key, a stored method that is not drawn now, and its columns."""
        if not self._methods or not isinstance(self.keep, ReplicateStorage):
            return  # moments say nothing of columns
        drawn = {block_id.key for block_id in blocks}
        behind = (base_scenario(block_id.scenario) for block_id in blocks)
        for scenario in {id(each): each for each in behind}.values():
            beside = (named for named in self._methods[id(scenario)] if named[1] not in drawn)
            stored = ((name, self._columns_of(key)) for name, key in beside)
            found = next((returned for returned in stored if returned[1]), None)
            if found:
                yield self.plan.key_of(scenario), found

    def _columns_of(self, key: str) -> tuple[str, ...]:
        """The stored columns of a method."""
        return tuple(
            column_over(
                self.plan,
                ERROR if column.name == CELL_ERROR else column.name,
                wide=has_axes(self.plan, column),
                is_text=holds_text(column),
            )
            for column in self.store.schema_of(key)
            if column.name not in (SCENARIO, REP)
        )

    @cached_property
    def _methods(self) -> dict[int, list[tuple[str, str]]]:
        """The names and keys of the methods of each base scenario."""
        found: dict[int, list[tuple[str, str]]] = {}
        for key, drawn in self.plan.keys.items():
            if isinstance(drawn, Analysed):
                found.setdefault(id(drawn.scenario), []).append((drawn.method.name, key))
        return found
