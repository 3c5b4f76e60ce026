"""The z test of an accuracy regression in closed form: threshold, errors, effect, sample size.

A reference, the mean of n scores, is on record; a check, the mean of m scores, is held against it
and fails where it is worse by more than chance explains. σ, the standard deviation of one score,
is taken as known and the same in both, means as normal. All four of level α, type-II error β, the
detectable effect θ and n hang together by

    θ = −(Φ⁻¹(α) + Φ⁻¹(β)) · se,    se = σ·√(1/n + 1/m),    or σ·√(2(1 − ρ)/n) on the same prompts,

with ρ the correlation of the two scores of a prompt. θ > 0 always means worse by θ, whichever way
the score goes. Scores, σ, θ and thresholds are in the units of the scores. Arguments broadcast;
what they leave undefined is a `DesignError`.

References
----------
Lehmann & Romano (2005), Testing Statistical Hypotheses, section 3.4, for the test; Fleiss, Levin &
Paik (2003), Statistical Methods for Rates and Proportions, chapter 4, for sample sizes.
"""

from typing import Any

import numpy as np

from simstudy.array_types import Bool, Float, Int
from simstudy.documents.stats.accuracy.checks import (
    check_correlation,
    check_errors,
    check_finite,
    check_positive,
    check_sizes,
    sign_of_better,
)
from simstudy.documents.stats.arguments import Numbers, check_count, check_proportion, plain
from simstudy.documents.stats.integer_search import least_count
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError
from simstudy.lazy import special

ROOT_EPS = float(np.sqrt(np.finfo(float).eps))  # relative: what agrees so far is a tie
SCORE_LIMIT = 2**53  # from here on whole numbers are not all doubles


# ---------------------------------------------------------------- the standard error
@reading
def standard_error(
    sigma: Numbers, n: Numbers, n_check: Numbers | None = None, *, correlation: Numbers = 0.0
) -> Any:
    """Compute the standard deviation of the check's mean less the reference's.

    Parameters
    ----------
    sigma
        Standard deviation of one score (not its variance), > 0.
    n, n_check
        Scores in the reference and in the check, whole, at least 1; `n_check=None`: as many.
    correlation
        Correlation of a prompt's two scores, in [-1, 1); 0 for different prompts. Others need
        `n_check=None`.

    Returns
    -------
    float or array
        In the units of the scores: σ·√(1/n + 1/m), or σ·√(2(1 − ρ)/n) for the same prompts.
    """
    check_positive("sigma", sigma, "the spread of a mean")
    return plain(np.asarray(sigma) * _error_of_unit(n, n_check, correlation))


def _error_of_unit(n: Numbers, n_check: Numbers | None, correlation: Numbers) -> Any:
    """The standard error for sigma = 1."""
    check_sizes(n, n_check)
    check_correlation(correlation, n_check)
    m = n if n_check is None else n_check
    return np.sqrt((1 / np.asarray(n) + 1 / np.asarray(m)) * (1 - np.asarray(correlation)))


# ---------------------------------------------------------------- thresholds
@reading
def threshold(
    reference: Numbers,
    alpha: Numbers,
    sigma: Numbers,
    n: Numbers,
    n_check: Numbers | None = None,
    *,
    correlation: Numbers = 0.0,
    lower_is_better: bool = False,
) -> Any:
    """Compute γ, at which a check is as bad as its level allows: reference ± Φ⁻¹(α)·se.

    Parameters
    ----------
    reference
        Mean of the reference.
    alpha
        Chance that a check of unchanged quality fails, in (0, 1), over the draws of both.
    sigma
        Standard deviation of one score (not its variance), > 0.
    n, n_check
        Scores in the reference and in the check, whole, at least 1; `n_check=None`: as many.
    correlation
        Correlation of a prompt's two scores, in [-1, 1); 0 for different prompts. Others need
        `n_check=None`.
    lower_is_better
        For perplexity, error rates: the threshold then lies above the reference.

    Returns
    -------
    float or array
        In the units of the scores.
    """
    check_finite("reference", reference, "a threshold beside it")
    check_proportion("alpha", alpha, "a test of that level")
    error = standard_error(sigma, n, n_check, correlation=correlation)
    margin = sign_of_better(lower_is_better) * special.ndtri(alpha) * error
    return plain(np.asarray(reference) + margin)


