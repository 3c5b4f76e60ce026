"""A table of tasks with thresholds, detectable effects and sample sizes of their z tests."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simstudy.applied.cells import (
    OF_TASKS,
    TRUTH,
    Place,
    as_text,
    numbers_of_any,
    refuse_two_notations,
)
from simstudy.applied.metrics import is_lower_better
from simstudy.applied.settings import RELATED, TO_BE_SOLVED, ThresholdSettings, threshold_settings
from simstudy.applied.tasks import Task, answered
from simstudy.errors import DesignError, nearest
from simstudy.lazy import pd

NUMBERS = (*RELATED, "reference", "correlation")
COLUMNS = ("task", "metric", "lower_is_better", *NUMBERS)
FOLLOWING = ("solved", "detectable_effect", "margin", "threshold", "power", "least_n")
WORDS = {**TRUTH, "yes": "1", "no": "0", "1": "1", "0": "0", "1.0": "1", "0.0": "0"}


class Row(NamedTuple):
    """What a row of the table says: only cells that are not blank."""

    place: str
    values: dict[str, Any]


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
        `reference` (the recorded mean) and `correlation` (of the two scores of a prompt). A row
        with a metric and no task holds defaults of all tasks with that metric. A blank cell takes
        the metric's default, else the one given here, else (alpha 0.05, beta 0.2, correlation 0,
        lower is better by the metric's name) the usual one; "?" is to follow from the others.
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
    said = {name: value for name, value in given.items() if value is not None}
    settings = threshold_settings(said)
    return answered_table(_columns(frame), settings, lambda row: f"row {row + 1}")


def _columns(frame: pd.DataFrame) -> dict[str, list[Any]]:
    if not isinstance(frame, pd.DataFrame):
        raise DesignError(
            f"a {type(frame).__name__} is no table of tasks. Give a pandas data frame with a row "
            "for each."
        )
    names = [str(name) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DesignError(
            f"the table has the column {twice} {names.count(twice)} times, so it is not known "
            "which one is meant. Give each a name of its own."
        )
    return {name: list(frame.iloc[:, i]) for i, name in enumerate(names)}


def answered_table(
    columns: Mapping[str, Sequence[Any]], settings: ThresholdSettings, place: Place
) -> pd.DataFrame:
    """As `threshold_table`, of columns by name and defaults that have been checked."""
    _refuse_unknown(columns)
    rows = _rows(columns, place)
    has_names = "task" in columns
    metrics = _defaults_of_metrics(rows) if has_names else {}
    tasks = [row for row in rows if "task" in row.values or not has_names]
    if not tasks:
        raise DesignError(
            "the table has no task, so there is nothing to set a threshold for. Write a row for "
            "each task, with its name in the column task."
        )
    defaults = {name: v for name, v in vars(settings).items() if name in COLUMNS and v is not None}
    _refuse_task_twice(tasks, defaults)
    _refuse_idle_defaults(metrics, {_metric(row, defaults) for row in tasks})
    every = [_answer(i, row, metrics, defaults) for i, row in enumerate(tasks)]
    return _as_frame(every)


def _answer(
    index: int, row: Row, metrics: Mapping[str, Row], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    metric = _metric(row, defaults)
    of_metric = metrics[metric].values if metric in metrics else {}
    said = {**defaults, **of_metric, **row.values, "metric": metric}
    said.setdefault("task", str(index + 1))
    said.setdefault("lower_is_better", is_lower_better(metric))
    known = {name: value for name, value in said.items() if value != TO_BE_SOLVED}
    name = f"{row.place} ({said['task']})" if "task" in row.values else row.place
    with _of_row(name):
        return answered(Task(**known))


def _metric(row: Row, defaults: Mapping[str, Any]) -> str:
    return str(row.values.get("metric", defaults.get("metric", "")))


@contextlib.contextmanager
def _of_row(place: str) -> Iterator[None]:
    """Say of which row something is refused."""
    try:
        yield
    except DesignError as error:
        raise DesignError(f"{place}: {error}") from None


def _as_frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    table = pd.DataFrame(rows)
    counts = dict.fromkeys(("n", "least_n"), "Int64")
    numbers = {name: float for name in (*NUMBERS, *FOLLOWING) if name not in counts}
    return table[[*COLUMNS, *FOLLOWING]].astype({**numbers, **counts, "solved": str})


# ---------------------------------------------------------------- what the rows say
def _refuse_unknown(columns: Mapping[str, Sequence[Any]]) -> None:
    for name in columns:
        if name not in COLUMNS:
            raise DesignError(
                f"{name} is no column of a table of tasks; {nearest(name, COLUMNS)} Name it so, or "
                "leave it out: a default in its place would go unnoticed."
            )


def _rows(columns: Mapping[str, Sequence[Any]], place: Place) -> list[Row]:
    texts = {name: list(map(as_text, columns[name])) for name in NUMBERS if name in columns}
    refuse_two_notations(texts, place)
    read = {name: _READERS.get(name, _numbers)(name, columns[name], place) for name in columns}
    n_rows = max(map(len, columns.values()), default=0)
    return [
        Row(place(i), {name: cells[i] for name, cells in read.items() if cells[i] is not None})
        for i in range(n_rows)
    ]


def _numbers(name: str, cells: Sequence[Any], place: Place) -> list[Any]:
    """Numbers; None where a cell is blank, and the sign for what is to be solved."""
    to_solve = [name in RELATED and str(cell).strip() == TO_BE_SOLVED for cell in cells]
    plain = [None if solve else cell for cell, solve in zip(cells, to_solve, strict=True)]
    numbers = numbers_of_any(name, _objects(plain), place, OF_TASKS)
    given = [None if math.isnan(number) else float(number) for number in numbers]
    return [TO_BE_SOLVED if solve else value for value, solve in zip(given, to_solve, strict=True)]


def _objects(cells: Sequence[Any]) -> np.ndarray:
    """One row of cells, whatever they hold."""
    row = np.empty(len(cells), dtype=object)
    row[:] = cells
    return row


def _texts(_name: str, cells: Sequence[Any], _place: Place) -> list[Any]:
    return [as_text(cell) or None for cell in cells]


def _truths(name: str, cells: Sequence[Any], place: Place) -> list[Any]:
    return [_truth(name, as_text(cell), place(row)) for row, cell in enumerate(cells)]


def _truth(name: str, text: str, place: str) -> bool | None:
    if text and text.lower() not in WORDS:
        raise DesignError(
            f"{place}: {name} is {text!r}, so it is not known on which side of the reference the "
            "threshold lies. Write true or false."
        )
    return WORDS[text.lower()] == "1" if text else None


_READERS: Mapping[str, Callable[[str, Sequence[Any], Place], list[Any]]] = {
    "task": _texts,
    "metric": _texts,
    "lower_is_better": _truths,
}


def _defaults_of_metrics(rows: Sequence[Row]) -> dict[str, Row]:
    """By metric, what its row without a task says."""
    found: dict[str, Row] = {}
    for row in rows:
        if "task" not in row.values:
            metric = row.values.get("metric")
            _refuse_nameless(row, metric, found)
            found[str(metric)] = row
    return found


def _refuse_nameless(row: Row, metric: str | None, found: Mapping[str, Any]) -> None:
    if metric is None:
        raise DesignError(
            f"{row.place} names neither a task nor a metric, so its values belong to nothing. Name "
            "a task, or the metric whose tasks they are defaults of."
        )
    if metric in found:
        raise DesignError(
            f"{row.place} has defaults for {metric} a second time, so it is not known which hold. "
            "Put them in one row."
        )


def _refuse_idle_defaults(metrics: Mapping[str, Row], used: set[str]) -> None:
    """Names of metrics are compared letter by letter, so one that is misspelt changes nothing."""
    for metric, row in metrics.items():
        if metric not in used:
            raise DesignError(
                f"{row.place} has defaults for {metric}, which is the metric of no task; "
                f"{nearest(metric, used - {''})} Name it as the tasks do, or leave the row out."
            )


def _refuse_task_twice(tasks: Sequence[Row], defaults: Mapping[str, Any]) -> None:
    first: dict[tuple[str, str], str] = {}
    for row in tasks:
        name = row.values.get("task")
        key = str(name), _metric(row, defaults)
        if name is not None and key in first:
            raise DesignError(
                f"{row.place} has the task {name} a second time (the first is {first[key]}), so it "
                "is not known which threshold holds. Keep one, or give it a name of its own."
            )
        first[key] = row.place
