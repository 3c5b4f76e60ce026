"""Tasks of an accuracy suite: of theta, alpha, beta, sigma and n each follows from the others."""

import math
from dataclasses import dataclass, replace
from typing import Any

from simstudy.documents.stats.accuracy import design
from simstudy.errors import DesignError

RELATED = ("theta", "alpha", "beta", "sigma", "n")
FROM_N = ("alpha", "beta", "sigma")  # if one of these follows, n is minimal up to its rounding


@dataclass(frozen=True)
class Task:
    """The known values of a task, NaN for unknown ones, in the units of the scores.

    The check has n scores too; `theta` is the effect that matters, `reference` a mean,
    `correlation` that of the two scores of a prompt.
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
    def error(self) -> float:
        """Standard error of the difference of the means."""
        return float(design.standard_error(self.sigma, self.n, correlation=self.correlation))

    @property
    def margin(self) -> float:
        """How much worse than the reference a check fails."""
        return -float(design.threshold(0.0, self.alpha, self.error))

    def follow(self, name: str) -> float:
        """The one of the related five, from the other four."""
        if name == "theta":
            return float(design.detectable_effect(self.alpha, self.beta, self.error))
        if name == "alpha":
            return float(design.level(self.theta, self.beta, self.error))
        if name == "beta":
            return float(design.type_2_error(self.theta, self.alpha, self.error))
        if name == "sigma":
            return self.theta / replace(self, sigma=1.0).follow("theta")
        asked = self.theta, self.alpha, self.beta, self.sigma
        return float(design.sample_size(*asked, correlation=self.correlation))


def answered(task: Task) -> dict[str, Any]:
    """A task with the values computed for it, as a table row.

    Its own values, where one was missing with it filled in (but for `theta`, which stays a wish);
    `solved`, its name; `detectable_effect` at n; `margin`, by how much worse than the reference a
    check fails, and the `threshold` where that lies; `power` against `theta`, `least_n` for it.
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
        power = float(design.power(known.theta, known.alpha, known.error))
        at_most = known.n if solved in FROM_N else math.inf
        least_n = known.n if is_rounded_off else min(known.follow("n"), at_most)
    return {
        **vars(task if solved == "theta" else known),
        "solved": solved,
        "detectable_effect": task.theta if is_rounded_off else known.follow("theta"),
        "margin": known.margin,
        "threshold": known.reference + (known.margin if known.lower_is_better else -known.margin),
        "power": power,
        "least_n": least_n,
    }


def _without_spread(task: Task) -> dict[str, Any]:
    """The row of a task with σ = 0: no check errs, and every effect is detectable."""
    row = answered(replace(task, sigma=1.0))  # raises if more than one value is missing
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
    (name,) = unknown
    found: dict[str, Any] = {name: task.follow(name)}
    if name == "alpha" and found["alpha"] == 0:
        raise DesignError("alpha follows as 0, and no check fails at it. Give a smaller theta.")
    return replace(task, **found), name
