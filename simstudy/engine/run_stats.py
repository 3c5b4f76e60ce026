"""Statistics of a run: blocks, failures and seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simstudy.design.plan import Plan, base_scenario
from simstudy.store.run_records import BlockTimings

if TYPE_CHECKING:
    from simstudy.engine.block import Address
    from simstudy.engine.tasks import TaskResult

MAX_FAILURES = 10  # failures whose text a run keeps


@dataclass
class RunStats:
    """Counts of a run: blocks, failures, seconds.

    Attributes
    ----------
    seconds_per_block
        Shortest time for a block, by key, since the first block may include compilation. With
        methods, a method's key has the time of the method alone, and the scenario's key that of
        drawing the data.
    noticed
        Warnings for readers of the numbers, for example about random numbers that do not come from
        `streams`.
    spent
        Total time of the blocks that this run drew, by key.
    """

    n_blocks: int = 0
    n_failed: int = 0
    seconds: float = 0.0
    failures: list[tuple[Address, str]] = field(default_factory=list)
    seconds_per_block: dict[str, float] = field(default_factory=dict)
    noticed: list[str] = field(default_factory=list)
    spent: dict[str, BlockTimings] = field(default_factory=dict)

    def count(self, plan: Plan, result: TaskResult) -> None:
        """Count a finished task."""
        self.n_blocks += len(result.done)
        self.n_failed += result.n_failed
        if result.first_failure and len(self.failures) < MAX_FAILURES:
            self.failures.append(result.first_failure)
        each = zip(result.done, result.draw_seconds, result.data_seconds, strict=True)
        for (key, _), own, data in each:
            timings = self.spent.get(key, BlockTimings())
            self.spent[key] = timings.plus(BlockTimings(1, own, data))
            self._keep_least(key, own)
            if data:
                self._keep_least(plan.key_of(base_scenario(plan.keys[key])), data)

    def _keep_least(self, key: str, seconds: float) -> None:
        self.seconds_per_block[key] = min(seconds, self.seconds_per_block.get(key, seconds))
