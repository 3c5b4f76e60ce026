"""Checks of an accuracy: every pair of counts of right answers, with its probability.

Of n prompts the reference has a right and the check b. The document fails the check where
b ≤ a + Φ⁻¹(α) √(n/2), which is its γ with σ = 1/2. Different prompts make a and b independent
binomials; the same prompts make b − a the difference of prompts gained and lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy import stats

from tests.independent.checks import Answer, checks_of
from tests.independent.committed import exact, printed, simulated

DOCUMENT = "Accuracy Evaluation"
check = checks_of(DOCUMENT)
ALPHA, BETA = 0.05, 0.2
Z_ALPHA, Z_BETA = (float(stats.norm.ppf(level)) for level in (ALPHA, BETA))
MANY, FEW = 512, 32

Fails = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


def theta(n: int) -> float:
    """The least detectable loss, as printed: −(Φ⁻¹(α) + Φ⁻¹(β)) √(2σ²/n), σ = 1/2."""
    return -(Z_ALPHA + Z_BETA) * math.sqrt(2 * 0.25 / n)


def document(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    return b - a <= Z_ALPHA * math.sqrt(n / 2)


def rounded(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    return b <= np.round(a + Z_ALPHA * math.sqrt(n / 2))


def below_rounded(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    return b < np.round(a + Z_ALPHA * math.sqrt(n / 2))


def welch(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    """Welch's t test of zeros and ones, of the check being worse; of no spread, never."""
    v, w = a * (n - a) / (n - 1) / n**2, b * (n - b) / (n - 1) / n**2
    with np.errstate(invalid="ignore", divide="ignore"):
        df = (v + w) ** 2 / ((v**2 + w**2) / (n - 1))
        return stats.t.cdf((b - a) / n / np.sqrt(v + w), df) <= ALPHA


