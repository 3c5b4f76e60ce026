"""Checks of scores that are not right or wrong: normal laws, and a pilot's σ integrated over."""

from __future__ import annotations

import math

import numpy as np
from scipy import integrate, stats

from tests.independent.accuracy import ASKED, Z_ALPHA, check, counted
from tests.independent.checks import Answer
from tests.independent.committed import exact, simulated


def same_prompts() -> Answer:
    """The difference has the variance 2(1 − ρ)σ²/n, so Φ(Φ⁻¹(α)/√(1 − ρ))."""
    return Answer(float(stats.norm.cdf(Z_ALPHA / math.sqrt(0.5))))


def lucky() -> Answer:
    """The check's mean is at most √2 Φ⁻¹(α) + δ of its own standard errors, δ = Φ⁻¹(0.95)."""
    return Answer(float(stats.norm.cdf(math.sqrt(2) * Z_ALPHA + stats.norm.ppf(0.95))))


def pilot() -> Answer:
    """∫ Φ(Φ⁻¹(α) s/σ) over the law of s²/σ², which is χ²/31."""

    def integrand(s2: float) -> float:
        alarm = float(stats.norm.cdf(Z_ALPHA * math.sqrt(s2)))
        return alarm * float(stats.gamma.pdf(s2, 31 / 2, scale=2 / 31))

    return Answer(integrate.quad(integrand, 0, 6, epsabs=1e-12, points=[0.5, 1, 2], limit=200)[0])


def with_right_sigma(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    return b - a <= Z_ALPHA * math.sqrt(2 * n * 0.8 * 0.2)


def cell(scores: str = "GaussianScores", **others: object) -> dict[str, object]:
    """Factors of the committed rate of false alarms of the z test, n = 512."""
    named: dict[str, object] = {"scores": scores, "n": 512, "detectable_at": 0, "correlation": 0.0}
    return named | {"same_prompts": True, "method": "z", "measure": "rejection_rate"} | others


STUDY = "accuracy_scores"
for row in [  # a number, where it is committed, what finds it here, a rival and what that is
    ("normal scores on the same prompts, correlation 1/2: α",
     simulated(STUDY, **cell(correlation=0.5)), same_prompts, 0.05, ASKED),
    ("normal scores against a reference luckier than 19 of 20: α",
     simulated(STUDY, **cell(same_prompts=False, reference=0.95)), lucky, 0.05, ASKED),
    ("normal scores, σ from a pilot of 32: α",
     exact(STUDY, **cell(method="z_pilot_32")), pilot, 0.05, "with σ known"),
    ("right or wrong with probability 0.8 and the right σ, n = 32: α",
     simulated(STUDY, **cell("BinaryScores", n=32)),
     counted(with_right_sigma, 32, 0.8), 0.05, ASKED),
]:  # fmt: skip
    check(*row)
