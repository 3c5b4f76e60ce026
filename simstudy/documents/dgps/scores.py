"""Scores of a classifier within one class: where the true threshold is known.

Each distribution draws a block of scores and states the truth it implies: the sensitivity of any
threshold, and the threshold of any sensitivity. A case is called positive where score >=
threshold, which matters where scores are tied. For negative cases the same objects give the
specificity, one minus the share at or above the threshold.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.arguments import Numbers, check_count, check_proportion
from simstudy.errors import DesignError
from simstudy.lazy import special

Real = Float[np.ndarray, "..."]
TIE_LIMIT = 1e-7
"""Share of continuous scores that may be tied by rounding: one in ten million, of which no study
here draws enough to tell a coverage or a sensitivity from theory's."""
LATTICE_SLACK = 1e-9
"""Share of a step by which a threshold may miss a lattice point through rounding."""


@runtime_checkable
class Scores(Protocol):
    """Protocol of the scores of one class."""

    continuous: ClassVar[bool]  # whether no two scores are ever equal
    normal: ClassVar[bool]

    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        """Draw independent scores.

        Parameters
        ----------
        rng
            Generator of the draws.
        n_rep
            Replicates.
        n_obs
            Observations of each replicate.

        Returns
        -------
        float array (rep, obs)
            Scores, one replicate per row.
        """

    def sensitivity(self, threshold: Numbers) -> Any:
        """Compute P(score >= threshold), elementwise; −∞ gives 1.

        Parameters
        ----------
        threshold
            Thresholds, in score units.

        Returns
        -------
        float or array
            Probabilities.
        """

    def specificity(self, threshold: Numbers) -> Any:
        """Compute P(score < threshold), elementwise; +∞ gives 1.

        Parameters
        ----------
        threshold
            Thresholds, in score units.

        Returns
        -------
        float or array
            Probabilities.
        """

    def cdf(self, threshold: Numbers) -> Any:
        """Compute P(score <= threshold), elementwise: with ties, more than the specificity.

        Parameters
        ----------
        threshold
            Thresholds, in score units.

        Returns
        -------
        float or array
            Probabilities.
        """

    def quantile(self, q: Numbers) -> Any:
        """Return the smallest value with at least `q` of the distribution at or below it.

        Parameters
        ----------
        q
            Probabilities.

        Returns
        -------
        float or array
            Scores.
        """

    def threshold(self, sensitivity: Numbers) -> Any:
        """Return the largest threshold that has at least this sensitivity: the true t*.

        Parameters
        ----------
        sensitivity
            Share of positives to keep, in (0, 1).

        Returns
        -------
        float or array
            Thresholds, in score units.
        """


class ContinuousScores(ABC):
    """Scores of which no two are ever equal."""

    continuous: ClassVar[bool] = True
    normal: ClassVar[bool] = False

    @abstractmethod
    def specificity(self, threshold: Numbers) -> Any:
        """Compute P(score < threshold), elementwise.

        Parameters
        ----------
        threshold
            Thresholds, in score units.

        Returns
        -------
        float or array
            Probabilities.
        """

    def cdf(self, threshold: Numbers) -> Any:
        return self.specificity(threshold)


@dataclass(frozen=True)
class NormalScores(ContinuousScores):
    """Normal scores, such as log-odds often look.

    Parameters
    ----------
    mean
        Mean, in the units of the score.
    sd
        Standard deviation, above 0.
    """

    normal: ClassVar[bool] = True

    mean: float = 1.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        _check_scale(self, self.sd)

    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        return self.mean + self.sd * rng.standard_normal(_shape(n_rep, n_obs))

    def sensitivity(self, threshold: Numbers) -> Any:
        return special.ndtr((self.mean - np.asarray(threshold)) / self.sd)

    def specificity(self, threshold: Numbers) -> Any:
        return special.ndtr((np.asarray(threshold) - self.mean) / self.sd)

    def quantile(self, q: Numbers) -> Any:
        return self.mean + self.sd * special.ndtri(_level(q))

    def threshold(self, sensitivity: Numbers) -> Any:
        return self.mean - self.sd * special.ndtri(_level(sensitivity, "sensitivity"))


