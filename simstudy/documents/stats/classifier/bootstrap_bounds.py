"""Bootstrap bounds for a quantile of scores: exactly, and from a number of resamples.

Names as in `simstudy.documents.stats.classifier.bounds`, with α = 1 − confidence for a lower
and α = confidence for an upper bound.

Sources: Efron & Tibshirani (1993), chapters 12-14; Davison & Hinkley (1997), chapter 5.
"""

from collections.abc import Sequence

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.arguments import as_scores, check_choice, complement
from simstudy.documents.stats.bootstrap import quantiles as bootstrap
from simstudy.documents.stats.bootstrap.resamples import (
    Resamples,
    resampled_quantile,
    resampled_shape,
    shares_below,
)
from simstudy.documents.stats.classifier.direct_bounds import check_bound, level_of
from simstudy.documents.stats.reading import reading
from simstudy.lazy import special

EXACT_METHODS = ("percentile", "basic", "normal", "bc", "bca")
TIES = ("strict", "mid", "weak")
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
        Treatment by z0 of bootstrap values equal to the estimate: "strict", "mid" or "weak".
    quantile_method
        A name of NumPy's `quantile`, used for the estimate and in every resample.

    Returns
    -------
    Bounds
        One array of shape (rep,) per method, in the units of the scores. Where all scores are
        equal the bound is that score: no method failed, all were confidently wrong.
    """
    _check(q, confidence, side, methods, ties)
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
        Values of each row; the acceleration matters to "bca" alone.
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
        check_choice("method", name, EXACT_METHODS)
