"""Statistics of a run: blocks, failures and seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simstudy.design.plan import Plan, base_scenario
from simstudy.store.run_records import BlockTimings

if TYPE_CHECKING:
    from simstudy.engine.block import Address
    from simstudy.engine.tasks import TaskResult

FAILURES_SHOWN = 10  # of which a run remembers the text


@dataclass
class RunStats:
    """Counts of a run: blocks, failures, seconds.

    `seconds_per_block` is the least time to draw a block of each scenario, by key: the first one
    may have paid for compiling. Where there are methods, a method's key has what it took itself,
    and the scenario's key what its data took. `noticed` says what a reader of the numbers has to
    know: random numbers that nobody addressed, blocks that take too long. `spent` is what all
    blocks took that it drew, by key.
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
        if result.first_failure and len(self.failures) < FAILURES_SHOWN:
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