@dataclass(frozen=True)
class SkewedScores(ContinuousScores):
    """Gamma scores, shifted, scaled and, for a long left tail, mirrored.

    Parameters
    ----------
    mean, sd
        Standard deviation of the scores, in their units.
    skewness
        Third standardised moment, not 0. Negative: the tail that sets a sensitivity is long.

    Raises
    ------
    DesignError
        If the skewness is 0, or so large that doubles tie the scores at the end of their range.
    """

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
        self._refuse_ties()

    def _refuse_ties(self) -> None:
        """Raise an error for a shape so small that many gammas round to the least score."""
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
        return np.asarray(self._place(rng.standard_gamma(self.shape, _shape(n_rep, n_obs))))

    def sensitivity(self, threshold: Numbers) -> Any:
        tail = special.gammaincc if self.skewness > 0 else special.gammainc
        return tail(self.shape, self._gamma(threshold))

    def specificity(self, threshold: Numbers) -> Any:
        tail = special.gammainc if self.skewness > 0 else special.gammaincc
        return tail(self.shape, self._gamma(threshold))

    def quantile(self, q: Numbers) -> Any:
        inverse = special.gammaincinv if self.skewness > 0 else special.gammainccinv
        return self._place(inverse(self.shape, _level(q)))

    def threshold(self, sensitivity: Numbers) -> Any:
        inverse = special.gammainccinv if self.skewness > 0 else special.gammaincinv
        return self._place(inverse(self.shape, _level(sensitivity, "sensitivity")))

    def _place(self, gamma: Numbers) -> Any:
        unit = (gamma - self.shape) / np.sqrt(self.shape)
        return self.mean + self.sd * np.sign(self.skewness) * unit

    def _gamma(self, score: Numbers) -> Any:
        unit = (np.asarray(score) - self.mean) / self.sd * np.sign(self.skewness)
        return np.maximum(self.shape + np.sqrt(self.shape) * unit, 0.0)


@dataclass(frozen=True)
class HeavyTailedScores(ContinuousScores):
    """Student-t scores around a location; `scale` multiplies the t variable.

    Any `df` above 0 is allowed: quantiles exist where moments do not.

    Parameters
    ----------
    location
        Centre, in the units of the score.
    scale
        Factor of the t variable, above 0.
    df
        Degrees of freedom, above 0.

    Raises
    ------
    DesignError
        If `df` is not above 0.
    """

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
        return self.location + self.scale * rng.standard_t(self.df, _shape(n_rep, n_obs))

    def sensitivity(self, threshold: Numbers) -> Any:
        return special.stdtr(self.df, (self.location - np.asarray(threshold)) / self.scale)

    def specificity(self, threshold: Numbers) -> Any:
        return special.stdtr(self.df, (np.asarray(threshold) - self.location) / self.scale)

    def quantile(self, q: Numbers) -> Any:
        return self.location + self.scale * special.stdtrit(self.df, _level(q))

    def threshold(self, sensitivity: Numbers) -> Any:
        level = _level(sensitivity, "sensitivity")
        return self.location - self.scale * special.stdtrit(self.df, level)


@dataclass(frozen=True)
class DiscretisedScores:
    """Scores of another distribution, rounded to multiples of `step`: many are tied.

    Parameters
    ----------
    base
        Continuous scores before rounding.
    step
        Distance between neighbouring values, in units of the score.
    """

    continuous: ClassVar[bool] = False
    normal: ClassVar[bool] = False

    base: NormalScores | SkewedScores | HeavyTailedScores = field(default_factory=NormalScores)
    step: float = 0.25

    def __post_init__(self) -> None:
        _check_scale(self, self.step)

    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        return self.step * np.floor(self.base.draw(rng, n_rep, n_obs) / self.step + 0.5)

    def sensitivity(self, threshold: Numbers) -> Any:
        return self.base.sensitivity(self.step * (self._least_point(threshold) - 0.5))

    def specificity(self, threshold: Numbers) -> Any:
        return self.base.specificity(self.step * (self._least_point(threshold) - 0.5))

    def cdf(self, threshold: Numbers) -> Any:
        """Compute P(score <= threshold), elementwise: the next lattice point is half a step away.

        Parameters
        ----------
        threshold
            Thresholds, in score units.

        Returns
        -------
        float or array
            Probabilities.
        """
        return self.specificity(np.asarray(threshold) + self.step / 2)

    def quantile(self, q: Numbers) -> Any:
        return self.step * np.ceil(self.base.quantile(q) / self.step - 0.5 - LATTICE_SLACK)

    def threshold(self, sensitivity: Numbers) -> Any:
        """Return the lattice point itself; anything above it, up to the next, is less sensitive.

        Parameters
        ----------
        sensitivity
            Share of positives to keep, in (0, 1).

        Returns
        -------
        float or array
            Thresholds, in score units.
        """
        edge = self.base.threshold(sensitivity) / self.step
        return self.step * np.floor(edge + 0.5 + LATTICE_SLACK)

    def _least_point(self, threshold: Numbers) -> Any:
        """Index of the least lattice point at or above a threshold."""
        return np.ceil(np.asarray(threshold, dtype=float) / self.step - LATTICE_SLACK)


def _level(value: Numbers, name: str = "q") -> Real:
    check_proportion(name, value, "a threshold at that level")
    return np.asarray(value, dtype=float)


def _shape(n_rep: int, n_obs: int) -> tuple[int, int]:
    check_count("n_rep", n_rep, least=0, meaning="a block")
    check_count("n_obs", n_obs, least=1, meaning="a sample")
    return n_rep, n_obs


def _check_scale(scores: object, scale: float) -> None:
    if not (scale > 0 and np.isfinite(scale)):
        raise DesignError(
            f"{type(scores).__name__} with a spread or step of {scale:g} has no quantiles to "
            "bound. Give a positive, finite one."
        )
