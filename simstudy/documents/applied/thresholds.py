"""Thresholds, detectable effects and sample sizes for the tasks of an accuracy suite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from simstudy.documents.applied.answers import Answer, number
from simstudy.documents.applied.settings import TO_BE_SOLVED, is_lower_better, threshold_settings
from simstudy.documents.applied.tables import Table, numbers_of, place_of, texts_of
from simstudy.documents.stats.accuracy.tasks import RELATED, Task, answered
from simstudy.errors import ConfigError, DesignError, nearest
from simstudy.lazy import pd

NUMBERS = (*RELATED, "reference", "correlation")
COLUMNS = ("task", "metric", "lower_is_better", *NUMBERS)
FOLLOWING = ("solved", "detectable_effect", "margin", "threshold", "power", "least_n")
NO_NUMBER = (
    "so nothing follows from it. Write a number alone, in the units of the others; leave the cell "
    "blank for a default, or write ? for what is to follow from the others."
)


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
    One of θ, α, β, σ and n may be missing, and follows from the others.

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
    return answer_table(Table(pd.DataFrame(frame), settings)).frame


def answer_table(table: Table) -> TaskTable:
    """Compute `threshold_table` with checked defaults."""
    frame, source = table.columns, table.name
    for name in frame:
        if name not in COLUMNS:
            raise DesignError(
                f"{name} is not a column of a table of tasks; {nearest(name, COLUMNS)} Name it so, "
                "or leave it out: a default in its place would go unnoticed."
            )
        if isinstance(frame[name], pd.DataFrame):
            raise DesignError(f"the table has several columns {name}. Give each a name of its own.")
    read = {name: _cells(name, frame[name].reset_index(drop=True), source) for name in frame}
    cells = pd.DataFrame(read, columns=COLUMNS, index=range(len(frame)), dtype=object)
    if "task" in frame:
        _refuse_unclear(cells, source)
    given = vars(table.settings)
    defaults = {name: given[name] for name in COLUMNS if given.get(name) is not None}
    rows = [
        _answer(row, {**defaults, **cells.loc[row].dropna().to_dict()}, source)
        for row in range(len(cells))
    ]
    counts = dict.fromkeys(("n", "least_n"), "Int64")
    numbers = {name: float for name in (*NUMBERS, *FOLLOWING) if name not in counts}
    found = pd.DataFrame(rows, columns=[*COLUMNS, *FOLLOWING])
    found = found.astype({**numbers, **counts, "solved": str})
    return TaskTable(found, source=table.source, settings=vars(table.settings))


def _cells(name: str, column: pd.Series[Any], source: str) -> list[Any]:
    """Parse cells: numbers, text or booleans; None for a blank, "?" for what is computed."""
    texts = texts_of(column)
    if name in NUMBERS:
        follows = (texts == TO_BE_SOLVED) & (name in RELATED)
        values = numbers_of(name, column.mask(follows), source, NO_NUMBER, blanks=True)
        numbers = pd.Series(values, dtype=object)
        return numbers.mask(numbers.isna(), None).mask(follows, TO_BE_SOLVED).tolist()
    if name == "lower_is_better":
        texts = texts.str.removesuffix(".0")
    return [text or None for text in texts]


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


def _answer(row: int, values: dict[Any, Any], source: str) -> dict[str, Any]:
    """The answer for a row, whose values are checked as the defaults are."""
    name = values.pop("task", str(row + 1))
    spread = {"sigma": 0.0} if values.get("sigma") == 0 else {}  # allowed in a row alone
    try:
        checked = vars(threshold_settings({**values, **dict.fromkeys(spread, 1.0)}))
        known = {
            key: checked[key] for key in COLUMNS[1:] if checked[key] not in (None, TO_BE_SOLVED)
        }
        lower = is_lower_better(known.get("metric", ""))
        task = Task(name, **{"lower_is_better": lower, **known, **spread})
        if task.alpha + task.beta >= 1:
            raise DesignError(
                f"alpha={task.alpha:g} and beta={task.beta:g} add up to 1 or more, so a coin has "
                "these error rates without a single score. Give alpha + beta < 1."
            )
        return answered(task)
    except (ConfigError, DesignError) as error:
        named = "" if name == str(row + 1) else f" ({name})"
        raise DesignError(f"{place_of(row, source)}{named}: {error}") from None


# ---------------------------------------------------------------- the answer of the command
@dataclass(frozen=True, repr=False)
class TaskTable(Answer):
    """The answers for all tasks of a file; prints as a table.

    Parameters
    ----------
    frame
        A row for each task.
    """

    method: ClassVar[str] = "thresholds"

    frame: pd.DataFrame

    @property
    def text(self) -> str:
        """The table without empty columns."""
        kept = self.frame.loc[:, self.frame.notna().any()]
        kept = kept.loc[:, [bool((kept[name] != "").any()) for name in kept]]
        lines = kept.astype(object).map(_cell).to_string(index=False).splitlines()
        return "\n".join(line.rstrip() for line in lines)

    def table(self) -> pd.DataFrame:
        """Return the rows.

        Returns
        -------
        DataFrame
            The table that is written.
        """
        return self.frame

    def to_dict(self) -> dict[str, Any]:
        """Return the rows, with None for what is unknown.

        Returns
        -------
        dict
            Values by name of the field.
        """
        rows = self.frame.astype(object).where(self.frame.notna(), None).to_dict("records")
        return {"tasks": rows}


def _cell(value: Any) -> str:
    if pd.isna(value):
        return ""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    return number(float(value)) if isinstance(value, int | float | np.number) else str(value)
