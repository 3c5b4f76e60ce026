"""Bootstrap bounds for a quantile of scores: exactly, and from a number of resamples.

By the names in `simstudy.documents.stats.classifier.bounds`, with α = 1 − confidence for a lower
and α = confidence for an upper bound.

Sources: Efron & Tibshirani (1993), chapters 12-14; Davison & Hinkley (1997), chapter 5.
"""

from collections.abc import Sequence

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.arguments import as_scores, check_choice, check_count, complement
from simstudy.documents.stats.bootstrap import quantiles as bootstrap
from simstudy.documents.stats.bootstrap.resamples import (
    Resamples,
    draw_resamples,
    in_order,
    resampled_quantile,
    resampled_shape,
    shares_below,
)
from simstudy.documents.stats.classifier.direct_bounds import check_bound, level_of
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError
from simstudy.lazy import special

EXACT_METHODS = ("percentile", "basic", "normal", "bc", "bca")
BOOTSTRAP_METHODS = (*EXACT_METHODS, "studentized")
TIES = ("strict", "mid", "weak")
RESAMPLED_VALUES = 4_000_000
"""Resampled scores held at once by the studentized bootstrap: 32 MB a work array."""


PerRep = Float[np.ndarray, " rep"]
Bounds = dict[str, PerRep]


@reading
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
    refuse_exact_studentized(methods)
    ordered = np.sort(as_scores(scores, least=2), axis=1)
    law = bootstrap.quantile_law(ordered.shape[1], q, quantile_method)
    estimate = _estimate(ordered, q, quantile_method)
    alpha = level_of(confidence, side)
    levels = _plain_levels(estimate, alpha, methods)
    if {"bc", "bca"} & set(methods):
        masses = bootstrap.masses_of_sorted(ordered, estimate, law)
        slope = bootstrap.jackknife_acceleration(ordered, q=q, quantile_method=quantile_method)
        levels |= _corrected_levels(_z0(*masses, ties), slope, alpha, methods)
    bounds = _at_levels(ordered, levels, law)
    if "normal" in methods:
        std = bootstrap.moments_of_sorted(ordered, estimate, law).std
        bounds["normal"] = estimate + special.ndtri(alpha) * std
    return _mirrored(bounds, estimate, methods)


@reading
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
    """Compute bootstrap bounds of each row's quantile from `n_boot` resamples.

    The studentized bound divides by each resample's own standard error, which is the exact
    bootstrap standard error of that resample (an inner bootstrap without inner noise). It needs
    whole resamples, drawn after the others, so that asking for it moves no other number.

    Parameters
    ----------
    rng
        Generator of the resamples.
    scores : float array (rep, obs)
        One replicate per row, any units, in any order.
    q
        Probability of the quantile that is bounded, in (0, 1).
    confidence
        Probability that the bound is on the safe side, in (0, 1).
    n_boot
        Resamples of each row, at least 1.
    side
        "lower" or "upper": on which side of the quantile the bound is.
    methods
        Names of bootstrap methods.
    ties
        How resamples equal to the estimate count in the bias correction, as in
        `exact_bootstrap_bounds`.
    quantile_method
        A name of NumPy's, as in `interpolation`.

    Returns
    -------
    Bounds
        A bound for each row, by method, in score units.
    """
    _check(q, confidence, side, methods, ties)
    ordered = np.sort(as_scores(scores, least=2), axis=1)
    estimate = _estimate(ordered, q, quantile_method)
    resamples = draw_resamples(rng, ordered, n_boot=n_boot, q=q, quantile_method=quantile_method)
    acceleration = bootstrap.jackknife_acceleration(ordered, q=q, quantile_method=quantile_method)
    plain = [name for name in methods if name != "studentized"]
    bounds = bounds_from_resamples(
        resamples,
        estimate,
        acceleration,
        confidence=confidence,
        side=side,
        methods=plain,
        ties=ties,
    )
    if "studentized" in methods:
        roots = studentized_draws(rng, ordered, n_boot=n_boot, q=q, quantile_method=quantile_method)
        std = estimate_and_std_error(ordered, q=q, quantile_method=quantile_method)[1]
        bounds["studentized"] = studentized_bound(
            roots, estimate, std, confidence=confidence, side=side
        )
    return {name: bounds[name] for name in methods}


