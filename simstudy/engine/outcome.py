"""What a run did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simstudy.engine.block import Address
    from simstudy.engine.tasks import Receipt
    from simstudy.store.seconds import Spent

FAILURES_SHOWN = 10  # of which a run remembers the text


@dataclass
class Outcome:
    """What a run did.

    `seconds_per_block` is the least time to draw a block of each scenario, by key: the first one
    may have paid for compiling. Where there are methods, a method's key has what it took itself,
    and the scenario's key what its data took. `drew_here` is whether any block was drawn in this
    process, which may then have changed what it uses. `noticed` says what a reader of the numbers
    has to know: random numbers that nobody addressed, blocks that take too long. `spent` is what
    all blocks took that it drew, by key.
    """

    n_blocks: int = 0
    n_failed: int = 0
    seconds: float = 0.0
    failures: list[tuple[Address, str]] = field(default_factory=list)
    seconds_per_block: dict[str, float] = field(default_factory=dict)
    drew_here: bool = False
    noticed: list[str] = field(default_factory=list)
    spent: Mapping[str, Spent] = field(default_factory=dict)

    def count(self, receipt: Receipt) -> None:
        """Add a finished task."""
        self.n_blocks += len(receipt.done)
        self.n_failed += receipt.n_failed
        if receipt.first_failure and len(self.failures) < FAILURES_SHOWN:
            self.failures.append(receipt.first_failure)
        for (key, _), seconds in zip(receipt.done, receipt.seconds_each, strict=True):
            self._keep_least({key: seconds})
        for key, seconds in receipt.seconds_of_data:
            self._keep_least({key: seconds})

    def __iadd__(self, other: Outcome) -> Outcome:
        """Another round of the same run."""
        self.n_blocks += other.n_blocks
        self.n_failed += other.n_failed
        self.seconds += other.seconds
        self.failures += other.failures
        self.drew_here |= other.drew_here
        self._keep_least(other.seconds_per_block)
        return self

    def _keep_least(self, seconds_per_block: Mapping[str, float]) -> None:
        for key, seconds in seconds_per_block.items():
            self.seconds_per_block[key] = min(seconds, self.seconds_per_block.get(key, seconds))
