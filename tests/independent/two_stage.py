"""The two-stage trial of a mean: one-dimensional integrals over the first sample's error.

In standard errors, the first mean is off by z1 and the second by z2, so with r = √(n2/n1) the
statistic is s2 = z2 − r (z1 + k). The null is true where z1 + k < 0. Given z1, s2 is normal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, partial

from scipy import integrate, optimize
from scipy.special import ndtr, ndtri

from tests.independent.checks import Answer, checks_of
from tests.independent.committed import claimed, exact, printed, simulated, table

DOCUMENT = "Running a statistical trial for a machine learning regression model"
check = checks_of(DOCUMENT)
ALPHA, POWER = 0.05, 0.8
FAR = 12.0  # standard errors: beyond lies 1e-33 of a normal
K_GRID = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
N2_GRID = range(50, 1001, 50)  # with n1 = 100


def joint(t: float, k: float, r: float, low: float, high: float) -> float:
    """P(s2 < t and low < z1 < high) = ∫ φ(z) Φ(t + r (z + k)) dz."""

    def integrand(z: float) -> float:
        return math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * float(ndtr(t + r * (z + k)))

    return integrate.quad(integrand, low, high, epsabs=1e-13, epsrel=1e-11, limit=200)[0]


@cache
def size(t: float, k: float, r: float) -> float:
    """P(s2 < t | the null is true)."""
    return joint(t, k, r, -FAR, -k) / ndtr(-k)


def power(t: float, k: float, r: float) -> float:
    """P(s2 < t | the null is false)."""
    return joint(t, k, r, -k, FAR) / ndtr(k)


@cache
def critical(k: float, r: float) -> float:
    """The t with a size of 5%, averaged over the states in which the null is true."""
    return optimize.brentq(lambda t: size(t, k, r) - ALPHA, -30 * (1 + r), 10, xtol=1e-12)


def least_n2(k: float, n1: int, *, t: float | None = None) -> int:
    """The first n2 of 1, 2, 3, ... with the power, of the test with this t or its own."""
    n2 = 1
    while power(critical(k, math.sqrt(n2 / n1)) if t is None else t, k, math.sqrt(n2 / n1)) < POWER:
        n2 += 1
    return n2


def over_the_grid() -> Iterator[tuple[float, float]]:
    """(k, r) of the published grid, each with as many replicates."""
    return ((k, math.sqrt(n2 / 100)) for k in K_GRID for n2 in N2_GRID)


@check(
    "rejection where the bound is the truth (n1 = 100, n2 = 400)",
    printed("two_stage", "size where the null is true", r"([\d.]+) at k=1.5, n1=100, n2=400"),
    rival=(0.05, "the level that is promised"),
)
def boundary_400() -> Answer:
    """There s2 is z2, so P(reject) = Φ(t); t from quadrature and a bracketed root."""
    return Answer(float(ndtr(critical(1.5, 2.0))))


@check(
    "critical value t of the design (n1 = 150, n2 = 399): at the bound Φ(t) = 12.4% reject",
    printed("regression_trial", "prospective sample", r"critical value (-[\d.]+)"),
    rival=(-1.645, "the t whose Φ is 0.05"),
)
def boundary_399() -> Answer:
    """The root t of P(s2 < t | null true) = 0.05, by quadrature."""
    return Answer(critical(1.5, math.sqrt(399 / 150)))


@check(
    "rejections of true nulls within a tenth of a standard error of the bound, whole grid",
    claimed("two_stage", "size where the null is true"),
    rival=(0.05, "the level that is promised"),
)
def near_the_bound() -> Answer:
    """Ratio of two sums over the 120 cells: P(s2 < t, −k − 0.1 < z1 < −k) and P(the latter)."""
    rejected = sum(joint(critical(k, r), k, r, -k - 0.1, -k) for k, r in over_the_grid())
    there = sum(ndtr(-k) - ndtr(-k - 0.1) for k, _ in over_the_grid())
    return Answer(float(rejected / there))


@check(
    "type-I error over the grid with the printed critical value, the quantile of F_W",
    claimed("two_stage", "critical value"),
    rival=(0.05, "that of the quantile of F_X"),
)
def printed_critical_value() -> Answer:
    """With t' = (t + rk)/√(1 + r²) in place of t: Σ P(s2 < t', null true) / Σ P(null true)."""
    rejected = sum(
        joint((critical(k, r) + r * k) / math.hypot(1, r), k, r, -FAR, -k)
        for k, r in over_the_grid()
    )
    return Answer(float(rejected / sum(ndtr(-k) for k, _ in over_the_grid())))


@check(
    "mean of the printed F_W over its own draws, n2/n1 = 1/2",
    claimed("two_stage", "factor 1/sigma_W"),
    rival=(0.5, "that of a distribution function"),
)
def factor() -> Answer:
    """A distribution function averages 1/2 over its own draws; divided by σ_W = √(1 + r²)."""
    return Answer(0.5 / math.hypot(1, math.sqrt(0.5)))


@check(
    "share of false nulls with a bound k variances above the mean (σ² = 2, n1 = 100)",
    claimed("two_stage", "bound in variances"),
    rival=(float(ndtr(1.5)), "that of k standard errors"),
)
def bound_in_variances() -> Answer:
    """z1 σ/√n1 + 1.5 σ²/n1 > 0 has the probability Φ(1.5 σ/√n1)."""
    return Answer(float(ndtr(1.5 * math.sqrt(2 / 100))))


WHATEVER_THE_NULL = float(ndtr((critical(1.0, math.sqrt(3)) + math.sqrt(3)) / 2))  # r k is √3
POWER_CELL = {"k": 1.0, "n1": 100, "n2": 300, "measure": "power"}


@check(
    "power at k = 1, n1 = 100, n2 = 300, simulated",
    simulated("two_stage", **POWER_CELL),
    rival=(WHATEVER_THE_NULL, "whatever the null is"),
)
@check(
    "power at k = 1, n1 = 100, n2 = 300, by the package's theory",
    exact("two_stage", **POWER_CELL),
    rival=(WHATEVER_THE_NULL, "whatever the null is"),
)
def power_cell() -> Answer:
    """P(s2 < t | null false), by quadrature over z1."""
    return Answer(power(critical(1.0, math.sqrt(3)), 1.0, math.sqrt(3)))


@check(
    "prospective sample for power 0.8 (k = 1.5, n1 = 150)",
    claimed("two_stage", "sample size"),
    rival=(400, "the next"),
)
def design() -> Answer:
    """n2 = 1, 2, 3, ... until the power by quadrature is 0.8."""
    return Answer(least_n2(1.5, 150), bound=0.0)


@check(
    "prospective sample of a test whose level at the bound is 5%",
    printed("two_stage", "size where the null is true", r"needs n2=(\d+) for power 0.8"),
    rival=(399, "that of the document's test"),
)
def design_at_the_bound() -> Answer:
    """n2 = 1, 2, 3, ... with t = Φ⁻¹(0.05), until the power by quadrature is 0.8."""
    return Answer(least_n2(1.5, 150, t=float(ndtri(ALPHA))), bound=0.0)


def outcome(t: float, *, rejects: bool, null_true: bool) -> float:
    """A cell of the 2 x 2 table at n2 = 399: P(s2 < t, null), or what is left of P(null)."""
    k, r = 1.5, math.sqrt(399 / 150)
    low, high = (-FAR, -k) if null_true else (-k, FAR)
    rejected = joint(t, k, r, low, high)
    return rejected if rejects else float(ndtr(-k if null_true else k)) - rejected


OUTCOMES = [
    ("reject", "is true", "reject_null_true"),
    ("reject", "is false", "reject_null_false"),
    ("do not reject", "is true", "keep_null_true"),
    ("do not reject", "is false", "keep_null_false"),
]


def enter_outcomes() -> None:
    at_the_bound = float(ndtr(critical(1.5, math.sqrt(399 / 150))))
    for decision, null, measure in OUTCOMES:
        cell = partial(outcome, rejects=decision == "reject", null_true=null == "is true")

        def probability(cell: Callable[[float], float] = cell) -> Answer:
            """∫ φ(z1) Φ(t + r (z1 + k)) dz1 over true or false nulls, or what is left of them."""
            return Answer(cell(critical(1.5, math.sqrt(399 / 150))))

        what = f"outcomes at n2 = 399: {decision}, null {null}"
        rival, why = cell(float(ndtri(ALPHA))), "of a test whose level at the bound is 5%"
        if null == "is true":
            share = at_the_bound if decision == "reject" else 1 - at_the_bound
            rival, why = share * float(ndtr(-1.5)), "if all true nulls were as at the bound"
        row = {"decision": decision, "null": f"null {null}"}
        by_theory = table("trial_outcomes", "outcomes", "exact", **row)
        drawn = simulated("trial_outcomes", measure=measure)
        check(f"{what}, simulated", drawn, rival=(rival, why))(probability)
        check(f"{what}, by theory", by_theory, rival=(rival, why))(probability)


enter_outcomes()
