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
from simstudy.errors import DesignError
from simstudy.lazy import special

Numbers = float | np.ndarray
"""One number, or an array of them: such arguments broadcast."""

TIE_LIMIT = 1e-7
"""Share of continuous scores that may be tied by rounding: no study here draws enough to tell."""
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


@dataclass(frozen=True)
class NormalScores(Scores):
    """Normal scores, such as log-odds often look."""

    normal: ClassVar[bool] = True

    mean: float = 1.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        _check_scale(self, self.sd)

    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        return self.mean + self.sd * rng.standard_normal((n_rep, n_obs))

    def sensitivity(self, threshold: Numbers) -> Any:
        return special.ndtr((self.mean - np.asarray(threshold)) / self.sd)

    def cdf(self, threshold: Numbers) -> Any:
        return special.ndtr((np.asarray(threshold) - self.mean) / self.sd)

    def quantile(self, q: Numbers) -> Any:
        return self.mean + self.sd * special.ndtri(q)

    def threshold(self, sensitivity: Numbers) -> Any:
        return self.mean - self.sd * special.ndtri(sensitivity)


@dataclass(frozen=True)
class SkewedScores(Scores):
    """Gamma scores, shifted, scaled and, for a long left tail (skewness below 0), mirrored."""

    mean: float = 1.0
    sd: float = 1.0
    skewness: float = -1.0

    def __post_init__(self) -> None:
        _check_scale(self, self.sd)
        if not (self.skewness != 0 and np.isfinite(self.skewness)):
            raise DesignError(
                f"SkewedScores(skewness={self.skewness:g}) has no gamma shape, which is "
                "4/skewness². Give a skewness other than 0, or use NormalScores."
            )
        least = abs(float(self._place(0.0)))
        resolved = np.spacing(least) / self.sd * np.sqrt(self.shape) + np.spacing(self.shape)
        tied = float(special.gammainc(self.shape, resolved))
        if tied > TIE_LIMIT:
            raise DesignError(
                f"SkewedScores(skewness={self.skewness:g}) rounds a share of {tied:.2g} of its "
                f"scores to its end, {least:g} in size, so they are tied where theory takes them "
                "for different. Give a skewness nearer 0."
            )

    @property
    def shape(self) -> float:
        """Shape of the gamma distribution."""
        return 4.0 / self.skewness**2

    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        return np.asarray(self._place(rng.standard_gamma(self.shape, (n_rep, n_obs))))

    def sensitivity(self, threshold: Numbers) -> Any:
        tail = special.gammaincc if self.skewness > 0 else special.gammainc
        return tail(self.shape, self._gamma(threshold))

    def cdf(self, threshold: Numbers) -> Any:
        tail = special.gammainc if self.skewness > 0 else special.gammaincc
        return tail(self.shape, self._gamma(threshold))

    def quantile(self, q: Numbers) -> Any:
        inverse = special.gammaincinv if self.skewness > 0 else special.gammainccinv
        return self._place(inverse(self.shape, q))

    def threshold(self, sensitivity: Numbers) -> Any:
        inverse = special.gammainccinv if self.skewness > 0 else special.gammaincinv
        return self._place(inverse(self.shape, sensitivity))

    def _place(self, gamma: Any) -> Any:
        unit = (gamma - self.shape) / np.sqrt(self.shape)
        return self.mean + self.sd * np.sign(self.skewness) * unit

    def _gamma(self, score: Numbers) -> Any:
        unit = (np.asarray(score) - self.mean) / self.sd * np.sign(self.skewness)
        return np.maximum(self.shape + np.sqrt(self.shape) * unit, 0.0)


@dataclass(frozen=True)
class HeavyTailedScores(Scores):
    """Student-t scores around a location, with any `df` above 0; `scale` multiplies t."""

    location: float = 1.0
    scale: float = 1.0
    df: float = 3.0

    def __post_init__(self) -> None:
        _check_scale(self, self.scale)
        if not self.df > 0:
            raise DesignError(
                f"HeavyTailedScores(df={self.df:g}) is no distribution. Give df > 0; 1 is the "
                "Cauchy distribution and large values are nearly normal."
            )

    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        return self.location + self.scale * rng.standard_t(self.df, (n_rep, n_obs))

    def sensitivity(self, threshold: Numbers) -> Any:
        return special.stdtr(self.df, (self.location - np.asarray(threshold)) / self.scale)

    def cdf(self, threshold: Numbers) -> Any:
        return special.stdtr(self.df, (np.asarray(threshold) - self.location) / self.scale)

    def quantile(self, q: Numbers) -> Any:
        return self.location + self.scale * special.stdtrit(self.df, q)

    def threshold(self, sensitivity: Numbers) -> Any:
        return self.location - self.scale * special.stdtrit(self.df, sensitivity)


@dataclass(frozen=True)
class DiscretisedScores(Scores):
    """Scores of another distribution, rounded to multiples of `step`: many are tied."""

    continuous: ClassVar[bool] = False

    base: NormalScores | SkewedScores | HeavyTailedScores = field(default_factory=NormalScores)
    step: float = 0.25

    def __post_init__(self) -> None:
        _check_scale(self, self.step)

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


def _check_scale(scores: Scores, scale: float) -> None:
    if not (scale > 0 and np.isfinite(scale)):
        raise DesignError(
            f"{type(scores).__name__} with a spread or step of {scale:g} has no quantiles to "
            "bound. Give a positive, finite one."
        )
