"""Checks of an accuracy: every pair of counts of right answers, with its probability.

Of n prompts the reference has a right and the check b. The document fails the check where
b ≤ a + Φ⁻¹(α) √(n/2), which is its γ with σ = 1/2. Different prompts make a and b independent
binomials; the same prompts make b − a the difference of prompts gained and lost.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy import stats

from tests.independent.checks import Answer, Compute, Lookup, checks_of, exact, printed, simulated

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


def counted(test: Fails, n: int = MANY, p: float = 0.5, effect: float = 0.0) -> Compute:
    """Both binomials enumerated, the check's accuracy lower by so many θ(n)."""
    return lambda: Answer(different_prompts(test, n, p, p - effect * theta(n)))


def given(quantile: float) -> Compute:
    """P(b ≤ a + Φ⁻¹(α) √(n/2)), with this quantile of a on record."""
    right = stats.binom.ppf(quantile, MANY, 0.5)
    limit = math.floor(right + Z_ALPHA * math.sqrt(MANY / 2))
    return lambda: Answer(float(stats.binom.cdf(limit, MANY, 0.5)))


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


def changed(test: Fails, effect: float = 0.0) -> Compute:
    """Numbers of prompts gained and lost enumerated, the check worse by so many θ(512)."""
    return lambda: Answer(same_prompts(test, effect))


def least_n() -> Answer:
    """n = 1, 2, 3, ... until θ(n) is 0.01."""
    n = 1
    while theta(n) > 0.01:
        n += 1
    return Answer(n, bound=0.0)


def cell(method: str, n: int = MANY, p: float = 0.5, **others: float) -> dict[str, object]:
    """Factors of a committed share of failures, with different prompts unless others say so."""
    named = {"n": n, "accuracy": p, "effect": 0.0, "correlation": 0.0, "quantile": 0.0}
    return named | others | {"method": method, "measure": "rejection_rate"}


def drawn(method: str, **factors: float) -> Lookup:
    return simulated("accuracy_regression", **cell(method, **factors))


ASKED = "the α asked for"
PAIRED = {"correlation": 0.6}
for row in [  # a number, where it is committed, what finds it here, a rival and what that is
    ("α at an accuracy of 1/2, n = 512, by the package's enumeration",
     exact("accuracy_regression", **cell("document")),
     counted(document), 0.05, "that of the normal law"),
    ("α at an accuracy of 1/2, n = 512, simulated",
     drawn("document"), counted(document), 0.0561, "with γ rounded"),
    ("power at θ, n = 512, simulated",
     drawn("document", effect=1.0),
     counted(document, effect=1.0), 0.8825, "from a typical reference"),
    ("α given the reference on record, a typical one (256 of 512)",
     drawn("document", quantile=0.5), given(0.5), 0.05, ASKED),
    ("α given a lucky reference, at its 95% quantile",
     drawn("document", quantile=0.95), given(0.95), 0.05, ASKED),
    ("α with a rounded γ, failing at it (n = 32)",
     drawn("rounded", n=FEW), counted(rounded, FEW), 0.0297, "failing only below it"),
    ("α with a rounded γ, failing below it (n = 32)",
     drawn("rounded_strict", n=FEW), counted(below_rounded, FEW), 0.0515, "failing at it too"),
    ("α with σ = 50 points at an accuracy of 0.9",
     drawn("document", p=0.9), counted(document, p=0.9), 0.05, ASKED),
    ("α of Welch's t test at an accuracy of 0.9",
     drawn("estimated", p=0.9), counted(welch, p=0.9), 0.0028, "that of the document's z test"),
    ("α of Fisher's exact test, n = 32, accuracy 1/2",
     drawn("fisher", n=FEW), counted(fisher, FEW), 0.05, ASKED),
    ("α of the document's test on the same prompts, correlation 0.6",
     drawn("document", **PAIRED), changed(document_of_changes), 0.05, ASKED),
    ("α of McNemar's exact test on the same prompts, correlation 0.6",
     drawn("mcnemar", **PAIRED), changed(mcnemar), 0.05, ASKED),
    ("power of McNemar's exact test at θ on the same prompts, correlation 0.6",
     drawn("mcnemar", effect=1.0, **PAIRED),
     changed(mcnemar, 1.0), 1 - 0.0929, "that of the document's test"),
    ("least n for θ of 1 point",
     printed("accuracy_regression", "least n", r"([\d,]+) prompts for 1 points"),
     least_n, 32768, "by doubling from 32"),
]:  # fmt: skip
    check(*row)
