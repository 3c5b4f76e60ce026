"""The problem to solve: factor, target, search scale and answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from simstudy.design import Scenario
from simstudy.errors import ConfigError
from simstudy.lazy import pd, special
from simstudy.measures.intervals import critical_value

Number = int | float

ScenarioOf = Callable[[Number], Scenario]
"""The scenario at a value of the factor."""


@dataclass(frozen=True)
class Question:
    """The problem: target, bracket, tolerance and budget.

    Parameters
    ----------
    factor, measure
        Names, for messages.
    target
        In units of the measure; in (0, 1) for a proportion.
    low, high
        Ends of the bracket.
    tolerance
        Half-width of the interval at which to stop, in units of the factor; None goes on to
        `max_n_rep`.
    max_n_rep
        Replicates that may be drawn in all.
    integer
        Whether the factor takes whole numbers only.
    level
        Coverage of the interval.
    proportion
        Whether the measure is one.

    Raises
    ------
    ConfigError
        If the bracket is empty, or the target or the level is out of range.
    """

    factor: str
    measure: str
    target: float
    low: Number
    high: Number
    tolerance: float | None = None
    max_n_rep: int = 1_000_000
    integer: bool = True
    level: float = 0.95
    proportion: bool = True

    def __post_init__(self) -> None:
        critical_value(self.level)
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ConfigError(
                f"low={self.low:g} and high={self.high:g} leave nothing between them to search. "
                "Give two finite values with low < high."
            )
        least, most = (0.0, 1.0) if self.proportion else (-math.inf, math.inf)
        if not least < self.target < most:
            raise ConfigError(
                f"target={self.target:g} is not allowed: give a number between {least:g} and "
                f"{most:g} for {self.measure}."
            )

    @property
    def ends(self) -> tuple[Number, Number]:
        """The ends of the bracket as values that the factor can take."""
        return self.number(self.low), self.number(self.high)

    @property
    def goal(self) -> float:
        """The target on the scale of the fit."""
        return float(special.logit(self.target)) if self.proportion else self.target

    def number(self, value: float) -> Number:
        """Return the nearest value that the factor can take."""
        value = min(max(value, self.low), self.high)
        return round(value) if self.integer else value

    def unit(self, value: Number) -> float:
        """Return the place of a value on [0, 1]: logarithmic if the bracket is positive."""
        if self.low > 0:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def value(self, unit: float) -> float:
        """Return the value of the factor at a place on [0, 1]."""
        if self.low > 0:
            return float(self.low * (self.high / self.low) ** unit)
        return self.low + unit * (self.high - self.low)


@dataclass(frozen=True)
class Solution:
    """The value of a factor at which a measure reaches its target.

    Parameters
    ----------
    factor, measure, target
        The question.
    value
        The answer on the scale of the factor; between whole numbers if only these are possible.
    lower, upper
        Interval for it, of coverage `level`; an end of the bracket where it reaches so far.
    level
        Coverage of the interval.
    n_rep
        Replicates drawn, all of them.
    reached
        Whether the interval is as narrow as requested; false if the budget ran out first.
    integer
        The least whole number at or above the answer, if only whole numbers are possible.
    trace
        One row per round and value of the factor (`at`): replicates drawn there in this round,
        estimate and MCSE over all drawn there so far, and the answer after the round (NaN until
        both ends of the bracket differ clearly from the target).
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
