"""Lower confidence bounds for a quantile of scores: the threshold that keeps a sensitivity.

A threshold keeps sensitivity k where it is at most the (1−k)-quantile of the positive scores, so
a lower confidence bound for that quantile keeps it with the bound's confidence. The mirror image,
an upper bound for a quantile of the negative scores, keeps a specificity: it is minus the lower
bound of the negated scores. Methods of the bootstrap, by name:

==========  ======================================================
percentile  quantile of the bootstrap distribution at α
basic       2·estimate − quantile at 1 − α
normal      estimate + z_α · bootstrap standard error
bca         percentile at Φ(z0 + (z0 + z_α)/(1 − a·(z0 + z_α)))
==========  ======================================================

with α = 1 − confidence. z0 = Φ⁻¹(share of bootstrap values below the estimate) depends on what is
done with those **equal** to it, about one in ten for a 5% quantile: "strict" leaves them out,
"weak" counts them, "mid" counts half. They are computed exactly, as infinitely many resamples would
give them, or from a number of resamples. The other bounds draw nothing: in closed form from the
ordered scores. For an order statistic see `simstudy.documents.stats.classifier.umbrella`.

Sources: Efron & Tibshirani (1993), chapters 12-14; Davison & Hinkley (1997), chapter 5.
"""

from collections.abc import Sequence

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.arguments import (
    as_scores,
    check_choice,
    check_count,
    check_proportion,
    complement,
    complement_of,
)
from simstudy.documents.stats.bootstrap import quantiles as bootstrap
from simstudy.documents.stats.bootstrap.resamples import (
    Resamples,
    resampled_quantile,
    resampled_shape,
    shares_below,
)
from simstudy.documents.stats.reading import reading
from simstudy.lazy import special

EXACT_METHODS = ("percentile", "basic", "normal", "bca")
TIES = ("strict", "mid", "weak")
PerRep = Float[np.ndarray, " rep"]
Bounds = dict[str, PerRep]


# ---------------------------------------------------------------- by the bootstrap
@reading
def exact_bootstrap_bounds(
    scores: Float[np.ndarray, "rep obs"],
    *,
    q: float,
    confidence: float,
    methods: Sequence[str] = EXACT_METHODS,
    ties: str = "mid",
) -> Bounds:
    """Bootstrap bounds of each row as infinitely many resamples would give them.

    Parameters
    ----------
    scores
        One replicate per row, at least two columns.
    q
        Level of the quantile that is bounded, in (0, 1).
    confidence
        Nominal probability that the bound is below the quantile, in (0, 1).
    methods
        Any of `EXACT_METHODS`.
    ties
        Treatment by z0 of bootstrap values equal to the estimate: "strict", "mid" or "weak".

    Returns
    -------
    Bounds
        One array of shape (rep,) per method, in the units of the scores. Where all scores are
        equal the bound is that score: no method failed, all were confidently wrong.
    """
    alpha = _level(q, confidence)
    _check_names(methods, ties)
    ordered = np.sort(as_scores(scores, least=2), axis=1)
    law = bootstrap.quantile_law(ordered.shape[1], q)
    where = bootstrap.interpolation(ordered.shape[1], q)
    estimate = bootstrap.quantile_of_sorted(ordered, where)
    levels = _plain_levels(estimate, alpha, methods)
    if "bca" in methods:
        masses = bootstrap.masses_of_sorted(ordered, estimate, law)
        slope = bootstrap.jackknife_acceleration(ordered, q=q)
        levels["bca"] = corrected_level(_z0(*masses, ties), slope, alpha)
    bounds = _at_levels(ordered, levels, law)
    if "normal" in methods:
        std = bootstrap.moments_of_sorted(ordered, estimate, law).std
        bounds["normal"] = estimate + special.ndtri(alpha) * std
    return _mirrored(bounds, estimate, methods)


@reading
def bounds_from_resamples(
    resamples: Resamples,
    estimate: PerRep,
    acceleration: PerRep,
    *,
    confidence: float,
    methods: Sequence[str] = EXACT_METHODS,
    ties: str = "mid",
) -> Bounds:
    """Compute bounds from given bootstrap values, whatever the statistic.

    Parameters
    ----------
    resamples
        From `draw_resamples`, or any others by `in_order`.
    estimate, acceleration
        Values of each row; the acceleration matters to "bca" alone.
    confidence
        Probability that the bound is below the quantile, in (0, 1).
    methods
        Names of bootstrap methods.
    ties
        How resamples equal to the estimate count in the bias correction, as in
        `exact_bootstrap_bounds`.

    Returns
    -------
    Bounds
        NaN where an estimate, an acceleration or a resample is. Quantiles of the resamples are
        NumPy's default, interpolated ones, and the standard error divides by the number of
        resamples, both as in the `arch` package.
    """
    check_proportion("confidence", confidence, "a bound")
    alpha = complement_of("confidence", confidence)
    _check_names(methods, ties)
    levels = _plain_levels(estimate, alpha, methods)
    if "bca" in methods:
        z0 = _z0(*shares_below(resamples, estimate), ties)
        levels["bca"] = corrected_level(z0, acceleration, alpha)
    bounds = {name: resampled_quantile(resamples, level) for name, level in levels.items()}
    if "normal" in methods:
        bounds["normal"] = estimate + special.ndtri(alpha) * resampled_shape(resamples).std
    return _mirrored(bounds, estimate, methods)