@reading
def bounds_from_resamples(
    resamples: Resamples,
    estimate: PerRep,
    acceleration: PerRep,
    *,
    confidence: float,
    side: str = "lower",
    methods: Sequence[str] = EXACT_METHODS,
    ties: str = "mid",
) -> Bounds:
    """Compute bounds from given bootstrap values, whatever the statistic.

    Parameters
    ----------
    resamples
        From `draw_resamples`, or any others by `in_order`.
    estimate, acceleration
        Of each row; the acceleration matters to "bca" alone.
    confidence
        Probability that the bound is on the safe side, in (0, 1).
    side
        "lower" or "upper": on which side of the quantile the bound is.
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
    alpha = level_of(confidence, side)
    _check_names(methods, ties)
    levels = _plain_levels(estimate, alpha, methods)
    if {"bc", "bca"} & set(methods):
        z0 = _z0(*shares_below(resamples, estimate), ties)
        levels |= _corrected_levels(z0, acceleration, alpha, methods)
    bounds = {name: resampled_quantile(resamples, level) for name, level in levels.items()}
    if "normal" in methods:
        bounds["normal"] = estimate + special.ndtri(alpha) * resampled_shape(resamples).std
    return _mirrored(bounds, estimate, methods)


@reading
def studentized_draws(
    rng: np.random.Generator,
    scores: Float[np.ndarray, "rep obs"],
    *,
    n_boot: int,
    q: float,
    quantile_method: str = "linear",
) -> Float[np.ndarray, "rep boot"]:
    """Draw (estimate* − estimate)/se* of `n_boot` whole resamples of each row.

    A resample whose scores agree wherever its se* looks has se* = 0: its root is 0 where its
    estimate is unmoved and infinite otherwise. Rows are worked off in groups, to bound memory;
    the numbers do not depend on the grouping.

    Parameters
    ----------
    rng
        Generator of the resamples.
    scores : float array (rep, obs)
        One replicate per row, any units, in any order.
    n_boot
        Resamples of each row, at least 1.
    q
        Probability of the quantile that is bounded, in (0, 1).
    quantile_method
        A name of NumPy's, as in `interpolation`.

    Returns
    -------
    float array (rep, boot)
        Studentized roots, one for each resample.
    """
    check_count("n_boot", n_boot, least=1, meaning="a bootstrap")
    block = as_scores(scores, least=2)
    step = max(1, RESAMPLED_VALUES // (n_boot * block.shape[1]))
    starts = range(0, max(block.shape[0], 1), step)
    groups = [block[start : start + step] for start in starts]
    return np.concatenate([_roots(rng, group, n_boot, q, quantile_method) for group in groups])


@reading
def studentized_bound(
    roots: Float[np.ndarray, "rep boot"],
    estimate: PerRep,
    std_error: PerRep,
    *,
    confidence: float,
    side: str = "lower",
) -> PerRep:
    """Compute the estimate less the quantile of the studentized roots times the standard error.

    A standard error of 0 leaves the estimate; NaN in a root or in either of them gives NaN.

    Parameters
    ----------
    roots : float array (rep, boot)
        Studentized roots, from `studentized_draws`.
    estimate, std_error
        Of each row, in score units.
    confidence
        Probability that the bound is on the safe side, in (0, 1).
    side
        "lower" or "upper": on which side of the quantile the bound is.

    Returns
    -------
    PerRep
        Bounds, in score units.

    Raises
    ------
    DesignError
        If a standard error is negative.

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, section 12.5.
    """
    if (std_error < 0).any():
        raise DesignError(
            f"std_error={std_error[std_error < 0][0]:g} is below 0, which would turn the bound to "
            "the other side. Give standard errors, not log or signed ones."
        )
    level = np.full(estimate.shape, complement(level_of(confidence, side)))
    root = resampled_quantile(in_order(roots), level)
    constant = (std_error == 0) & ~np.isnan(root)
    with np.errstate(invalid="ignore"):  # infinite roots of no spread: replaced
        reach = root * std_error
    return np.asarray(estimate - np.where(constant, 0.0, reach))


def _estimate(ordered: Float[np.ndarray, "rep obs"], q: float, quantile_method: str) -> PerRep:
    where = bootstrap.interpolation(ordered.shape[1], q, quantile_method)
    return bootstrap.quantile_of_sorted(ordered, where)


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


def _corrected_levels(
    z0: PerRep,
    acceleration: PerRep,
    alpha: float,
    methods: Sequence[str],
) -> dict[str, PerRep]:
    slopes = {"bc": np.zeros_like(acceleration), "bca": acceleration}
    return {
        name: corrected_level(z0, slope, alpha) for name, slope in slopes.items() if name in methods
    }


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


@reading
def estimate_and_std_error(
    scores: Float[np.ndarray, "rep obs"], *, q: float, quantile_method: str = "linear"
) -> tuple[PerRep, PerRep]:
    """Compute the sample quantile of each row and its exact bootstrap standard error.

    Parameters
    ----------
    scores : float array (rep, obs)
        One replicate per row, any units, in any order.
    q
        Probability of the quantile that is bounded, in (0, 1).
    quantile_method
        A name of NumPy's, as in `interpolation`.

    Returns
    -------
    tuple[PerRep, PerRep]
        Estimates and standard errors, in score units.
    """
    ordered = np.sort(as_scores(scores, least=1), axis=1)
    estimate = _estimate(ordered, q, quantile_method)
    law = bootstrap.quantile_law(ordered.shape[1], q, quantile_method)
    return estimate, bootstrap.moments_of_sorted(ordered, estimate, law).std


def _check(q: float, confidence: float, side: str, methods: Sequence[str], ties: str) -> None:
    check_bound(q, confidence, side)
    _check_names(methods, ties)


def _check_names(methods: Sequence[str], ties: str) -> None:
    check_choice("ties", ties, TIES)
    for name in methods:
        check_choice("method", name, BOOTSTRAP_METHODS)


def refuse_exact_studentized(methods: Sequence[str]) -> None:
    """Raise an error if the studentized method is among those to be computed exactly.

    Parameters
    ----------
    methods
        Names of bootstrap methods.

    Raises
    ------
    DesignError
        If `methods` has "studentized".
    """
    if "studentized" in methods:
        raise DesignError(
            "method='studentized' has no exact bootstrap: its root depends on the whole resample, "
            "not on two order statistics, and there are C(2n-1, n) resamples. Use "
            "monte_carlo_bootstrap_bounds, whose inner standard error is exact."
        )