@reading
def p_value(
    check: Numbers,
    reference: Numbers,
    sigma: Numbers,
    n: Numbers,
    n_check: Numbers | None = None,
    *,
    correlation: Numbers = 0.0,
    lower_is_better: bool = False,
) -> Any:
    """Compute the chance that a check of unchanged quality is as bad as this one, or worse.

    Parameters
    ----------
    check, reference
        Means.
    sigma
        Standard deviation of one score (not its variance), > 0.
    n, n_check
        Scores in the reference and in the check, whole, at least 1; `n_check=None`: as many.
    correlation
        Correlation of a prompt's two scores, in [-1, 1); 0 for different prompts. Others need
        `n_check=None`.
    lower_is_better
        For perplexity, error rates.

    Returns
    -------
    float or array
        One-sided p-value of the z test.
    """
    check_finite("check", check, "its distance from the reference")
    check_finite("reference", reference, "the distance from it")
    error = standard_error(sigma, n, n_check, correlation=correlation)
    better = sign_of_better(lower_is_better) * np.subtract(check, reference)
    return plain(special.ndtr(better / error))


@reading
def fails(
    check: Numbers, gamma: Numbers, *, strictly: bool = False, lower_is_better: bool = False
) -> Any:
    """Decide whether a check fails: at the threshold or beyond it, or beyond it alone.

    Means of scores lie on a lattice (k/n for right and wrong), so a check can hit a threshold.
    Numbers that agree in half the digits of a double, 1.5e-8 of the larger, are taken as equal: a
    mean's roundings are far smaller, and unequal means of fewer than ten million scores of 0 and 1
    differ by more.

    Parameters
    ----------
    check
        Mean of the check.
    gamma
        Threshold of the same kind.
    strictly
        A check at the threshold passes.
    lower_is_better
        For perplexity, error rates: a check above the threshold fails.

    Returns
    -------
    bool or array
        True where the check fails.
    """
    check_finite("check", check, "whether it fails")
    check_finite("gamma", gamma, "whether a check fails there")
    sign = sign_of_better(lower_is_better)
    found, limit = sign * np.asarray(check, float), sign * np.asarray(gamma, float)
    tied = np.abs(found - limit) <= ROOT_EPS * np.maximum(np.abs(found), np.abs(limit))
    return plain(np.where(tied, not strictly, found < limit))


# ---------------------------------------------------------------- errors and effects
@reading
def detectable_effect(
    alpha: Numbers,
    beta: Numbers,
    sigma: Numbers,
    n: Numbers,
    n_check: Numbers | None = None,
    *,
    correlation: Numbers = 0.0,
) -> Any:
    """Compute θ, by how much worse a check must be to fail with probability 1 − β.

    Parameters
    ----------
    alpha, beta
        Rates of the two errors, each in (0, 1) and together less than 1.
    sigma
        Standard deviation of one score (not its variance), > 0.
    n, n_check
        Scores in the reference and in the check, whole, at least 1; `n_check=None`: as many.
    correlation
        Correlation of a prompt's two scores, in [-1, 1); 0 for different prompts. Others need
        `n_check=None`.

    Returns
    -------
    float or array
        In the units of the scores.
    """
    error = standard_error(sigma, n, n_check, correlation=correlation)
    return plain(_both_quantiles(alpha, beta) * error)


def _both_quantiles(alpha: Numbers, beta: Numbers) -> Any:
    """The detectable effect in standard errors."""
    check_errors(alpha, beta)
    return -(special.ndtri(alpha) + special.ndtri(beta))


@reading
def type_2_error(
    theta: Numbers,
    alpha: Numbers,
    sigma: Numbers,
    n: Numbers,
    n_check: Numbers | None = None,
    *,
    correlation: Numbers = 0.0,
) -> Any:
    """Compute β, the chance that a check that is worse by `theta` passes.

    1 − α at θ = 0; θ < 0 is a check that has become better.

    Parameters
    ----------
    theta
        Loss of the check, in the units of the scores.
    alpha
        Chance that a check of unchanged quality fails, in (0, 1).
    sigma
        Standard deviation of one score (not its variance), > 0.
    n, n_check
        Scores in the reference and in the check, whole, at least 1; `n_check=None`: as many.
    correlation
        Correlation of a prompt's two scores, in [-1, 1); 0 for different prompts. Others need
        `n_check=None`.

    Returns
    -------
    float or array
        A probability.
    """
    return plain(special.ndtr(-_reach(theta, alpha, sigma, n, n_check, correlation)))


@reading
def power(
    theta: Numbers,
    alpha: Numbers,
    sigma: Numbers,
    n: Numbers,
    n_check: Numbers | None = None,
    *,
    correlation: Numbers = 0.0,
) -> Any:
    """Compute the chance that a check that is worse by `theta` fails: 1 − β, without cancellation.

    Parameters
    ----------
    theta
        Loss of the check, in the units of the scores.
    alpha
        Chance that a check of unchanged quality fails, in (0, 1).
    sigma
        Standard deviation of one score (not its variance), > 0.
    n, n_check
        Scores in the reference and in the check, whole, at least 1; `n_check=None`: as many.
    correlation
        Correlation of a prompt's two scores, in [-1, 1); 0 for different prompts. Others need
        `n_check=None`.

    Returns
    -------
    float or array
        A probability.
    """
    return plain(special.ndtr(_reach(theta, alpha, sigma, n, n_check, correlation)))


