"""Scores of a classifier within one class: where the true threshold is known.

Each distribution draws a block of scores and states the truth it implies: the sensitivity of any
threshold, and the threshold of any sensitivity. A case is called positive where score >=
threshold, which matters where scores are tied.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from simstudy.array_types import Float
from simstudy.lazy import stats

Numbers = float | np.ndarray
"""One number, or an array of them: such arguments broadcast."""
Law = tuple[Any, tuple[float, ...]]

LATTICE_SLACK = 1e-9
"""Share of a step by which a threshold may miss a lattice point through rounding."""


class Scores(ABC):
    """Scores of one class; functions of thresholds and probabilities are elementwise."""

    continuous: ClassVar[bool] = True  # whether no two scores are ever equal
    normal: ClassVar[bool] = False

    @abstractmethod
    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        """Independent scores."""

    @abstractmethod
    def sensitivity(self, threshold: Numbers) -> Any:
        """P(score >= threshold); −∞ gives 1."""

    @abstractmethod
    def cdf(self, threshold: Numbers) -> Any:
        """P(score <= threshold)."""

    @abstractmethod
    def quantile(self, q: Numbers) -> Any:
        """The smallest value with at least `q` of the distribution at or below it."""

    @abstractmethod
    def threshold(self, sensitivity: Numbers) -> Any:
        """The largest threshold that has at least this sensitivity: the true t*."""


class ContinuousScores(Scores):
    """Scores of a law that SciPy has."""

    @property
    @abstractmethod
    def law(self) -> Law:
        """A distribution of `scipy.stats` and its parameters."""

    def sensitivity(self, threshold: Numbers) -> Any:
        law, about = self.law
        return law.sf(threshold, *about)

    def cdf(self, threshold: Numbers) -> Any:
        law, about = self.law
        return law.cdf(threshold, *about)

    def quantile(self, q: Numbers) -> Any:
        law, about = self.law
        return law.ppf(q, *about)

    def threshold(self, sensitivity: Numbers) -> Any:
        law, about = self.law
        return law.isf(sensitivity, *about)


@dataclass(frozen=True)
class NormalScores(ContinuousScores):
    """Normal scores, such as log-odds often look."""

    normal: ClassVar[bool] = True

    mean: float = 1.0
    sd: float = 1.0

    @property
    def law(self) -> Law:
        return stats.norm, (self.mean, self.sd)

    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        return self.mean + self.sd * rng.standard_normal((n_rep, n_obs))


@dataclass(frozen=True)
class SkewedScores(ContinuousScores):
    """Gamma scores, shifted, scaled and, for a long left tail (skewness below 0), mirrored.

    If the skewness is above 3 in size, rounding ties some scores at the end.
    """

    mean: float = 1.0
    sd: float = 1.0
    skewness: float = -1.0

    @property
    def law(self) -> Law:
        return stats.pearson3, (self.skewness, self.mean, self.sd)

    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        shape = 4.0 / self.skewness**2
        unit = (rng.standard_gamma(shape, (n_rep, n_obs)) - shape) / np.sqrt(shape)
        return np.asarray(self.mean + self.sd * np.sign(self.skewness) * unit)


@dataclass(frozen=True)
class HeavyTailedScores(ContinuousScores):
    """Student-t scores around a location, with any `df` above 0; `scale` multiplies t."""

    location: float = 1.0
    scale: float = 1.0
    df: float = 3.0

    @property
    def law(self) -> Law:
        return stats.t, (self.df, self.location, self.scale)

    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        return self.location + self.scale * rng.standard_t(self.df, (n_rep, n_obs))


@dataclass(frozen=True)
class DiscretisedScores(Scores):
    """Scores of another distribution, rounded to multiples of `step`: many are tied."""

    continuous: ClassVar[bool] = False

    base: ContinuousScores = field(default_factory=NormalScores)
    step: float = 0.25

    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        return self.step * np.floor(self.base.draw(rng, n_rep, n_obs) / self.step + 0.5)

    def sensitivity(self, threshold: Numbers) -> Any:
        return self.base.sensitivity(self._edge(threshold))

    def cdf(self, threshold: Numbers) -> Any:
        return self.base.cdf(self._edge(np.asarray(threshold) + self.step / 2))

    def quantile(self, q: Numbers) -> Any:
        return self.step * np.ceil(self.base.quantile(q) / self.step - 0.5 - LATTICE_SLACK)

    def threshold(self, sensitivity: Numbers) -> Any:
        """The lattice point itself; anything above it, up to the next, is less sensitive."""
        edge = self.base.threshold(sensitivity) / self.step
        return self.step * np.floor(edge + 0.5 + LATTICE_SLACK)

    def _edge(self, threshold: Numbers) -> Any:
        """The lower end of the cell of the least lattice point at or above a threshold."""
        point = np.ceil(np.asarray(threshold, dtype=float) / self.step - LATTICE_SLACK)
        return self.step * (point - 0.5)
