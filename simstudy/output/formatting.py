"""Formats numbers, sizes and times for people."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from simstudy.design.reprs import format_names, from_to
from simstudy.lazy import pd
from simstudy.remote.paths import Place

if TYPE_CHECKING:
    import pandas as pd

    from simstudy.analysis.result import Result
    from simstudy.measures import OutlierRate

UNITS = {"d": 86_400.0, "h": 3_600.0, "min": 60.0, "s": 1.0, "ms": 1e-3, "μs": 1e-6}
LEAST_OF_A_UNIT = {"d": 2.0, "h": 2.0, "min": 2.0}  # others: 1, or what three digits make of it


def number(value: float | None) -> str:
    """Format to four significant digits; a dash for missing values."""
    return "–" if value is None or math.isnan(value) else f"{value + 0.0:.4g}"  # no zero has a sign


def counted(n: int, one: str, several: str = "") -> str:
    """Format a count: "1 study", "2,000 studies"."""
    return f"{n:,} {one if n == 1 else several or f'{one}s'}"


def relative_to_cwd(folder: Place) -> str:
    """A path relative to the working directory, if it is below."""
    if isinstance(folder, Path):
        with suppress(ValueError, OSError):  # elsewhere, or there is no working directory
            return str(folder.relative_to(Path.cwd()))
    return str(folder)


def format_size(result: Result) -> str:
    """The numbers of replicates and scenarios."""
    n_scenarios = len(result.plan.scenarios)
    each = from_to(min(result.n_rep.values()), max(result.n_rep.values()))
    if n_scenarios == 1:
        return f"{each} replicates of one scenario"
    return f"{each} replicates in each of {n_scenarios:,} scenarios"


def format_work(result: Result) -> str:
    """The size, with what this run drew of it."""
    n_rep, outcome = sum(result.n_rep.values()), result.outcome
    in_all = f", {n_rep:,} in all" * (len(result.plan.scenarios) > 1)
    if result.details.given:
        return f"{format_size(result)}{in_all} (given, not drawn)."
    return (
        f"{format_size(result)}{in_all} ({counted(outcome.n_blocks, 'block')} drawn now, "
        f"{outcome.seconds:.1f} s)."
    )


def format_time(seconds: float) -> str:
    """Format seconds: "0.2 ms", "12 min", "3.5 h"."""
    for unit, size in UNITS.items():
        if seconds >= LEAST_OF_A_UNIT.get(unit, 0.9995) * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / UNITS['μs']:.3g} μs"


def format_run_time(result: Result) -> str:
    """The time of drawing, and which method and scenario took most; empty if not timed."""
    from simstudy.analysis.frames import IN_ALL

    in_all = 0.0 if result.seconds.empty else result.seconds[IN_ALL].sum()
    if not in_all > 0:  # blocks that killed their processes are not timed
        return ""
    lines = [f"{format_time(in_all)} on one core in all", _of_methods(result), _dearest(result)]
    return "; ".join(filter(None, lines))


def _of_methods(result: Result) -> str:
    """The time per replicate of each method, the slowest first."""
    axis = result.plan.methods_axis
    if not axis:
        return ""
    from simstudy.analysis.frames import DATA, IN_ALL, TIMED

    each = result.seconds.groupby(axis, sort=False)[[IN_ALL, TIMED]].sum()
    costs = (each[IN_ALL] / each[TIMED]).sort_values(ascending=False, kind="stable")
    named = [
        f"{'its data' if name == DATA else name} {format_time(c)}" for name, c in costs.items()
    ]
    return "a replicate takes " + format_names(named)


def _dearest(result: Result) -> str:
    """The scenario that took most of the time, if there are several."""
    seconds, axis = result.seconds, result.plan.methods_axis
    if len(seconds) < 2:
        return ""
    from simstudy.analysis.frames import IN_ALL
    from simstudy.analysis.summary import factor_names

    most = seconds.astype(object).iloc[int(seconds[IN_ALL].to_numpy().argmax())]
    names = [*factor_names(result.plan), *filter(None, [axis])]
    where = ", ".join(f"{name} {most[name]}" for name in names if seconds[name].nunique() > 1)
    return f"most ({most[IN_ALL] / seconds[IN_ALL].sum():.0%}) at {where}"


def format_precision(result: Result) -> str:
    """Whether the precision targets were reached, and the replicates saved."""
    from simstudy.analysis.precision import precision_ratios, spent

    taken = spent(result, result.details.targets)
    n_short = int((~taken["reached"]).sum())
    uniform = int(taken["n_rep"].max()) * len(taken)
    text = f"precision reached in {len(taken) - n_short:,} of {len(taken):,} scenarios"
    if result.details.n_pilot:
        worst = max(precision_ratios(result, result.details.targets).values())
        share = f"{text}, by a pilot of {result.details.n_pilot:,} replicates"
        return f"{share}; the largest error is {worst:.3g} times what was asked for"
    if n_short:
        return f"{text}; the others stopped at max_rep: raise it to go on"
    return f"{text}; the same number everywhere would have taken {uniform:,} replicates"


def format_outliers(result: Result) -> list[str]:
    """Outliers, by measure; empty if there are none."""
    from simstudy.measures import OutlierRate

    looking = [measure for measure in result.details.measures if isinstance(measure, OutlierRate)]
    return [line for measure in looking for line in _of_one_column(result, measure)]


def _of_one_column(result: Result, measure: OutlierRate) -> list[str]:
    from simstudy.analysis.summary import MEASURE

    rows = result.summary[result.summary[MEASURE] == measure.name]
    counts = (rows["estimate"] * rows["n_rep"]).fillna(0).round().astype(int)
    unknown = int((rows["estimate"].isna() & (rows["n_rep"] > 0)).sum())
    parts = [_counted(result, measure, rows, counts)] * bool(counts.any())
    if unknown:
        parts.append(
            f"whether values of {measure.reads[0]} lie far out is not known in {unknown:,} of "
            f"{len(rows):,} cells, where half of them or more are equal."
        )
    return parts


def _counted(result: Result, measure: OutlierRate, rows: pd.DataFrame, counts: pd.Series) -> str:
    from simstudy.analysis.summary import factor_names

    known = [*factor_names(result.plan), *result.plan.axes]
    most = rows.iloc[int(counts.to_numpy().argmax())]
    where = ", ".join(f"{name} {most[name]}" for name in known if most.notna()[name])
    return (
        f"{counts.sum():,} of {rows['n_rep'].sum():,} values of {measure.reads[0]} lie more than "
        f"{measure.beyond:g} robust standard deviations from their median, in "
        f"{(counts > 0).sum():,} of {len(rows):,} cells; most of them ({counts.max():,}) at "
        f"{where}. They are in every measure."
    )