def _reach(
    theta: Numbers,
    alpha: Numbers,
    sigma: Numbers,
    n: Numbers,
    n_check: Numbers | None,
    correlation: Numbers,
) -> Any:
    """The threshold less the expected check, in standard errors."""
    check_finite("theta", theta, "the chance to find that effect")
    check_proportion("alpha", alpha, "a test of that level")
    error = standard_error(sigma, n, n_check, correlation=correlation)
    return special.ndtri(alpha) + np.asarray(theta) / error


@reading
def level(
    theta: Numbers,
    beta: Numbers,
    sigma: Numbers,
    n: Numbers,
    n_check: Numbers | None = None,
    *,
    correlation: Numbers = 0.0,
) -> Any:
    """Compute α, the level that a test needs to find an effect `theta` with probability 1 − β.

    Parameters
    ----------
    theta
        Loss of the check, in the units of the scores.
    beta
        Chance that a check that is worse by `theta` passes, in (0, 1).
    sigma
        Standard deviation of one score (not its variance), > 0.
    n, n_check
        Scores in the reference and in the check, whole, at least 1; `n_check=None`: as many.
    correlation
        Correlation of a prompt's two scores, in [-1, 1); 0 for different prompts. Others need
        `n_check=None`.

    Returns
    -------
    float or array
        A probability.
    """
    check_finite("theta", theta, "the level that finds that effect")
    check_proportion("beta", beta, "a requirement")
    error = standard_error(sigma, n, n_check, correlation=correlation)
    return plain(special.ndtr(-special.ndtri(beta) - np.asarray(theta) / error))


@reading
def largest_sigma(
    theta: Numbers,
    alpha: Numbers,
    beta: Numbers,
    n: Numbers,
    n_check: Numbers | None = None,
    *,
    correlation: Numbers = 0.0,
) -> Any:
    """Compute σ, the largest spread of a score with which n scores detect `theta`.

    Parameters
    ----------
    theta
        Effect to be detected, > 0.
    alpha
        Chance that a check of unchanged quality fails, in (0, 1).
    beta
        Chance that a check that is worse by `theta` passes, in (0, 1).
    n, n_check
        Scores in the reference and in the check, whole, at least 1; `n_check=None`: as many.
    correlation
        Correlation of a prompt's two scores, in [-1, 1); 0 for different prompts. Others need
        `n_check=None`.

    Returns
    -------
    float or array
        In the units of the scores.
    """
    check_positive("theta", theta, "a design that detects it")
    error = _error_of_unit(n, n_check, correlation)
    return plain(np.asarray(theta) / (_both_quantiles(alpha, beta) * error))


