"""The same prompts twice: tests of what has changed between a reference and its check.

For right and wrong only the prompts whose answer has changed say anything: losses were right and
are wrong now, gains the reverse. Where nothing has become worse or better, losses are a binomial
with 1/2 of all changes. At a level each test is a list of critical counts: the fewest losses that
fail, for each number of gains; sums over the trinomial law say the rest.

============  =============================================================================
test          p-value for "the check is worse"
============  =============================================================================
mcnemar       P(Binomial(losses + gains, 1/2) ≥ losses)
mcnemar_mid_p the same less half of P(… = losses)
paired_z      Φ((gains − losses)/√(gains + losses))
paired_t      Student's t of the differences −1, 0 and 1, on n − 1 degrees of freedom
============  =============================================================================

The first never exceeds its level; the others may. A test fails at p ≤ α. `paired_t` is there as
a function too, of scores of any kind.

References
----------
McNemar (1947), Psychometrika 12, 153-157; Fagerland, Lydersen & Laake (2013), BMC Med. Res.
Methodol. 13, 91: the mid-p form.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from simstudy.array_types import Bool, Float, Int
from simstudy.documents.stats.accuracy.checks import (
    check_counts_within,
    check_critical,
    check_finite,
    check_not_negative,
    check_probability,
    sign_of_better,
)
from simstudy.documents.stats.accuracy.tails import (
    binomial_masses,
    difference_of_products,
    over_root,
    roundings,
    student_cdf,
)
from simstudy.documents.stats.arguments import (
    Numbers,
    check_choice,
    check_count,
    check_proportion,
    plain,
)
from simstudy.documents.stats.classifier.trial import upper_tail
from simstudy.documents.stats.integer_search import least_count
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError
from simstudy.lazy import special

PAIRED_TESTS = ("mcnemar", "mcnemar_mid_p", "paired_z", "paired_t")
CELLS = 2**20  # probabilities held at once: 8 MB an array

Real = Float[np.ndarray, "..."]
Count = Int[np.ndarray, "..."]
Critical = Int[np.ndarray, " gains"]
Points = Float[np.ndarray, " point"]


# ---------------------------------------------------------------- right and wrong
@reading
def p_values(test: str, losses: ArrayLike, gains: ArrayLike, n: ArrayLike) -> Any:
    """One-sided p-values for "the check is worse".

    Parameters
    ----------
    test
        One of `PAIRED_TESTS`.
    losses, gains
        Prompts that were right and are wrong, and the reverse; at most n together.
    n
        Prompts, at least 1; for "paired_t" at least 2. Other tests need it for nothing else.

    Returns
    -------
    Any
        If no answer has changed there is no evidence: "mcnemar" says 1, the others 1/2. Where
        all n have changed for the worse, t is infinite and p is 0; for the better 1.
    """
    check_choice("test", test, PAIRED_TESTS)
    check_count("n", n, least=2 if test == "paired_t" else 1, meaning="a test")
    check_counts_within("losses", losses, n)
    check_count("gains", gains, least=0, meaning="a result")
    check_counts_within("losses + gains", np.add(losses, gains), n)
    counts = np.broadcast_arrays(losses, gains, n)
    b, c, n = (np.asarray(count, np.int64) for count in counts)
    return plain(_P[test](b, c, n))


def _mcnemar(losses: Count, gains: Count, _n: Count) -> Real:
    return np.asarray(upper_tail(losses, losses + gains, 0.5))


def _mcnemar_mid_p(losses: Count, gains: Count, _n: Count) -> Real:
    changed = losses + gains
    at_least, more = (upper_tail(count, changed, 0.5) for count in (losses, losses + 1))
    return np.asarray((at_least + more) / 2)


def _paired_z(losses: Count, gains: Count, _n: Count) -> Real:
    return np.asarray(special.ndtr(over_root(gains - losses, losses + gains)))


def _paired_t(losses: Count, gains: Count, n: Count) -> Real:
    """Squares about the mean are (n·changed − difference²)/n: whole numbers until the root."""
    difference, changed = gains - losses, losses + gains
    squares = difference_of_products(n, changed, difference, difference)
    t = over_root(difference, squares / (n - 1))
    return student_cdf(n - 1, t)


_P: dict[str, Callable[[Count, Count, Count], Real]] = {
    "mcnemar": _mcnemar,
    "mcnemar_mid_p": _mcnemar_mid_p,
    "paired_z": _paired_z,
    "paired_t": _paired_t,
}


@reading
def critical_losses(test: str, n: int, alpha: float) -> Critical:
    """The fewest losses that fail, for each number of gains.

    Parameters
    ----------
    test
        One of `PAIRED_TESTS`.
    n
        Prompts, at least 1; for "paired_t" at least 2.
    alpha
        Level, in (0, 1): results with p ≤ alpha fail, roundings aside.

    Returns
    -------
    Critical
        Array of length n + 1; n + 1 where not even all other prompts lost would fail.
    """
    check_choice("test", test, PAIRED_TESTS)
    check_count("n", n, least=2 if test == "paired_t" else 1, meaning="a test")
    check_proportion("alpha", alpha, "a test of that level")
    gains, allowed = np.arange(n + 1), alpha * (1 + roundings(n))

    def failing(losses: Count) -> Bool[np.ndarray, "..."]:
        return np.asarray(_P[test](losses, gains, np.asarray(n)) <= allowed)

    never = n - gains + 1
    found = least_count(failing, np.zeros_like(gains), never)
    return np.where(found < never, found, n + 1)


@reading
def rejection_probability(critical: Critical, n: int, p_loss: Numbers, p_gain: Numbers) -> Any:
    """Probability that the check fails, over draws of all prompts.

    Parameters
    ----------
    critical
        For each number of gains 0 to n the fewest losses that fail; n + 1 for none.
    n
        Prompts.
    p_loss, p_gain
        Probabilities that a prompt is lost and gained; together at most 1.

    Returns
    -------
    Any
        Sums over all results, right but for roundings: gains are binomial, and losses a binomial
        of what is left.
    """
    check_count("n", n, least=1, meaning="a test")
    check_critical(critical, n + 1, 0, n + 1)
    check_probability("p_loss", p_loss)
    check_probability("p_gain", p_gain)
    loss, gain = np.broadcast_arrays(np.asarray(p_loss, float), np.asarray(p_gain, float))
    _refuse_beyond_one(loss, gain)
    per_chunk = max(1, CELLS // (n + 1))
    flat = [
        _rates(np.asarray(critical), n, loss.flat[i : i + per_chunk], gain.flat[i : i + per_chunk])
        for i in range(0, loss.size, per_chunk)
    ]
    return plain(np.concatenate(flat or [np.empty(0)]).reshape(loss.shape))


def _rates(critical: Critical, n: int, p_loss: Points, p_gain: Points) -> Points:
    p_kept = 1 - p_gain
    of_the_rest = np.divide(p_loss, p_kept, out=np.zeros_like(p_loss), where=p_kept > 0)
    rest = n - np.arange(n + 1)
    failing = upper_tail(np.minimum(critical, rest + 1), rest, np.minimum(of_the_rest, 1)[:, None])
    return np.asarray(np.minimum((binomial_masses(n, p_gain) * failing).sum(axis=1), 1.0))


def _refuse_beyond_one(loss: Real, gain: Real) -> None:
    bad = np.atleast_1d(loss + gain > 1 + np.finfo(float).eps)
    if bad.any():
        first, second = np.atleast_1d(loss)[bad][0], np.atleast_1d(gain)[bad][0]
        raise DesignError(
            f"p_loss={first:g} and p_gain={second:g} add up to more than 1, but no prompt is both "
            "lost and gained. Give the shares of all prompts that change either way."
        )


# ---------------------------------------------------------------- scores of any kind
@reading
def paired_t(
    mean_difference: Numbers, sd: Numbers, n: Numbers, *, lower_is_better: bool = False
) -> Any:
    """Compute the one-sided p-value of Student's paired t test.

    Parameters
    ----------
    mean_difference
        Mean over prompts of the check's score less the reference's.
    sd
        Standard deviation of these differences, divisor n − 1, ≥ 0, in the same units.
    n
        Prompts, at least 2.
    lower_is_better
        For perplexity, error rates.

    Returns
    -------
    float or array
        p-values.
    """
    check_count("n", n, least=2, meaning="a paired test")
    check_finite("mean_difference", mean_difference, "its distance from 0")
    check_not_negative("sd", sd, "the spread of a mean difference")
    better = sign_of_better(lower_is_better) * np.asarray(mean_difference)
    t = over_root(better, np.square(sd) / np.asarray(n))
    return plain(student_cdf(np.asarray(n) - 1, t))
