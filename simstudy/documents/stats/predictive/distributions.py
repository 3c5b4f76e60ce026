"""Predictive distributions: the chance of smaller and of larger values, in logs in both tails.

Parameters are arrays that broadcast with the values asked about. What is asked of each: `log_cdf`
and `log_sf` (natural logs), `mean`, `quantile` and the continuous ranked probability score, `crps`,
in the units of the values.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from simstudy.array_types import Float
from simstudy.documents.stats.arguments import check_proportion
from simstudy.documents.stats.predictive.integrals import from_zero_to, over_half_line
from simstudy.documents.stats.predictive.tails import log_student_below
from simstudy.errors import DesignError
from simstudy.lazy import special

Values = Float[np.ndarray, "..."]
Parameter = Any  # given as whatever makes an array of floats, which it is from then on
EPS = float(np.finfo(float).eps)
FAR = 1e150  # its square is still a double
DOUBLINGS = 1000  # of a bracket: from 1 to as far as doubles reach
HALVINGS = 120  # of a bracket: to the last bit of what lies in it, unless that is next to 0


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
        # |off| beside z (2 Φ(z) - 1): so that an infinite z has an answer.
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


@dataclass(frozen=True, eq=False)
class Empirical:
    """The distribution of some draws, each with the same weight.

    Unless `with_value`, ties with the value count half (mid-rank).

    Parameters
    ----------
    draws
        (..., boot): draws of each prediction on the last axis, in the units of the values.
    with_value
        Whether the value asked about counts as one more draw, as in a permutation test. It counts
        whole in both tails, and so do draws that are equal to it: where it comes from the same
        distribution, a p-value is at most α with a probability of at most α, and never 0. The tails
        then add up to more than 1. Without, a value beyond all draws has the log p-value -inf.

    Raises
    ------
    DesignError
        If there are no draws.
    """

    draws: Float[np.ndarray, "... boot"]
    with_value: bool = False

    def __post_init__(self) -> None:
        draws = np.sort(np.asarray(self.draws, float), axis=-1)
        if draws.ndim == 0 or draws.shape[-1] == 0:
            raise DesignError(
                f"draws have shape {draws.shape}, so there is nothing to rank a value among. Give "
                "the draws of each prediction on the last axis, at least 1."
            )
        object.__setattr__(self, "draws", draws)

    @property
    def mean(self) -> Values:
        """Mean of the draws."""
        return np.asarray(self.draws.mean(axis=-1))

    def log_cdf(self, y: ArrayLike) -> Values:
        return self._log_share(np.asarray(y, float)[..., np.newaxis], self.draws)

    def log_sf(self, y: ArrayLike) -> Values:
        return self._log_share(-np.asarray(y, float)[..., np.newaxis], -self.draws)

    def _log_share(self, y: Values, draws: Values) -> Values:
        """Log share of the draws below, with half of those equal; all of them `with_value`."""
        n_draw, own = draws.shape[-1], float(self.with_value)
        tied = 1.0 if self.with_value else 0.5
        count = (draws < y).sum(axis=-1) + tied * (draws == y).sum(axis=-1) + own
        with np.errstate(divide="ignore"):
            share = np.log(count / (n_draw + own))
        return np.where(np.isnan(y[..., 0] + draws.sum(axis=-1)), np.nan, share)

    def quantile(self, probability: ArrayLike) -> Values:
        """Return the least draw that has such a share of draws at or below it.

        Parameters
        ----------
        probability
            Probabilities, which broadcast with the distributions.

        Returns
        -------
        Values
            In the units of the values.
        """
        n_draw = self.draws.shape[-1]
        rank = np.ceil(_checked(probability) * n_draw * (1 - 4 * EPS)).astype(int) - 1
        shape = np.broadcast_shapes(rank.shape, self.draws.shape[:-1])
        draws = np.broadcast_to(self.draws, (*shape, n_draw))
        at = np.broadcast_to(np.maximum(rank, 0), shape)[..., np.newaxis]
        return np.asarray(np.take_along_axis(draws, at, axis=-1)[..., 0])

    def crps(self, y: ArrayLike) -> Values:
        """Compute the mean distance of draws from the value, less half that of two draws.

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
        Gneiting & Raftery (2007), J. Am. Stat. Assoc. 102, 359-378, equation 21.
        """
        n_draw = self.draws.shape[-1]
        weight = (2 * np.arange(1, n_draw + 1) - n_draw - 1) / n_draw**2
        off = np.abs(self.draws - np.asarray(y, float)[..., np.newaxis]).mean(axis=-1)
        return np.asarray(off - self.draws @ weight)


@dataclass(frozen=True, eq=False)
class Custom:
    """A distribution that its cumulative distribution function says, taken to be continuous.

    Parameters
    ----------
    cdf
        Function of an array of values, elementwise; it may have parameters of its own that
        broadcast with the last axes.
    sf
        1 - cdf, where the upper tail is to be accurate below 1e-16; unless given, it is that
        difference.
    """

    cdf: Callable[[Values], Values]
    sf: Callable[[Values], Values] | None = None

    def _above(self, y: Values) -> Values:
        return np.asarray(1 - self.cdf(y) if self.sf is None else self.sf(y))

    def log_cdf(self, y: ArrayLike) -> Values:
        at = np.asarray(y, float)
        return _log_of_smaller(_share(self.cdf(at), "cdf"), _share(self._above(at), "sf"))

    def log_sf(self, y: ArrayLike) -> Values:
        at = np.asarray(y, float)
        return _log_of_smaller(_share(self._above(at), "sf"), _share(self.cdf(at), "cdf"))

    @property
    def mean(self) -> Values:
        """The median, and what both sides of it add: by quadrature, for smooth functions."""
        center, scale = self._center_and_scale()
        above = over_half_line(lambda u: self._above(center + u), scale)
        return np.asarray(center + above - over_half_line(lambda u: self.cdf(center - u), scale))

    def quantile(self, probability: ArrayLike) -> Values:
        """Compute quantiles by bisection.

        Parameters
        ----------
        probability
            Probabilities, which broadcast with the distributions.

        Returns
        -------
        Values
            In the units of the values; NaN where the distribution function is NaN.
        """
        wanted = _checked(probability)
        low, high = self._bracket(wanted)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            below = self.cdf(middle) < wanted
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        found = np.asarray((low + high) / 2)
        return np.where(np.isnan(self.cdf(found)), np.nan, found)

    def crps(self, y: ArrayLike) -> Values:
        """Compute the continuous ranked probability score by quadrature.

        It is the score of the median, and from there on the integral of 2 F - 1: up to the value
        the integrand is F² instead of (1 - F)², and they differ by that.

        Parameters
        ----------
        y
            Values, which broadcast with the distributions.

        Returns
        -------
        Values
            In the units of the values.
        """
        center, scale = self._center_and_scale()
        below = over_half_line(lambda u: self.cdf(center - u) ** 2, scale)
        above = over_half_line(lambda u: self._above(center + u) ** 2, scale)
        off = np.asarray(y, float) - center
        return np.asarray(below + above + from_zero_to(off, lambda u: 2 * self.cdf(center + u) - 1))

    def _center_and_scale(self) -> tuple[Values, Values]:
        lower, center, upper = (self.quantile(share) for share in (0.25, 0.5, 0.75))
        return center, np.asarray((upper - lower) / 2)

    def _bracket(self, wanted: Values) -> tuple[Values, Values]:
        low, high = np.full(wanted.shape, -1.0), np.full(wanted.shape, 1.0)
        for _ in range(DOUBLINGS):
            too_high, too_low = self.cdf(low) >= wanted, self.cdf(high) < wanted
            if not (too_high.any() or too_low.any()):
                return low, high
            low, high = np.where(too_high, 2 * low, low), np.where(too_low, 2 * high, high)
        raise DesignError(
            f"cdf does not go from 0 to 1: at {low.min():g} it is not below, or at {high.max():g} "
            f"not above {wanted.flat[0]:g}, so there is no such quantile. Give a distribution "
            "function, elementwise."
        )


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


def _log_of_smaller(share: Values, rest: Values) -> Values:
    """Log of a share, from the rest of it where that is the smaller: its digits are all there."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(share < 0.5, np.log(share), np.log1p(-rest)))


def _share(found: Values, what: str) -> Values:
    share = np.asarray(found, float)
    outside = (share < 0) | (share > 1)
    if outside.any():
        raise DesignError(
            f"{what} gave {share[outside].flat[0]:g}, which is no probability, so it has no "
            f"logarithm to combine. Give a function whose values lie in [0, 1]."
        )
    return share
