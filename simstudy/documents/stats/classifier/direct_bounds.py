"""Bounds for a quantile of scores that draw nothing: in closed form from the ordered scores.

Names of methods are those in `simstudy.documents.stats.classifier.bounds`.
"""

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.arguments import (
    as_scores,
    check_choice,
    check_count,
    check_proportion,
    complement_of,
)
from simstudy.documents.stats.classifier.umbrella import umbrella_rank
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError
from simstudy.lazy import special

SIDES = ("lower", "upper")


@reading
def level_of(confidence: float, side: str) -> float:
    """Return α: the chance that the bound exceeds the quantile.

    Parameters
    ----------
    confidence
        Probability that the bound is on the safe side, in (0, 1).
    side
        "lower" or "upper": on which side of the quantile the bound is.

    Returns
    -------
    float
        `confidence` for an upper bound, 1 − `confidence` for a lower one.
    """
    check_proportion("confidence", confidence, "a bound")
    check_choice("side", side, SIDES)
    return confidence if side == "upper" else complement_of("confidence", confidence)


def check_bound(q: float, confidence: float, side: str) -> None:
    """Raise an error for what leaves a bound undefined.

    Parameters
    ----------
    q
        Probability of the quantile that is bounded, in (0, 1).
    confidence
        Probability that the bound is on the safe side, in (0, 1).
    side
        "lower" or "upper": on which side of the quantile the bound is.

    Raises
    ------
    DesignError
        If a proportion is outside (0, 1), or the side is unknown.
    """
    check_proportion("q", q, "a quantile at that level")
    check_proportion("confidence", confidence, "a bound")
    check_choice("side", side, SIDES)


@reading
def order_statistic_bound(
    scores: Float[np.ndarray, "rep obs"], *, q: float, confidence: float, side: str = "lower"
) -> Float[np.ndarray, " rep"]:
    """Find the tightest order statistic with at least the confidence: the exact binomial interval.

    Lower: X_(r) with r = max{r : P(Binomial(n, q) < r) <= 1 − confidence}, which is the
    Neyman-Pearson umbrella rank; upper: its mirror image. Where no order statistic is safe the
    bound is infinite: the sample says nothing at that confidence.

    Parameters
    ----------
    scores : float array (rep, obs)
        One replicate per row, any units, in any order.
    q
        Probability of the quantile that is bounded, in (0, 1).
    confidence
        Probability that the bound is on the safe side, in (0, 1).
    side
        "lower" or "upper": on which side of the quantile the bound is.

    Returns
    -------
    float array (rep,)
        Bounds, in score units.

    References
    ----------
    Clopper & Pearson's inversion for quantiles: Conover (1999), Practical Nonparametric
    Statistics, 3rd edition, section 3.2.
    """
    check_bound(q, confidence, side)
    ordered = np.sort(as_scores(scores, least=1), axis=1)
    if side == "upper":
        ordered = -ordered[:, ::-1]
    keep = complement_of("q", q) if side == "lower" else q
    rank = int(umbrella_rank(ordered.shape[1], keep, confidence))
    bound = ordered[:, rank - 1] if rank else np.full(ordered.shape[0], -np.inf)
    return bound if side == "lower" else -bound


@reading
def normal_tolerance_bound(
    scores: Float[np.ndarray, "rep obs"], *, q: float, confidence: float, side: str = "lower"
) -> Float[np.ndarray, " rep"]:
    """Compute mean plus a multiple of the standard deviation, exact where the scores are normal.

    √n times the multiple is the α quantile of the noncentral t with n − 1 degrees of freedom and
    noncentrality √n·Φ⁻¹(q).

    Parameters
    ----------
    scores : float array (rep, obs)
        One replicate per row, any units, in any order.
    q
        Probability of the quantile that is bounded, in (0, 1).
    confidence
        Probability that the bound is on the safe side, in (0, 1).
    side
        "lower" or "upper": on which side of the quantile the bound is.

    Returns
    -------
    float array (rep,)
        Bounds, in score units.

    References
    ----------
    Owen (1968), Technometrics 10(3), 445-478.
    """
    check_bound(q, confidence, side)
    block = as_scores(scores, least=2)
    multiple = normal_tolerance_factor(block.shape[1], q, level_of(confidence, side))
    return np.asarray(block.mean(axis=1) + multiple * block.std(axis=1, ddof=1))


@reading
def normal_tolerance_factor(n_obs: int, q: float, alpha: float) -> float:
    """Compute the multiple c with P(mean + c·sd >= the q-quantile) = alpha for n normal scores.

    Parameters
    ----------
    n_obs
        Scores, at least 2.
    q
        Probability of the quantile, in (0, 1).
    alpha
        Chance that the bound exceeds the quantile, in (0, 1).

    Returns
    -------
    float
        The multiple, negative for most lower bounds.

    References
    ----------
    Owen (1968), Technometrics 10(3), 445-478.
    """
    check_count("n_obs", n_obs, least=2, meaning="a standard deviation")
    check_proportion("q", q, "a quantile at that level")
    check_proportion("alpha", alpha, "a bound")
    root_n = np.sqrt(n_obs)
    quantile = special.nctdtrit(n_obs - 1, root_n * special.ndtri(q), alpha)
    return float(quantile / root_n) if np.isfinite(quantile) else _normal_limit(n_obs, q, alpha)


