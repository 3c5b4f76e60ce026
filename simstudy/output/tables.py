"""Tables as files hold them: scenarios, cells, and columns of one type each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from simstudy.analysis.summary import factor_names
from simstudy.errors import writable
from simstudy.lazy import pd
from simstudy.plan import Plan, factors_of


def scenario_table(plan: Plan) -> pa.Table:
    """The factors of every scenario, beside its key."""
    rows = [{"scenario": key, **factors_of(scenario)} for key, scenario in plan.keys.items()]
    names = ["scenario", *factor_names(plan)]
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def _column(values: Sequence[Any]) -> pa.Array:
    return pa.array(values if _have_one_type(values) else _as_texts(values))


def cell_table(plan: Plan) -> pa.Table:
    """The axes' labels of every cell, beside its place in the lists of the blocks' files.

    Places count from 1, as R and SQL count.
    """
    labels = list(plan.cells())
    columns = zip(*labels, strict=True)
    return pa.table(
        {"cell": range(1, len(labels) + 1)} | dict(zip(plan.axes, map(list, columns), strict=True))
    )


def of_one_type_each(frame: pd.DataFrame) -> pd.DataFrame:
    """A table whose columns a file can hold: values of several types, 0.5 and 'auto', as text."""
    objects = [name for name in frame.columns if frame[name].dtype == object]
    mixed: dict[str, Any] = {
        name: _as_texts(frame[name]) for name in objects if not _have_one_type(frame[name].tolist())
    }
    return frame.assign(**mixed) if mixed else frame


def _have_one_type(values: Sequence[Any]) -> bool:
    """Whether a column of a file can hold all of them as they are."""
    try:
        pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, UnicodeError):
        return False
    return True


def _as_texts(values: Iterable[Any]) -> list[str | None]:
    return [None if value is None else writable(str(value)) for value in values]
