"""Input and output of every comparison of two samples: checks, answers, standard errors."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simstudy.array_types import Bool, Float
from simstudy.documents.stats.arguments import ROUNDING, check_count, check_proportion
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError

Sample = Float[np.ndarray, "rep obs"]
First = Float[np.ndarray, "rep first"]
Second = Float[np.ndarray, "rep second"]
PerRep = Float[np.ndarray, " rep"]


class Comparison(NamedTuple):
    """Result of a method on each replicate's first sample less its second.

    The interval holds the differences that the test does not reject, so p <= alpha where it
    leaves out 0.

    Attributes
    ----------
    estimate
        Estimate of the difference, in the units of the data.
    lower, upper
        Limits in the same units; infinite where the method rejects no difference that is large
        enough on that side, NaN where it has no answer.
    p
        Two-sided p-value; NaN where the method has no answer.
    """

    estimate: PerRep
    lower: PerRep
    upper: PerRep
    p: PerRep


class Moments(NamedTuple):
    """First mean less second, and the variances (divisor n - 1) of each mean.

    Attributes
    ----------
    difference
        First mean less second.
    first, second
        Variance of each mean.
    """

    difference: PerRep
    first: PerRep
    second: PerRep

    @property
    def std_error(self) -> PerRep:
        """Standard error of the difference, unpooled; NaN where both samples are constant."""
        variance = self.first + self.second
        return np.sqrt(np.where(variance > 0, variance, np.nan))


def checked(
    x: Float[np.ndarray, "..."], y: Float[np.ndarray, "..."], alpha: float
) -> tuple[First, Second]:
    """Return both samples as floats, one replicate per row.

    Parameters
    ----------
    x, y : float array (...)
        One replicate per row, in the same units.
    alpha
        Level of the two-sided test, in (0, 1).

    Returns
    -------
    tuple[First, Second]
        The two samples.

    Raises
    ------
    DesignError
        If replicates do not match, or a sample has fewer than two observations.
    """
    check_proportion("alpha", alpha, "a test of that level")
    first, second = (np.asarray(sample, dtype=float) for sample in (x, y))
    if first.ndim != 2 or second.ndim != 2 or len(first) != len(second):
        raise DesignError(
            f"samples of shapes {first.shape} and {second.shape} do not pair up, so replicates "
            "cannot be told apart. Give both one replicate per row: x[np.newaxis] for one sample."
        )
    n_least = min(first.shape[1], second.shape[1])
    if n_least < 2:
        raise DesignError(
            f"a sample of {n_least} observations has no spread, so a difference cannot be judged. "
            "Give at least 2 in each sample."
        )
    return first, second


@reading
def moments(x: First, y: Second) -> Moments:
    """Compute the difference of means, and the variance of each mean.

    Parameters
    ----------
    x, y
        One replicate per row, in the same units.

    Returns
    -------
    Moments
        In the units of the data, and their squares.
    """
    with np.errstate(invalid="ignore"):  # infinite observations have no variance
        difference = x.mean(axis=1) - y.mean(axis=1)
        return Moments(difference, _variance_of_mean(x), _variance_of_mean(y))


@reading
def centred(x: Sample) -> Sample:
    """Subtract the mean of each row.

    Parameters
    ----------
    x
        One replicate per row.

    Returns
    -------
    Sample
        Distances from the mean.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(x - x.mean(axis=1, keepdims=True))


def _variance_of_mean(x: Sample) -> PerRep:
    """Exactly 0 for equal observations: their mean may differ from them by a rounding."""
    variance = x.var(axis=1, ddof=1) / x.shape[1]
    return np.where(x.max(axis=1) == x.min(axis=1), 0.0, variance)


@reading
def no_answer(x: First, y: Second) -> Bool[np.ndarray, " rep"]:
    """Find the replicates in which an observation is not finite.

    Parameters
    ----------
    x, y
        One replicate per row, in the same units.

    Returns
    -------
    bool array (rep,)
        True where one is not.
    """
    return np.asarray(~(np.isfinite(x).all(axis=1) & np.isfinite(y).all(axis=1)))


@reading
def fewest_as_extreme(n_drawn: int, alpha: float) -> int:
    """Count the drawn statistics that must be as extreme for (1 + #) / (1 + drawn) > alpha.

    A test rejects at p <= alpha, so that 999 partitions have a size of 0.05: 50 of 999 at 0.05.
    P-values are compared in floating point by `is_rejected`, so that a test and its interval agree
    to the last draw.

    Parameters
    ----------
    n_drawn
        Statistics drawn, at least 1.
    alpha
        Level of the two-sided test, in (0, 1).

    Returns
    -------
    int
        A number.

    References
    ----------
    Phipson & Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9(1), 39.
    """
    check_count("n_drawn", n_drawn, least=1, meaning="a p-value of drawn statistics")
    return int(is_rejected(np.arange(1, n_drawn + 2) / (n_drawn + 1), alpha).sum())


@reading
def is_rejected(p_value: ArrayLike, alpha: float) -> Bool[np.ndarray, "..."]:
    """Return where a test rejects: p-value <= alpha, up to a relative rounding error of 1e-12.

    Parameters
    ----------
    p_value
        p-values.
    alpha
        Level of the two-sided test, in (0, 1).

    Returns
    -------
    bool array (...)
        True where the test rejects.
    """
    check_proportion("alpha", alpha, "a test of that level")
    return np.asarray(np.asarray(p_value) <= alpha * (1 + ROUNDING))


def check_drawn(name: str, n_drawn: int, *, least: int) -> None:
    """Raise an error for too few resamples or partitions.

    Parameters
    ----------
    name
        Name of the argument, for the message.
    n_drawn
        How many are drawn.
    least
        The least number allowed.

    Raises
    ------
    DesignError
        If there are fewer.
    """
    if n_drawn < least:
        raise DesignError(
            f"{name}={n_drawn} draws leave nothing to hold the statistic against. Use at least "
            f"{least} (999 are usual)."
        )
