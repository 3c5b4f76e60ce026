"""Tasks of an accuracy suite: of theta, alpha, beta, sigma and n each follows from the others."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from simstudy.documents.stats.accuracy import design
from simstudy.errors import DesignError

RELATED = ("theta", "alpha", "beta", "sigma", "n")
SOLVERS: Mapping[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "theta": (design.detectable_effect, ("alpha", "beta", "sigma", "n")),
    "alpha": (design.level, ("theta", "beta", "sigma", "n")),
    "beta": (design.type_2_error, ("theta", "alpha", "sigma", "n")),
    "sigma": (design.largest_sigma, ("theta", "alpha", "beta", "n")),
    "n": (design.sample_size, ("theta", "alpha", "beta", "sigma")),
}  # related values: the function of each, and its arguments
FROM_N = ("alpha", "beta", "sigma")  # if one of these follows, n is minimal up to its rounding


@dataclass(frozen=True)
class Task:
    """The known values of a task; NaN for unknown ones.

    Parameters
    ----------
    task, metric
        Names.
    lower_is_better
        Whether a smaller score is the better one.
    sigma
        Standard deviation of one score; 0 where the scores of a model do not vary.
    n
        Scores of the reference, and as many of a check.
    alpha, beta
        Chance that an unchanged check fails, and that one worse by `theta` passes.
    theta
        The effect that matters, in the units of the scores.
    reference
        Mean of the reference.
    correlation
        Correlation of the two scores of a prompt; 0 for different prompts.
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

    def follow(self, name: str) -> float:
        """The one of the related five, from the other four."""
        compute, given = SOLVERS[name]
        return float(compute(*(getattr(self, g) for g in given), correlation=self.correlation))


def answered(task: Task) -> dict[str, Any]:
    """A task with the values computed for it, as a table row.

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
        If more than one of the five is missing, or a value makes no sense.
    """
    if task.sigma == 0:
        return _without_spread(task)
    known, solved = _solved(task)
    # An error rate that followed as 0, or as that of a coin, says no effect any more; but what it
    # followed from is the detectable effect.
    is_rounded_off = (solved == "beta" and known.beta == 0) or (
        solved in ("alpha", "beta") and known.alpha + known.beta >= 1
    )
    power = least_n = math.nan
    if not math.isnan(task.theta):
        asked = known.theta, known.alpha, known.sigma, known.n
        power = float(design.power(*asked, correlation=known.correlation))
        at_most = known.n if solved in FROM_N else math.inf
        least_n = known.n if is_rounded_off else min(known.follow("n"), at_most)
    return {
        **vars(task if solved == "theta" else known),
        "solved": solved,
        "detectable_effect": task.theta if is_rounded_off else known.follow("theta"),
        "margin": -_threshold(replace(known, reference=0.0, lower_is_better=False)),
        "threshold": _threshold(known),
        "power": power,
        "least_n": least_n,
    }


def _without_spread(task: Task) -> dict[str, Any]:
    """Return the row of a task with σ = 0: no check errs, and every effect is detectable."""
    row = answered(replace(task, sigma=1.0))  # raises if an input is invalid
    row |= {"sigma": 0.0, "detectable_effect": 0.0, "margin": 0.0, "threshold": task.reference}
    if row["solved"] in ("alpha", "beta"):
        row[row["solved"]] = 0.0
    if row["solved"] == "n":
        row["n"] = 1.0
    if not math.isnan(task.theta):
        row |= {"power": 1.0, "least_n": 1.0}
    return row


def _solved(task: Task) -> tuple[Task, str]:
    """The task with its missing value, and the name of that value."""
    unknown = [name for name in RELATED if math.isnan(getattr(task, name))]
    if len(unknown) > 1:
        raise DesignError(
            f"{' and '.join(unknown)} are not given, and each follows from the other four of "
            f"{', '.join(RELATED)}. Give all but one, in the table or as defaults."
        )
    if not unknown:
        return task, ""
    found: dict[str, Any] = {unknown[0]: task.follow(unknown[0])}
    return replace(task, **found), unknown[0]


def _threshold(task: Task) -> float:
    if math.isnan(task.reference):
        return math.nan
    gamma = design.threshold(
        task.reference, task.alpha, task.sigma, task.n,
        correlation=task.correlation, lower_is_better=task.lower_is_better,
    )  # fmt: skip
    return float(gamma)