def _normal_limit(n_obs: int, q: float, alpha: float) -> float:
    """The factor of so many scores that the series of the noncentral t ends without an answer.

    The statistic is normal there, of variance (1 + z²/2)/n, but for terms of the order of 1/n.
    """
    z = special.ndtri(q)
    return float(z + special.ndtri(alpha) * np.sqrt((1 + z * z / 2) / n_obs))


@reading
def smoothed_bound(
    scores: Float[np.ndarray, "rep obs"],
    *,
    q: float,
    confidence: float,
    side: str = "lower",
    bandwidth: float | None = None,
) -> Float[np.ndarray, " rep"]:
    """Percentile bound of the smoothed bootstrap, exactly.

    Parameters
    ----------
    scores
        One replicate per row, at least two columns.
    q, confidence, side
        See `exact_bootstrap_bounds`.
    bandwidth
        Standard deviation of the normal kernel, in score units; None is 1.3·sd·n^(−1/3), the
        optimal order for a distribution function (Azzalini 1981, Biometrika 68(1), 326-328).

    Returns
    -------
    Float[np.ndarray, " rep"]
        Resampling from the smoothed F_h makes F_h(X*_(r)) a beta(r, n+1−r) variable, also for the
        fractional r = (n−1)·q + 1 of the default sample quantile (Stigler 1977, JASA 72(359),
        544-550). The bound is F_h⁻¹ of its α quantile: no resample is drawn.
    """
    check_bound(q, confidence, side)
    ordered = np.sort(as_scores(scores, least=2), axis=1)
    n_obs = ordered.shape[1]
    position = (n_obs - 1) * q + 1.0
    target = special.betaincinv(position, n_obs + 1.0 - position, level_of(confidence, side))
    widths = _bandwidths(ordered, bandwidth)
    return _smooth_quantile(ordered, float(target), widths)


@reading
def bayesian_bootstrap_bound(
    scores: Float[np.ndarray, "rep obs"], *, q: float, confidence: float, side: str = "lower"
) -> Float[np.ndarray, " rep"]:
    """Compute the quantile at α of the Bayesian bootstrap posterior of the q-quantile, exactly.

    With Dirichlet(1, ..., 1) weights the c smallest scores weigh beta(c, n−c) together, so the
    posterior puts P(beta(c, n−c) >= q) at or below X_(c), and the bound is an order statistic.

    Parameters
    ----------
    scores : float array (rep, obs)
        One replicate per row, any units, in any order.
    q
        Probability of the quantile that is bounded, in (0, 1).
    confidence
        Probability that the bound is on the safe side, in (0, 1).
    side
        "lower" or "upper": on which side of the quantile the bound is.

    Returns
    -------
    float array (rep,)
        Bounds, in score units.

    References
    ----------
    Rubin (1981), Annals of Statistics 9(1), 130-134.
    """
    check_bound(q, confidence, side)
    ordered = np.sort(as_scores(scores, least=1), axis=1)
    below = bayesian_bootstrap_cdf(ordered.shape[1], q)
    return np.asarray(ordered[:, int(np.searchsorted(below, level_of(confidence, side)))])


@reading
def bayesian_bootstrap_cdf(n_obs: int, q: float) -> Float[np.ndarray, " obs"]:
    """Compute the posterior probability that the q-quantile is at or below X_(c), c = 1..n.

    Parameters
    ----------
    n_obs
        Scores, at least 1.
    q
        Probability of the quantile, in (0, 1).

    Returns
    -------
    float array (obs,)
        Probabilities, the last of which is 1.

    References
    ----------
    Rubin (1981), Annals of Statistics 9(1), 130-134.
    """
    check_count("n_obs", n_obs, least=1, meaning="a posterior of a quantile")
    check_proportion("q", q, "a quantile at that level")
    c = np.arange(1, n_obs)
    return np.append(special.betaincc(c, n_obs - c, q), 1.0)


def _bandwidths(
    ordered: Float[np.ndarray, "rep obs"], bandwidth: float | None
) -> Float[np.ndarray, " rep"]:
    if bandwidth is None:
        return np.asarray(1.3 * ordered.std(axis=1, ddof=1) * ordered.shape[1] ** (-1 / 3))
    if not bandwidth > 0:
        raise DesignError(
            f"bandwidth={bandwidth:g} smooths nothing, so the smoothed bootstrap is the ordinary "
            "one. Give a positive bandwidth, or use the percentile method."
        )
    return np.full(ordered.shape[0], bandwidth)


def _smooth_quantile(
    ordered: Float[np.ndarray, "rep obs"], target: float, width: Float[np.ndarray, " rep"]
) -> Float[np.ndarray, " rep"]:
    """F_h⁻¹(target) by bisection: every kernel's own quantile brackets that of their mixture."""
    low = ordered[:, 0] + width * special.ndtri(target)
    high = ordered[:, -1] + width * special.ndtri(target)
    scale = np.where(width > 0, width, 1.0)[:, np.newaxis]
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = special.ndtr((middle[:, np.newaxis] - ordered) / scale).mean(axis=1) >= target
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return 0.5 * (low + high)
