"""Frames of a result as Parquet files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from simstudy.analysis.result import Result
from simstudy.analysis.summary import factor_names
from simstudy.atomic_files import write_bytes
from simstudy.design.plan import Plan, factors_in
from simstudy.errors import writable
from simstudy.lazy import pd
from simstudy.remote.paths import Place
from simstudy.store.runs import SCENARIOS

CELLS = "cells.parquet"  # only for studies with axes


def frames_of(result: Result) -> dict[str, pd.DataFrame]:
    """The frames to write: summary, failures, warnings, replicates of other software."""
    frames = {"summary": result.summary}
    if len(result.failures):
        frames["failures"] = result.failures
        if result.plan.axes:
            frames["summary_all_methods"] = result.summary_all_methods
    if len(result.warnings):
        frames["warnings"] = result.warnings
    if result.details.given:  # no store holds them
        frames["replicates"] = result.replicates
    return frames


def write_frames(result: Result, folder: Place, frames: Mapping[str, pd.DataFrame]) -> list[Place]:
    """Write frames, scenarios and cells.

    Returns
    -------
    list
        Paths of the files.
    """
    tables = {
        f"{name}.parquet": pa.Table.from_pandas(of_one_type_each(frame), preserve_index=False)
        for name, frame in frames.items()
    }
    drawn = result.plan.work_units
    tables[SCENARIOS] = scenario_table(drawn)
    if drawn.axes:
        tables[CELLS] = cell_table(drawn)
    for name, table in tables.items():
        buffer = BytesIO()
        pq.write_table(table, buffer)
        write_bytes(folder / name, buffer.getvalue())
    return [folder / name for name in tables]


# ---------------------------------------------------------------- tables for files
def scenario_table(plan: Plan) -> pa.Table:
    """The factors of every scenario, with its key."""
    rows = [{"scenario": key, **factors_in(plan, scenario)} for key, scenario in plan.keys.items()]
    names = ["scenario", *factor_names(plan)]
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def _column(values: Sequence[Any]) -> pa.Array:
    return pa.array(values if _have_one_type(values) else _as_texts(values))


def cell_table(plan: Plan) -> pa.Table:
    """The labels of every cell, with its position in stored lists.

    Positions count from 1, as in R and SQL.
    """
    labels = list(plan.cells())
    columns = zip(*labels, strict=True)
    return pa.table(
        {"cell": range(1, len(labels) + 1)} | dict(zip(plan.axes, map(list, columns), strict=True))
    )


def of_one_type_each(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert columns of mixed types to text, so that they can be stored."""
    objects = [name for name in frame.columns if frame[name].dtype == object]
    mixed: dict[str, Any] = {
        name: _as_texts(frame[name]) for name in objects if not _have_one_type(frame[name].tolist())
    }
    return frame.assign(**mixed) if mixed else frame


def _have_one_type(values: Sequence[Any]) -> bool:
    """Whether a column of a file can hold all values unchanged."""
    try:
        pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, UnicodeError):
        return False
    return True


def _as_texts(values: Iterable[Any]) -> list[str | None]:
    return [None if value is None else writable(str(value)) for value in values]
