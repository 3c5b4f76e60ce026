"""Confidence intervals: formulas, and the kinds of interval that a measure can have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float
from simstudy.errors import DesignError
from simstudy.lazy import special
from simstudy.validation import ROUNDING

if TYPE_CHECKING:
    from simstudy.measures.core import Influence

Number = float | np.ndarray


class Interval(NamedTuple):
    """Lower and upper limit, in the units of the measure.

    Attributes
    ----------
    lower, upper : float array (*cells)
        The limits, in the units of the measure.
    """

    lower: Float[np.ndarray, " *cells"]
    upper: Float[np.ndarray, " *cells"]


def critical_value(level: float) -> float:
    """Two-sided standard normal quantile; `level` is the coverage of the interval, in (0, 1)."""
    if isinstance(level, str) or not 0 < level < 1:
        raise DesignError(
            f"level={level!r} is not a coverage an interval can have. Use a proportion between "
            "0 and 1, such as 0.95."
        )
    return float(special.ndtri((1 + level) / 2))


def normal(estimate: Any, mcse: Any, *, level: float) -> Interval:
    """The estimate plus and minus z standard errors."""
    half_width = critical_value(level) * np.asarray(mcse, float)
    return Interval(np.asarray(estimate - half_width), np.asarray(estimate + half_width))


def student(estimate: Any, mcse: Any, df: Any, *, level: float) -> Interval:
    """The estimate plus and minus quantiles of Student's t times its standard error.

    Parameters
    ----------
    estimate, mcse
        Estimate and its standard error.
    df
        Degrees of freedom of the standard error; below 1 the limits are NaN.
    level
        Coverage of the interval, in (0, 1).
    """
    critical_value(level)
    freedom = np.asarray(df, float)
    quantile = special.stdtrit(np.maximum(freedom, 1), (1 + level) / 2)
    half_width = np.where(freedom >= 1, quantile, np.nan) * np.asarray(mcse, float)
    return Interval(np.asarray(estimate - half_width), np.asarray(estimate + half_width))


def of_difference(first: Any, second: Any, of_first: Interval, of_second: Interval) -> Interval:
    """Limits of a difference from the limits of its two sides.

    Normal limits give the normal interval; Wilson's limits give Newcombe's interval.

    Parameters
    ----------
    first, second
        The two estimates.
    of_first, of_second
        Limits of the two estimates, at the same level.

    References
    ----------
    Newcombe (1998), Statistics in Medicine 17, 873-890, method 10. Zou & Donner (2008),
    Statistics in Medicine 27, 1693-1702.
    """
    with np.errstate(invalid="ignore"):
        down = np.hypot(first - of_first.lower, of_second.upper - second)
        up = np.hypot(of_first.upper - first, second - of_second.lower)
    return Interval(np.asarray(first - second - down), np.asarray(first - second + up))


def of_ratio(
    first: Any, second: Any, of_first: Interval, of_second: Interval, correlation: Any = 0.0
) -> Interval:
    """Limits of a ratio from the limits of its two sides; infinite if the second may be 0.

    Normal limits give Fieller's interval.

    Parameters
    ----------
    first, second, of_first, of_second
        See `of_difference`.
    correlation
        Correlation of the errors of the two estimates, in [-1, 1].

    References
    ----------
    Donner & Zou (2012), Statistical Methods in Medical Research 21, 347-359. Fieller (1954),
    J. R. Statist. Soc. B 16, 175-185.
    """
    above = _turned(of_first, np.asarray(first) < 0)
    below = _turned(of_second, np.asarray(second) < 0)
    with np.errstate(all="ignore"):
        is_negative = np.sign(first) * np.sign(second) < 0
        signed = np.where(is_negative, -1, 1) * correlation
        lower, upper = _ratio_of_positive(np.abs(first), np.abs(second), above, below, signed)
    limits = _turned(Interval(lower, upper), is_negative)
    known = ~np.isnan(np.asarray(first, float)) & (np.abs(second) > 0)
    return Interval(*(np.where(known, limit, np.nan) for limit in limits))


def _turned(limits: Interval, where: np.ndarray) -> Interval:
    """Limits, negated and exchanged in cells where a mask is true."""
    lower, upper = limits
    return Interval(np.where(where, -upper, lower), np.where(where, -lower, upper))


def _ratio_of_positive(
    a: np.ndarray, b: np.ndarray, of_a: Interval, of_b: Interval, correlation: Any
) -> Interval:
    """Limits of a/b for a and b that are 0 or above."""
    ends = []
    for end, other in ((of_a.lower, of_b.upper), (of_a.upper, of_b.lower)):
        middle = a * b - correlation * (end - a) * (b - other)
        above, below = end * (2 * a - end), other * (2 * b - other)
        ends.append((middle, np.sqrt(np.maximum(middle**2 - above * below, 0.0)), above, below))
    (middle, root, above, _), (middle_2, root_2, _, below_2) = ends
    lower = np.where(above == 0, 0.0, above / (middle + root))
    upper = (middle_2 + root_2) / below_2
    unknown = of_b.lower <= 0
    lower = np.where(unknown & (of_a.lower < 0), -np.inf, lower)
    return Interval(np.asarray(lower), np.where(unknown, np.inf, upper))


def cautious_binomial_error(share: Any, n: Any) -> Any:
    """Compute the Monte Carlo error of a share after adding one success and one failure.

    The error of 0 of n is therefore above 0.

    Parameters
    ----------
    share
        The share, in [0, 1].
    n
        Replicates; broadcast against `share`.

    Returns
    -------
    Any
        The error.
    """
    cautious = (np.asarray(share, float) * n + 1) / (np.asarray(n, float) + 2)
    return np.sqrt(cautious * (1 - cautious) / n)


def wilson(proportion: Number, trials: Number, *, level: float, df: Any = np.inf) -> Interval:
    """Score interval of a proportion: never of zero width, and never outside [0, 1].

    Parameters
    ----------
    proportion
        Share of successes, in [0, 1]; NaN gives NaN.
    trials
        Number of trials behind each proportion, not necessarily whole; 0 gives NaN.
    level
        Coverage of the interval, in (0, 1).
    df
        Degrees of freedom of Student's t instead of the normal, for a number of trials that comes
        from an estimated error.

    Returns
    -------
    Interval
        Limits in [0, 1], of the shape of the two arguments together.

    Raises
    ------
    DesignError
        If a proportion is outside [0, 1], or `level` outside (0, 1).

    References
    ----------
    Wilson (1927), J. Am. Stat. Assoc. 22, 209-212.
    """
    proportion, trials = np.asarray(proportion, float), np.asarray(trials, float)
    outside = (proportion < -ROUNDING) | (proportion > 1 + ROUNDING)
    if outside.any():
        raise DesignError(
            f"proportion={proportion[outside].flat[0]:g} is not a share of successes, so it has no "
            "interval. Give successes over trials, from 0 to 1."
        )
    z2 = np.asarray(critical_value(level) ** 2)
    if np.isfinite(df).any():
        z2 = np.asarray(special.stdtrit(np.maximum(df, 1), (1 + level) / 2)) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        center = (proportion + z2 / (2 * trials)) / (1 + z2 / trials)
        spread = proportion * (1 - proportion) / trials + z2 / (4 * trials**2)
        half_width = np.sqrt(z2 * spread) / (1 + z2 / trials)
    lower = np.where(proportion == 0, 0.0, center - half_width)  # 0 exactly, not to rounding
    upper = np.where(proportion == 1, 1.0, center + half_width)
    known = trials > 0
    return Interval(np.where(known, lower, np.nan), np.where(known, upper, np.nan))


# ---------------------------------------------------------------- kinds
@dataclass(frozen=True)
class StudentInterval:
    """Estimate plus and minus a quantile of Student's t times the MCSE, for means and the like.

    Parameters
    ----------
    low, high
        Least and greatest value that the measure can have; limits stay within.
    """

    low: float = -np.inf
    high: float = np.inf
    # The interval allows for rare events, and that of a contrast for one more pair that differs.
    is_proportion: ClassVar[bool] = False

    def limits(self, influence: Influence, mcse: np.ndarray, *, level: float) -> Interval:
        """Compute the limits, in the units of the measure.

        Parameters
        ----------
        influence
            Estimate, influences and numbers of replicates.
        mcse
            Monte Carlo standard error of the estimate.
        level
            Coverage of the interval, in (0, 1).

        Returns
        -------
        Interval
            Lower and upper limit in each cell.
        """
        limits = student(influence.estimate, mcse, influence.n_independent - 1, level=level)
        return self.within(limits)

    def error(self, influence: Influence, mcse: np.ndarray) -> Float[np.ndarray, " *cells"]:
        """Return the MCSE; for a measure of events, if it is 0, the error with one more replicate.

        The influence on a measure of events vanishes in a sample in which all replicates are alike.

        Parameters
        ----------
        influence
            Estimate, influences and numbers of replicates.
        mcse
            Monte Carlo standard error of the estimate.

        Returns
        -------
        float array (*cells)
            The error; 0 only for measures that do not count events.
        """
        del influence
        return mcse

    def one_event(self, influence: Influence) -> Float[np.ndarray, " *cells"]:
        """Compute how far one event moves the estimate: 1/n for a share of n replicates.

        Parameters
        ----------
        influence
            Estimate and numbers of replicates.

        Returns
        -------
        float array (*cells)
            The distance; 0 for measures that do not count events.
        """
        return np.zeros(np.shape(influence.estimate))

    def within(self, limits: Interval) -> Interval:
        """Cut limits to the values that the measure can have.

        Parameters
        ----------
        limits
            Lower and upper limit in each cell.

        Returns
        -------
        Interval
            The limits within `low` and `high`.
        """
        if (self.low, self.high) == (-np.inf, np.inf):
            return limits
        return Interval(*(np.asarray(np.clip(limit, self.low, self.high)) for limit in limits))


NOT_NEGATIVE = StudentInterval(low=0.0)


@dataclass(frozen=True)
class WilsonInterval(StudentInterval):
    """Wilson's interval, for proportions.

    A proportion that was adjusted has that of as many independent trials as give its error, and
    Student's interval if it is not in [0, 1].

    Parameters
    ----------
    low, high
        Always 0 and 1.
    """

    low: float = 0.0
    high: float = 1.0
    is_proportion: ClassVar[bool] = True

    def limits(self, influence: Influence, mcse: np.ndarray, *, level: float) -> Interval:
        share = influence.estimate
        if influence.plain is None:
            return wilson(share, influence.trials, level=level)
        trials = independent_trials(share, mcse, influence.trials)
        freedom = influence._replace(trials=trials).n_independent - 1
        inside = (share >= 0) & (share <= 1)
        of_share = wilson(np.where(inside, share, np.nan), trials, level=level)
        normal = student(share, mcse, freedom, level=level)
        pairs = zip(of_share, normal, strict=True)
        return Interval(*(np.where(inside, inner, outer) for inner, outer in pairs))

    def error(self, influence: Influence, mcse: np.ndarray) -> Float[np.ndarray, " *cells"]:
        is_end = (influence.estimate == self.low) | (influence.estimate == self.high)
        with np.errstate(all="ignore"):
            cautious = cautious_binomial_error(np.clip(influence.estimate, 0, 1), influence.trials)
        return np.where(is_end & np.isfinite(mcse), cautious, mcse)

    def one_event(self, influence: Influence) -> Float[np.ndarray, " *cells"]:
        with np.errstate(all="ignore"):
            return np.asarray(1 / np.asarray(influence.trials, float))


def independent_trials(
    share: Float[np.ndarray, " *cells"],
    mcse: Float[np.ndarray, " *cells"],
    trials: Float[np.ndarray, " *cells"],
) -> Float[np.ndarray, " *cells"]:
    """Trials of a share of independent replicates with this error: share (1 - share)/mcse^2.

    If the error is 0, as for a share of 0, these are `trials`.
    """
    with np.errstate(all="ignore"):
        found = np.asarray(share * (1 - share) / (mcse * mcse))
    return np.where(np.isfinite(found) & (found > 0), found, trials)


END = 1e-12  # relative to the range: a smaller distance from an end is rounding


@dataclass(frozen=True)
class ScaledInterval(StudentInterval):
    """Wilson's interval of the relative position between `low` and `high`.

    The number of trials is the one that has this error.

    Parameters
    ----------
    trials
        Independent trials behind an estimate at an end. Default: the number of replicates.
    """

    trials: Float[np.ndarray, " *cells"] | None = None

    def limits(self, influence: Influence, mcse: np.ndarray, *, level: float) -> Interval:
        share, is_end = self._share(influence), self._is_end(influence)
        width, at_end = self.high - self.low, self._trials(influence)
        with np.errstate(all="ignore"):
            trials = share * (1 - share) * (width / mcse) ** 2
        trials = np.where(is_end | ~(np.isfinite(trials) & (trials > 0)), at_end, trials)
        share, freedom = np.where(is_end, np.rint(share), share), influence.n_independent - 2
        limits = wilson(share, trials, level=level, df=freedom)
        known = (np.where(np.isnan(mcse), np.nan, self.low + width * end) for end in limits)
        return self.within(Interval(*known))

    def error(self, influence: Influence, mcse: np.ndarray) -> Float[np.ndarray, " *cells"]:
        alike = (mcse == 0) | self._is_end(influence)
        with np.errstate(all="ignore"):
            cautious = cautious_binomial_error(self._share(influence), self._trials(influence))
        width = self.high - self.low
        return np.where(alike & np.isfinite(mcse), width * cautious, mcse)

    def one_event(self, influence: Influence) -> Float[np.ndarray, " *cells"]:
        with np.errstate(all="ignore"):
            return np.asarray((self.high - self.low) / self._trials(influence))

    def _trials(self, influence: Influence) -> Float[np.ndarray, " *cells"]:
        return np.asarray(influence.trials if self.trials is None else self.trials, float)

    def _share(self, influence: Influence) -> Float[np.ndarray, " *cells"]:
        """The relative position of the estimate."""
        position = np.asarray(influence.estimate, float) - self.low
        return np.clip(position / (self.high - self.low), 0.0, 1.0)

    def _is_end(self, influence: Influence) -> Bool[np.ndarray, " *cells"]:
        """Whether the estimate is at an end, up to rounding."""
        share = (np.asarray(influence.estimate, float) - self.low) / (self.high - self.low)
        is_low, is_high = (share >= 0) & (share <= END), np.abs(share - 1) <= END
        return np.asarray(is_low | is_high)
