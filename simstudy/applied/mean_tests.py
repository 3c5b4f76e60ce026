"""z and t tests for two means."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from simstudy.applied.base_test import BaseTest, about_enough, enough_scores
from simstudy.applied.scores import Scores
from simstudy.lazy import special, stats
from simstudy.stats.accuracy import design

FEWEST = 2  # scores of each model, for a spread
# Standard errors, beyond which every t test finds an effect: SciPy's law ends there.
FURTHEST = 1e8


@dataclass(frozen=True)
class KnownSigma(BaseTest):
    """The z test of two means.

    Parameters
    ----------
    sigma
        Standard deviation of one score, in its units.
    correlation
        Of the two scores of a prompt; 0 takes them for different prompts.
    """

    sigma: float
    correlation: float = 0.0

    name = "z"

    @property
    def words(self) -> str:
        pairs = f", correlation {self.correlation:g} in pairs" if self.correlation else ""
        return f"z test with sigma {self.sigma:g}{pairs}"

    @property
    def _given(self) -> dict[str, Any]:
        """What every formula takes; None for the second size where it is the first."""
        n, n_check = len(self.scores.reference), len(self.scores.candidate)
        sizes = {"n": n, "n_check": None if n == n_check else n_check}
        return {"sigma": self.sigma, "correlation": self.correlation, **sizes}

    @cached_property
    def standard_error(self) -> float:
        return float(design.standard_error(**self._given))

    @property
    def p_value(self) -> float:
        return float(design.p_value(-self.scores.worse_by, 0.0, **self._given))

    @cached_property
    def margin(self) -> float:
        return -float(design.threshold(0.0, self.alpha, **self._given))

    @property
    def fails(self) -> bool:
        return bool(design.fails(-self.scores.worse_by, -self.margin))

    def power(self, effect: float) -> float:
        return float(design.power(effect, self.alpha, **self._given))

    def detectable_effect(self, beta: float) -> float:
        return float(design.detectable_effect(self.alpha, beta, **self._given))

    def n_needed(self, theta: float, beta: float) -> int:
        n = design.sample_size(theta, self.alpha, beta, self.sigma, correlation=self.correlation)
        return int(n)

    def law(self, effect: float) -> Any:
        return stats.norm(effect, self.standard_error)


class Spread(NamedTuple):
    """Standard error of a difference of means, and its degrees of freedom."""

    std_error: Any
    df: Any


class StudentT(BaseTest):
    """The base class of t tests."""

    name = "t"

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
    def margin(self) -> float:
        return float(-special.stdtrit(self._here.df, self.alpha)) * self.standard_error

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

    def n_needed(self, theta: float, beta: float) -> int:
        sigma = float(self.spread(FEWEST).std_error)  # since 2/n is 1 for two scores of each
        return enough_scores(
            lambda n: float(self._power(self.spread(n), theta)),
            1 - beta,
            about_enough(theta, self.alpha, beta, sigma),
            least=FEWEST,
        )

    def law(self, effect: float) -> Any:
        se, df = self.standard_error, float(self._here.df)
        return stats.nct(df, effect / se, scale=se) if effect else stats.t(df, scale=se)


class PairedT(StudentT):
    """The t test of paired differences."""

    @property
    def words(self) -> str:
        return f"paired t test of {len(self.scores.losses):,} differences"

    def spread(self, n: Any = None) -> Spread:
        n = np.asarray(len(self.scores.losses) if n is None else n, dtype=float)
        return Spread(self.scores.losses.std(ddof=1) / np.sqrt(n), n - 1)


class Welch(StudentT):
    """The t test of two means with unequal variances."""

    @property
    def words(self) -> str:
        return f"Welch's t test ({self._here.df:.4g} degrees of freedom)"

    def spread(self, n: Any = None) -> Spread:
        n1, n2 = _sizes(self.scores, n)
        first = self.scores.reference.var(ddof=1) / n1
        second = self.scores.candidate.var(ddof=1) / n2
        squares = first**2 / (n1 - 1) + second**2 / (n2 - 1)
        return Spread(np.sqrt(first + second), (first + second) ** 2 / squares)


class PooledT(StudentT):
    """The t test of two means with equal variances."""

    name = "pooled_t"

    @property
    def words(self) -> str:
        return f"t test with a pooled variance ({self._here.df:,.0f} degrees of freedom)"

    def spread(self, n: Any = None) -> Spread:
        size1, size2 = len(self.scores.reference), len(self.scores.candidate)
        squares = self.scores.reference.var() * size1 + self.scores.candidate.var() * size2
        pooled = squares / (size1 + size2 - 2)
        n1, n2 = _sizes(self.scores, n)
        return Spread(np.sqrt(pooled * (1 / n1 + 1 / n2)), n1 + n2 - 2)


def _sizes(scores: Scores, n: Any) -> tuple[Any, Any]:
    """Numbers of scores, as given or n of each."""
    sizes = (len(scores.reference), len(scores.candidate)) if n is None else (n, n)
    return np.asarray(sizes[0], dtype=float), np.asarray(sizes[1], dtype=float)