def fisher(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    """Given a + b right answers, the check's are hypergeometric."""
    return stats.hypergeom.cdf(b, 2 * n, a + b, n) <= ALPHA * (1 + 1e-9)


@cache
def different_prompts(test: Fails, n: int, p: float, q: float) -> float:
    """Σ over a and b of P(a) P(b), where the test fails."""
    a, b = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    weights = np.outer(
        stats.binom.pmf(np.arange(n + 1), n, p), stats.binom.pmf(np.arange(n + 1), n, q)
    )
    return float(weights[test(a, b, n)].sum())


def cell(method: str, n: int = MANY, p: float = 0.5, effect: float = 0.0) -> dict[str, object]:
    """Factors of a committed share of failures with different prompts."""
    named = {"n": n, "accuracy": p, "effect": effect, "correlation": 0.0, "quantile": 0.0}
    return {**named, "method": method, "measure": "rejection_rate"}


@check(
    "α at an accuracy of 1/2, n = 512, simulated",
    simulated("accuracy_regression", **cell("document")),
    rival=(0.0561, "with γ rounded"),
)
@check(
    "α at an accuracy of 1/2, n = 512, by the package's enumeration",
    exact("accuracy_regression", **cell("document")),
    rival=(0.05, "that of the normal law"),
)
def alpha() -> Answer:
    """Both binomials enumerated, 513 × 513 pairs."""
    return Answer(different_prompts(document, MANY, 0.5, 0.5))


@check(
    "power at θ, n = 512, simulated",
    simulated("accuracy_regression", **cell("document", effect=1.0)),
    rival=(0.8825, "from a typical reference"),
)
def power_at_theta() -> Answer:
    """Both binomials enumerated, the check's accuracy at 1/2 − θ(512)."""
    return Answer(different_prompts(document, MANY, 0.5, 0.5 - theta(MANY)))


def given(right: int) -> Answer:
    """P(b ≤ a + Φ⁻¹(α) √(n/2)) with this a on record."""
    return Answer(
        float(stats.binom.cdf(math.floor(right + Z_ALPHA * math.sqrt(MANY / 2)), MANY, 0.5))
    )


def on_record(quantile: float) -> dict[str, object]:
    return cell("document") | {"quantile": quantile}


@check(
    "α given the reference on record, a typical one (256 of 512)",
    simulated("accuracy_regression", **on_record(0.5)),
    rival=(0.05, "the α asked for"),
)
def alpha_given_typical() -> Answer:
    """A binomial's distribution function at the threshold of a = 256, the median."""
    return given(int(stats.binom.ppf(0.5, MANY, 0.5)))


@check(
    "α given a lucky reference, at its 95% quantile",
    simulated("accuracy_regression", **on_record(0.95)),
    rival=(0.05, "the α asked for"),
)
def alpha_given_lucky() -> Answer:
    """A binomial's distribution function at the threshold of a = 275, the 95% quantile."""
    return given(int(stats.binom.ppf(0.95, MANY, 0.5)))


@check(
    "α with a rounded γ, failing at it (n = 32)",
    simulated("accuracy_regression", **cell("rounded", n=FEW)),
    rival=(0.0297, "failing only below it"),
)
def alpha_rounded() -> Answer:
    """Enumeration with γ rounded to a whole number of answers."""
    return Answer(different_prompts(rounded, FEW, 0.5, 0.5))


@check(
    "α with a rounded γ, failing below it (n = 32)",
    simulated("accuracy_regression", **cell("rounded_strict", n=FEW)),
    rival=(0.0515, "failing at it too"),
)
def alpha_below_rounded() -> Answer:
    """Enumeration with γ rounded, and failures strictly below it."""
    return Answer(different_prompts(below_rounded, FEW, 0.5, 0.5))


@check(
    "α with σ = 50 points at an accuracy of 0.9",
    simulated("accuracy_regression", **cell("document", p=0.9)),
    rival=(0.05, "the α asked for"),
)
def alpha_away() -> Answer:
    """Both binomials enumerated at 0.9, with the threshold of σ = 1/2."""
    return Answer(different_prompts(document, MANY, 0.9, 0.9))


@check(
    "α of Welch's t test at an accuracy of 0.9",
    simulated("accuracy_regression", **cell("estimated", p=0.9)),
    rival=(0.0028, "that of the document's z test"),
)
def alpha_of_welch() -> Answer:
    """Welch's t test of every pair of counts."""
    return Answer(different_prompts(welch, MANY, 0.9, 0.9))


@check(
    "α of Fisher's exact test, n = 32, accuracy 1/2",
    simulated("accuracy_regression", **cell("fisher", n=FEW)),
    rival=(0.05, "the α asked for"),
)
def alpha_of_fisher() -> Answer:
    """A hypergeometric p-value for every pair of counts."""
    return Answer(different_prompts(fisher, FEW, 0.5, 0.5))


def mcnemar(gained: np.ndarray, lost: np.ndarray, n: int) -> np.ndarray:
    """One-sided: of the prompts that changed, half are lost by chance."""
    return stats.binom.sf(lost - 1, gained + lost, 0.5) <= ALPHA * (1 + 1e-9)


@cache
def same_prompts(test: Fails, effect: float, correlation: float = 0.6) -> float:
    """Σ over numbers of prompts gained and lost, which are multinomial."""
    p, q = 0.5, 0.5 - effect * theta(MANY)
    both = p * q + correlation * math.sqrt(p * (1 - p) * q * (1 - q))
    gained, lost = np.meshgrid(np.arange(MANY + 1), np.arange(MANY + 1), indexing="ij")
    kept = np.maximum(MANY - gained - lost, 0)
    log_weight = stats.binom.logpmf(gained + lost, MANY, p + q - 2 * both)
    log_weight += stats.binom.logpmf(lost, gained + lost, (p - both) / (p + q - 2 * both))
    possible = (gained + lost + kept) == MANY
    return float(np.exp(log_weight)[possible & test(gained, lost, MANY)].sum())


def document_of_changes(gained: np.ndarray, lost: np.ndarray, n: int) -> np.ndarray:
    return document(lost, gained, n)  # b − a is what was gained less what was lost


def paired(method: str, effect: float) -> dict[str, object]:
    return cell(method, effect=effect) | {"correlation": 0.6}


@check(
    "α of the document's test on the same prompts, correlation 0.6",
    simulated("accuracy_regression", **paired("document", 0.0)),
    rival=(0.05, "the α asked for"),
)
def alpha_same_prompts() -> Answer:
    """Numbers of prompts gained and lost enumerated."""
    return Answer(same_prompts(document_of_changes, 0.0))


@check(
    "α of McNemar's exact test on the same prompts, correlation 0.6",
    simulated("accuracy_regression", **paired("mcnemar", 0.0)),
    rival=(0.05, "the α asked for"),
)
def alpha_of_mcnemar() -> Answer:
    """Prompts gained and lost enumerated, with a binomial p-value for every pair."""
    return Answer(same_prompts(mcnemar, 0.0))


@check(
    "power of McNemar's exact test at θ on the same prompts, correlation 0.6",
    simulated("accuracy_regression", **paired("mcnemar", 1.0)),
    rival=(1 - 0.0929, "that of the document's test"),
)
def power_of_mcnemar() -> Answer:
    """Prompts gained and lost enumerated, the check worse by θ(512)."""
    return Answer(same_prompts(mcnemar, 1.0))


@check(
    "least n for θ of 1 point",
    printed("accuracy_regression", "least n", r"θ ≤ 1: ([\d,]+),"),
    rival=(32768, "by doubling from 32"),
)
def least_n() -> Answer:
    """n = 1, 2, 3, ... until θ(n) is 0.01."""
    n = 1
    while theta(n) > 0.01:
        n += 1
    return Answer(n, bound=0.0)
