"""Confidence bounds for a quantile of scores: the threshold that keeps a sensitivity.

A threshold keeps sensitivity k where it is at most the (1−k)-quantile of the positive scores, so
a lower confidence bound for that quantile keeps it with the bound's confidence. The mirror image,
an upper bound for a quantile of the negative scores, keeps a specificity. Methods, by name:

=================  =============================================================================
percentile         quantile of the bootstrap distribution at α
basic              2·estimate − quantile at 1 − α
normal             estimate + z_α · bootstrap standard error
bc                 percentile at Φ(2·z0 + z_α)
bca                percentile at Φ(z0 + (z0 + z_α)/(1 − a·(z0 + z_α)))
studentized        estimate − quantile at 1 − α of (estimate* − estimate)/se*, times se
order_statistic    the order statistic with at least the confidence (Neyman-Pearson umbrella)
normal_tolerance   exact for normal scores
smoothed           percentile of the bootstrap from a kernel-smoothed distribution
bayesian           quantile of the Bayesian bootstrap posterior
=================  =============================================================================

with α = 1 − confidence for a lower and α = confidence for an upper bound. z0 = Φ⁻¹(share of
bootstrap values below the estimate) depends on what is done with those **equal** to it, about one
in ten for a 5% quantile: "strict" leaves them out, "weak" counts them, "mid" counts half.

Sources: Efron & Tibshirani (1993), chapters 12-14; Davison & Hinkley (1997), chapter 5.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from simstudy.errors import DesignError
from simstudy.lazy.scipy import special
from simstudy.shapes import Float
from simstudy.stats.arguments import (
    as_scores,
    check_choice,
    check_count,
    check_proportion,
    complement,
)
from simstudy.stats.bootstrap import quantiles as bootstrap
from simstudy.stats.classifier.umbrella import umbrella_rank

EXACT_METHODS = ("percentile", "basic", "normal", "bc", "bca")
BOOTSTRAP_METHODS = (*EXACT_METHODS, "studentized")
DIRECT_METHODS = ("order_statistic", "normal_tolerance", "smoothed", "bayesian")
METHODS = (*EXACT_METHODS, *DIRECT_METHODS)
TIES = ("strict", "mid", "weak")
SIDES = ("lower", "upper")
RESAMPLED_VALUES = 4_000_000
"""Resampled scores held at once by the studentized bootstrap: 32 MB a work array."""

Bounds = dict[str, Float[np.ndarray, " rep"]]


def exact_bootstrap_bounds(
    scores: Float[np.ndarray, "rep obs"],
    *,
    q: float,
    confidence: float,
    side: str = "lower",
    methods: Sequence[str] = EXACT_METHODS,
    ties: str = "mid",
    quantile_method: str = "linear",
) -> Bounds:
    """Bootstrap bounds of each row as infinitely many resamples would give them.

    Parameters
    ----------
    scores
        One replicate per row, at least two columns.
    q
        Level of the quantile that is bounded, in (0, 1).
    confidence
        Nominal probability that the bound is on the right side, in (0, 1).
    side
        "lower" or "upper".
    methods
        Any of `EXACT_METHODS`.
    ties
        What z0 does with bootstrap values equal to the estimate: "strict", "mid" or "weak".
    quantile_method
        A name of NumPy's `quantile`, used for the estimate and in every resample.

    Returns
    -------
    Bounds
        One array of shape (rep,) per method, in the units of the scores. Where all scores are
        equal the bound is that score: no method failed, all were confidently wrong.
    """
    _check(q, confidence, side, methods, ties)
    _refuse_exact_studentized(methods)
    ordered = np.sort(as_scores(scores, least=2), axis=1)
    law = bootstrap.quantile_law(ordered.shape[1], q, quantile_method)
    estimate = _estimate(ordered, q, quantile_method)
    alpha = _alpha(confidence, side)
    levels = {name: np.full(estimate.shape, alpha) for name in methods if name == "percentile"}
    if "basic" in methods:
        levels["basic"] = np.full(estimate.shape, complement(alpha))
    if {"bc", "bca"} & set(methods):
        masses = bootstrap.masses_of_sorted(ordered, estimate, law)
        acceleration = bootstrap.jackknife_acceleration(
            ordered, q=q, quantile_method=quantile_method
        )
        levels |= _corrected_levels(_z0(masses, ties), acceleration, alpha, methods)
    bounds = _at_levels(ordered, levels, law)
    if "basic" in methods:
        bounds["basic"] = 2.0 * estimate - bounds["basic"]
    if "normal" in methods:
        std = bootstrap.moments_of_sorted(ordered, estimate, law).std
        bounds["normal"] = estimate + special.ndtri(alpha) * std
    return {name: bounds[name] for name in methods}


def monte_carlo_bootstrap_bounds(
    rng: np.random.Generator,
    scores: Float[np.ndarray, "rep obs"],
    *,
    q: float,
    confidence: float,
    n_boot: int,
    side: str = "lower",
    methods: Sequence[str] = BOOTSTRAP_METHODS,
    ties: str = "mid",
    quantile_method: str = "linear",
) -> Bounds:
    """Bootstrap bounds of each row from `n_boot` resamples; parameters as for the exact ones.

    The studentized bound divides by each resample's own standard error, which is the exact
    bootstrap standard error of that resample (an inner bootstrap without inner noise). It needs
    whole resamples, drawn after the others, so that asking for it moves no other number.
    """
    _check(q, confidence, side, methods, ties)
    ordered = np.sort(as_scores(scores, least=2), axis=1)
    estimate = _estimate(ordered, q, quantile_method)
    draws = bootstrap.bootstrap_draws(
        rng, ordered, n_boot=n_boot, q=q, quantile_method=quantile_method
    )
    plain = [name for name in methods if name != "studentized"]
    acceleration = bootstrap.jackknife_acceleration(ordered, q=q, quantile_method=quantile_method)
    bounds = bounds_from_draws(
        draws, estimate, acceleration, confidence=confidence, side=side, methods=plain, ties=ties
    )
    if "studentized" in methods:
        law = bootstrap.quantile_law(ordered.shape[1], q, quantile_method)
        roots = studentized_draws(rng, ordered, n_boot=n_boot, q=q, quantile_method=quantile_method)
        std = bootstrap.moments_of_sorted(ordered, estimate, law).std
        bounds["studentized"] = studentized_bound(
            roots, estimate, std, confidence=confidence, side=side
        )
    return {name: bounds[name] for name in methods}


def bounds_from_draws(
    draws: Float[np.ndarray, "rep boot"],
    estimate: Float[np.ndarray, " rep"],
    acceleration: Float[np.ndarray, " rep"],
    *,
    confidence: float,
    side: str = "lower",
    methods: Sequence[str] = EXACT_METHODS,
    ties: str = "mid",
) -> Bounds:
    """Bounds from bootstrap values that are already there, whatever the statistic.

    Quantiles of the draws are NumPy's default, interpolated ones, and the standard error divides
    by the number of draws, both as in the `arch` package.
    """
    alpha = _alpha(confidence, side)
    ranked = np.sort(draws, axis=1)
    levels = {
        "percentile": np.full(estimate.shape, alpha),
        "basic": np.full(estimate.shape, complement(alpha)),
    } | _corrected_levels(_z0(_shares(draws, estimate), ties), acceleration, alpha, methods)
    bounds = {name: _empirical_quantile(ranked, level) for name, level in levels.items()}
    bounds["basic"] = 2.0 * estimate - bounds["basic"]
    bounds["normal"] = estimate + special.ndtri(alpha) * draws.std(axis=1)
    return {name: bounds[name] for name in methods}


def studentized_draws(
    rng: np.random.Generator,
    scores: Float[np.ndarray, "rep obs"],
    *,
    n_boot: int,
    q: float,
    quantile_method: str = "linear",
) -> Float[np.ndarray, "rep boot"]:
    """(estimate* − estimate)/se* of `n_boot` whole resamples of each row.

    A resample whose scores agree wherever its se* looks has se* = 0: its root is 0 where its
    estimate is unmoved and infinite otherwise. Rows are worked off in groups, to bound memory;
    the numbers do not depend on the grouping.
    """
    check_count("n_boot", n_boot, least=1, meaning="a bootstrap")
    block = as_scores(scores, least=2)
    step = max(1, RESAMPLED_VALUES // (n_boot * block.shape[1]))
    starts = range(0, max(block.shape[0], 1), step)
    groups = [block[start : start + step] for start in starts]
    return np.concatenate([_roots(rng, group, n_boot, q, quantile_method) for group in groups])


def studentized_bound(
    roots: Float[np.ndarray, "rep boot"],
    estimate: Float[np.ndarray, " rep"],
    std_error: Float[np.ndarray, " rep"],
    *,
    confidence: float,
    side: str = "lower",
) -> Float[np.ndarray, " rep"]:
    """Estimate less the quantile of the studentized roots times the standard error."""
    level = np.full(estimate.shape, complement(_alpha(confidence, side)))
    root = _empirical_quantile(np.sort(roots, axis=1), level)
    spread = np.where(std_error > 0, std_error, 0.0)
    return np.asarray(estimate - np.where(spread > 0, root, 0.0) * spread)


def order_statistic_bound(
    scores: Float[np.ndarray, "rep obs"], *, q: float, confidence: float, side: str = "lower"
) -> Float[np.ndarray, " rep"]:
    """The tightest order statistic with at least the confidence: the exact binomial interval.

    Lower: X_(r) with r = max{r : P(Binomial(n, q) < r) <= 1 − confidence}, which is the
    Neyman-Pearson umbrella rank; upper: its mirror image. Where no order statistic is safe the
    bound is infinite: the sample says nothing at that confidence.

    References
    ----------
    Clopper & Pearson's inversion for quantiles: Conover (1999), Practical Nonparametric
    Statistics, 3rd edition, section 3.2.
    """
    _check(q, confidence, side)
    ordered = np.sort(as_scores(scores, least=1), axis=1)
    if side == "upper":
        ordered = -ordered[:, ::-1]
    keep = complement(q) if side == "lower" else q
    rank = int(umbrella_rank(ordered.shape[1], keep, confidence))
    bound = ordered[:, rank - 1] if rank else np.full(ordered.shape[0], -np.inf)
    return bound if side == "lower" else -bound


def normal_tolerance_bound(
    scores: Float[np.ndarray, "rep obs"], *, q: float, confidence: float, side: str = "lower"
) -> Float[np.ndarray, " rep"]:
    """Mean plus a multiple of the standard deviation, exact where the scores are normal.

    √n times the multiple is the α quantile of the noncentral t with n − 1 degrees of freedom and
    noncentrality √n·Φ⁻¹(q).

    References
    ----------
    Owen (1968), Technometrics 10(3), 445-478.
    """
    _check(q, confidence, side)
    block = as_scores(scores, least=2)
    multiple = normal_tolerance_factor(block.shape[1], q, _alpha(confidence, side))
    return np.asarray(block.mean(axis=1) + multiple * block.std(axis=1, ddof=1))


def normal_tolerance_factor(n_obs: int, q: float, alpha: float) -> float:
    """The multiple c with P(mean + c·sd >= the q-quantile) = alpha for n normal scores."""
    root_n = np.sqrt(n_obs)
    quantile = special.nctdtrit(n_obs - 1, root_n * special.ndtri(q), alpha)
    return float(quantile / root_n)


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
        As for `exact_bootstrap_bounds`.
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
    _check(q, confidence, side)
    ordered = np.sort(as_scores(scores, least=2), axis=1)
    n_obs = ordered.shape[1]
    position = (n_obs - 1) * q + 1.0
    target = special.betaincinv(position, n_obs + 1.0 - position, _alpha(confidence, side))
    widths = _bandwidths(ordered, bandwidth)
    return _smooth_quantile(ordered, float(target), widths)


def bayesian_bootstrap_bound(
    scores: Float[np.ndarray, "rep obs"], *, q: float, confidence: float, side: str = "lower"
) -> Float[np.ndarray, " rep"]:
    """Quantile at α of the Bayesian bootstrap posterior of the q-quantile, exactly.

    With Dirichlet(1, ..., 1) weights the c smallest scores weigh beta(c, n−c) together, so the
    posterior puts P(beta(c, n−c) >= q) at or below X_(c), and the bound is an order statistic.

    References
    ----------
    Rubin (1981), Annals of Statistics 9(1), 130-134.
    """
    _check(q, confidence, side)
    ordered = np.sort(as_scores(scores, least=1), axis=1)
    below = bayesian_bootstrap_cdf(ordered.shape[1], q)
    return np.asarray(ordered[:, int(np.searchsorted(below, _alpha(confidence, side)))])


def bayesian_bootstrap_cdf(n_obs: int, q: float) -> Float[np.ndarray, " obs"]:
    """Posterior probability that the q-quantile is at or below X_(c), c = 1..n."""
    c = np.arange(1, n_obs)
    return np.append(special.betaincc(c, n_obs - c, q), 1.0)


def quantile_bound(
    scores: Float[np.ndarray, "rep obs"],
    *,
    method: str,
    q: float,
    confidence: float,
    side: str = "lower",
    ties: str = "mid",
    quantile_method: str = "linear",
) -> Float[np.ndarray, " rep"]:
    """One bound by the name of its method, any of `METHODS`; see the functions it stands for.

    `ties` and `quantile_method` matter to the bootstrap methods alone.
    """
    if method == "studentized":
        _refuse_exact_studentized((method,))
    check_choice("method", method, METHODS)
    if method in DIRECT_METHODS:
        bound: Float[np.ndarray, " rep"] = _DIRECT[method](
            scores, q=q, confidence=confidence, side=side
        )
        return bound
    return exact_bootstrap_bounds(
        scores,
        q=q,
        confidence=confidence,
        side=side,
        methods=(method,),
        ties=ties,
        quantile_method=quantile_method,
    )[method]


def sensitivity_threshold(
    scores: Float[np.ndarray, "rep obs"],
    *,
    sensitivity: float,
    confidence: float,
    method: str = "bca",
    ties: str = "mid",
    quantile_method: str = "linear",
) -> Float[np.ndarray, " rep"]:
    """Threshold from positive scores: a lower bound for their (1 − sensitivity)-quantile.

    To be used with score >= threshold.
    """
    check_proportion("sensitivity", sensitivity, "a target to keep")
    return quantile_bound(
        scores,
        method=method,
        q=float(complement(sensitivity)),
        confidence=confidence,
        ties=ties,
        quantile_method=quantile_method,
    )


def specificity_threshold(
    scores: Float[np.ndarray, "rep obs"],
    *,
    specificity: float,
    confidence: float,
    method: str = "bca",
    ties: str = "mid",
    quantile_method: str = "linear",
) -> Float[np.ndarray, " rep"]:
    """Threshold from negative scores: an upper bound for their specificity-quantile.

    To be used with score >= threshold. With tied scores take the next larger number
    (`numpy.nextafter`), so that cases tied with the threshold stay negative.
    """
    check_proportion("specificity", specificity, "a target to keep")
    return quantile_bound(
        scores,
        method=method,
        q=specificity,
        confidence=confidence,
        side="upper",
        ties=ties,
        quantile_method=quantile_method,
    )


_DIRECT: dict[str, Any] = {
    "order_statistic": order_statistic_bound,
    "normal_tolerance": normal_tolerance_bound,
    "smoothed": smoothed_bound,
    "bayesian": bayesian_bootstrap_bound,
}


def _alpha(confidence: float, side: str) -> float:
    return confidence if side == "upper" else float(complement(confidence))


def _estimate(
    ordered: Float[np.ndarray, "rep obs"], q: float, quantile_method: str
) -> Float[np.ndarray, " rep"]:
    where = bootstrap.interpolation(ordered.shape[1], q, quantile_method)
    return bootstrap.quantile_of_sorted(ordered, where)


def _shares(
    draws: Float[np.ndarray, "rep boot"], estimate: Float[np.ndarray, " rep"]
) -> bootstrap.Masses:
    at = estimate[:, np.newaxis]
    return bootstrap.Masses((draws < at).mean(axis=1), (draws <= at).mean(axis=1))


def _z0(masses: bootstrap.Masses, ties: str) -> Float[np.ndarray, " rep"]:
    """Bias correction; infinite where no bootstrap value lies on one side of the estimate."""
    share = {
        "strict": masses.strict,
        "mid": 0.5 * (masses.strict + masses.weak),
        "weak": masses.weak,
    }[ties]
    return np.asarray(special.ndtri(np.clip(share, 0.0, 1.0)))


def _corrected_levels(
    z0: Float[np.ndarray, " rep"],
    acceleration: Float[np.ndarray, " rep"],
    alpha: float,
    methods: Sequence[str],
) -> dict[str, Float[np.ndarray, " rep"]]:
    slopes = {"bc": np.zeros_like(acceleration), "bca": acceleration}
    return {n: corrected_level(z0, a, alpha) for n, a in slopes.items() if n in methods}


def corrected_level(
    z0: Float[np.ndarray, " rep"], acceleration: Float[np.ndarray, " rep"], alpha: float
) -> Float[np.ndarray, " rep"]:
    """Φ(z0 + w/(1 − a·w)), w = z0 + z_α: the level at which BCa reads the bootstrap distribution.

    An infinite z0 reads the extreme on its side. Past the pole a·w = 1 the formula comes back
    from the other end; the level stays at the extreme it had reached.
    """
    w = np.where(np.isfinite(z0), z0, 0.0) + special.ndtri(alpha)
    room = 1.0 - acceleration * w
    shift = np.divide(w, room, out=np.copysign(np.full_like(w, np.inf), w), where=room > 0)
    return np.asarray(special.ndtr(np.where(np.isfinite(z0), z0 + shift, z0)))


def _at_levels(
    ordered: Float[np.ndarray, "rep obs"],
    levels: dict[str, Float[np.ndarray, " rep"]],
    law: bootstrap.QuantileLaw,
) -> Bounds:
    if not levels:
        return {}
    values = bootstrap.quantiles_of_sorted(ordered, np.stack(list(levels.values()), axis=1), law)
    return dict(zip(levels, values.T, strict=True))


def _empirical_quantile(
    ranked: Float[np.ndarray, "rep boot"], level: Float[np.ndarray, " rep"]
) -> Float[np.ndarray, " rep"]:
    """NumPy's default quantile of sorted rows, each at its own level; infinite draws allowed."""
    position = level * (ranked.shape[1] - 1)
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, ranked.shape[1] - 1)
    lower = np.take_along_axis(ranked, below[:, np.newaxis], axis=1)[:, 0]
    upper = np.take_along_axis(ranked, above[:, np.newaxis], axis=1)[:, 0]
    apart = upper != lower
    gap = np.subtract(upper, lower, out=np.zeros_like(lower), where=apart)
    part = position - below
    with np.errstate(invalid="ignore"):
        near = np.where(part >= 0.5, upper - gap * (1.0 - part), lower + gap * part)
    return np.where(apart & np.isfinite(gap), near, np.where(part > 0, upper, lower))


