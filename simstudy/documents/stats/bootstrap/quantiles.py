"""The bootstrap of a sample quantile, exactly: what B = infinity resamples would give.

A sample quantile is (1−g)·X_(j) + g·X_(j+1). In a resample both order statistics are values of
the sample, so the bootstrap distribution sits on the pairs (x_(a), x_(b)), a <= b. Their
probabilities depend on n and q alone and are computed once; a study of coverage then carries no
resampling noise and costs microseconds a replicate.

Sources: the law of one order statistic of a resample is Efron (1979), Annals of Statistics 7(1),
section 3, and Maritz & Jarrett (1978), JASA 73(361); that of two follows from the multinomial.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.documents.stats.arguments import (
    as_scores,
    check_choice,
    check_count,
    check_proportion,
)
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError
from simstudy.lazy import special

QUANTILE_METHODS = (
    "linear",
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "median_unbiased",
    "normal_unbiased",
    "lower",
    "higher",
    "midpoint",
    "nearest",
)


class Interpolation(NamedTuple):
    """A sample quantile as (1−g)·X_(rank) + g·X_(rank+1).

    Attributes
    ----------
    rank
        Rank of the lower order statistic, from 1.
    g
        Weight of the upper one, in [0, 1].
    """

    rank: int
    g: float


class QuantileLaw(NamedTuple):
    """The bootstrap distribution of (X_(j), X_(j+1)) over ranks, in the form that sums fast.

    With ranks a, b counted from 0: P(a, a) is `diag[a]`, and P(a, b = a+1..c) is
    `row[a]·(tail[a] − tail[c])`. Arrays are read-only.

    Attributes
    ----------
    g
        Weight of the upper value.
    diag : float array (obs,)
        Probability that both order statistics have that rank.
    row, tail : float array (obs,)
        Factors of the probabilities of different ranks.
    cdf_lower, cdf_upper : float array (obs,)
        The two marginal distribution functions over ranks.
    """

    g: float
    diag: Float[np.ndarray, " obs"]
    row: Float[np.ndarray, " obs"]
    tail: Float[np.ndarray, " obs"]
    cdf_lower: Float[np.ndarray, " obs"]
    cdf_upper: Float[np.ndarray, " obs"]


class Masses(NamedTuple):
    """Bootstrap probabilities on either side of a value.

    Attributes
    ----------
    strict : float array (rep,)
        Probability strictly below it.
    weak : float array (rep,)
        Probability at or below it.
    """

    strict: Float[np.ndarray, " rep"]
    weak: Float[np.ndarray, " rep"]


class BootstrapMoments(NamedTuple):
    """Moments of the bootstrap distribution, in score units.

    Attributes
    ----------
    mean : float array (rep,)
        Its mean.
    std : float array (rep,)
        Its standard deviation.
    """

    mean: Float[np.ndarray, " rep"]
    std: Float[np.ndarray, " rep"]


@reading
@lru_cache(maxsize=256)
def interpolation(n_obs: int, q: float, method: str = "linear") -> Interpolation:
    """Which order statistics a sample quantile mixes, and how.

    Parameters
    ----------
    n_obs
        Sample size, at least 1.
    q
        Level of the quantile, in (0, 1).
    method
        A name of NumPy's `quantile`. All of them mix two neighbours, so all are allowed.

    Returns
    -------
    Interpolation
        Read off from NumPy's own answer on the sample 0, 1, ..., n−1, which is j − 1 + g.

    References
    ----------
    Hyndman & Fan (1996), American Statistician 50(4), 361-365.
    """
    check_count("n_obs", n_obs, least=1, meaning="a sample quantile")
    check_proportion("q", q, "a quantile at that level")
    check_choice("quantile_method", method, QUANTILE_METHODS)
    position = float(np.quantile(np.arange(float(n_obs)), q, method=method))  # type: ignore[call-overload]
    below = int(position)
    return Interpolation(below + 1, position - below)


@reading
def sample_quantile(
    scores: Float[np.ndarray, "rep obs"], q: float, *, quantile_method: str = "linear"
) -> Float[np.ndarray, " rep"]:
    """Compute `np.quantile` of each row, to the last bit, at the cost of a sort.

    Parameters
    ----------
    scores : float array (rep, obs)
        One replicate per row, any units, in any order.
    q
        Probability of the quantile, in [0, 1].
    quantile_method
        A name of NumPy's that `interpolation` allows.

    Returns
    -------
    float array (rep,)
        Quantiles, in score units.
    """
    block = as_scores(scores, least=1)
    return quantile_of_sorted(
        np.sort(block, axis=1), interpolation(block.shape[1], q, quantile_method)
    )


@reading
def quantile_of_sorted(
    ordered: Float[np.ndarray, "... obs"], where: Interpolation
) -> Float[np.ndarray, "..."]:
    """Interpolate order statistics of rows in ascending order, rounded as NumPy rounds.

    Parameters
    ----------
    ordered : float array (..., obs)
        Rows in ascending order.
    where
        The two order statistics and their weights.

    Returns
    -------
    float array (...)
        (1−g)·X_(j) + g·X_(j+1).
    """
    lower = ordered[..., where.rank - 1]
    upper = ordered[..., min(where.rank, ordered.shape[-1] - 1)]
    if where.g >= 0.5:
        return np.asarray(upper - (upper - lower) * (1.0 - where.g))
    return np.asarray(lower + (upper - lower) * where.g)


@reading
@lru_cache(maxsize=256)
def quantile_law(n_obs: int, q: float, method: str = "linear") -> QuantileLaw:
    """Bootstrap probabilities of all pairs of ranks, from n and q alone.

    Parameters
    ----------
    n_obs
        Sample size, at least 1.
    q
        Level of the quantile, in (0, 1).
    method
        A name of NumPy's `quantile`.

    Returns
    -------
    QuantileLaw
        For a < b (ranks from 1), j of the n draws fall at or below a, at least one on a, and the
        others at or above b, at least one on b:
        C(n, j)·[(a/n)^j − ((a−1)/n)^j]·[((n−b+1)/n)^(n−j) − ((n−b)/n)^(n−j)].

    Raises
    ------
    DesignError
        If n·q·(1−q) exceeds 4900 and g > 0: the factors then leave the range of floating point.
    """
    where = interpolation(n_obs, q, method)
    lower, cdf_lower = _rank_law(n_obs, where.rank)
    if where.g == 0.0:
        nothing = np.zeros(n_obs)
        return _read_only(0.0, lower, nothing, nothing, cdf_lower, cdf_lower)
    _refuse_out_of_range(n_obs, where.rank)
    row, tail = _pair_factors(n_obs, where.rank)
    diag = np.maximum(lower - row * tail, 0.0)
    _, cdf_upper = _rank_law(n_obs, where.rank + 1)
    return _read_only(where.g, diag, row, tail, cdf_lower, cdf_upper)


@reading
def rank_probabilities(n_obs: int, rank: int) -> Float[np.ndarray, " obs"]:
    """Compute the bootstrap distribution of one order statistic: P(X*_(rank) = x_(c)), c = 1..n.

    P(X*_(j) <= x_(c)) is the chance that at least j of n draws have rank at most c, a binomial
    tail: I_{c/n}(j, n−j+1).

    Parameters
    ----------
    n_obs
        Observations in a sample.
    rank
        Rank of the order statistic, 1 to n.

    Returns
    -------
    float array (obs,)
        Probabilities of the ranks.

    Raises
    ------
    DesignError
        If the rank is outside 1..n.
    """
    check_count("rank", rank, least=1, meaning="an order statistic")
    check_count("n_obs", n_obs, least=rank, meaning=f"order statistic {rank}")
    return _rank_law(n_obs, rank)[0]


@reading
def pair_probabilities(law: QuantileLaw) -> Float[np.ndarray, "obs obs"]:
    """Write out the joint probabilities of two order statistics.

    Parameters
    ----------
    law
        The bootstrap law of the quantile, of as many scores as a row has.

    Returns
    -------
    float array (obs, obs)
        Row a, column b, ranks from 0; zero for b < a.
    """
    above = law.row[:, np.newaxis] * -np.diff(law.tail, prepend=law.tail[:1])
    return np.asarray(np.triu(above, k=1) + np.diag(law.diag))


@reading
def atoms_of_sorted(
    lowest: Float[np.ndarray, " low"], law: QuantileLaw
) -> tuple[Float[np.ndarray, " atom"], Float[np.ndarray, " atom"]]:
    """List the values that a bootstrapped quantile can take, and the probability of each.

    Parameters
    ----------
    lowest
        The lowest scores of one sample, ascending; all of them, or as many as matter.
    law
        Estimates of the whole sample.

    Returns
    -------
    tuple[Float[np.ndarray, ' atom'], Float[np.ndarray, ' atom']]
        Values and probabilities.
    """
    joint = pair_probabilities(law)[: len(lowest), : len(lowest)]
    lower, upper = np.nonzero(joint > 0)
    both = np.stack([lowest[lower], lowest[upper]], axis=-1)
    return quantile_of_sorted(both, Interpolation(1, law.g)), joint[lower, upper]


@reading
def bootstrap_quantile(
    scores: Float[np.ndarray, "rep obs"],
    level: Float[np.ndarray, "#rep level"] | float,
    *,
    q: float,
    quantile_method: str = "linear",
) -> Float[np.ndarray, "rep level"]:
    """Quantiles of the exact bootstrap distribution of each row's sample quantile.

    Parameters
    ----------
    scores
        One replicate per row, any units, in any order.
    level
        Probabilities in [0, 1]: shape (rep, level) for each row's own, (1, level) or a number for
        the same in all rows.
    q
        Level of the sample quantile that is bootstrapped.
    quantile_method
        A name of NumPy's `quantile`.

    Returns
    -------
    Float[np.ndarray, "rep level"]
        The smallest attainable value with at least `level` of the distribution at or below it;
        the least attainable value at level 0 and the largest at level 1.
    """
    ordered = np.sort(as_scores(scores, least=1), axis=1)
    levels = np.atleast_2d(np.asarray(level, dtype=float))
    _refuse_levels(levels)
    levels = np.broadcast_to(levels, (ordered.shape[0], levels.shape[1]))
    return quantiles_of_sorted(ordered, levels, quantile_law(ordered.shape[1], q, quantile_method))


@reading
def bootstrap_moments(
    scores: Float[np.ndarray, "rep obs"], *, q: float, quantile_method: str = "linear"
) -> BootstrapMoments:
    """Compute mean and standard deviation of the exact bootstrap law of each row's quantile.

    The standard deviation is that of Maritz & Jarrett (1978), extended to interpolated quantiles.

    Parameters
    ----------
    scores : float array (rep, obs)
        One replicate per row, any units, in any order.
    q
        Probability of the quantile, in [0, 1].
    quantile_method
        A name of NumPy's that `interpolation` allows.

    Returns
    -------
    BootstrapMoments
        In score units.

    References
    ----------
    Maritz & Jarrett (1978), J. Am. Stat. Assoc. 73, 194-196, extended here to interpolated
    quantiles.
    """
    ordered = np.sort(as_scores(scores, least=1), axis=1)
    n_obs = ordered.shape[1]
    center = quantile_of_sorted(ordered, interpolation(n_obs, q, quantile_method))
    return moments_of_sorted(ordered, center, quantile_law(n_obs, q, quantile_method))


@reading
def bootstrap_masses(
    scores: Float[np.ndarray, "rep obs"],
    at: Float[np.ndarray, " rep"],
    *,
    q: float,
    quantile_method: str = "linear",
) -> Masses:
    """Compute the exact bootstrap probability below, and at or below, a value of each row's own.

    Parameters
    ----------
    scores : float array (rep, obs)
        One replicate per row, any units, in any order.
    at : float array (rep,)
        A value for each row; NaN gives NaN.
    q
        Probability of the quantile, in [0, 1].
    quantile_method
        A name of NumPy's that `interpolation` allows.

    Returns
    -------
    Masses
        The two probabilities of each row.
    """
    ordered = np.sort(as_scores(scores, least=1), axis=1)
    masses = masses_of_sorted(ordered, at, quantile_law(ordered.shape[1], q, quantile_method))
    unknown = np.isnan(at)
    return Masses(*(np.where(unknown, np.nan, mass) for mass in masses))


@reading
def quantiles_of_sorted(
    ordered: Float[np.ndarray, "rep obs"],
    levels: Float[np.ndarray, "rep level"],
    law: QuantileLaw,
) -> Float[np.ndarray, "rep level"]:
    """Compute `bootstrap_quantile` of rows already sorted and checked.

    Parameters
    ----------
    ordered : float array (rep, obs)
        One replicate per row, ascending, without NaN.
    levels : float array (rep, level)
        Levels of the bootstrap distribution, in (0, 1), for each row.
    law
        The bootstrap law of the quantile, of as many scores as a row has.

    Returns
    -------
    float array (rep, level)
        Quantiles, in score units.
    """
    from simstudy.documents.stats.bootstrap import _quantile_kernels as kernels

    return np.asarray(kernels.quantiles(ordered, *law, np.require(levels, requirements=["C", "W"])))


@reading
def masses_of_sorted(
    ordered: Float[np.ndarray, "rep obs"], at: Float[np.ndarray, " rep"], law: QuantileLaw
) -> Masses:
    """Compute `bootstrap_masses` of rows already sorted and checked.

    Parameters
    ----------
    ordered : float array (rep, obs)
        One replicate per row, ascending, without NaN.
    at : float array (rep,)
        A value for each row.
    law
        The bootstrap law of the quantile, of as many scores as a row has.

    Returns
    -------
    Masses
        The two probabilities of each row.
    """
    from simstudy.documents.stats.bootstrap import _quantile_kernels as kernels

    return Masses(*kernels.masses(ordered, *law[:4], np.require(at, requirements=["C", "W"])))


@reading
def moments_of_sorted(
    ordered: Float[np.ndarray, "rep obs"], center: Float[np.ndarray, " rep"], law: QuantileLaw
) -> BootstrapMoments:
    """Compute `bootstrap_moments` of rows already sorted and checked.

    Parameters
    ----------
    ordered : float array (rep, obs)
        One replicate per row, ascending, without NaN.
    center : float array (rep,)
        A value near the mean of each row, around which moments are accumulated.
    law
        The bootstrap law of the quantile, of as many scores as a row has.

    Returns
    -------
    BootstrapMoments
        In score units.
    """
    from simstudy.documents.stats.bootstrap import _quantile_kernels as kernels

    return BootstrapMoments(
        *kernels.moments(ordered, *law[:4], np.require(center, requirements=["C", "W"]))
    )


@reading
def jackknife_acceleration(
    ordered: Float[np.ndarray, "rep obs"], *, q: float, quantile_method: str = "linear"
) -> Float[np.ndarray, " rep"]:
    """Acceleration of the BCa interval for a sample quantile, from three order statistics.

    Parameters
    ----------
    ordered
        One replicate per row, ascending; at least two columns.
    q, quantile_method
        The sample quantile, as in `interpolation`.

    Returns
    -------
    Float[np.ndarray, " rep"]
        Σu³ / (6·(Σu²)^1.5), u the jackknife mean less the jackknife values; 0 where all of them
        agree, as nothing then speaks for any acceleration.

    Notes
    -----
    With (j, g) the interpolation at n−1, dropping a rank at or below j gives one value, dropping
    rank j+1 another and dropping any other a third: j, 1 and n−1−j times.

    References
    ----------
    Efron (1987), JASA 82(397), 171-185, equation 6.6, with the jackknife for the influence.
    """
    n_obs = ordered.shape[1]
    rank, g = interpolation(n_obs - 1, q, quantile_method)
    x0, x1, x2 = (ordered[:, min(rank - 1 + step, n_obs - 1)] for step in range(3))
    mix = np.stack([_mix(x1, x2, g), _mix(x0, x2, g), _mix(x0, x1, g)])
    times = np.array([[rank], [1], [n_obs - 1 - rank]])
    return _acceleration(mix, times)


def _mix(
    lower: Float[np.ndarray, " rep"], upper: Float[np.ndarray, " rep"], g: float
) -> Float[np.ndarray, " rep"]:
    return quantile_of_sorted(np.stack([lower, upper], axis=-1), Interpolation(1, g))


def _acceleration(
    values: Float[np.ndarray, "value rep"], times: Int[np.ndarray, "value 1"]
) -> Float[np.ndarray, " rep"]:
    """Skewness of the jackknife values, over six: the scale cancels, so it is taken out first."""
    u = (times * (values - values[0])).sum(0) / times.sum() - (values - values[0])
    largest = np.abs(u).max(0)
    u = np.divide(u, largest, out=np.zeros_like(u), where=largest > 0)
    spread = (times * u**2).sum(0) ** 1.5
    skew = (times * u**3).sum(0)
    return np.asarray(np.divide(skew, 6.0 * spread, out=np.zeros_like(skew), where=spread > 0))


def _rank_law(n_obs: int, rank: int) -> tuple[Float[np.ndarray, " obs"], Float[np.ndarray, " obs"]]:
    """Probabilities and distribution function over ranks; each tail from its own side."""
    at = np.arange(n_obs + 1) / n_obs
    cdf = special.betainc(rank, n_obs - rank + 1, at)
    survival = special.betaincc(rank, n_obs - rank + 1, at)
    lower_half = cdf[1:] < 0.5
    probability = np.where(lower_half, np.diff(cdf), -np.diff(survival))
    return probability, cdf[1:]


def _pair_factors(
    n_obs: int, rank: int
) -> tuple[Float[np.ndarray, " obs"], Float[np.ndarray, " obs"]]:
    """`row` and `tail` of the law, scaled so that `tail` is 1 at rank j: both stay finite."""
    a = np.arange(1, n_obs + 1)
    with np.errstate(divide="ignore"):
        log_tail = (n_obs - rank) * np.log((n_obs - a) / (n_obs - rank))
        log_row = rank * np.log(a / n_obs) + np.log(-np.expm1(rank * np.log((a - 1) / a)))
    log_choose = special.gammaln(n_obs + 1) - special.gammaln(rank + 1)
    log_choose -= special.gammaln(n_obs - rank + 1)
    log_scale = (n_obs - rank) * np.log((n_obs - rank) / n_obs)
    log_row += log_choose + log_scale
    # Reached only ten standard deviations from rank j, where the mass is below 1e-22.
    return np.exp(np.minimum(log_row, 700.0)), np.exp(np.minimum(log_tail, 700.0))


def _read_only(g: float, *arrays: Float[np.ndarray, " obs"]) -> QuantileLaw:
    """Freeze what the cache hands to every caller."""
    copies = [np.array(array) for array in arrays]
    for array in copies:
        array.setflags(write=False)
    return QuantileLaw(g, *copies)


def _refuse_out_of_range(n_obs: int, rank: int) -> None:
    if rank * (n_obs - rank) / n_obs > 4900:
        raise DesignError(
            f"n_obs={n_obs} at order statistic {rank}: the exact bootstrap weights of an "
            "interpolated quantile leave the range of floating point. Use a quantile method that "
            "does not interpolate (quantile_method='inverted_cdf')."
        )


def _refuse_levels(levels: Float[np.ndarray, "rep level"]) -> None:
    outside = ~((levels >= 0) & (levels <= 1))
    if outside.any():
        raise DesignError(
            f"level={levels[outside].flat[0]:g} is not a probability, so the bootstrap "
            "distribution has no quantile there. Give levels from 0 to 1 (0.2, not 20)."
        )
