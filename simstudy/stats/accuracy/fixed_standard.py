"""A check against a standard: a stated requirement, or a reference that is already on record.

A stated requirement μ0 has no error of its own, so the check's n does for a test what n for the
check and n for a reference do together in `design`, at half the scores each. A standard that was
itself measured has a standard error, which is passed as `error`. Right and wrong answers have an
exact test. All tests are one-sided for "the check is worse".

A recorded reference is drawn once, and its luck stays in every later false alarm. A guarded
threshold keeps the rate of false alarms at α or less for all but a share 1 − confidence of the
references that might have been drawn: it is a tolerance limit.

References
----------
Guttman (1970), Statistical Tolerance Regions, for guarded thresholds; Clopper & Pearson (1934),
Biometrika 26(4), 404-413.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from simstudy.errors import DesignError
from simstudy.lazy import special
from simstudy.shapes import Bool, Float, Int
from simstudy.stats.accuracy import design
from simstudy.stats.accuracy.checks import (
    check_counts_within,
    check_errors,
    check_finite,
    check_not_negative,
    check_positive,
    check_probability,
    check_sizes,
    sign_of_better,
)
from simstudy.stats.accuracy.tails import in_one_unit, over_root, roundings, student_cdf
from simstudy.stats.arguments import Numbers, check_count, check_proportion, complement, plain
from simstudy.stats.classifier import trial
from simstudy.stats.integer_search import least_count
from simstudy.stats.reading import reading

NEAREST = 1e-15
"""A probability to 0 or 1: `complement` rounds to fifteen digits."""

Real = Float[np.ndarray, "..."]
Count = Int[np.ndarray, "..."]


# ---------------------------------------------------------------- right and wrong
@reading
def binomial_p_value(
    successes: ArrayLike, n: ArrayLike, standard: Numbers, *, rule: str = "exact"
) -> Any:
    """One-sided p-value of so many successes or fewer, if each has the standard's probability.

    Parameters
    ----------
    successes, n
        Right answers and all of them.
    standard
        Required success probability, in (0, 1).
    rule
        "exact", "mid_p" or "score", as in `simstudy.stats.classifier.trial`, of which this is the
        mirror: few successes are many failures.
    """
    _check_standard(standard)
    check_count("n", n, least=1, meaning="a check")
    check_counts_within("successes", successes, n)
    failures = np.subtract(n, successes)
    return trial.p_value(failures, np.asarray(n), complement(standard), rule=rule)


def _check_standard(standard: Numbers) -> None:
    check_proportion("standard", standard, "a test against it")
    values, failing = np.atleast_1d(standard), np.atleast_1d(complement(standard))
    bad = (failing <= 0) | (failing >= 1)
    if bad.any():
        raise DesignError(
            f"standard={values[bad].flat[0]:.17g} is within {NEAREST:g} of 0 or 1, nearer than a "
            "probability and its complement are told apart here, so there is no test against it. "
            f"Give a standard from {NEAREST:g} to 1 - {NEAREST:g}."
        )


@reading
def binomial_critical_count(
    n: ArrayLike, standard: Numbers, alpha: Numbers, *, rule: str = "exact"
) -> Any:
    """The largest number of successes that fails, p ≤ α; -1 where not even 0 does."""
    check_count("n", n, least=1, meaning="a check")
    _check_standard(standard)
    check_proportion("alpha", alpha, "a test of that level")
    size, null, level = np.broadcast_arrays(np.asarray(n), standard, alpha)
    allowed = level * (1 + roundings(int(size.max(initial=1))))

    def passing(successes: Count) -> Bool[np.ndarray, "..."]:
        return np.asarray(binomial_p_value(successes, size, null, rule=rule) > allowed)

    return plain(least_count(passing, np.zeros(size.shape, np.int64), size + 1) - 1)


@reading
def binomial_power(
    n: ArrayLike, standard: Numbers, p_check: Numbers, alpha: Numbers, *, rule: str = "exact"
) -> Any:
    """Exact chance that a check fails whose success probability is `p_check`, in [0, 1]."""
    check_probability("p_check", p_check)
    critical = binomial_critical_count(n, standard, alpha, rule=rule)
    return trial.upper_tail(np.subtract(n, critical), np.asarray(n), 1 - np.asarray(p_check))


# ---------------------------------------------------------------- scores of any kind
@reading
def standard_error(sigma: Numbers, n: Numbers, *, error: Numbers = 0.0) -> Any:
    """Standard deviation of the check's mean less the standard: √(σ²/n + error²).

    Parameters
    ----------
    sigma
        Standard deviation of one score, > 0.
    n
        Scores in the check, at least 1.
    error
        Standard error of the standard, ≥ 0; 0 for a stated requirement.
    """
    check_positive("sigma", sigma, "the spread of a mean")
    check_count("n", n, least=1, meaning="the check's mean")
    check_not_negative("error", error, "the spread of the difference")
    return plain(np.hypot(np.asarray(sigma) / np.sqrt(n), error))


@reading
def threshold(
    standard: Numbers,
    alpha: Numbers,
    sigma: Numbers,
    n: Numbers,
    *,
    error: Numbers = 0.0,
    lower_is_better: bool = False,
) -> Any:
    """γ, at or beyond which the mean of n scores shows that the standard is not met."""
    check_finite("standard", standard, "a threshold beside it")
    check_proportion("alpha", alpha, "a test of that level")
    margin = special.ndtri(alpha) * standard_error(sigma, n, error=error)
    return plain(np.asarray(standard) + sign_of_better(lower_is_better) * margin)


@reading
def z_p_value(
    check: Numbers,
    standard: Numbers,
    sigma: Numbers,
    n: Numbers,
    *,
    error: Numbers = 0.0,
    lower_is_better: bool = False,
) -> Any:
    """One-sided p-value with a known standard deviation of one score."""
    better = _better(check, standard, lower_is_better)
    return plain(special.ndtr(better / standard_error(sigma, n, error=error)))


@reading
def t_p_value(
    check: Numbers,
    standard: Numbers,
    sd: Numbers,
    n: Numbers,
    *,
    error: Numbers = 0.0,
    lower_is_better: bool = False,
) -> Any:
    """One-sided p-value with the check's own spread, Student's t on n − 1 degrees of freedom.

    With an `error` of the standard, known, the degrees of freedom are Satterthwaite's. Without any
    spread p is 0, 1/2 or 1 by the sign of the difference.

    Parameters
    ----------
    sd
        Standard deviation of the check's scores, divisor n − 1, ≥ 0.
    n
        At least 2.
    """
    check_count("n", n, least=2, meaning="a t test")
    check_not_negative("sd", sd, "the spread of a mean")
    check_not_negative("error", error, "the spread of the difference")
    better, spread, of_standard = in_one_unit(_better(check, standard, lower_is_better), sd, error)
    of_mean = spread**2 / np.asarray(n)
    variance = np.asarray(of_mean + of_standard**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(variance > 0, of_mean / variance, 1.0)
        df = (np.asarray(n) - 1) / share**2
    return plain(student_cdf(np.asarray(df), over_root(better, variance)))


def _better(check: Numbers, standard: Numbers, lower_is_better: bool) -> Any:
    check_finite("check", check, "its distance from the standard")
    check_finite("standard", standard, "the distance from it")
    return sign_of_better(lower_is_better) * np.subtract(check, standard)


@reading
def power(
    theta: Numbers, alpha: Numbers, sigma: Numbers, n: Numbers, *, error: Numbers = 0.0
) -> Any:
    """Chance that a check fails that is worse than the standard by `theta`, by the z test."""
    check_finite("theta", theta, "the chance to find that effect")
    check_proportion("alpha", alpha, "a test of that level")
    effect = np.asarray(theta) / standard_error(sigma, n, error=error)
    return plain(special.ndtr(special.ndtri(alpha) + effect))


@reading
def detectable_effect(
    alpha: Numbers, beta: Numbers, sigma: Numbers, n: Numbers, *, error: Numbers = 0.0
) -> Any:
    """θ, by how much worse a check must be to fail with probability 1 − β, by the z test."""
    check_errors(alpha, beta)
    z = -(special.ndtri(alpha) + special.ndtri(beta))
    return plain(z * standard_error(sigma, n, error=error))


@reading
def sample_size(
    theta: Numbers, alpha: Numbers, beta: Numbers, sigma: Numbers, *, error: Numbers = 0.0
) -> Any:
    """The least n whose detectable effect is ≤ θ, by the very comparison of the two.

    Refused where the standard's own error hides the effect from any number of scores.
    """
    check_positive("theta", theta, "a design that detects it")
    check_positive("sigma", sigma, "the spread of a mean")
    limit = detectable_effect(alpha, beta, sigma, design.MOST_SCORES, error=error)
    bad = np.atleast_1d(limit > np.asarray(theta))
    if bad.any():
        given = np.broadcast_arrays(np.atleast_1d(theta), error, limit)
        raise DesignError(_why_none(*(each[bad].flat[0] for each in given)))
    effects, shape = np.asarray(theta, float), np.shape(np.asarray(limit) - theta)

    def detects(n: Count) -> Bool[np.ndarray, "..."]:
        return np.asarray(detectable_effect(alpha, beta, sigma, n, error=error) <= effects)

    low = np.ones(shape, np.int64)
    return plain(least_count(detects, low, np.full_like(low, design.MOST_SCORES)))


def _why_none(effect: float, error: float, limit: float) -> str:
    """Why no sample size detects an effect: there are too few numbers, or there is none."""
    if error == 0:
        return (
            f"theta={effect:g} takes more than {design.MOST_SCORES:.1g} scores, which detect "
            f"{limit:.4g}: more than can be counted exactly. Give theta and sigma in the same "
            "units, and an effect that matters."
        )
    return (
        f"theta={effect:g} is within what the standard's own error={error:g} hides: no number of "
        f"scores detects less than {limit:.4g}. Measure the standard better, or ask for a larger "
        "effect."
    )


# ---------------------------------------------------------------- whatever the reference's luck
@reading
def guarded_threshold(
    reference: Numbers,
    alpha: Numbers,
    confidence: Numbers,
    sigma: Numbers,
    n: Numbers,
    n_check: Numbers | None = None,
    *,
    lower_is_better: bool = False,
) -> Any:
    """γ whose rate of false alarms is at most α for that share of all references.

    reference ± (Φ⁻¹(α)·σ/√m − Φ⁻¹(confidence)·σ/√n). Given the reference, a check of unchanged
    quality fails with probability at most α just where γ is not above μ + Φ⁻¹(α)·σ/√m.

    Parameters
    ----------
    reference
        Mean of the reference.
    alpha
        Rate of false alarms over the draws of checks alone, given the reference; in (0, 1).
    confidence
        Share of references for which it holds, in (0, 1).
    sigma, n, n_check
        As in `design.threshold`; checks are on other prompts than the reference.
    """
    check_finite("reference", reference, "a threshold beside it")
    _check_guard(alpha, confidence, sigma, n, n_check)
    m = n if n_check is None else n_check
    margin = special.ndtri(alpha) / np.sqrt(m) - special.ndtri(confidence) / np.sqrt(n)
    return plain(np.asarray(reference) + sign_of_better(lower_is_better) * margin * sigma)


@reading
def guarded_power(
    theta: Numbers,
    alpha: Numbers,
    confidence: Numbers,
    sigma: Numbers,
    n: Numbers,
    n_check: Numbers | None = None,
) -> Any:
    """Chance that a check that is worse by `theta` fails at a guarded threshold, over both draws.

    At θ = 0 the rate of false alarms over all references. A guarantee for most references is none
    for their average: that is at most α just where

        Φ⁻¹(confidence) ≥ √n·(√(1/n + 1/m) − √(1/m))·Φ⁻¹(1 − α),

    for n = m and α = 5% from a confidence of 0.752 on.
    """
    check_finite("theta", theta, "the chance to find that effect")
    _check_guard(alpha, confidence, sigma, n, n_check)
    m = n if n_check is None else n_check
    margin = special.ndtri(alpha) / np.sqrt(m) - special.ndtri(confidence) / np.sqrt(n)
    error = design.standard_error(sigma, n, n_check)
    return plain(special.ndtr((margin * np.asarray(sigma) + np.asarray(theta)) / error))


def _check_guard(
    alpha: Numbers, confidence: Numbers, sigma: Numbers, n: Numbers, n_check: Numbers | None
) -> None:
    check_proportion("alpha", alpha, "a test of that level")
    check_proportion("confidence", confidence, "a guarantee")
    check_positive("sigma", sigma, "the spread of a mean")
    check_sizes(n, n_check)


@reading
def guarded_critical_counts(
    n: int, n_check: int, alpha: float, confidence: float
) -> Int[np.ndarray, " reference"]:
    """As `guarded_threshold`, exactly, of right and wrong answers.

    For each count of the reference the largest of the check that fails: the exact test against the
    lower Clopper-Pearson limit of the reference, taken as the standard.

    Returns
    -------
    Int[np.ndarray, " reference"]
        Of length n + 1; -1 where no count fails. Lists of `two_binomials` are of the same kind.
    """
    check_sizes(n, n_check)
    check_proportion("alpha", alpha, "a test of that level")
    check_proportion("confidence", confidence, "a guarantee")
    limit = np.asarray(trial.clopper_pearson_lower(np.arange(n + 1), n, complement(confidence)))
    allowed = alpha * (1 + roundings(n_check))

    def passing(successes: Count) -> Bool[np.ndarray, "..."]:
        return np.asarray(trial.upper_tail(n_check - successes, n_check, 1 - limit) > allowed)

    none = np.zeros(n + 1, np.int64)
    return least_count(passing, none, np.full_like(none, n_check + 1)) - 1
