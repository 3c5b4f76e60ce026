"""Thresholds, detectable effects and sample sizes for the tasks of an accuracy suite."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simstudy.documents.applied.scores import numbers_of, place_of
from simstudy.documents.applied.settings import (
    RELATED,
    TO_BE_SOLVED,
    ThresholdSettings,
    is_lower_better,
    threshold_settings,
)
from simstudy.documents.stats.accuracy import design
from simstudy.errors import DesignError, nearest
from simstudy.lazy import pd

WORDS_OF_TRUTH = {
    **dict.fromkeys(("0", "no", "off", "n", "f", "false"), False),
    **dict.fromkeys(("1", "yes", "on", "y", "t", "true"), True),
}


NUMBERS = (*RELATED, "reference", "correlation")
COLUMNS = ("task", "metric", "lower_is_better", *NUMBERS)
FOLLOWING = ("solved", "detectable_effect", "margin", "threshold", "power", "least_n")
NO_NUMBER = (
    "so nothing follows from it. Write a number alone, in the units of the others; leave the cell "
    "blank for a default, or write ? for what is to follow from the others."
)
SOLVERS: Mapping[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "theta": (design.detectable_effect, ("alpha", "beta", "sigma", "n")),
    "alpha": (design.level, ("theta", "beta", "sigma", "n")),
    "beta": (design.type_2_error, ("theta", "alpha", "sigma", "n")),
    "sigma": (design.largest_sigma, ("theta", "alpha", "beta", "n")),
    "n": (design.sample_size, ("theta", "alpha", "beta", "sigma")),
}  # of the related values, what computes each, and from which
FROM_N = ("alpha", "beta", "sigma")  # where these follow, n is the least but for their rounding


def threshold_table(
    frame: pd.DataFrame,
    *,
    alpha: float | str | None = None,
    beta: float | str | None = None,
    sigma: float | str | None = None,
    n: int | str | None = None,
    theta: float | str | None = None,
    reference: float | None = None,
    correlation: float | None = None,
    metric: str | None = None,
    lower_is_better: bool | None = None,
) -> pd.DataFrame:
    """Thresholds and sample sizes of the tasks of an accuracy suite.

    A task is tested by the z test: σ is known, and the check has as many scores as the reference.
    Of θ, α, β, σ and n one may be missing, and follows from the others.

    Parameters
    ----------
    frame
        A row per task, with any of the columns `task`, `metric`, `lower_is_better`, `sigma` (the
        standard deviation of one score), `n`, `alpha`, `beta`, `theta` (the effect that matters),
        `reference` (the recorded mean) and `correlation` (of the two scores of a prompt). A blank
        cell takes the default given here, else (alpha 0.05, beta 0.2, correlation 0, lower is
        better by the metric's name) the usual one; "?" is to follow from the others.
    alpha, beta, sigma, n, theta, reference, correlation, metric, lower_is_better
        Defaults for blank cells; "?" as in a cell.

    Returns
    -------
    DataFrame
        In the order of the tasks: their values, and `solved` (which of them followed),
        `detectable_effect`, `margin` and `threshold` (γ), `power` against `theta` and `least_n`
        for it; blank where the table does not say enough.

    Raises
    ------
    ConfigError
        For a default of another type, or outside its range.
    DesignError
        Naming the row.
    """
    given = {
        "alpha": alpha, "beta": beta, "sigma": sigma, "n": n, "theta": theta, "metric": metric,
        "reference": reference, "correlation": correlation, "lower_is_better": lower_is_better,
    }  # fmt: skip
    settings = threshold_settings({name: v for name, v in given.items() if v is not None})
    return answered_table(pd.DataFrame(frame), settings)


def answered_table(
    frame: pd.DataFrame, settings: ThresholdSettings, source: str = ""
) -> pd.DataFrame:
    """Compute `threshold_table` with checked defaults.

    Parameters
    ----------
    source
        The file of the table, for messages.
    """
    for name in frame:
        if name not in COLUMNS:
            raise DesignError(
                f"{name} is not a column of a table of tasks; {nearest(name, COLUMNS)} Name it so, "
                "or leave it out: a default in its place would go unnoticed."
            )
        if isinstance(frame[name], pd.DataFrame):
            raise DesignError(f"the table has several columns {name}. Give each a name of its own.")
    read = {str(name): _cells(str(name), frame[name], source) for name in frame}
    cells = pd.DataFrame(read, columns=COLUMNS, index=range(len(frame)), dtype=object)
    if "task" in frame:
        _refuse_unclear(cells, source)
    defaults = {name: v for name, v in vars(settings).items() if name in COLUMNS and v is not None}
    said = [values.dropna().to_dict() for _, values in cells.iterrows()]
    rows = [_answer(row, {**defaults, **values}, source) for row, values in enumerate(said)]
    table = pd.DataFrame(rows, columns=[*COLUMNS, *FOLLOWING])
    counts = dict.fromkeys(("n", "least_n"), "Int64")
    numbers = {name: float for name in (*NUMBERS, *FOLLOWING) if name not in counts}
    return table.astype({**numbers, **counts, "solved": str})


def _cells(name: str, column: pd.Series[Any], source: str) -> list[Any]:
    """Parse cells: numbers, text or booleans; None for a blank, "?" for what is computed."""
    texts = ["" if pd.isna(cell) else str(cell).strip() for cell in column]
    if name in NUMBERS:
        follows = np.array([name in RELATED and text == TO_BE_SOLVED for text in texts], dtype=bool)
        numbers = numbers_of(name, column.reset_index(drop=True).mask(follows), source, NO_NUMBER)
        given = [None if math.isnan(number) else float(number) for number in numbers]
        return [TO_BE_SOLVED if is_next else v for v, is_next in zip(given, follows, strict=True)]
    if name != "lower_is_better":
        return [text or None for text in texts]
    sides = [WORDS_OF_TRUTH.get(text.lower().removesuffix(".0")) for text in texts]
    for row, (text, side) in enumerate(zip(texts, sides, strict=True)):
        if text and side is None:
            raise DesignError(
                f"{place_of(row, source)}: {name} is {text!r}, so it is not known on which side of "
                "the reference the threshold lies. Write true or false."
            )
    return sides


def _refuse_unclear(tasks: pd.DataFrame, source: str) -> None:
    """Refuse rows of no task, and of a task that another row has."""
    blank, again = tasks["task"].isna(), tasks.duplicated(["task", "metric"])
    if blank.any():
        place = place_of(int(blank.argmax()), source)
        raise DesignError(f"{place} names no task. Name it, or leave the row out.")
    if again.any():
        row = int(again.argmax())
        raise DesignError(
            f"{place_of(row, source)} has the task {tasks['task'][row]} a second time, so it is "
            "not known which threshold holds. Keep one, or give it a name of its own."
        )


def _answer(row: int, values: Mapping[Any, Any], source: str) -> dict[str, Any]:
    lower = is_lower_better(values.get("metric", ""))
    said = {"task": str(row + 1), "metric": "", "lower_is_better": lower, **values}
    known = {name: value for name, value in said.items() if value != TO_BE_SOLVED}
    try:
        return answered(Task(**known))
    except DesignError as error:
        named = f" ({said['task']})" if "task" in values else ""
        raise DesignError(f"{place_of(row, source)}{named}: {error}") from None


# ---------------------------------------------------------------- what follows for one task
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
        Where more than one of the five is missing, or a value makes no sense.
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
