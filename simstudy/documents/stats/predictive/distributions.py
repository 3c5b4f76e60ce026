"""Predictive distributions: the chance of smaller and of larger values, in logs in both tails.

Parameters are arrays that broadcast with the values asked about. What is asked of each: `log_cdf`
and `log_sf` (natural logs), `mean`, `quantile` and the continuous ranked probability score, `crps`,
in the units of the values.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from simstudy.array_types import Float
from simstudy.documents.stats.arguments import check_proportion
from simstudy.documents.stats.predictive.tails import log_student_below
from simstudy.errors import DesignError
from simstudy.lazy import special

Values = Float[np.ndarray, "..."]
Parameter = Any  # given as whatever makes an array of floats, which it is from then on
EPS = float(np.finfo(float).eps)
FAR = 1e150  # its square is still a double
HALVINGS = 120  # relative width of a bracket: the last bit, except next to 0


class Predictive(Protocol):
    """Protocol of a predictive distribution."""

    @property
    def mean(self) -> Values:
        """Mean of each distribution, in the units of the values."""
        ...

    def log_cdf(self, y: ArrayLike) -> Values:
        """Compute the log probability of a value at or below `y`.

        Parameters
        ----------
        y
            Values, which broadcast with the distributions.

        Returns
        -------
        Values
            Natural logs.
        """
        ...

    def log_sf(self, y: ArrayLike) -> Values:
        """Compute the log probability of a value at or above `y`.

        Parameters
        ----------
        y
            Values, which broadcast with the distributions.

        Returns
        -------
        Values
            Natural logs.
        """
        ...

    def quantile(self, probability: ArrayLike) -> Values:
        """Compute quantiles.

        Parameters
        ----------
        probability
            Probabilities, which broadcast with the distributions.

        Returns
        -------
        Values
            In the units of the values.
        """
        ...

    def crps(self, y: ArrayLike) -> Values:
        """Compute the continuous ranked probability score; less is better.

        Parameters
        ----------
        y
            Values, which broadcast with the distributions.

        Returns
        -------
        Values
            In the units of the values.

        References
        ----------
        Gneiting & Raftery (2007), J. Am. Stat. Assoc. 102, 359-378, section 4.2.
        """
        ...


@dataclass(frozen=True, eq=False)
class Normal:
    """A normal distribution; all of it at the mean where `sd` is 0.

    Parameters
    ----------
    mean, sd
        In the units of the values; NaN gives NaN.
    """

    mean: Parameter
    sd: Parameter

    def __post_init__(self) -> None:
        _read(self, "mean", "sd")
        _refuse_spread(self.sd, "sd", least_is_allowed=True)

    def log_cdf(self, y: ArrayLike) -> Values:
        return np.asarray(special.log_ndtr(self._standardised(y)))

    def log_sf(self, y: ArrayLike) -> Values:
        return np.asarray(special.log_ndtr(-self._standardised(y)))

    def quantile(self, probability: ArrayLike) -> Values:
        return np.asarray(self.mean + self.sd * special.ndtri(_checked(probability)))

    def crps(self, y: ArrayLike) -> Values:
        """Compute the continuous ranked probability score: without spread the absolute error.

        Parameters
        ----------
        y
            Values, which broadcast with the distributions.

        Returns
        -------
        Values
            In the units of the values.

        References
        ----------
        Gneiting & Raftery (2007), J. Am. Stat. Assoc. 102, 359-378, section 4.2.
        """
        off = np.asarray(y, float) - self.mean
        z = self._standardised(y)
        density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
        # |off| apart from z (2 Φ(z) - 1), so that an infinite z has an answer.
        share = special.erf(np.abs(z) / np.sqrt(2))
        return np.asarray(np.abs(off) * share + self.sd * (2 * density - 1 / np.sqrt(np.pi)))

    def _standardised(self, y: ArrayLike) -> Values:
        off = np.asarray(y, float) - self.mean
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where((off == 0) & (self.sd == 0), 0.0, off / self.sd)


@dataclass(frozen=True, eq=False)
class StudentT:
    """Student's t, moved to `mean` and scaled.

    Parameters
    ----------
    mean
        Center, in the units of the values; with `df` of 1 or less there is no mean, and it is the
        median.
    scale
        Positive; the standard deviation is scale √(df / (df - 2)).
    df
        Degrees of freedom, positive and finite.

    Raises
    ------
    DesignError
        If a scale or `df` is not positive and finite.
    """

    mean: Parameter
    scale: Parameter
    df: Parameter

    def __post_init__(self) -> None:
        _read(self, "mean", "scale", "df")
        _refuse_spread(self.scale, "scale", least_is_allowed=False)
        outside = (self.df <= 0) | np.isinf(self.df)
        if outside.any():
            raise DesignError(
                f"df={self.df[outside].flat[0]:g} is no number of degrees of freedom, so there is "
                "no such t distribution. Give a positive, finite df; for infinitely many use "
                "Normal(mean, sd)."
            )

    def log_cdf(self, y: ArrayLike) -> Values:
        return log_student_below(self._standardised(y), self.df)

    def log_sf(self, y: ArrayLike) -> Values:
        return log_student_below(-self._standardised(y), self.df)

    def quantile(self, probability: ArrayLike) -> Values:
        return np.asarray(self.mean + self.scale * special.stdtrit(self.df, _checked(probability)))

    def crps(self, y: ArrayLike) -> Values:
        """Compute the continuous ranked probability score; infinite for df <= 1.

        Parameters
        ----------
        y
            Values, which broadcast with the distributions.

        Returns
        -------
        Values
            In the units of the values.

        References
        ----------
        Jordan, Krüger & Lerch (2019), J. Stat. Softw. 90(12), appendix.
        """
        z, df = self._standardised(y), self.df
        log_height = -special.betaln(0.5, df / 2) - 0.5 * np.log(df)
        near = np.clip(z, -FAR, FAR)  # farther out, what depends on it is nothing beside z
        density = np.exp(log_height - (df + 1) / 2 * np.log1p(near**2 / df))
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.exp(special.betaln(0.5, df - 0.5) - 2 * special.betaln(0.5, df / 2))
            bend = 2 * density * (df + near**2) / (df - 1) - 2 * np.sqrt(df) / (df - 1) * spread
        found = z * (1 - 2 * special.stdtr(df, -z)) + bend
        return np.asarray(self.scale * np.where(df > 1, found, np.inf))

    def _standardised(self, y: ArrayLike) -> Values:
        return np.asarray((np.asarray(y, float) - self.mean) / self.scale)


# ---------------------------------------------------------------- arguments
def _read(distribution: object, *names: str) -> None:
    """Parameters as arrays of floats, in a frozen dataclass."""
    for name in names:
        object.__setattr__(distribution, name, np.asarray(getattr(distribution, name), float))


def _refuse_spread(spread: Values, name: str, *, least_is_allowed: bool) -> None:
    outside = (spread < 0) | np.isinf(spread) | ((spread == 0) & (not least_is_allowed))
    if outside.any():
        least = "0 or more" if least_is_allowed else "a positive one"
        raise DesignError(
            f"{name}={spread[outside].flat[0]:g} is no spread, so values have no place in the "
            f"distribution. Give {least}, finite; the root of a variance, not the variance."
        )


def _checked(probability: ArrayLike) -> Values:
    check_proportion("probability", probability, "a quantile at that level")
    return np.asarray(probability, float)


def _share(found: Values, what: str) -> Values:
    share = np.asarray(found, float)
    outside = (share < 0) | (share > 1)
    if outside.any():
        raise DesignError(
            f"{what} gave {share[outside].flat[0]:g}, which is no probability, so it has no "
            f"logarithm to combine. Give a function whose values lie in [0, 1]."
        )
    return share
