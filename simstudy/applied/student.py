"""Tests by Student's t: the spread is learnt from the scores."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from simstudy.applied.scores import Scores
from simstudy.lazy import special, stats
from simstudy.shapes import Bool, Int
from simstudy.stats.accuracy import design
from simstudy.stats.integer_search import least_count

FEWEST = 2  # scores of each model, for a spread
# Standard errors, beyond which every test of this module finds an effect: SciPy's law ends there.
FURTHEST = 1e8


class Spread(NamedTuple):
    """Standard error of the difference of means, and its degrees of freedom; arrays, or numbers."""

    std_error: Any
    df: Any


@dataclass(frozen=True)
class StudentT(ABC):
    """What the t tests have in common; each says its spread."""

    scores: Scores
    alpha: float

    @property
    def name(self) -> str:
        return "t"

    @property
    @abstractmethod
    def words(self) -> str:
        """What is compared, for a reader."""

    @abstractmethod
    def spread(self, n: Any = None) -> Spread:
        """With the sizes that were given, or with n scores of each model and these variances."""

    @cached_property
    def _here(self) -> Spread:
        return self.spread()

    @property
    def standard_error(self) -> float:
        return float(self._here.std_error)

    @property
    def p_value(self) -> float:
        return float(special.stdtr(self._here.df, -self.scores.worse_by / self.standard_error))

    @property
    def fails(self) -> bool:
        return self.p_value <= self.alpha

    @property
    def margin(self) -> float:
        return float(-special.stdtrit(self._here.df, self.alpha)) * self.standard_error

    @property
    def level(self) -> float:
        return self.alpha

    def power(self, effect: float) -> float:
        return float(self._power(self._here, effect))

    def _power(self, spread: Spread, effect: float) -> Any:
        """Noncentral t beyond the critical value."""
        critical = -special.stdtrit(spread.df, self.alpha)
        with np.errstate(over="ignore"):
            distance = np.minimum(effect / spread.std_error, FURTHEST)
        return stats.nct.sf(critical, spread.df, distance)

    def detectable_effect(self, beta: float) -> float:
        from scipy.optimize import brentq

        def excess(effect: float) -> float:
            return self.power(effect) - (1 - beta)

        step = self.margin
        while excess(step) < 0:
            step *= 2
        return float(brentq(excess, 0.0, step, xtol=2e-12 * min(1.0, self.standard_error)))

    def n_needed(self, theta: float, beta: float) -> int | None:
        def detects(n: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
            return np.asarray(self._power(self.spread(n), theta) >= 1 - beta)

        known = float(self.spread(FEWEST).std_error)  # sigma, since 2/n is 1 for two scores of each
        enough = max(int(design.sample_size(theta, self.alpha, beta, known)), FEWEST)
        while not detects(np.array([enough]))[0]:
            enough *= 2
        return int(least_count(detects, np.array(FEWEST), np.array(enough)))

    def law(self, effect: float) -> Any:
        se, df = self.standard_error, float(self._here.df)
        return stats.nct(df, effect / se, scale=se) if effect else stats.t(df, scale=se)


class PairedT(StudentT):
    """Of the differences, prompt by prompt."""

    @property
    def words(self) -> str:
        return f"paired t test of {len(self.scores.losses):,} differences"

    def spread(self, n: Any = None) -> Spread:
        n = np.asarray(len(self.scores.losses) if n is None else n, dtype=float)
        return Spread(self.scores.losses.std(ddof=1) / np.sqrt(n), n - 1)


class Welch(StudentT):
    """Of two means whose variances may differ.

    Degrees of freedom are of variances over a power of two, whose squares are doubles, and which
    have the same digits.
    """

    @property
    def words(self) -> str:
        return f"Welch's t test ({self._here.df:.4g} degrees of freedom)"

    def spread(self, n: Any = None) -> Spread:
        n1, n2, first, second = _variances_of_means(self.scores, n)
        _, power_of_two = np.frexp(first + second)
        near1 = [np.ldexp(variance, -power_of_two) for variance in (first, second)]
        squares = near1[0] ** 2 / (n1 - 1) + near1[1] ** 2 / (n2 - 1)
        return Spread(np.sqrt(first + second), (near1[0] + near1[1]) ** 2 / squares)


class PooledT(StudentT):
    """Of two means whose variances are taken as equal."""

    @property
    def name(self) -> str:
        return "pooled_t"

    @property
    def words(self) -> str:
        return f"t test with a pooled variance ({self._here.df:,.0f} degrees of freedom)"

    def spread(self, n: Any = None) -> Spread:
        size1, size2 = len(self.scores.reference), len(self.scores.candidate)
        squares = self.scores.reference.var() * size1 + self.scores.candidate.var() * size2
        pooled = squares / (size1 + size2 - 2)
        n1, n2, _, _ = _variances_of_means(self.scores, n)
        return Spread(np.sqrt(pooled * (1 / n1 + 1 / n2)), n1 + n2 - 2)


def _variances_of_means(scores: Scores, n: Any) -> tuple[Any, Any, Any, Any]:
    """Sizes, as given or n of each, and the variances of means of so many scores."""
    sizes = len(scores.reference), len(scores.candidate)
    n1, n2 = (np.asarray(size if n is None else n, dtype=float) for size in sizes)
    return n1, n2, scores.reference.var(ddof=1) / n1, scores.candidate.var(ddof=1) / n2