def _roots(
    rng: np.random.Generator,
    block: Float[np.ndarray, "rep obs"],
    n_boot: int,
    q: float,
    quantile_method: str,
) -> Float[np.ndarray, "rep boot"]:
    n_rep, n_obs = block.shape
    ranks = rng.integers(n_obs, size=(n_rep, n_boot * n_obs))
    resamples = np.take_along_axis(block, ranks, axis=1).reshape(n_rep * n_boot, n_obs)
    values, std = estimate_and_std_error(resamples, q=q, quantile_method=quantile_method)
    center = np.repeat(_estimate(np.sort(block, axis=1), q, quantile_method), n_boot)
    moved = values - center
    infinite = np.where(moved == 0, 0.0, np.copysign(np.inf, moved))
    roots = np.divide(moved, std, out=infinite, where=std > 0)
    return np.asarray(roots.reshape(n_rep, n_boot))


def estimate_and_std_error(
    scores: Float[np.ndarray, "rep obs"], *, q: float, quantile_method: str = "linear"
) -> tuple[Float[np.ndarray, " rep"], Float[np.ndarray, " rep"]]:
    """Sample quantile of each row and its exact bootstrap standard error, in score units."""
    ordered = np.sort(scores, axis=1)
    estimate = _estimate(ordered, q, quantile_method)
    law = bootstrap.quantile_law(ordered.shape[1], q, quantile_method)
    return estimate, bootstrap.moments_of_sorted(ordered, estimate, law).std


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


def _check(
    q: float,
    confidence: float,
    side: str,
    methods: Sequence[str] = (),
    ties: str = "mid",
) -> None:
    check_proportion("q", q, "a quantile at that level")
    check_proportion("confidence", confidence, "a bound")
    check_choice("side", side, SIDES)
    check_choice("ties", ties, TIES)
    for name in methods:
        check_choice("method", name, BOOTSTRAP_METHODS)


def _refuse_exact_studentized(methods: Sequence[str]) -> None:
    if "studentized" in methods:
        raise DesignError(
            "method='studentized' has no exact bootstrap: its root depends on the whole resample, "
            "not on two order statistics, and there are C(2n-1, n) resamples. Use "
            "monte_carlo_bootstrap_bounds, whose inner standard error is exact."
        )
