"""The bootstrap t for two means: quantiles of Welch's statistic from resamples of each sample."""

from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.arguments import check_choice
from simstudy.documents.stats.bootstrap.losses import resampled_means
from simstudy.documents.stats.reading import reading
from simstudy.documents.stats.two_sample.samples import (
    Comparison,
    First,
    PerRep,
    Sample,
    Second,
    centred,
    check_drawn,
    checked,
    fewest_as_extreme,
    moments,
)

TAILS = ("equal", "symmetric")
EPS = float(np.finfo(np.float64).eps)
Draws = Float[np.ndarray, "rep boot"]


class _Resampled(NamedTuple):
    """Distance of each resample's mean from the sample's, and its variance."""

    off: Draws
    variance: Draws


@reading
def bootstrap_t(
    x: First,
    y: Second,
    rng: np.random.Generator,
    *,
    alpha: float = 0.05,
    n_boot: int = 999,
    tails: str = "equal",
) -> Comparison:
    """Bootstrap t interval for a difference of means, and the test that it inverts to.

    Each sample is resampled by itself. A resample's t is its difference of means less that of the
    samples, over its own standard error (Welch's). The quantiles of these t take the place of
    Student's, so that skewness of t moves the limits.

    Parameters
    ----------
    x, y
        One replicate per row, in the same units; at least two observations each.
    rng
        Gives two words per replicate and sample, whatever the sizes: first those of `x`.
    alpha
        Level of the two-sided test, in (0, 1); the interval's nominal coverage is 1 - alpha.
    n_boot
        Resamples of each sample, at least 2. Some 100 bytes per replicate and resample are held.
    tails
        `equal` takes alpha / 2 off either end, and p is twice that of the nearer tail;
        `symmetric` takes alpha off the absolute values.

    Returns
    -------
    Comparison
        p-values are made of (1 + #) / (1 + n_boot). Limits are infinite where resamples without
        spread, whose t is infinite, or too few of all, leave no finite quantile. NaN, but for the
        estimate, where both samples are constant.

    References
    ----------
    Efron (1982), The Jackknife, the Bootstrap and Other Resampling Plans, chapter 10; Hall
    (1988), Ann. Statist. 16, 927-953: equal-tailed and symmetric; Davison & Hinkley (1997),
    Bootstrap Methods and their Application, section 4.4: the test.
    """
    x, y = checked(x, y, alpha)
    check_drawn("n_boot", n_boot, least=2)
    check_choice("tails", tails, TAILS)
    found = moments(x, y)
    estimate, unit = found.difference, found.std_error
    drawn = _statistics(_resampled(x, rng, n_boot), _resampled(y, rng, n_boot))
    judge = _equal_tails if tails == "equal" else _symmetric
    low, high, p = judge(drawn, estimate / unit, alpha)
    p = np.where(np.isnan(unit), np.nan, p)
    return Comparison(estimate, estimate - high * unit, estimate - low * unit, p)


def _resampled(x: Sample, rng: np.random.Generator, n_boot: int) -> _Resampled:
    """Variances have the divisor n - 1, and are 0 where a spread is within roundings."""
    n_obs, about = x.shape[1], centred(x)
    off, square = np.moveaxis(
        resampled_means(np.stack([about, about**2], axis=-1), rng, n_boot=n_boot), -1, 0
    )
    with np.errstate(invalid="ignore"):  # observations that are not finite: no answer
        spread = square - off**2
    return _Resampled(off, np.where(spread > n_obs * EPS * square, spread, 0.0) / (n_obs - 1))


def _statistics(first: _Resampled, second: _Resampled) -> Draws:
    """Statistic of each resample; ±∞ or 0 where nothing spreads, by the sign of its difference."""
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = first.off - second.off
        t = difference / np.sqrt(first.variance + second.variance)
    return np.where(difference == 0, 0.0, t)


def _equal_tails(drawn: Draws, statistic: PerRep, alpha: float) -> tuple[PerRep, PerRep, PerRep]:
    """Lower and upper quantile of t, and the p-value."""
    n_boot, at = drawn.shape[1], statistic[:, np.newaxis]
    fewer = np.minimum((drawn >= at).sum(axis=1), (drawn <= at).sum(axis=1))
    n_needed = fewest_as_extreme(n_boot, alpha / 2)
    low, high = -_nth_largest(-drawn, n_needed), _nth_largest(drawn, n_needed)
    return low, high, np.minimum(1.0, 2 * (1 + fewer) / (1 + n_boot))


def _symmetric(drawn: Draws, statistic: PerRep, alpha: float) -> tuple[PerRep, PerRep, PerRep]:
    sizes = np.abs(drawn)
    n_extreme = (sizes >= np.abs(statistic)[:, np.newaxis]).sum(axis=1)
    reach = _nth_largest(sizes, fewest_as_extreme(drawn.shape[1], alpha))
    return -reach, reach, (1 + n_extreme) / (1 + drawn.shape[1])


def _nth_largest(drawn: Draws, n: int) -> PerRep:
    """The n-th largest of each row: that many are at least as large. Infinite for n = 0."""
    if n == 0:
        return np.full(len(drawn), np.inf)
    at = drawn.shape[1] - n
    return np.asarray(np.partition(drawn, at, axis=1)[:, at])
