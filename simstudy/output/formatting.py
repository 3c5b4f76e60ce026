"""Formats of numbers, sizes and times for readers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa

from simstudy.analysis.frames import DATA, IN_ALL, TIMED
from simstudy.analysis.precision import precision_ratios
from simstudy.analysis.result import Result
from simstudy.analysis.summary import factor_names
from simstudy.design.plan import Plan, factors_in
from simstudy.design.reprs import format_names, from_to
from simstudy.errors import writable
from simstudy.lazy import pd
from simstudy.places import Place, write_bytes
from simstudy.tables.table import Column

UNITS = {"d": 86_400.0, "h": 3_600.0, "min": 60.0, "s": 1.0, "ms": 1e-3, "μs": 1e-6}
MIN_COUNT = {"d": 2.0, "h": 2.0, "min": 2.0}  # least number of a unit; others: 1 when rounded


number = Column().cell  # four significant digits, a dash for missing values


def counted(n: int, one: str, several: str = "") -> str:
    """Format a count: "1 study", "2,000 studies"."""
    return f"{n:,} {one if n == 1 else several or f'{one}s'}"


def relative_to_cwd(folder: Place) -> str:
    """A path relative to the working directory, if it is below."""
    if isinstance(folder, Path):
        with suppress(ValueError, OSError):  # another drive, or no working directory
            return str(folder.relative_to(Path.cwd()))
    return str(folder)


def format_size(result: Result) -> str:
    """The numbers of replicates and scenarios."""
    n_scenarios = len(result.plan.scenarios)
    each = from_to(min(result.n_rep.values()), max(result.n_rep.values()))
    where = "of one scenario" if n_scenarios == 1 else f"in each of {n_scenarios:,} scenarios"
    return f"{each} replicates {where}"


def format_work(result: Result) -> str:
    """The size, the number of blocks drawn now, and the seconds of drawing."""
    n_rep, outcome = sum(result.n_rep.values()), result.outcome
    in_all = f", {n_rep:,} in all" * (len(result.plan.scenarios) > 1)
    drawn = f"{counted(outcome.n_blocks, 'block')} drawn now"
    drawn += f" in {outcome.seconds:.1f} s" * bool(outcome.n_blocks)
    how = "given, not drawn" if result.details.repeat_command else drawn
    return f"{format_size(result)}{in_all} ({how})."


def format_time(seconds: float) -> str:
    """Format seconds: "0.2 ms", "12 min", "3.5 h"."""
    for unit, size in UNITS.items():
        if seconds >= MIN_COUNT.get(unit, 0.9995) * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / UNITS['μs']:.3g} μs"


def format_run_time(result: Result) -> str:
    """The time of drawing, in all and by method; empty if not timed."""
    seconds = result.seconds
    in_all = 0.0 if seconds.empty else seconds[IN_ALL].sum()
    if not in_all > 0:  # blocks that killed their processes are not timed
        return ""
    parts, axis = [f"{format_time(in_all)} on one core in all"], result.plan.methods_axis
    if axis:
        each = seconds.groupby(axis, sort=False)[[IN_ALL, TIMED]].sum()
        costs = (each[IN_ALL] / each[TIMED]).sort_values(ascending=False, kind="stable")
        named = (f"{'its data' if n == DATA else n} {format_time(s)}" for n, s in costs.items())
        parts.append("a replicate takes " + format_names(named))
    return "; ".join(parts)


def format_precision(result: Result) -> str:
    """Whether the precision targets were reached, and the replicates saved."""
    short, n_rep = precision_ratios(result, result.details.targets), result.n_rep
    n_short, uniform = sum(ratio > 1 for ratio in short.values()), max(n_rep.values()) * len(n_rep)
    text = f"precision reached in {len(short) - n_short:,} of {len(short):,} scenarios"
    if n_short:
        return f"{text}; the others stopped at max_rep: raise it to go on"
    return f"{text}; the same number everywhere would have taken {uniform:,} replicates"


SCENARIOS = "scenarios.parquet"
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
    if result.details.repeat_command:  # no store holds them
        frames["replicates"] = result.replicates
    return frames


def write_frames(result: Result, folder: Place, frames: Mapping[str, pd.DataFrame]) -> list[Place]:
    """Write frames, scenarios and cells.

    Returns
    -------
    list
        Paths of the files.
    """
    written = {f"{name}.parquet": frame for name, frame in frames.items()}
    written[SCENARIOS] = scenario_table(result.plan.work_units)
    if result.plan.work_units.axes:
        written[CELLS] = cell_table(result.plan.work_units)
    for name, frame in written.items():
        buffer = BytesIO()
        of_one_type_each(frame).to_parquet(buffer, index=False)
        write_bytes(folder / name, buffer.getvalue())
    return [folder / name for name in written]


def scenario_table(plan: Plan) -> pd.DataFrame:
    """The factors of every scenario, with its key; None where it has no such factor."""
    rows = [{"scenario": key, **factors_in(plan, scenario)} for key, scenario in plan.keys.items()]
    names = ["scenario", *factor_names(plan)]
    return pd.DataFrame({name: [row.get(name) for row in rows] for name in names}, dtype=object)


def cell_table(plan: Plan) -> pd.DataFrame:
    """The labels of every cell, with its position in stored lists.

    Positions count from 1, as in R and SQL; an axis may be named `cell` itself.
    """
    labels = list(plan.cells())
    of_axes = dict(zip(plan.axes, zip(*labels, strict=True), strict=True))
    columns = {"cell": range(1, len(labels) + 1)} | of_axes
    return pd.DataFrame({name: list(values) for name, values in columns.items()}, dtype=object)


def of_one_type_each(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert columns that a file cannot hold unchanged, as those of mixed types, to text."""
    for name in [name for name in frame.columns if frame[name].dtype == object]:
        try:
            pa.array(frame[name].tolist(), from_pandas=True)
        except (pa.ArrowException, OverflowError, UnicodeError):
            texts: Any = [None if each is None else writable(str(each)) for each in frame[name]]
            frame = frame.assign(**{name: texts})
    return frame
