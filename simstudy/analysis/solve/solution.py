"""The answer: where the measure reaches its target, how surely, and what led there."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from simstudy.lazy.pandas import pd


@dataclass(frozen=True)
class Solution:
    """The value of a factor at which a measure reaches its target.

    Parameters
    ----------
    factor, measure, target
        What was asked.
    value
        The answer on the scale of the factor; between whole numbers if only these are possible.
    lower, upper
        Interval for it, of coverage `level`; an end of the bracket where it reaches so far.
    n_rep
        Replicates drawn, all of them.
    reached
        Whether the interval is as narrow as was asked; false where the budget ran out first.
    integer
        The least whole number at or above the answer, if only whole numbers are possible: where a
        rising measure has reached its target, or a falling one has come down to it.
    trace
        One row per round and value of the factor (`at`): replicates drawn there in this round,
        estimate and MCSE of all that were drawn there until then, and the answer after the round
        (NaN before both ends are told from the target).
    """

    factor: str
    measure: str
    target: float
    value: float
    lower: float
    upper: float
    level: float
    n_rep: int
    reached: bool
    integer: int | None = None
    trace: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(), repr=False, compare=False)

    @property
    def integer_interval(self) -> tuple[int, int]:
        """Interval for the least whole number; its coverage is at least `level`."""
        return math.ceil(self.lower), math.ceil(self.upper)
