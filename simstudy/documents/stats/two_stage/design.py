"""Designing a two-stage trial: critical value, power, sample size.

The test rejects where the statistic (see `two_stage`) falls below t, the alpha-quantile of its law
given that the null is true; its power is the probability of that given that the null is false.
Four quantities are tied together: n2/n1, k, alpha and the power. `solve_design` finds each of them
from the other three.

Attainable power: it rises with n2 from alpha, as n2 -> 0, to 1, as n2 -> infinity, whatever
k is. (It is X/r that converges then, to -Y, whose sign is the state of the null.) Along k it falls
from 1 to a minimum near k = 0 and rises to 1 again: far below 0 a false null is rare and barely
false, and the critical value that controls all the very true nulls lies far above 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simstudy.array_types import Bool, Float, Int
from simstudy.documents.stats.arguments import check_count, check_proportion
from simstudy.documents.stats.integer_search import least_count
from simstudy.documents.stats.reading import reading
from simstudy.documents.stats.two_stage.law import TwoStageStatistic, checked_parameters
from simstudy.errors import DesignError
from simstudy.lazy import special

Count = Int[np.ndarray, "..."]
Reaches = Callable[[Count], Bool[np.ndarray, "..."]]

LARGEST_N2 = 2**53
"""Beyond it a float no longer tells one whole number from the next."""

K_LIMIT = 60.0
"""Far beyond any bound of use, and within reach of the tails."""


class OutcomeTable(NamedTuple):
    """Probability of each outcome of a trial; the four sum to 1.

    Attributes
    ----------
    reject_null_true
        A true null is rejected.
    keep_null_true
        A true null is kept.
    reject_null_false
        A false null is rejected.
    keep_null_false
        A false null is kept.
    """

    reject_null_true: Any
    keep_null_true: Any
    reject_null_false: Any
    keep_null_false: Any


@dataclass(frozen=True)
class TwoStageDesign:
    """A two-stage trial with whole sample sizes, and what it reaches.

    Parameters
    ----------
    n1, n2
        Observations in the first and second stage.
    k
        Standard errors of the first mean from it up to the bound.
    alpha
        Probability of rejecting given that the null is true.
    power
        The requested power; if the power was the unknown, the computed one.
    exact_n2
        The real n2 that has exactly that power, of which n2 is the next whole number; n2 itself
        where it was given.
    critical_value
        Reject where the statistic falls below it.
    achieved_power
        Power with the whole n2; at least `power` if n2 was the unknown.
    """

    n1: int
    n2: int
    k: float
    alpha: float
    power: float
    exact_n2: float
    critical_value: float
    achieved_power: float

    @property
    def ratio(self) -> float:
        """n2/n1, on which alone critical value and power depend."""
        return self.n2 / self.n1


@reading
def critical_value(alpha: ArrayLike, k: ArrayLike, n1: ArrayLike, n2: ArrayLike) -> Any:
    """Compute the alpha-quantile of the statistic given that the null is true.

    Parameters
    ----------
    alpha
        Level of the test, in (0, 1).
    k
        Standard errors from the first estimate to the bound.
    n1, n2
        Observations of the first and of the second stage, > 0.

    Returns
    -------
    float or array
        Critical values; all arguments broadcast.

    Raises
    ------
    DesignError
        If alpha is outside (0, 1), or `TwoStageStatistic` does not allow a parameter.
    """
    check_proportion("alpha", alpha, "a test at that level")
    return TwoStageStatistic(k, n1, n2, null=True).ppf(alpha)


@reading
def power(alpha: ArrayLike, k: ArrayLike, n1: ArrayLike, n2: ArrayLike) -> Any:
    """Compute the probability of rejecting given that the null is false.

    Parameters
    ----------
    alpha
        Level of the test, in (0, 1).
    k
        Standard errors from the first estimate to the bound.
    n1, n2
        Observations of the first and of the second stage, > 0.

    Returns
    -------
    float or array
        Probabilities; all arguments broadcast.
    """
    limit = critical_value(alpha, k, n1, n2)
    return TwoStageStatistic(k, n1, n2, null=False).cdf(limit)


@reading
def boundary_rejection(alpha: ArrayLike, k: ArrayLike, n1: ArrayLike, n2: ArrayLike) -> Any:
    """Compute the probability of rejecting when the bound equals the mean: the null is just true.

    There Y = 0 and the statistic is standard normal, which gives Phi(critical value). The test's
    alpha is an average over all true nulls, most of them truer than this one.

    Parameters
    ----------
    alpha
        Level of the test, in (0, 1).
    k
        Standard errors from the first estimate to the bound.
    n1, n2
        Observations of the first and of the second stage, > 0.

    Returns
    -------
    float or array
        Probabilities; all arguments broadcast.
    """
    return special.ndtr(critical_value(alpha, k, n1, n2))


@reading
def boundary_power(alpha: ArrayLike, k: ArrayLike, n1: ArrayLike, n2: ArrayLike) -> Any:
    """Compute the power of the test that has level alpha even where the bound equals the mean.

    It rejects below the alpha-quantile of the standard normal distribution.

    Parameters
    ----------
    alpha
        Level of the test, in (0, 1).
    k
        Standard errors from the first estimate to the bound.
    n1, n2
        Observations of the first and of the second stage, > 0.

    Returns
    -------
    float or array
        Probabilities; all arguments broadcast.
    """
    check_proportion("alpha", alpha, "a test at that level")
    limit = special.ndtri(np.asarray(alpha, dtype=float))
    return TwoStageStatistic(k, n1, n2, null=False).cdf(limit)


@reading
def boundary_n2(power: ArrayLike, alpha: ArrayLike, k: ArrayLike, n1: ArrayLike) -> Any:
    """Find the least whole n2 with which the test of level alpha at the boundary has a power.

    Parameters
    ----------
    power
        Power that is required, in (0, 1).
    alpha
        Level of the test, in (0, 1).
    k
        Standard errors from the first estimate to the bound.
    n1
        Observations of the first and of the second stage, > 0.

    Returns
    -------
    int or array
        Sizes; all arguments broadcast.

    Raises
    ------
    DesignError
        If any n2 exceeds the power, or none below 2^53 reaches it.
    """
    check_proportion("power", power, "a sample size")
    check_proportion("alpha", alpha, "a test at that level")
    checked_parameters(k, n1, 1)
    _refuse_power_below(power, alpha)
    goals, alphas, ks, n1s = np.broadcast_arrays(power, alpha, k, n1)
    return _least_n2(lambda n2: boundary_power(alphas, ks, n1s, n2) >= goals, goals)[()]


@reading
def outcome_table(alpha: ArrayLike, k: ArrayLike, n1: ArrayLike, n2: ArrayLike) -> OutcomeTable:
    """Compute probabilities of rejecting or keeping a true or a false null.

    The null is false with probability Phi(k).

    Parameters
    ----------
    alpha
        Level of the test, in (0, 1).
    k
        Standard errors from the first estimate to the bound.
    n1, n2
        Observations of the first and of the second stage, > 0.

    Returns
    -------
    OutcomeTable
        Probabilities; all arguments broadcast.
    """
    limit = critical_value(alpha, k, n1, n2)
    given_false = TwoStageStatistic(k, n1, n2, null=False)
    is_true, is_false = special.ndtr(-given_false.k), special.ndtr(given_false.k)
    size = np.broadcast_to(alpha, np.shape(limit))
    return OutcomeTable(
        reject_null_true=(size * is_true)[()],
        keep_null_true=((1 - size) * is_true)[()],
        reject_null_false=given_false.cdf(limit) * is_false,
        keep_null_false=given_false.sf(limit) * is_false,
    )


@reading
def solve_design(
    *,
    n1: int,
    n2: int | None = None,
    k: float | None = None,
    alpha: float | None = None,
    power: float | None = None,
) -> TwoStageDesign:
    """The design in which the one quantity left out follows from the others.

    Parameters
    ----------
    n1
        Observations in the first stage.
    n2, k, alpha, power
        Exactly one of them missing. A missing n2 becomes the least whole number that reaches the
        power; a missing k the larger of the two that have it, the one whose null is rarely true.

    Returns
    -------
    TwoStageDesign

    Notes
    -----
    Refused: none or several missing, sizes that are not whole, alpha or power outside (0, 1), and
    a power out of reach; the message says what can be reached.
    """
    given = {"n2": n2, "k": k, "alpha": alpha, "power": power}
    missing = _the_missing_one([name for name, value in given.items() if value is None])
    _check_given(n1, given)
    solvers: dict[str, Callable[..., TwoStageDesign]] = {
        "n2": _solve_n2, "k": _solve_k, "alpha": _solve_alpha, "power": _solve_power
    }  # fmt: skip
    given["goal"] = given.pop("power")
    return solvers[missing](n1=n1, **{name: v for name, v in given.items() if v is not None})


def _the_missing_one(missing: list[str]) -> str:
    if len(missing) != 1:
        found = f"{', '.join(missing)} are" if missing else "none of n2, k, alpha and power is"
        raise DesignError(
            f"{found} missing, but three of the four determine the fourth. "
            "Leave out exactly the one that is wanted."
        )
    return missing[0]


def _check_given(n1: int, given: dict[str, Any]) -> None:
    for name, size in (("n1", n1), ("n2", given["n2"])):
        if size is not None:
            check_count(name, size, least=1, meaning="a trial")
    for name in ("alpha", "power"):
        if given[name] is not None:
            check_proportion(name, given[name], "a test")
    checked_parameters(0.0 if given["k"] is None else given["k"], n1, 1)


def _solve_power(*, n1: int, n2: int, k: float, alpha: float) -> TwoStageDesign:
    return _design(n1, n2, k, alpha, float(power(alpha, k, n1, n2)), n2)


def _solve_alpha(*, n1: int, n2: int, k: float, goal: float) -> TwoStageDesign:
    """No search: the power fixes the critical value, and that its level."""
    limit = TwoStageStatistic(k, n1, n2, null=False).ppf(goal)
    alpha = float(TwoStageStatistic(k, n1, n2, null=True).cdf(limit))
    if not 0 < alpha < 1:
        raise DesignError(
            f"power={goal:g} with k={k:g} and n2/n1={n2 / n1:g} belongs to an alpha that rounds "
            f"to {alpha:g}, which is no test. Ask for another power, or change n2 or k."
        )
    return _design(n1, n2, k, alpha, goal, n2)


def _solve_n2(*, n1: int, k: float, alpha: float, goal: float) -> TwoStageDesign:
    _refuse_power_below(goal, alpha)
    _refuse_too_easy(goal, alpha, float(power(alpha, k, n1, 1)))
    n2 = int(_least_n2(lambda size: power(alpha, k, n1, size) >= goal, np.array(goal)))
    exact = _root(lambda size: _excess(goal, alpha, k, n1, size), max(n2 - 1, 1), n2)
    return _design(n1, n2, k, alpha, goal, exact)


def _solve_k(*, n1: int, n2: int, alpha: float, goal: float) -> TwoStageDesign:
    from scipy import optimize

    def excess(k: float) -> float:
        return _excess(goal, alpha, k, n1, n2)

    valley = float(optimize.minimize_scalar(excess, bounds=(-K_LIMIT / 4, K_LIMIT / 4)).x)
    setting = f"with alpha={alpha:g} and n2/n1={n2 / n1:g}"
    if excess(valley) > 0:
        _refuse_below_valley(goal, float(power(alpha, valley, n1, n2)), valley, setting)
    if excess(K_LIMIT) < 0:
        _refuse_beyond_k(goal, float(power(alpha, K_LIMIT, n1, n2)), setting)
    return _design(n1, n2, _root(excess, valley, K_LIMIT), alpha, goal, n2)


def _design(
    n1: int, n2: int, k: float, alpha: float, goal: float, exact_n2: float
) -> TwoStageDesign:
    return TwoStageDesign(
        n1=int(n1),
        n2=int(n2),
        k=float(k),
        alpha=float(alpha),
        power=float(goal),
        exact_n2=float(exact_n2),
        critical_value=float(critical_value(alpha, k, n1, n2)),
        achieved_power=float(power(alpha, k, n1, n2)),
    )


def _excess(goal: float, alpha: float, k: float, n1: int, n2: float) -> float:
    """Log odds of the power less those of the goal: well scaled also where the power is near 1."""
    limit = critical_value(alpha, k, n1, n2)
    law = TwoStageStatistic(k, n1, n2, null=False)
    return float(law.logcdf(limit) - law.logsf(limit) - special.logit(goal))


def _root(excess: Callable[[float], float], low: float, high: float) -> float:
    """Brent's (1973) bracketed root to the last bits, or the end that already is one."""
    from scipy import optimize

    if excess(low) >= 0:
        return float(low)
    if excess(high) <= 0:
        return float(high)
    return float(optimize.brentq(excess, low, high, xtol=1e-15, rtol=1e-15))


