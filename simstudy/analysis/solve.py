"""Solving for a design: the least value of a factor at which a measure reaches a target.

It is found by bisection. Values of the factor share random numbers, so that estimates at different
values differ by the factor and hardly by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from simstudy.analysis.result import Result
from simstudy.design import Scenario
from simstudy.errors import ConfigError, StudyError, nearest
from simstudy.lazy import pd
from simstudy.measures import Measure

Number = int | float

N_STEPS = 1000  # default resolution of a real factor: this part of the bracket


@dataclass(frozen=True)
class Solution:
    """The least value of a factor at which a measure reaches a target.

    Parameters
    ----------
    factor, measure, target
        The question.
    value
        The least value at which the estimate reaches the target, up to the tolerance.
    lower, upper
        Interval: between the least values at which the more favourable and the less favourable
        limit of the measure's interval reach the target. Its coverage is that of the measure's
        interval. It ends at the bracket's end if the limit reaches the target at `low`, or not yet
        at `high`.
    n_rep
        Replicates drawn at each value.
    trace
        The summary at every value that was evaluated, in the order of the factor.
    """

    factor: str
    measure: str
    target: float
    value: Number
    lower: Number
    upper: Number
    n_rep: int
    trace: pd.DataFrame = field(repr=False, compare=False)


def check_factor(scenario: Scenario, factor: str) -> None:
    """Refuse a factor that the scenario does not have."""
    names = [each.name for each in fields(scenario) if each.init]
    if factor not in names:
        raise ConfigError(
            f"{type(scenario).__name__} has no factor {factor!r}; {nearest(factor, names)}"
        )


def measure_named(measure: Measure | str, known: Mapping[str, Measure]) -> Measure:
    """The measure of this name; a measure stays as it is."""
    if isinstance(measure, Measure):
        return measure
    if measure not in known:
        raise ConfigError(f"measure={measure!r}: the study has none; {nearest(measure, known)}")
    return known[measure]


@dataclass
class Search:
    """Bisection for the value at which a measure reaches a target; `Study.solve` has the arguments.

    Parameters
    ----------
    run
        Draws the replicates at a value of the factor.
    """

    run: Callable[[Number], Result]
    factor: str
    measure: str
    target: float
    low: Number
    high: Number
    tolerance: Number | None = None
    where: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not -np.inf < self.low < self.high < np.inf:
            raise ConfigError(
                f"low={self.low:g} and high={self.high:g} leave nothing between them to search. "
                "Give two finite values with low < high."
            )
        self.is_whole = all(isinstance(end, int | np.integer) for end in (self.low, self.high))
        usual = 1 if self.is_whole else (self.high - self.low) / N_STEPS
        self.step = max(usual if self.tolerance is None else self.tolerance, self.is_whole)
        if not self.step > 0:
            raise ConfigError(
                f"tolerance={self.tolerance} is not allowed: give a distance between values of "
                f"{self.factor} above 0, for example tolerance={usual:g}."
            )
        self._rows: dict[Number, pd.Series] = {}

    def solve(self) -> Solution:
        """Find the value and its interval.

        Raises
        ------
        StudyError
            If the measure is not on different sides of the target at the ends of the bracket, or
            has no value somewhere.
        """
        first, last = (self._row(end)["estimate"] for end in (self.low, self.high))
        sign = 1 if last > first else -1
        if not sign * first < sign * self.target <= sign * last:
            raise StudyError(
                f"{self._described(self.low)} and {self._described(self.high)}: both are on one "
                f"side of the target {self.target:g}, so no crossing is known to lie between. "
                "Choose low and high on either side of it."
            )
        limits = ("upper", "lower") if sign > 0 else ("lower", "upper")
        value, lower, upper = (self._least(name, sign) for name in ("estimate", *limits))
        trace = pd.DataFrame([self._rows[at] for at in sorted(self._rows)]).reset_index(drop=True)
        return Solution(
            self.factor, self.measure, self.target, value, lower, upper,
            int(self._row(value)["n_rep"]), trace,
        )  # fmt: skip

    def _least(self, column: str, sign: int) -> Number:
        """The least value at which a column of the summary reaches the target, by bisection."""
        low, high = self.low, self.high
        if self._reaches(low, column, sign):
            return low
        while high - low > self.step:
            middle = (low + high) // 2 if self.is_whole else (low + high) / 2
            if self._reaches(middle, column, sign):
                high = middle
            else:
                low = middle
        return high

    def _reaches(self, value: Number, column: str, sign: int) -> bool:
        return bool(sign * self._row(value)[column] >= sign * self.target)

    def _row(self, value: Number) -> pd.Series:
        """The summary at a value of the factor."""
        if value not in self._rows:
            row = self.run(value).row(self.measure, **self.where)
            if np.isnan(row["estimate"]):
                raise StudyError(
                    f"{self.measure} has no value at {self.factor}={value:g} "
                    f"({row['reason'] or 'no replicate could be used'}). Choose low and high so "
                    "that it has one everywhere between them, or draw more replicates."
                )
            self._rows[value] = row
        return self._rows[value]

    def _described(self, value: Number) -> str:
        row = self._row(value)
        return (
            f"{self.measure} is {row['estimate']:.4g} (MCSE {row['mcse']:.2g}) at "
            f"{self.factor}={value:g}"
        )
