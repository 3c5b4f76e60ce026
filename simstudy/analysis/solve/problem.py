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
        If the bracket is empty, the target is out of range, or a number is not allowed.
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
        self._refuse_bad_bracket()
        self._refuse_bad_target()
        if self.tolerance is not None and not self.tolerance > 0:
            raise ConfigError(
                f"tolerance={self.tolerance:g}: no interval is that narrow. Give the half-width "
                f"at which to stop, in units of {self.factor}, or leave it out to spend max_n_rep."
            )

    def _refuse_bad_bracket(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ConfigError(
                f"low={self.low:g} and high={self.high:g} leave nothing between them to search. "
                "Give two finite values with low < high."
            )
        for name, end in (("low", self.low), ("high", self.high)):
            if self.integer and end != round(end):
                raise ConfigError(
                    f"{name}={end:g} is not a whole number, and with integer=True nothing else is "
                    f"simulated; nearest that works: {name}={round(end)}, or integer=False"
                )

    def _refuse_bad_target(self) -> None:
        if self.proportion and not 0 < self.target < 1:
            raise ConfigError(
                f"target={self.target:g}: {self.measure} is a proportion, which gets there nowhere "
                "or everywhere. Give a target between 0 and 1, such as 0.8."
            )
        if not math.isfinite(self.target):
            raise ConfigError(f"target={self.target}: give a finite number.")

    @property
    def goal(self) -> float:
        """The target on the scale of the fit."""
        return float(special.logit(self.target)) if self.proportion else self.target

    def number(self, value: float) -> Number:
        """Return the nearest value that the factor can take.

        Parameters
        ----------
        value
            Any value, in units of the factor.

        Returns
        -------
        Number
            A value within the bracket, whole for an integer factor.
        """
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
        Whether the interval is as narrow as was asked; false where the budget ran out first.
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
