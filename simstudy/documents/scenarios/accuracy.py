"""Is a model still as accurate as on record? A check of n prompts held against a reference of n.

Scores are right or wrong, so a reference and its check are a table of four counts, which is drawn
as such; every test is a table of critical counts, which is looked up; and what a test does is known
exactly.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.design import Columns, Exact
from simstudy.documents.stats.accuracy import counts, paired, prompts
from simstudy.documents.stats.accuracy.design import detectable_effect, standard_error
from simstudy.documents.stats.accuracy.prompts import Chances, CriticalCounts
from simstudy.errors import DesignError
from simstudy.measures import empirical_se, rejection_rate
from simstudy.provenance.streams import Streams

SIGMA_LIMIT = 0.5  # standard deviation of a score of 0 or 1 at an accuracy of one half
ROUNDING = 1e-12  # rounding error of probabilities and correlations

BY_RIGHT = (
    *("document", "document_strict", "rounded", "rounded_strict", "known", "estimated"),
    *counts.TESTS,
)
"""Tests of how many answers are right.

The document's z test with σ = 1/2 fails a check at its threshold or, `document_strict`, strictly
below; `rounded` and `rounded_strict` do so with the threshold rounded to a number of right answers.
`known` has the reference's true σ, `estimated` is Welch's t test, each run with a variance of its
own; not Student's, which pools them.
"""

BY_LOST = paired.PAIRED_TESTS
"""Tests of how many prompts were lost and gained."""

METHODS = BY_RIGHT + BY_LOST


@lru_cache(maxsize=256)
def critical_counts(n: int, accuracy: float, alpha: float) -> CriticalCounts:
    """When each of `METHODS` fails a check of n prompts; every block of a scenario asks."""
    sigma = float(np.sqrt(accuracy * (1 - accuracy)))
    found = {
        **_at_any_accuracy(n, alpha),
        "known": counts.known_sigma_counts(n, n, alpha, sigma),
    }
    right, lost = (
        np.stack([found[test] for test in tests], axis=1) for tests in (BY_RIGHT, BY_LOST)
    )
    return CriticalCounts(right, lost)


@lru_cache(maxsize=64)
def _at_any_accuracy(n: int, alpha: float) -> dict[str, Int[np.ndarray, " count"]]:
    """Critical counts of the tests that know no accuracy."""
    return {
        "document": document_counts(n, alpha),
        "document_strict": document_counts(n, alpha, strictly=True),
        "rounded": document_counts(n, alpha, rounded=True),
        "rounded_strict": document_counts(n, alpha, rounded=True, strictly=True),
        "estimated": counts.welch_counts(n, n, alpha),
        **{test: counts.critical_counts(test, n, n, alpha) for test in counts.TESTS},
        **{test: paired.critical_losses(test, n, alpha) for test in BY_LOST},
    }


def document_counts(
    n: int, alpha: float, *, rounded: bool = False, strictly: bool = False
) -> Int[np.ndarray, " count"]:
    """The most right answers with which the document's test fails a check, by the reference's."""
    return counts.known_sigma_counts(n, n, alpha, SIGMA_LIMIT, rounded=rounded, strictly=strictly)


@dataclass(frozen=True)
class AccuracyCheck:
    """A reference and a check of it, both of n prompts.

    Parameters
    ----------
    n
        Prompts, as many in the reference as in the check.
    accuracy
        Probability that the reference's model has a prompt right.
    effect
        Loss of the check's model, in units of the document's θ: the effect that its
        own formula, with σ = 1/2, alpha and beta, says is detectable with n prompts.
    correlation
        Correlation of the two scores of one prompt; 0 is also what different prompts have.
    quantile
        Probability of the reference's binomial, in (0, 1), for one reference that is used again and
        again: the least count whose distribution function reaches it. 0: a new one in each
        replicate.
    alpha, beta
        Nominal type-I and type-II error.
    """

    n: int
    accuracy: float = 0.5
    effect: float = 0.0
    correlation: float = 0.0
    quantile: float = 0.0
    alpha: float = 0.05
    beta: float = 0.2

    def __post_init__(self) -> None:
        if not 0 <= self.quantile < 1:
            raise DesignError(
                f"quantile={self.quantile:g} is not in [0, 1), so no reference lies there. Give "
                "0.5 for a typical one, or 0 to draw a new one in each replicate."
            )
        if not 2 <= self.n < 2**prompts.BITS:
            raise DesignError(
                f"n={self.n} prompts have no spread, or no room in the words that are drawn. Give "
                f"2 to {2**prompts.BITS - 1:,}."
            )
        if not (0 < self.accuracy < 1 and 0 < self.check_accuracy < 1):
            raise DesignError(
                f"n={self.n} prompts have a θ of {self.theta:.3g}, and effect={self.effect:g} of "
                f"it leaves of accuracy={self.accuracy:g} no accuracy between 0 and 1. Use more "
                "prompts or a smaller effect."
            )
        p, q = self.accuracy, self.check_accuracy
        right = prompts.both_right(p, q, self.correlation)
        is_possible = max(0.0, p + q - 1) - ROUNDING <= right <= min(p, q) + ROUNDING
        if self.correlation >= 1 or not is_possible:
            raise DesignError(
                f"correlation={self.correlation:g} is none that right and wrong answers of "
                f"accuracies {p:g} and {q:g} can have, or leaves no difference to test. Give one "
                "nearer 0."
            )

    @property
    def theta(self) -> float:
        """The document's detectable effect, as a difference of accuracies."""
        return float(detectable_effect(self.alpha, self.beta, standard_error(SIGMA_LIMIT, self.n)))

    @property
    def chance(self) -> Chances:
        """Probability of each outcome of a prompt."""
        return prompts.chances(self.accuracy, self.check_accuracy, self.correlation)

    @property
    def check_accuracy(self) -> float:
        """Probability that the check's model has a prompt right."""
        return self.accuracy - self.effect * self.theta if self.effect else self.accuracy

    @property
    def kept(self) -> int | None:
        """Right answers of the reference that is used again; None where it is drawn anew."""
        if not self.quantile:
            return None
        reached = np.cumsum(prompts.binomial_law(self.n, self.accuracy))
        return int(np.argmax(reached >= self.quantile - ROUNDING))

    @property
    def luck(self) -> float:
        """How far the kept reference lies above its accuracy, in its standard errors."""
        if self.kept is None:
            return float("nan")
        spread = np.sqrt(self.n * self.accuracy * (1 - self.accuracy))
        return float((self.kept - self.n * self.accuracy) / spread)

    @property
    def critical(self) -> CriticalCounts:
        """When each of `METHODS` fails a check."""
        return critical_counts(self.n, self.accuracy, self.alpha)

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        drawn = prompts.draw_counts(streams("data"), n_rep, self.n, self.chance, kept=self.kept)
        return {
            "reject": prompts.decide(self.critical, drawn),
            "difference": (drawn.check - drawn.reference) / self.n,
        }

    def exact(self) -> Exact:
        return {"rejection_rate": exact_shares(self), "empirical_se": self.spread}

    @property
    def spread(self) -> float:
        """Standard deviation of the check's accuracy less the reference's."""
        chance, n = self.chance, self.n
        if self.kept is None:
            step = chance.gained - chance.lost
            return float(np.sqrt((chance.gained + chance.lost - step**2) / n))
        lost, gained = chance.lost_if_right, chance.gained_if_wrong
        variance = self.kept * lost * (1 - lost) + (n - self.kept) * gained * (1 - gained)
        return float(np.sqrt(variance) / n)


# ---------------------------------------------------------------- theory
def exact_shares(check: AccuracyCheck) -> Float[np.ndarray, " method"]:
    """Probability that each of `METHODS` fails a check, by enumeration."""
    if check.kept is not None:
        return prompts.rejection_given(check.critical, check.kept, check.chance)
    if check.correlation:
        return prompts.rejection(check.critical, check.chance)
    return prompts.rejection_of_different(check.critical, check.accuracy, check.check_accuracy)


MEASURES = (rejection_rate("reject"), empirical_se("difference"))
