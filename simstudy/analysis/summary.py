"""Replicates to measures: one row per scenario, cell of the axes, and measure."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from simstudy.analysis.estimates import Estimator
from simstudy.design import Scenario
from simstudy.errors import StudyError
from simstudy.lazy.pandas import pd
from simstudy.measures import Estimates, Measure
from simstudy.plan import Plan, factors_of

MEASURE, REMARK = "measure", "remark"
_AFTER = Estimates._fields.index("upper") + 1
SOMETIMES = tuple(Estimates._field_defaults)
"""Columns that are there where a measure has them: of measures that take less work."""

_ALWAYS = Estimates._fields[_AFTER : -len(SOMETIMES)]
NUMBERS = (*Estimates._fields[:_AFTER], "exact", *_ALWAYS)
"""Columns of a summary after the factors, the axes and `measure`: theory stands by the estimate."""


def summarize(plan: Plan, measures: Sequence[Measure], estimates: Estimator) -> pd.DataFrame:
    """The summary: factors, axes, measure, and its numbers.

    Parameters
    ----------
    estimates
        Of a scenario and a measure: from replicates (`FromRows`) or from moments (`FromMoments`).
    """
    rows = [
        row
        for scenario in plan.scenarios
        for row in _rows_of_scenario(plan, scenario, measures, estimates)
    ]
    own = dict.fromkeys(axis for measure in measures for axis in measure.axes)
    names = [*factor_names(plan), *plan.axes, *own, MEASURE, *NUMBERS]
    return _with_sometimes(pd.DataFrame(rows, columns=[*names, *SOMETIMES]))


def _with_sometimes(frame: pd.DataFrame) -> pd.DataFrame:
    """Without the columns that no measure has; a remark is a text, empty where there is none."""
    said = frame[REMARK].astype(object).where(frame[REMARK].notna(), "")
    frame = frame.assign(remark=said if said.ne("").any() else None)
    lacking = [name for name in SOMETIMES if frame[name].isna().all()]
    numbers = {"variance_reduction", "n_effective"}.difference(lacking)
    return frame.drop(columns=lacking).astype(dict.fromkeys(numbers, float))


def factor_names(plan: Plan) -> list[str]:
    """Factors of all scenarios, in order of appearance."""
    names = (name for scenario in plan.scenarios for name in factors_of(scenario))
    return list(dict.fromkeys(names))


def _rows_of_scenario(
    plan: Plan, scenario: Scenario, measures: Sequence[Measure], estimates: Estimator
) -> Iterator[dict[str, Any]]:
    factors, exact = factors_of(scenario), exact_of(scenario)
    _refuse_misspelt_exact(scenario, exact, measures)
    for measure in measures:
        numbers = estimates(scenario, measure)
        truth = exact.get(measure.name, np.nan) if np.any(numbers.n_rep) else np.nan
        truth = _like_cells(plan, scenario, measure, truth, np.shape(numbers.estimate))
        cells = cell_rows(plan, measure, numbers._asdict() | {"exact": truth})
        yield from (factors | row for row in cells)


def _like_cells(
    plan: Plan, scenario: Scenario, measure: Measure, truth: Any, shape: tuple[int, ...]
) -> np.ndarray:
    """What `exact()` says of each of a measure's cells.

    Raises
    ------
    StudyError
        Where it is of another shape, or no number.
    """
    try:
        return np.broadcast_to(np.asarray(truth, dtype=float), shape)
    except (TypeError, ValueError) as error:
        axes = cell_axes(plan, measure, len(shape))
        sizes = ", ".join(f"{name}: {len(labels)}" for name, labels in axes.items()) or "none"
        raise StudyError(
            f"{scenario!r}: exact() gives {measure.name!r} {_kind_of(truth)}, which does not fit "
            f"the measure's cells of shape {shape} (axes {sizes}), so theory cannot stand by the "
            "estimates. Return one number, or an array with one for each cell."
        ) from error


def _kind_of(truth: Any) -> str:
    """What was given instead of numbers, for an error."""
    shape = np.shape(truth) if isinstance(truth, np.ndarray | list | tuple | float | int) else None
    return f"values of shape {shape}" if shape is not None else f"{truth!r}"


def exact_of(scenario: Scenario) -> Mapping[str, float | np.ndarray]:
    """What theory says of a scenario, by measure: a number, or an array over the axes."""
    exact: Mapping[str, float | np.ndarray] = getattr(scenario, "exact", dict)()
    return exact


def cell_rows(plan: Plan, measure: Measure, numbers: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A row for each cell: its labels, the measure, and its place in each of the numbers."""
    axes = cell_axes(plan, measure, np.ndim(numbers["estimate"]))
    cells = itertools.product(*axes.values())
    numbers = {name: part for name, part in numbers.items() if part is not None}
    for labels, *row in zip(cells, *map(np.ravel, numbers.values()), strict=True):
        named = dict(zip(axes, labels, strict=True))
        yield named | {MEASURE: measure.name} | dict(zip(numbers, row, strict=True))


def cell_axes(plan: Plan, measure: Measure, n_dims: int) -> dict[str, tuple[Any, ...]]:
    """The axes of a measure's cells, each with its labels; a measure may lack the study's last."""
    own = {name: tuple(values) for name, values in measure.axes.items()}
    shared = itertools.islice(plan.axes.items(), n_dims - len(own))
    return dict(shared) | own


def _refuse_misspelt_exact(
    scenario: Scenario, exact: Mapping[str, Any], measures: Sequence[Measure]
) -> None:
    """A name that is nearly a measure's is a slip; other names may be for other studies."""
    open_names = {measure.name for measure in measures} - set(exact)
    for name in set(exact) - {measure.name for measure in measures}:
        close = difflib.get_close_matches(name, open_names, n=1, cutoff=0.75)
        if close:
            raise StudyError(
                f"{type(scenario).__name__}.exact() speaks of {name!r}, which is no measure of "
                f"the study; did you mean {close[0]!r}?"
            )
