"""The z test of an accuracy regression in closed form: threshold, errors, effect, sample size.

A reference, the mean of n scores, is on record; a check, the mean of m scores, fails where it is
worse by more than chance explains. σ, the standard deviation of one score, is taken as known. All
four of level α, type-II error β, the detectable effect θ and n hang together by

    θ = −(Φ⁻¹(α) + Φ⁻¹(β)) · se,    se = σ·√(1/n + 1/m),    or σ·√(2(1 − ρ)/n) on the same prompts,

with ρ the correlation of the two scores of a prompt. θ > 0 means worse by θ. Arguments broadcast.

References
----------
Lehmann & Romano (2005), Testing Statistical Hypotheses, section 3.4, for the test; Fleiss, Levin &
Paik (2003), Statistical Methods for Rates and Proportions, chapter 4, for sample sizes.
"""

from typing import Any

import numpy as np

from simstudy.errors import DesignError
from simstudy.lazy import special

Numbers = float | np.ndarray

ROOT_EPS = float(np.sqrt(np.finfo(float).eps))  # relative: means that agree so far are equal
SCORE_LIMIT = 2.0**51  # scores beyond which doubles do not count exactly


def standard_error(
    sigma: Numbers, n: Numbers, n_check: Numbers | None = None, *, correlation: Numbers = 0.0
) -> Any:
    """The standard deviation of the check's mean less the reference's; `n_check` None: n too."""
    m = n if n_check is None else n_check
    return sigma * np.sqrt((1 / n + 1 / m) * (1 - correlation))


def threshold(reference: Numbers, alpha: Numbers, error: Numbers) -> Any:
    """The mean γ at and below which a check fails, where higher scores are better."""
    return reference + special.ndtri(alpha) * error


def detectable_effect(alpha: Numbers, beta: Numbers, error: Numbers) -> Any:
    """The loss θ with which a check fails with probability 1 − β."""
    return -(special.ndtri(alpha) + special.ndtri(beta)) * error


def power(theta: Numbers, alpha: Numbers, error: Numbers) -> Any:
    """The chance that a check fails that is worse by θ."""
    return special.ndtr(special.ndtri(alpha) + theta / error)


def type_2_error(theta: Numbers, alpha: Numbers, error: Numbers) -> Any:
    """The chance that a check passes that is worse by θ, without cancellation."""
    return special.ndtr(-special.ndtri(alpha) - theta / error)


def level(theta: Numbers, beta: Numbers, error: Numbers) -> Any:
    """The level α of a test that finds a loss θ with probability 1 − β."""
    return special.ndtr(-special.ndtri(beta) - theta / error)


def sample_size(
    theta: Numbers, alpha: Numbers, beta: Numbers, sigma: Numbers, *, correlation: Numbers = 0.0
) -> Any:
    """The least n, of the reference and as many of the check, whose detectable effect is ≤ θ.

    The formula's n may be a rounding off a whole number, so its neighbours are compared with θ.
    """
    with np.errstate(over="ignore"):
        effect = detectable_effect(alpha, beta, standard_error(sigma, 1, correlation=correlation))
        real = np.maximum(np.ceil((effect / theta) ** 2), 1)
    if np.max(real) >= SCORE_LIMIT:
        at = np.broadcast_to(theta, np.shape(real))[np.unravel_index(np.argmax(real), real.shape)]
        raise DesignError(
            f"theta={at:g} takes some {np.max(real):.1g} scores, more than can be counted exactly. "
            "Give theta and sigma in the same units, and an effect that matters."
        )
    n = real.astype(np.int64)

    def detects(n: Any) -> Any:
        error = standard_error(sigma, n, correlation=correlation)
        return detectable_effect(alpha, beta, error) <= theta

    n = n - ((n > 1) & detects(np.maximum(n - 1, 1)))
    return n + ~detects(n)


def doubled_sample_size(
    theta: Numbers, alpha: Numbers, beta: Numbers, sigma: Numbers, *, start: int = 32
) -> Any:
    """The first n of start, 2·start, 4·start, … whose detectable effect is ≤ θ."""
    times = np.maximum(sample_size(theta, alpha, beta, sigma) / start, 1)
    return start * 2 ** np.ceil(np.log2(times)).astype(np.int64)


def level_given_reference(alpha: Numbers, delta: Numbers, ratio: float = 1.0) -> Any:
    """The chance that a check of unchanged quality fails, given its reference's luck.

    The reference came out better than the mean it estimates by δ of its standard errors, and the
    check has `ratio` times as many scores: Φ(Φ⁻¹(α)·√(1 + r) + δ·√r).
    """
    return special.ndtr(special.ndtri(alpha) * np.sqrt(1 + ratio) + delta * np.sqrt(ratio))
