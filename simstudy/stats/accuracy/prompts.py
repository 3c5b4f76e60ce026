"""Two scores of 0 or 1 of each of n prompts: the chances of its four outcomes, and exact rates.

The reference's score of a prompt comes first, the check's second. A prompt is right in both, lost
(right before and wrong now), gained (wrong before and right now) or wrong in both. Given how many
prompts the reference had right, the prompts lost are binomial among these, the prompts gained among
the others, and the two are independent: so what a test does is a sum, whether it looks at how many
are right or at how many were lost and gained.
"""

from typing import NamedTuple

import numpy as np

from simstudy.errors import DesignError
from simstudy.lazy.scipy import special
from simstudy.shapes import Float, Int
from simstudy.stats.accuracy.checks import check_probability
from simstudy.stats.arguments import check_count
from simstudy.stats.reading import reading

NEGLIGIBLE = 1e-18  # probability of a count of the reference that enumeration leaves out
ROUNDING = 1e-12  # by how much a correlation may be beyond its limit

CountTable = Int[np.ndarray, "count test"]


class Chances(NamedTuple):
    """Probabilities of the outcomes of a prompt; they sum to 1."""

    right: float
    lost: float
    gained: float
    wrong: float

    @property
    def lost_if_right(self) -> float:
        """That the check has a prompt wrong which the reference had right."""
        return self.lost / (self.right + self.lost) if self.lost else 0.0

    @property
    def gained_if_wrong(self) -> float:
        """That the check has a prompt right which the reference had wrong."""
        return self.gained / (self.gained + self.wrong) if self.gained else 0.0


class CriticalCounts(NamedTuple):
    """When tests fail a check: a column for each test, a row for each count of 0 to n.

    `right` is the largest count of right answers that fails, by the reference's count of them, -1
    where none does; of tests that look at these. `lost` is the least number of prompts lost that
    fails, by the number gained, n + 1 where none does; of tests that look at those.
    """

    right: CountTable
    lost: CountTable


# ---------------------------------------------------------------- chances
@reading
def chances(accuracy: float, check_accuracy: float, correlation: float = 0.0) -> Chances:
    """The chances of a prompt's outcomes, from both accuracies and the scores' correlation.

    Parameters
    ----------
    accuracy, check_accuracy
        Probabilities that a prompt is right, in (0, 1).
    correlation
        Of the two scores of one prompt; its limits depend on the accuracies, and only scores of
        one accuracy can have a correlation of 1.
    """
    for name, value in {"accuracy": accuracy, "check_accuracy": check_accuracy}.items():
        _check_accuracy(name, value)
    spread = np.sqrt(accuracy * (1 - accuracy) * check_accuracy * (1 - check_accuracy))
    independent = accuracy * check_accuracy
    least = (max(0.0, accuracy + check_accuracy - 1) - independent) / spread
    most = (min(accuracy, check_accuracy) - independent) / spread
    _check_correlation(correlation, least, most, accuracy, check_accuracy)
    right = independent + min(max(correlation, least), most) * spread
    found = (right, accuracy - right, check_accuracy - right, 1 - accuracy - check_accuracy + right)
    return Chances(*(max(0.0, float(chance)) for chance in found))


def _check_accuracy(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise DesignError(
            f"{name}={value:g} is not inside (0, 1), so its scores do not vary and no test of them "
            "has anything to go by. Give a share of right answers such as 0.8; where it is that of "
            "a check, a smaller effect or more prompts."
        )


def _check_correlation(
    correlation: float, least: float, most: float, accuracy: float, check_accuracy: float
) -> None:
    if not least - ROUNDING <= correlation <= most + ROUNDING:
        raise DesignError(
            f"correlation={correlation:g} is none that right and wrong answers of accuracies "
            f"{accuracy:g} and {check_accuracy:g} can have: the more these differ, the less the "
            f"two scores of a prompt agree. Give one from {least:.3f} to {most:.3f}."
        )


# ---------------------------------------------------------------- laws
@reading
def binomial_law(n: int, probability: float) -> Float[np.ndarray, " count"]:
    """Probabilities of 0 to n, relative error about n times that of a double; their sum is 1."""
    check_count("n", n, least=0, meaning="a law of counts")
    check_probability("probability", probability)
    count = np.arange(n + 1)
    ways = special.gammaln(n + 1) - special.gammaln(count + 1) - special.gammaln(n - count + 1)
    law = np.exp(
        ways + special.xlogy(count, probability) + special.xlog1py(n - count, -probability)
    )
    return np.asarray(law / law.sum())


@reading
def rejection_given(
    critical: CriticalCounts, count: int, chance: Chances
) -> Float[np.ndarray, " test"]:
    """Probability that each test fails a check, given the reference's count of right answers.

    Parameters
    ----------
    critical
        Of n prompts.
    count
        Prompts that the reference had right, in 0 to n.
    chance
        Of each prompt's outcomes.

    Returns
    -------
    Float[np.ndarray, " test"]
        Those of `critical.right`, then those of `critical.lost`; absolute error about 1e-13.
    """
    n = len(critical.right) - 1
    check_count("count", count, least=0, meaning="a result of the reference")
    check_count("n - count", n - count, least=0, meaning="a result of the reference")
    lost = binomial_law(count, chance.lost_if_right)
    gained = binomial_law(n - count, chance.gained_if_wrong)
    at_most = np.concatenate([[0.0], np.cumsum(np.convolve(lost[::-1], gained))])
    at_least = np.concatenate([np.cumsum(lost[::-1])[::-1], np.zeros(n + 2 - len(lost))])
    by_right = at_most[critical.right[count] + 1]
    by_lost = gained @ at_least[critical.lost[: len(gained)]]
    return np.concatenate([by_right, by_lost])


@reading
def rejection(critical: CriticalCounts, chance: Chances) -> Float[np.ndarray, " test"]:
    """Probability that each test fails a check, averaged over the draws of the reference.

    As `rejection_given`; counts of the reference that have less than 1e-18 are left out.
    """
    law = binomial_law(len(critical.right) - 1, chance.right + chance.lost)
    counts = np.flatnonzero(law > NEGLIGIBLE)
    rates = [rejection_given(critical, int(count), chance) for count in counts]
    return np.asarray(law[counts] @ np.stack(rates))
