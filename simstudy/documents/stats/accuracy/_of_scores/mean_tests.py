"""z and t tests for two means."""

from collections.abc import Callable
from typing import Any

import numpy as np

from simstudy.documents.stats.accuracy import design
from simstudy.documents.stats.accuracy._of_scores.rule import Rule, about_enough, enough_scores
from simstudy.documents.stats.accuracy._of_scores.scores import Scores
from simstudy.lazy import special, stats

MIN_SCORES = 2  # scores of each model, for a spread
# Standard errors, beyond which every t test finds an effect: SciPy's law ends there.
FURTHEST = 1e8
Spread = Callable[[Any, Any], tuple[Any, Any]]
"""Of two numbers of scores, the standard error of their means' difference, and its df."""


def known_sigma(scores: Scores, alpha: float, sigma: float, correlation: float = 0.0) -> Rule:
    """The z test of two means.

    Parameters
    ----------
    sigma
        Standard deviation of one score, in its units.
    correlation
        Correlation of the two scores of a prompt; 0 takes them for different prompts.
    """
    n, n_check = scores.sizes
    sizes = {"n": n, "n_check": None if n == n_check else n_check}
    given: dict[str, Any] = {"sigma": sigma, "correlation": correlation, **sizes}
    standard_error = float(design.standard_error(**given))
    margin = -float(design.threshold(0.0, alpha, **given))

    def n_needed(theta: float, beta: float) -> int:
        return int(design.sample_size(theta, alpha, beta, sigma, correlation=correlation))

    pairs = f", correlation {correlation:g} in pairs" if correlation else ""
    return Rule(
        "z",
        f"z test with sigma {sigma:g}{pairs}",
        standard_error,
        p_value=float(design.p_value(-scores.worse_by, 0.0, **given)),
        fails=bool(design.fails(-scores.worse_by, -margin)),
        margin=margin,
        level=alpha,
        power=lambda effect: float(design.power(effect, alpha, **given)),
        detectable_effect=lambda beta: float(design.detectable_effect(alpha, beta, **given)),
        n_needed=n_needed,
    )


# ---------------------------------------------------------------- t tests
def paired_t(scores: Scores, alpha: float) -> Rule:
    """The t test of paired differences."""
    sd = scores.losses.std(ddof=1)
    words = f"paired t test of {len(scores.losses):,} differences"
    return _t_test(scores, alpha, lambda n, _: (sd / np.sqrt(n), n - 1), words)


def welch(scores: Scores, alpha: float) -> Rule:
    """The t test of two means with unequal variances."""
    variances = scores.reference.var(ddof=1), scores.candidate.var(ddof=1)

    def spread(n: Any, m: Any) -> tuple[Any, Any]:
        first, second = variances[0] / n, variances[1] / m
        squares = first**2 / (n - 1) + second**2 / (m - 1)
        return np.sqrt(first + second), (first + second) ** 2 / squares

    return _t_test(scores, alpha, spread, "Welch's t test ({df:.4g} degrees of freedom)")


def pooled_t(scores: Scores, alpha: float) -> Rule:
    """The t test of two means with equal variances."""
    size, size_check = scores.sizes
    squares = scores.reference.var() * size + scores.candidate.var() * size_check
    pooled = squares / (size + size_check - 2)

    def spread(n: Any, m: Any) -> tuple[Any, Any]:
        return np.sqrt(pooled * (1 / n + 1 / m)), n + m - 2

    words = "t test with a pooled variance ({df:,.0f} degrees of freedom)"
    return _t_test(scores, alpha, spread, words, "pooled_t")


def _t_test(scores: Scores, alpha: float, spread: Spread, words: str, name: str = "t") -> Rule:
    """The t test with this spread."""
    standard_error, df = map(float, spread(*np.asarray(scores.sizes, dtype=float)))
    margin = float(-special.stdtrit(df, alpha)) * standard_error
    p_value = float(special.stdtr(df, -scores.worse_by / standard_error))

    def power(effect: float, error: Any = standard_error, df: Any = df) -> float:
        """Noncentral t beyond the critical value."""
        with np.errstate(over="ignore"):
            distance = np.minimum(effect / error, FURTHEST)
        return float(stats.nct.sf(-special.stdtrit(df, alpha), df, distance))

    def detectable_effect(beta: float) -> float:
        from scipy.optimize import brentq

        step = margin
        while power(step) < 1 - beta:
            step *= 2
        xtol = 2e-12 * min(1.0, standard_error)
        return float(brentq(lambda effect: power(effect) - (1 - beta), 0.0, step, xtol=xtol))

    def n_needed(theta: float, beta: float) -> int:
        sigma = float(spread(2.0, 2.0)[0])  # since 2/n is 1 for two scores of each
        about = about_enough(theta, alpha, beta, sigma)
        return enough_scores(
            lambda n: power(theta, *spread(float(n), float(n))), 1 - beta, about, least=MIN_SCORES
        )

    return Rule(
        name,
        words.format(df=df),
        standard_error,
        p_value,
        fails=p_value <= alpha,
        margin=margin,
        level=alpha,
        power=power,
        detectable_effect=detectable_effect,
        n_needed=n_needed,
    )
