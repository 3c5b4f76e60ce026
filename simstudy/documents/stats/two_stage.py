"""The two-stage trial of a mean: the law of its statistic, and its design.

A first sample of n1 sets the null hypothesis "the mean is at least mu0", mu0 being k standard
errors above the first mean; a second sample of n2 tests it. In standard errors, with z1 and z2
independent standard normal and r = sqrt(n2/n1), the statistic and the state of the null are

    X = z2 - r*Y,    Y = z1 + k,    the null is false where Y > 0.

The test rejects where X falls below t, the alpha-quantile of X given that the null is true. Its
power is the probability of that given that the null is false. The power rises with n2 from alpha
to 1. Along k it falls from 1 to a minimum near k = 0 and rises to 1 again.

Arguments broadcast; s = 1 where the null is false and -1 where it is true.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from simstudy.errors import DesignError
from simstudy.lazy import special

SMALL = 1e-6  # joint probabilities below it are integrated: Owen's formula is exact to 1e-16
STEPS = np.append(0.0, np.geomspace(1e-9, 80, 400))  # grid on which the integrand is located
DROP = 40.0  # exp(-40) of the largest value: what the integral leaves out
N_NODE = 200  # nodes of the Gauss-Legendre rule
K_LIMIT = 60.0  # far beyond any bound of use
LARGEST_N2 = 2**53


class OutcomeTable(NamedTuple):
    """Probability of each outcome of a trial; the four sum to 1."""

    reject_null_true: Any
    keep_null_true: Any
    reject_null_false: Any
    keep_null_false: Any


@dataclass(frozen=True)
class TwoStageDesign:
    """A two-stage trial with whole sample sizes, and what it reaches.

    `power` is the target, `exact_n2` the real n2 that has it, `achieved_power` that of the
    whole n2.
    """

    n1: int
    n2: int
    k: float
    alpha: float
    power: float
    exact_n2: float
    critical_value: float
    achieved_power: float


# ---------------------------------------------------------------- the law
def cdf(x: Any, null_is_false: Any, k: Any, n1: Any, n2: Any) -> Any:
    """P(X <= x | state), a bivariate normal probability over Phi(s*k).

    Computed with Owen's T function (1956, Ann. Math. Statist. 27, 1075-1090).
    """
    s = np.where(null_is_false, 1.0, -1.0)
    x, s, k, r = np.broadcast_arrays(np.asarray(x, float), s, k, np.sqrt(np.divide(n2, n1)))
    offset = _not_zero(x + r * k)
    w, k_ = offset / np.hypot(1, r), _not_zero(k)
    t = special.owens_t(w, (k_ - r * x) / offset) + special.owens_t(k_, x / k_)
    joint = 0.5 * (special.ndtr(w) + special.ndtr(s * k)) - s * t - 0.5 * (s * w * np.sign(k_) < 0)
    with np.errstate(divide="ignore", invalid="ignore"):  # over 0 is among what is integrated
        found = np.array(np.minimum(joint / special.ndtr(s * k), 1.0))
    small = np.asarray(joint < SMALL)
    if small.any():
        found[small] = np.exp(_log_cdf(x[small], s[small], k[small], r[small]))
    return found[()]


def _not_zero(x: Any) -> Any:
    return np.where(np.abs(x) < 1e-300, 1e-300, x)


def _log_cdf(x: Any, s: Any, k: Any, r: Any) -> Any:
    """Log of the integral of phi(y - s*k) Phi(x + s*r*y) over y > 0, over Phi(s*k)."""

    def log_integrand(y: Any) -> Any:
        z, u = y - (s * k)[:, np.newaxis], x[:, np.newaxis] + (s * r)[:, np.newaxis] * y
        return special.log_ndtr(u) - 0.5 * z**2 - 0.5 * np.log(2 * np.pi)

    on_grid = log_integrand(STEPS)
    kept = on_grid > on_grid.max(axis=1, keepdims=True) - DROP
    first, last = kept.argmax(axis=1), STEPS.size - 1 - kept[:, ::-1].argmax(axis=1)
    low, high = STEPS[np.maximum(first - 1, 0)], STEPS[np.minimum(last + 1, STEPS.size - 1)]
    half = 0.5 * (high - low)[:, np.newaxis]
    nodes, weights = _nodes_and_weights()
    values = log_integrand(low[:, np.newaxis] + half * (1 + nodes))
    return special.logsumexp(values, b=half * weights, axis=1) - special.log_ndtr(s * k)


@functools.cache
def _nodes_and_weights() -> tuple[np.ndarray, np.ndarray]:
    """The Gauss-Legendre rule, which takes 50 ms to compute."""
    return np.polynomial.legendre.leggauss(N_NODE)


def unconditional_cdf(x: Any, k: Any, n1: Any, n2: Any) -> Any:
    """P(X <= x) whatever the state: X is normal(-r*k, 1 + r^2)."""
    r = np.sqrt(np.divide(n2, n1))
    return special.ndtr((x + r * k) / np.hypot(1, r))


def pdf(x: Any, null_is_false: Any, k: Any, n1: Any, n2: Any) -> Any:
    """Density of X given the state: a skew normal (Arnold et al. 1993, Psychometrika 58(3))."""
    s, r = np.where(null_is_false, 1.0, -1.0), np.sqrt(np.divide(n2, n1))
    spread = np.hypot(1, r)
    log_state = special.log_ndtr(s * (k - r * x) / spread) - special.log_ndtr(s * k)
    w = (x + r * k) / spread
    return np.exp(log_state - 0.5 * w**2) / (np.sqrt(2 * np.pi) * spread)


def ppf(p: Any, null_is_false: bool, k: Any, n1: Any, n2: Any) -> Any:
    """The x with cdf(x) = p, for p in (0, 1)."""
    from scipy.optimize import elementwise

    s = 1.0 if null_is_false else -1.0
    p, k, r = np.broadcast_arrays(np.asarray(p, float), k, np.sqrt(np.divide(n2, n1)))
    # Given the state, X is z2 - s*r*V with V = |Y| > 0. So z2 bounds it on one side. On the other
    # side, at most half of the tail has a z2 beyond its quantile, and half a V beyond its own.
    half_tail = 0.5 * (p if null_is_false else 1 - p)
    v = s * k - special.ndtri_exp(np.log(half_tail) + special.log_ndtr(s * k))
    ends = special.ndtri(p), s * (special.ndtri(half_tail) - r * v)
    low, high = np.minimum(*ends), np.maximum(*ends)

    def excess(x: Any, *args: Any) -> Any:
        p, k, r = args
        return cdf(x, null_is_false, k, 1.0, r**2) - p

    return elementwise.find_root(
        excess,
        (low - 1e-9, high + 1e-9),  # at which rounding could hide the root
        args=(p, k, r),
        tolerances={"xatol": 1e-14, "xrtol": 1e-14, "fatol": 0, "frtol": 0},
    ).x[()]


# ---------------------------------------------------------------- the test
def critical_value(alpha: Any, k: Any, n1: Any, n2: Any) -> Any:
    """The alpha-quantile of the statistic given that the null is true."""
    given = alpha, k, n1, n2
    if all(map(np.isscalar, given)):
        return _one_critical_value(*given)
    return ppf(alpha, False, k, n1, n2)


@functools.lru_cache(maxsize=4096)
def _one_critical_value(alpha: float, k: float, n1: int, n2: int) -> Any:
    """The critical value of one trial, which blocks, theory and claims all ask for."""
    return ppf(alpha, False, k, n1, n2)


def power(alpha: Any, k: Any, n1: Any, n2: Any) -> Any:
    """Probability of rejecting given that the null is false."""
    return cdf(critical_value(alpha, k, n1, n2), True, k, n1, n2)


def boundary_rejection(alpha: Any, k: Any, n1: Any, n2: Any) -> Any:
    """Probability of rejecting when the bound equals the mean: there X is standard normal."""
    return special.ndtr(critical_value(alpha, k, n1, n2))


def boundary_power(alpha: Any, k: Any, n1: Any, n2: Any) -> Any:
    """Power of the test that has level alpha even where the bound equals the mean."""
    return cdf(special.ndtri(alpha), True, k, n1, n2)


def boundary_n2(power: float, alpha: float, k: float, n1: int) -> int:
    """The least whole n2 with which the test of level alpha at the boundary has a power."""
    return _least_n2(lambda n2: float(boundary_power(alpha, k, n1, n2)), power, alpha)


def outcome_table(alpha: Any, k: Any, n1: Any, n2: Any) -> OutcomeTable:
    """Probabilities of rejecting or keeping a true or a false null; P(false) is Phi(k)."""
    limit = critical_value(alpha, k, n1, n2)
    is_true, is_false = special.ndtr(np.negative(k)), special.ndtr(k)
    return OutcomeTable(
        reject_null_true=alpha * is_true,
        keep_null_true=(1 - np.asarray(alpha)) * is_true,
        reject_null_false=cdf(limit, True, k, n1, n2) * is_false,
        keep_null_false=cdf(np.negative(limit), False, np.negative(k), n1, n2) * is_false,
    )


# ---------------------------------------------------------------- the design
def solve_design(
    *, n1: int, n2: Any = None, k: Any = None, alpha: Any = None, power: Any = None
) -> TwoStageDesign:
    """The design in which the one quantity left out follows from the others.

    A missing n2 becomes the least whole number that reaches the power; a missing k the larger of
    the two that have it, the one whose null is rarely true.
    """
    exact_n2 = n2
    if alpha is None:
        alpha = float(cdf(ppf(power, True, k, n1, n2), False, k, n1, n2))
        if not 0 < alpha < 1:
            raise DesignError(
                f"power={power:g} with k={k:g} and n2/n1={n2 / n1:g} belongs to an alpha that "
                f"rounds to {alpha:g}, which is no test. Ask for another power, or change n2 or k."
            )
    elif n2 is None:
        n2, exact_n2 = _solve_n2(power, alpha, k, n1)
    elif k is None:
        k = _solve_k(power, alpha, n1, n2)
    limit = float(critical_value(alpha, k, n1, n2))
    achieved = float(cdf(limit, True, k, n1, n2))
    power = achieved if power is None else power
    return TwoStageDesign(n1, n2, k, alpha, power, float(exact_n2), limit, achieved)


def _solve_n2(goal: float, alpha: float, k: float, n1: int) -> tuple[int, float]:
    """The least whole n2 with a power, and the real one."""

    def reached(n2: float) -> float:
        return float(power(alpha, k, n1, n2))

    n2 = _least_n2(reached, goal, alpha)
    if n2 == 1 and goal < reached(1):
        raise DesignError(
            f"power={goal:g} is below the {reached(1):.6g} that a second stage of one observation "
            "already has, so no sample size belongs to it. Ask for a power from there up to 1, "
            f"1 excluded, or lower alpha={alpha:g}."
        )
    return n2, _root(lambda size: reached(size) - goal, n2 - 1 or 1, n2)


def _least_n2(reached: Callable[[int], float], goal: float, alpha: float) -> int:
    """The least whole n2 with a power, by doubling and bisection."""
    if goal <= alpha:
        raise DesignError(
            f"power={goal:g} is not above alpha={alpha:g}, but every second stage, however small, "
            f"has more power than alpha. Ask for a power between {alpha:g} and 1, both excluded."
        )
    low, high = 0, 1
    while reached(high) < goal:
        low, high = high, 2 * high
        if high > LARGEST_N2:
            raise DesignError(
                f"power={goal:g} needs more than 2^53 observations in the second stage. The limit "
                "is 1 for every k, but approached slowly: lower the power."
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) >= goal else (middle, high)
    return high


def _solve_k(goal: float, alpha: float, n1: int, n2: int) -> float:
    from scipy import optimize

    def excess(k: float) -> float:
        return float(power(alpha, k, n1, n2)) - goal

    valley = float(optimize.minimize_scalar(excess, bounds=(-K_LIMIT / 4, K_LIMIT / 4)).x)
    least, most = excess(valley) + goal, excess(K_LIMIT) + goal
    if not least <= goal <= most:
        raise DesignError(
            f"power={goal:g} belongs to no k: with alpha={alpha:g} and n2/n1={n2 / n1:g} the least "
            f"power is {least:.6g}, at k={valley:.3g}, and {most:.6g} is reached at k={K_LIMIT:g}. "
            "Ask for a power in between, or change n2 or alpha."
        )
    return _root(excess, valley, K_LIMIT)


def _root(excess: Callable[[float], float], low: float, high: float) -> float:
    """Brent's (1973) bracketed root, or the end that already is one."""
    from scipy import optimize

    if excess(low) >= 0:
        return float(low)
    if excess(high) <= 0:
        return float(high)
    return float(optimize.brentq(excess, low, high, xtol=1e-15, rtol=1e-15))
