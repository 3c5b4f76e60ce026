"""Look-up of scenarios, and of rows of tables, by their factors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from simstudy.analysis.summary import MEASURE, NUMBERS
from simstudy.array_types import Bool
from simstudy.design import Scenario
from simstudy.design.plan import Plan, factors_in, shown_level
from simstudy.errors import nearest
from simstudy.lazy import pd

SAME = 1e-9  # relative: numbers this close are one


def scenario_with(plan: Plan, where: Mapping[str, Any]) -> Any:
    """Find the one scenario with these factors; floats are compared up to rounding.

    Raises
    ------
    LookupError
        For an unknown factor, and for none or several scenarios.
    """
    rows = _factor_rows(plan, plan.scenarios)
    for name in where:
        if name not in rows:
            known = nearest(name, map(str, rows))
            raise LookupError(f"{name!r} is not a factor of these scenarios: {known}")
    found = rows_with(rows, where).index
    if len(found) == 1:
        return plan.scenarios[found[0]]
    if len(found):
        raise LookupError(
            f"{len(found)} scenarios have {_format_factors(where)}, so it is not clear which is "
            "meant. Name more of their factors."
        )
    raise LookupError(
        f"no scenario of this run has {_format_factors(where)}; available: {_levels(rows, where)}"
    )


def scenarios_with(
    plan: Plan, scenarios: Sequence[Scenario], where: Mapping[str, Any]
) -> list[Scenario]:
    """The scenarios with these factors; other names, such as those of axes, do not count.

    Raises
    ------
    LookupError
        If there is none.
    """
    rows = _factor_rows(plan, scenarios)
    of_factors = {name: value for name, value in where.items() if name in rows}
    found = [scenarios[at] for at in rows_with(rows, of_factors).index]
    if not found:
        raise LookupError(f"no scenario has {_format_factors(of_factors)}")
    return found


def _factor_rows(plan: Plan, scenarios: Sequence[Scenario]) -> pd.DataFrame:
    """The factors of scenarios, a row for each."""
    return pd.DataFrame([factors_in(plan, each) for each in scenarios])


def row_with(summary: pd.DataFrame, measure: str, where: Mapping[str, Any]) -> pd.Series:
    """Find the one row of a summary with this measure and these factors.

    Raises
    ------
    KeyError
        If the summary has no such column.
    LookupError
        If there is no such row, or more than one.
    """
    found = rows_with(summary, {"measure": measure} | dict(where))
    if len(found) == 1:
        return found.iloc[0]
    text = f"{len(found)} rows have measure {measure!r}" + (
        f" and {_format_factors(where)}" if where else ""
    )
    if len(found):
        apart = [name for name in _factors_of(summary) if found[name].nunique(dropna=False) > 1]
        raise LookupError(
            f"{text}, and it is not clear which is meant: name {', '.join(apart)} too."
        )
    known = sorted(set(summary["measure"]))
    if measure not in known:
        raise LookupError(f"{text}; {nearest(measure, known)}")
    raise LookupError(f"{text}; available: {_levels(summary, where)}")


def _factors_of(summary: pd.DataFrame) -> list[str]:
    """The columns that identify a row: factors, axes, and a measure's own axes."""
    return [str(name) for name in summary if name not in (MEASURE, *NUMBERS)]


def place_on_axes(axes: Mapping[str, Sequence[str]], where: Mapping[str, Any]) -> tuple[int, ...]:
    """The positions of labels on the axes; an axis with one label needs none.

    Raises
    ------
    LookupError
        For an unknown label, and for an axis of several labels that is not named.
    """
    found = []
    for axis, labels in axes.items():
        label = where.get(axis, labels[0] if len(labels) == 1 else None)
        if label is None:
            raise LookupError(
                f"it is not clear which {axis} is meant: name one, such as {labels[0]!r}."
            )
        if label not in labels:
            raise LookupError(f"{axis}={label!r} is not in this run; {nearest(str(label), labels)}")
        found.append(list(labels).index(label))
    return tuple(found)


def rows_with(rows: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """Select rows by values, or lists of values; floats are compared up to rounding."""
    is_match = np.ones(len(rows), dtype=bool)
    for name, wanted in where.items():
        if name not in rows:
            raise KeyError(f"there is no column {name!r}; {nearest(name, map(str, rows))}")
        is_match &= _has(rows[name], wanted)
    return rows[is_match]


def _has(values: pd.Series, value: Any) -> Bool[np.ndarray, " row"]:
    if isinstance(value, list):  # any of these levels, or a vector that is a level
        return np.asarray(np.any([_has(values, each) for each in (*value, tuple(value))], axis=0))
    value = _as_shown(value)
    if value is None:
        return np.asarray(values.isna().to_numpy(bool))
    if isinstance(value, float) and pd.api.types.is_numeric_dtype(values):
        return np.asarray(np.isclose(values.to_numpy(float), value, rtol=SAME, atol=0.0))
    return np.asarray((values == value).to_numpy(bool, na_value=False))


def _as_shown(level: Any) -> Any:
    """A level as tables show it; an object without an identity by its `repr`."""
    try:
        return shown_level(level)
    except TypeError:
        return repr(level)


def _levels(rows: pd.DataFrame, names: Iterable[str]) -> str:
    """The levels of some factors, as text."""
    return _format_factors({name: list(dict.fromkeys(rows[name])) for name in names})


def _format_factors(factors: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in factors.items())
