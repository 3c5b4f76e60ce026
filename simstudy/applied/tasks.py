"""One task of an accuracy suite: of θ, α, β, σ and n, what is not given follows from the rest."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from simstudy.applied.settings import RELATED
from simstudy.errors import DesignError
from simstudy.stats.accuracy import design

FROM_N = ("alpha", "beta", "sigma")  # where these follow, n is the least but for their rounding


@dataclass(frozen=True)
class Task:
    """What is known of a task; NaN where it is not.

    Parameters
    ----------
    task, metric
        Names.
    lower_is_better
        Whether a smaller score is the better one.
    sigma
        Standard deviation of one score.
    n
        Scores of the reference, and as many of a check.
    alpha, beta
        Chance that an unchanged check fails, and that one worse by `theta` passes.
    theta
        The effect that matters, in the units of the scores.
    reference
        Mean of the reference.
    correlation
        Of the two scores of a prompt; 0 for different prompts.
    """

    task: str
    metric: str = ""
    lower_is_better: bool = False
    sigma: float = math.nan
    n: float = math.nan
    alpha: float = math.nan
    beta: float = math.nan
    theta: float = math.nan
    reference: float = math.nan
    correlation: float = 0.0

    @property
    def unknown(self) -> list[str]:
        """Which of the related five are not given."""
        return [name for name in RELATED if math.isnan(getattr(self, name))]


def answered(task: Task) -> dict[str, Any]:
    """The task with what follows from it, as a row of a table.

    Returns
    -------
    dict
        The task's own values, where one was missing with it filled in (but for `theta`, which
        stays a wish); `solved`, its name; `detectable_effect` at n; `margin`, by how much worse
        than the reference a check fails, and the `threshold` where that lies; `power` against
        `theta` and `least_n` for it.

    Raises
    ------
    DesignError
        Where more than one of the five is missing, or a value makes no sense.
    """
    _refuse_beyond_counting(task.n)
    known, solved = _solved(task)
    return {
        **vars(task if solved == "theta" else known),
        "solved": solved,
        "detectable_effect": task.theta if _is_rounded_off(known, solved) else _effect(known),
        "margin": -_threshold(replace(known, reference=0.0, lower_is_better=False)),
        "threshold": _threshold(known),
        **_against_theta(task, known, solved),
    }


def _refuse_beyond_counting(n: float) -> None:
    if n >= design.MOST_SCORES:
        raise DesignError(
            f"n={n:g} is more scores than can be counted exactly. Give the number of prompts, less "
            f"than {design.MOST_SCORES:,}."
        )


def _is_rounded_off(known: Task, solved: str) -> bool:
    """Whether an error rate that followed is as near to 0, or to that of a coin, as doubles are.

    It says no effect any more; but what it followed from is the detectable effect.
    """
    if solved not in ("alpha", "beta"):
        return False
    return getattr(known, solved) == 0 or known.alpha + known.beta >= 1


def _against_theta(task: Task, known: Task, solved: str) -> dict[str, float]:
    if math.isnan(task.theta):
        return {"power": math.nan, "least_n": math.nan}
    power = design.power(
        task.theta, known.alpha, known.sigma, known.n, correlation=known.correlation
    )
    if _is_rounded_off(known, solved):
        return {"power": float(power), "least_n": known.n}
    at_most = known.n if solved in FROM_N else math.inf
    return {"power": float(power), "least_n": min(_least_n(known), at_most)}


def _threshold(known: Task) -> float:
    if math.isnan(known.reference):
        return math.nan
    gamma = design.threshold(
        known.reference, known.alpha, known.sigma, known.n,
        correlation=known.correlation, lower_is_better=known.lower_is_better,
    )  # fmt: skip
    return float(gamma)


def _least_n(known: Task) -> float:
    asked = known.theta, known.alpha, known.beta, known.sigma
    return float(design.sample_size(*asked, correlation=known.correlation))


def _solved(task: Task) -> tuple[Task, str]:
    """The task with none of the five missing, and the name of the one that was."""
    if len(task.unknown) > 1:
        raise DesignError(
            f"{' and '.join(task.unknown)} are not given, and each follows from the other four of "
            f"{', '.join(RELATED)}. Give all but one, in the table or as defaults."
        )
    name = next(iter(task.unknown), "")
    known = replace(task, **{name: SOLVERS[name](task)}) if name else task
    _refuse_no_level(known, name)
    return known, name


def _refuse_no_level(known: Task, solved: str) -> None:
    """A test of level 0 has no threshold, and one of level 1 fails everything."""
    if solved == "alpha" and known.alpha in (0, 1):
        side = "below 1e-300" if known.alpha == 0 else "1 to double precision"
        raise DesignError(
            f"theta={known.theta:g} with n={known.n:g} and sigma={known.sigma:g} is missed at rate "
            f"beta={known.beta:g} by a test whose alpha is {side}, which has no threshold. Give "
            "alpha, and write ? for beta."
        )


def _effect(task: Task) -> float:
    asked = task.alpha, task.beta, task.sigma, task.n
    return float(design.detectable_effect(*asked, correlation=task.correlation))


def _sigma(task: Task) -> float:
    asked = task.theta, task.alpha, task.beta, task.n
    return float(design.largest_sigma(*asked, correlation=task.correlation))


def _alpha(task: Task) -> float:
    asked = task.theta, task.beta, task.sigma, task.n
    return float(design.level(*asked, correlation=task.correlation))


def _beta(task: Task) -> float:
    asked = task.theta, task.alpha, task.sigma, task.n
    return float(design.type_2_error(*asked, correlation=task.correlation))


SOLVERS: Mapping[str, Any] = {
    "theta": _effect, "alpha": _alpha, "beta": _beta, "sigma": _sigma, "n": _least_n,
}  # fmt: skip
