"""The two-stage trial of a mean: one-dimensional integrals over the first sample's error.

In standard errors, the first mean is off by z1 and the second by z2, so with r = √(n2/n1) the
statistic is s2 = z2 − r (z1 + k). The null is true where z1 + k < 0. Given z1, s2 is normal.
"""

import math
from collections.abc import Iterator
from functools import cache, partial
from itertools import count, product

from scipy import integrate, optimize
from scipy.special import ndtr, ndtri

from tests.independent.checks import Answer, checks_of, claimed, exact, printed, simulated, table

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


def least_n2(*, t: float | None = None) -> Answer:
    """n2 = 1, 2, 3, ... at k = 1.5 and n1 = 150 until a test with this t, or its own, has power."""

    def reached(r: float) -> bool:
        return power(critical(1.5, r) if t is None else t, 1.5, r) >= POWER

    return Answer(next(n2 for n2 in count(1) if reached(math.sqrt(n2 / 150))), bound=0.0)


def over_the_grid() -> Iterator[tuple[float, float]]:
    """(k, r) of the published grid, each with as many replicates."""
    return ((k, math.sqrt(n2 / 100)) for k in K_GRID for n2 in N2_GRID)


def near_the_bound() -> Answer:
    """Ratio of two sums over the 120 cells: P(s2 < t, −k − 0.1 < z1 < −k) and P(the latter)."""
    rejected = sum(joint(critical(k, r), k, r, -k - 0.1, -k) for k, r in over_the_grid())
    there = sum(ndtr(-k) - ndtr(-k - 0.1) for k, _ in over_the_grid())
    return Answer(float(rejected / there))


def printed_critical_value() -> Answer:
    """With t' = (t + rk)/√(1 + r²) in place of t: Σ P(s2 < t', null true) / Σ P(null true)."""
    rejected = sum(
        joint((critical(k, r) + r * k) / math.hypot(1, r), k, r, -FAR, -k)
        for k, r in over_the_grid()
    )
    return Answer(float(rejected / sum(ndtr(-k) for k, _ in over_the_grid())))


def outcome(t: float, *, rejects: bool, null_true: bool) -> float:
    """A cell of the 2 x 2 table at n2 = 399: P(s2 < t, null), or what is left of P(null)."""
    k, r = 1.5, math.sqrt(399 / 150)
    low, high = (-FAR, -k) if null_true else (-k, FAR)
    rejected = joint(t, k, r, low, high)
    return rejected if rejects else float(ndtr(-k if null_true else k)) - rejected


TRIAL, DESIGN, OUTCOMES = "two_stage", math.sqrt(399 / 150), "trial_outcomes"
AT_THE_BOUND = float(ndtr(critical(1.5, DESIGN)))
ROOT_3 = math.sqrt(3)  # r of the power cell, and its r k
CELL = {"k": 1.0, "n1": 100, "n2": 300, "measure": "power"}
POWER_OF_CELL = partial(Answer, power(critical(1.0, ROOT_3), 1.0, ROOT_3))
WHATEVER_THE_NULL = float(ndtr((critical(1.0, ROOT_3) + ROOT_3) / 2)), "whatever the null is"
PROMISED, SIZE = (0.05, "the level that is promised"), "size where the null is true"
for row in [  # a number, where it is committed, what finds it here, a rival and what that is
    ("rejection where the bound is the truth (n1 = 100, n2 = 400)",  # where s2 is z2
     printed(TRIAL, SIZE, r"([\d.]+) at k=1.5, n1=100, n2=400"),
     partial(Answer, float(ndtr(critical(1.5, 2.0)))), *PROMISED),
    ("critical value t of the design (n1 = 150, n2 = 399): at the bound Φ(t) = 12.4% reject",
     printed("regression_trial", "prospective sample", r"critical value (-[\d.]+)"),
     partial(Answer, critical(1.5, DESIGN)), -1.645, "the t whose Φ is 0.05"),
    ("rejections of true nulls within a tenth of a standard error of the bound, whole grid",
     claimed(TRIAL, SIZE), near_the_bound, *PROMISED),
    ("type-I error over the grid with the printed critical value, the quantile of F_W",
     claimed(TRIAL, "critical value"), printed_critical_value, 0.05, "that of the quantile of F_X"),
    ("mean of the printed F_W over its own draws, n2/n1 = 1/2",  # 1/2, divided by σ_W
     claimed(TRIAL, "factor 1/sigma_W"),
     partial(Answer, 0.5 / math.sqrt(1.5)), 0.5, "that of a distribution function"),
    ("share of false nulls with a bound k variances above the mean (σ² = 2, n1 = 100)",
     claimed(TRIAL, "bound in variances"),  # z1 σ/√n1 + 1.5 σ²/n1 > 0
     partial(Answer, float(ndtr(1.5 * math.sqrt(2 / 100)))),
     float(ndtr(1.5)), "that of k standard errors"),
    ("power at k = 1, n1 = 100, n2 = 300, by the package's theory",
     exact(TRIAL, **CELL), POWER_OF_CELL, *WHATEVER_THE_NULL),
    ("power at k = 1, n1 = 100, n2 = 300, simulated",
     simulated(TRIAL, **CELL), POWER_OF_CELL, *WHATEVER_THE_NULL),
    ("prospective sample for power 0.8 (k = 1.5, n1 = 150)",
     claimed(TRIAL, "sample size"), least_n2, 400, "the next"),
    ("prospective sample of a test whose level at the bound is 5%",
     printed(TRIAL, SIZE, r"needs n2=(\d+) for power 0.8"),
     partial(least_n2, t=float(ndtri(ALPHA))), 399, "that of the document's test"),
]:  # fmt: skip
    check(*row)

for decision, null in product(("reject", "do not reject"), ("is true", "is false")):
    cell = partial(outcome, rejects=decision == "reject", null_true=null == "is true")
    what, found = f"outcomes at n2 = 399: {decision}, null {null}", cell(critical(1.5, DESIGN))
    rival, why = cell(float(ndtri(ALPHA))), "of a test whose level at the bound is 5%"
    if null == "is true":
        share = AT_THE_BOUND if decision == "reject" else 1 - AT_THE_BOUND
        rival, why = share * float(ndtr(-1.5)), "if all true nulls were as at the bound"
    measure = f"{'reject' if decision == 'reject' else 'keep'}_null_{null.removeprefix('is ')}"
    by_theory = table(OUTCOMES, "outcomes", "exact", decision=decision, null=f"null {null}")
    drawn = simulated(OUTCOMES, measure=measure)
    check(f"{what}, simulated", drawn, partial(Answer, found), rival, why)
    check(f"{what}, by theory", by_theory, partial(Answer, found), rival, why)
