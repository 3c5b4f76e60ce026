"""Checks of scores that are not right or wrong: normal laws, and a pilot's σ integrated over."""

from __future__ import annotations

import math

import numpy as np
from scipy import integrate, stats

from tests.independent.accuracy import ALPHA, Z_ALPHA, check, different_prompts
from tests.independent.checks import Answer
from tests.independent.committed import Lookup, exact, simulated

N = 512


def cell(scores: str = "GaussianScores", n: int = N, **others: object) -> dict[str, object]:
    """Factors of the committed rate of false alarms of the z test, different prompts."""
    named: dict[str, object] = {"scores": scores, "n": n, "detectable_at": 0, "correlation": 0.0}
    named |= {"same_prompts": True, "method": "z", "measure": "rejection_rate"}
    return named | others


def against(quantile: float) -> Lookup:
    return simulated("accuracy_scores", **cell(same_prompts=False, reference=quantile))


@check(
    "normal scores on the same prompts, correlation 1/2: α",
    simulated("accuracy_scores", **cell(correlation=0.5)),
    rival=(0.05, "the α asked for"),
)
def same_prompts() -> Answer:
    """The difference has the variance 2(1 − ρ)σ²/n, so Φ(Φ⁻¹(α)/√(1 − ρ))."""
    return Answer(float(stats.norm.cdf(Z_ALPHA / math.sqrt(0.5))))


@check(
    "normal scores against a reference luckier than 19 of 20: α",
    against(0.95),
    rival=(0.05, "the α asked for"),
)
def lucky() -> Answer:
    """The check's mean is at most √2 Φ⁻¹(α) + δ of its own standard errors, δ = Φ⁻¹(0.95)."""
    return Answer(float(stats.norm.cdf(math.sqrt(2) * Z_ALPHA + stats.norm.ppf(0.95))))


@check(
    "normal scores, σ from a pilot of 32: α",
    exact("accuracy_scores", **cell(method="z_pilot_32")),
    rival=(0.05, "with σ known"),
)
def pilot() -> Answer:
    """∫ Φ(Φ⁻¹(α) s/σ) over the law of s²/σ², which is χ²/31."""

    def integrand(s2: float) -> float:
        alarm = float(stats.norm.cdf(Z_ALPHA * math.sqrt(s2)))
        return alarm * float(stats.gamma.pdf(s2, 31 / 2, scale=2 / 31))

    return Answer(integrate.quad(integrand, 0, 6, epsabs=1e-12, points=[0.5, 1, 2], limit=200)[0])


def with_right_sigma(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    return b - a <= Z_ALPHA * math.sqrt(2 * n * 0.8 * 0.2)


@check(
    "right or wrong with probability 0.8 and the right σ, n = 32: α",
    simulated("accuracy_scores", **cell("BinaryScores", n=32)),
    rival=(ALPHA, "the α asked for"),
)
def right_or_wrong() -> Answer:
    """Both binomials enumerated, with the threshold of σ = 0.4."""
    return Answer(different_prompts(with_right_sigma, 32, 0.8, 0.8))
