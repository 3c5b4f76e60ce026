"""The same prompts twice: tests of what has changed between a reference and its check.

Only answers that changed are informative: losses were right and are wrong
now, gains the reverse. At a level each test is a list of critical counts: the fewest losses that
fail, for each number of gains. A test fails at p ≤ α; the first never exceeds its level.

============  =============================================================================
test          p-value for "the check is worse"
============  =============================================================================
mcnemar       P(Binomial(losses + gains, 1/2) ≥ losses)
mcnemar_mid_p the same less half of P(… = losses)
paired_z      Φ((gains − losses)/√(gains + losses))
paired_t      Student's t of the differences −1, 0 and 1, on n − 1 degrees of freedom
============  =============================================================================

References
----------
McNemar (1947), Psychometrika 12, 153-157; Fagerland, Lydersen & Laake (2013), BMC Med. Res.
Methodol. 13, 91: the mid-p form.
"""

from typing import Any

import numpy as np

from simstudy.array_types import Int
from simstudy.documents.stats.accuracy.counts import TIE, over_error
from simstudy.documents.stats.integer_search import least_count
from simstudy.lazy import special, stats

PAIRED_TESTS = ("mcnemar", "mcnemar_mid_p", "paired_z", "paired_t")

Count = Int[np.ndarray, "..."]
Critical = Int[np.ndarray, " gains"]


def p_values(test: str, losses: Any, gains: Any, n: Any) -> Any:
    """One-sided p-values of changes among n prompts, for "the check is worse"."""
    changed, difference = losses + gains, gains - losses
    if test == "paired_z":
        return special.ndtr(over_error(difference, np.sqrt(changed)))
    if test == "paired_t":
        t = over_error(difference, np.sqrt((n * changed - difference**2) / (n - 1)))
        return np.where(np.isinf(t), t > 0, special.stdtr(n - 1, t))
    at_least = stats.binom.sf(losses - 1, changed, 0.5)
    return at_least if test == "mcnemar" else at_least - stats.binom.pmf(losses, changed, 0.5) / 2


def critical_losses(test: str, n: int, alpha: float, gains: Count | None = None) -> Critical:
    """The fewest losses that fail, for each number of gains or for some; n + 1 for none."""
    some = np.arange(n + 1) if gains is None else gains
    never, limit = n - some + 1, alpha * (1 + TIE)
    found = least_count(
        lambda losses: p_values(test, np.minimum(losses, n - some), some, n) <= limit,
        np.zeros_like(some), never,
    )  # fmt: skip
    return np.asarray(np.where(found < never, found, n + 1))


def rejection_probability(
    critical: Critical, n: int, p_loss: float, p_gain: float, gains: Count | None = None
) -> float:
    """The probability that the check fails: gains are binomial, losses so among the rest.

    `gains` are those of the critical counts, if they are not all.
    """
    some = np.arange(n + 1) if gains is None else gains
    of_the_rest = min(p_loss / (1 - p_gain), 1.0) if p_gain < 1 else 0.0
    masses = stats.binom.pmf(some, n, p_gain)
    return float(masses @ stats.binom.sf(critical - 1, n - some, of_the_rest))