def _plain_levels(estimate: PerRep, alpha: float, methods: Sequence[str]) -> Bounds:
    """Levels of "percentile" and "basic" in the bootstrap distribution, the same in every row."""
    levels = {"percentile": alpha, "basic": float(complement(alpha))}
    return {name: np.full(estimate.shape, levels[name]) for name in levels if name in methods}


def _mirrored(bounds: Bounds, estimate: PerRep, methods: Sequence[str]) -> Bounds:
    """Reorder the bounds as `methods`, and reflect "basic" at the estimate.

    All bounds are NaN where the estimate is NaN.
    """
    if "basic" in bounds:
        bounds["basic"] = 2.0 * estimate - bounds["basic"]
    unknown = np.isnan(estimate)
    return {name: np.where(unknown, np.nan, bounds[name]) for name in methods}


def _z0(strict: PerRep, weak: PerRep, ties: str) -> PerRep:
    """Bias correction; infinite where no bootstrap value lies on one side of the estimate."""
    share = {"strict": strict, "mid": 0.5 * (strict + weak), "weak": weak}[ties]
    return np.asarray(special.ndtri(np.clip(share, 0.0, 1.0)))


def corrected_level(z0: PerRep, acceleration: PerRep, alpha: float) -> PerRep:
    """Compute the level at which BCa reads the bootstrap distribution.

    An infinite z0 reads the extreme on its side. Past the pole a·w = 1 the formula comes back
    from the other end; the level stays at the extreme it had reached.

    The level is Φ(z0 + w/(1 − a·w)) with w = z0 + z_α.

    Parameters
    ----------
    z0
        Bias correction of each row.
    acceleration
        Acceleration a of each row.
    alpha
        Nominal level, in (0, 1).

    Returns
    -------
    PerRep
        Levels, in [0, 1].

    References
    ----------
    Efron (1987), J. Am. Stat. Assoc. 82, 171-185.
    """
    w = np.where(np.isfinite(z0), z0, 0.0) + special.ndtri(alpha)
    room = 1.0 - acceleration * w
    z0 = np.where(np.isnan(room), np.nan, z0)
    shift = np.divide(w, room, out=np.copysign(np.full_like(w, np.inf), w), where=room > 0)
    return np.asarray(special.ndtr(np.where(np.isfinite(z0), z0 + shift, z0)))


def _at_levels(
    ordered: Float[np.ndarray, "rep obs"],
    levels: dict[str, PerRep],
    law: bootstrap.QuantileLaw,
) -> Bounds:
    if not levels:
        return {}
    values = bootstrap.quantiles_of_sorted(ordered, np.stack(list(levels.values()), axis=1), law)
    return dict(zip(levels, values.T, strict=True))


def _check_names(methods: Sequence[str], ties: str) -> None:
    check_choice("ties", ties, TIES)
    for name in methods:
        check_choice("method", name, EXACT_METHODS)


# ---------------------------------------------------------------- without resamples
def _level(q: float, confidence: float) -> float:
    """Return α, the chance that the bound exceeds the quantile."""
    check_proportion("q", q, "a quantile at that level")
    check_proportion("confidence", confidence, "a bound")
    return complement_of("confidence", confidence)


@reading
def normal_tolerance_bound(
    scores: Float[np.ndarray, "rep obs"], *, q: float, confidence: float
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
        Probability that the bound is below the quantile, in (0, 1).

    Returns
    -------
    float array (rep,)
        Bounds, in score units.

    References
    ----------
    Owen (1968), Technometrics 10(3), 445-478.
    """
    alpha = _level(q, confidence)
    block = as_scores(scores, least=2)
    multiple = normal_tolerance_factor(block.shape[1], q, alpha)
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
) -> Float[np.ndarray, " rep"]:
    """Percentile bound of the smoothed bootstrap, exactly.

    The normal kernel has standard deviation 1.3·sd·n^(−1/3), the optimal order for a distribution
    function (Azzalini 1981, Biometrika 68(1), 326-328).

    Parameters
    ----------
    scores
        One replicate per row, at least two columns.
    q, confidence
        See `exact_bootstrap_bounds`.

    Returns
    -------
    Float[np.ndarray, " rep"]
        Resampling from the smoothed F_h makes F_h(X*_(r)) a beta(r, n+1−r) variable, also for the
        fractional r = (n−1)·q + 1 of the default sample quantile (Stigler 1977, JASA 72(359),
        544-550). The bound is F_h⁻¹ of its α quantile: no resample is drawn.
    """
    alpha = _level(q, confidence)
    ordered = np.sort(as_scores(scores, least=2), axis=1)
    n_obs = ordered.shape[1]
    position = (n_obs - 1) * q + 1.0
    target = special.betaincinv(position, n_obs + 1.0 - position, alpha)
    widths = 1.3 * ordered.std(axis=1, ddof=1) * n_obs ** (-1 / 3)
    return _smooth_quantile(ordered, float(target), widths)


@reading
def bayesian_bootstrap_bound(
    scores: Float[np.ndarray, "rep obs"], *, q: float, confidence: float
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
        Probability that the bound is below the quantile, in (0, 1).

    Returns
    -------
    float array (rep,)
        Bounds, in score units.

    References
    ----------
    Rubin (1981), Annals of Statistics 9(1), 130-134.
    """
    alpha = _level(q, confidence)
    ordered = np.sort(as_scores(scores, least=1), axis=1)
    below = bayesian_bootstrap_cdf(ordered.shape[1], q)
    return np.asarray(ordered[:, int(np.searchsorted(below, alpha))])


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