# ---------------------------------------------------------------- sample sizes
@reading
def sample_size(
    theta: Numbers, alpha: Numbers, beta: Numbers, sigma: Numbers, *, correlation: Numbers = 0.0
) -> Any:
    """Find the least n, of the reference and as many of the check, with a detectable effect ≤ θ.

    Uses the comparison of `detectable_effect` with `theta`, which roundings cannot turn back
    for a larger n: n is the least also where the formula's n is whole, or a rounding off it.

    Parameters
    ----------
    theta
        Effect to be detected, > 0.
    alpha
        Chance that a check of unchanged quality fails, in (0, 1).
    beta
        Chance that a check that is worse by `theta` passes, in (0, 1).
    sigma
        Standard deviation of one score (not its variance), > 0.
    correlation
        Correlation of a prompt's two scores, in [-1, 1); 0 for different prompts. Others need
        `n_check=None`.

    Returns
    -------
    Any
        Whole numbers.
    """
    formula = _real_sample_size(theta, alpha, beta, sigma, correlation)
    effects = np.broadcast_to(np.asarray(theta, float), formula.shape)

    def detects(n: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        return np.asarray(
            detectable_effect(alpha, beta, sigma, n, correlation=correlation) <= effects
        )

    high = np.ceil(2 * formula).astype(np.int64) + 1
    return plain(least_count(detects, np.ones_like(high), high))


def _real_sample_size(
    theta: Numbers, alpha: Numbers, beta: Numbers, sigma: Numbers, correlation: Numbers
) -> Float[np.ndarray, "..."]:
    """The n of the formula, before it is made whole; refused where no double counts so far."""
    check_positive("theta", theta, "a design that detects it")
    check_positive("sigma", sigma, "the spread of a mean")
    check_correlation(correlation, None)
    z = _both_quantiles(alpha, beta)
    with np.errstate(over="ignore"):
        n = 2 * (1 - np.asarray(correlation)) * (z * np.asarray(sigma) / np.asarray(theta)) ** 2
    if (n >= SCORE_LIMIT / 4).any():
        at = np.broadcast_to(np.asarray(theta, float), n.shape)[n >= SCORE_LIMIT / 4].flat[0]
        raise DesignError(
            f"theta={at:g} takes some {n.max():.1g} scores, more than can be counted exactly. "
            "Give theta and sigma in the same units, and an effect that matters."
        )
    return np.asarray(n)


@reading
def doubled_sample_size(
    theta: Numbers,
    alpha: Numbers,
    beta: Numbers,
    sigma: Numbers,
    *,
    start: Numbers = 32,
    correlation: Numbers = 0.0,
) -> Any:
    """Find the first n of start, 2·start, 4·start, … whose detectable effect is ≤ θ.

    Up to twice what `sample_size` says is enough.

    Parameters
    ----------
    theta
        Effect to be detected, > 0.
    alpha
        Chance that a check of unchanged quality fails, in (0, 1).
    beta
        Chance that a check that is worse by `theta` passes, in (0, 1).
    sigma
        Standard deviation of one score (not its variance), > 0.
    start
        The first n that is tried, at least 1.
    correlation
        Correlation of a prompt's two scores, in [-1, 1); 0 for different prompts. Others need
        `n_check=None`.

    Returns
    -------
    int or array
        Whole numbers.
    """
    check_count("start", start, least=1, meaning="a search from there")
    least = np.asarray(sample_size(theta, alpha, beta, sigma, correlation=correlation))
    first = np.asarray(start, np.int64)
    times = -(-least // first)
    _, doublings = np.frexp(times - 1)  # the bits of a whole number: 2^bits is the first above it
    return plain(first << doublings)


# ---------------------------------------------------------------- what a level is in truth
@reading
def rejection_probability(
    alpha: Numbers, assumed_error: Numbers, true_error: Numbers, theta: Numbers = 0.0
) -> Any:
    """Compute the chance that a check fails where the assumed standard error is not the true one.

    Φ((Φ⁻¹(α)·assumed + θ)/true): for σ taken at its largest, 50 points, where it is less, or for
    scores of the same prompts that were taken as independent.

    Parameters
    ----------
    alpha
        Chance that a check of unchanged quality fails, in (0, 1).
    assumed_error, true_error
        Each from `standard_error`, > 0.
    theta
        Loss of the check: reference mean less check mean, positive if it is worse.

    Returns
    -------
    float or array
        A probability.
    """
    check_proportion("alpha", alpha, "a test of that level")
    check_positive("assumed_error", assumed_error, "the threshold")
    check_positive("true_error", true_error, "the spread of a check about its reference")
    check_finite("theta", theta, "the chance to find that effect")
    margin = special.ndtri(alpha) * np.asarray(assumed_error)
    return plain(special.ndtr((margin + np.asarray(theta)) / np.asarray(true_error)))


@reading
def level_given_reference(
    alpha: Numbers,
    delta: Numbers,
    n: Numbers = 1,
    n_check: Numbers | None = None,
    *,
    correlation: Numbers = 0.0,
) -> Any:
    """Compute the chance that a check of unchanged quality fails, given its reference's luck.

    A test has the level α over draws of reference and check. A recorded reference is drawn once,
    and all checks are held against it: their false-alarm rate is then, at n = m and ρ = 0,
    Φ(√2·Φ⁻¹(α) + δ), about 1% for a typical reference at α = 5%.

    Parameters
    ----------
    alpha
        Level over both draws, in (0, 1).
    delta
        The number of standard errors, σ/√n, by which the reference came out better than the mean
        it estimates; below 0 for worse.
    n, n_check
        See `standard_error`; only their ratio counts, which is 1 where they are left out.
    correlation
        See `standard_error`, for normal scores: the same prompts carry the luck on.

    Returns
    -------
    float or array
        A probability.

    Raises
    ------
    DesignError
        If an argument is out of range, or the correlation is -1.

    Notes
    -----
    Given the reference, the check's mean is normal about μ + ρ·δ·σ/√n with variance
    (1 − ρ²)·σ²/m, and fails below reference + Φ⁻¹(α)·se.
    """
    check_proportion("alpha", alpha, "a test of that level")
    check_finite("delta", delta, "the luck of a reference")
    check_sizes(n, n_check)
    check_correlation(correlation, n_check)
    ratio = 1.0 if n_check is None else np.asarray(n_check) / np.asarray(n)
    rho = np.asarray(correlation)
    if (rho == -1).any():
        raise DesignError(
            "correlation=-1 makes the check's mean known once the reference is, so it has no "
            "rate of false alarms. Give a correlation above -1."
        )
    threshold_in_units = special.ndtri(alpha) * np.sqrt(1 + ratio)
    luck = np.asarray(delta) * np.sqrt(ratio * (1 - rho))
    return plain(special.ndtr((threshold_in_units + luck) / np.sqrt(1 + rho)))
