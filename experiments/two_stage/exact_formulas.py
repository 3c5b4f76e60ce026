"""Correct formulas of the document, compared with our own law."""

from __future__ import annotations

from functools import partial
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np

from simstudy.claims import Claim, Finding, WrongValue, decide
from simstudy.documents.stats.two_stage import pdf, ppf
from simstudy.lazy import special, stats

GRID = tuple(product((0.5, 1.0, 2.5), (50, 1000), (True, False)))  # k, n2 and state of the null
N1 = 100
CLOSE = 1e-6  # absolute, for a probability or a density
AT = (0.05, 0.5, 0.95)  # quantiles at which a law is compared


def _density(x: Any, k: float, r: float, sign: int, *, power: int = 1) -> Any:
    """f_X as printed, before equation 3; `power` is of its factor 1/√(1 + r²)."""
    spread = np.sqrt(1 + r**2)
    w = (x + r * k) / spread
    normal = np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi)
    return (
        normal * special.ndtr(sign * (spread * k - r * w)) / spread**power / special.ndtr(sign * k)
    )


def _density_is(_: Any, power: int = 1) -> Finding:
    """Largest distance of the printed density from ours, over laws and quantiles."""
    gaps = []
    for k, n2, null in GRID:
        law = not null, k, N1, n2
        x = ppf(AT, *law)
        printed = _density(x, k, float(np.sqrt(n2 / N1)), -1 if null else 1, power=power)
        gaps.append(np.abs(printed - pdf(x, *law)).max())
    return decide(CLOSE - max(gaps), 0.0, f"largest of {len(gaps)} distances {max(gaps):.1e}")


def _owen(x: float, k: float, r: float, sign: int, *, turned: int = 1) -> float:
    """Equation 3: a bivariate normal's distribution function over that of the condition."""
    a, b = sign * k * np.sqrt(1 + r**2), -sign * r
    root = np.sqrt(1 + b**2)
    rho = -turned * b / root
    at = [a / root, (x + r * k) / np.sqrt(1 + r**2)]
    both = stats.multivariate_normal.cdf(at, cov=np.array([[1, rho], [rho, 1]]), abseps=1e-9)
    return float(both / special.ndtr(sign * k))


def _owen_is(_: Any, turned: int = 1) -> Finding:
    """Largest distance of equation 3 from our distribution function, at some quantiles."""
    gaps: list[float] = []
    for k, n2, null in GRID:
        x = ppf(AT, not null, k, N1, n2)
        sign, r = -1 if null else 1, float(np.sqrt(n2 / N1))
        gaps += [abs(_owen(at, k, r, sign, turned=turned) - p) for at, p in zip(x, AT, strict=True)]
    worst = float(max(gaps))
    return decide(1e-4 - worst, 0.0, f"largest of {len(gaps)} distances {worst:.1e}")


def _expectation(_: Any, k: float = 1.5) -> Finding:
    return Finding(NormalDist().cdf(k), detail="Φ(1.5)")


EXACT = (
    Claim(
        "density of s2",
        "The density of s2 given the state of the null, f_X",
        "section 1, before equation 3",
        _density_is,
        published=True,
        wrong_value=WrongValue("the factor 1/√(1 + r²) twice", partial(_density_is, power=2)),
        criterion="1e−6",
    ),
    Claim(
        "equation 3",
        "Its distribution function is a bivariate normal one, over Φ(sk)",
        "section 1, equation 3",
        _owen_is,
        published=True,
        wrong_value=WrongValue("a correlation of the other sign", partial(_owen_is, turned=-1)),
        criterion="1e−4",
        note="As a formula, without the factor 1/σ_W before the integral. As a way to compute, it "
        "divides a small error by Φ(-k), which is smaller for large k.",
    ),
    Claim(
        "expected share",
        "Φ(1.5), the share of false nulls that both rows of the table expect",
        "section 3, coverage table",
        _expectation,
        published=0.933,
        rounding=0.0005,
        wrong_value=WrongValue("k = 1.4", partial(_expectation, k=1.4)),
    ),
)