def _least_n2(reaches: Reaches, goal: Float[np.ndarray, "..."]) -> Count:
    return least_count(reaches, np.ones(goal.shape, np.int64), _reached_by(reaches, goal))


def _reached_by(reaches: Reaches, goal: Float[np.ndarray, "..."]) -> Count:
    """A whole number that reaches, element by element, by doubling."""
    n2 = np.ones(goal.shape, np.int64)
    while not (enough := reaches(n2)).all():
        n2 = np.where(enough, n2, 2 * n2)
        if (n2 > LARGEST_N2).any():
            raise DesignError(
                f"power={goal[n2 > LARGEST_N2].flat[0]:g} needs more than 2^53 observations in the "
                "second stage. The limit is 1 for every k, but approached slowly: lower the power."
            )
    return n2


def _refuse_power_below(power: ArrayLike, alpha: ArrayLike) -> None:
    powers, alphas = np.broadcast_arrays(power, alpha)
    below = powers <= alphas
    if below.any():
        asked, level = powers[below].flat[0], alphas[below].flat[0]
        raise DesignError(
            f"power={asked:g} is not above alpha={level:g}, but every second stage, however small, "
            f"has more power than alpha. Ask for a power between {level:g} and 1, both excluded."
        )


def _refuse_too_easy(goal: float, alpha: float, least: float) -> None:
    if goal < least:
        raise DesignError(
            f"power={goal:g} is below the {least:.6g} that a second stage of one observation "
            "already has, so no sample size belongs to it. Ask for a power from there up to 1, "
            f"1 excluded, or lower alpha={alpha:g}."
        )


def _refuse_below_valley(goal: float, least: float, k: float, setting: str) -> None:
    raise DesignError(
        f"power={goal:g} is below what every k gives: {setting} the least power is {least:.6g}, "
        f"at k={k:.3g}. Ask for a power from there up to 1, or lower n2 or alpha."
    )


def _refuse_beyond_k(goal: float, most: float, setting: str) -> None:
    raise DesignError(
        f"power={goal:g} needs a bound more than {K_LIMIT:g} standard errors away: {setting} the "
        f"power is {most:.6g} there. Raise n2 or alpha, or ask for less."
    )
