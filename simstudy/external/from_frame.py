"""Makes a result of replicates that other software drew."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import make_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from simstudy.analysis.replicates import NO_ROW, ReplicatesInMemory, replicates_of_cells
from simstudy.analysis.result import Result, ResultParts
from simstudy.design.plan import Plan
from simstudy.engine.run_monitor import RunStats
from simstudy.errors import ConfigError, in_one_line, warn
from simstudy.external.quantities import (
    DATA_SET,
    ColumnRoles,
    Quantities,
    Truth,
    cells_of,
    check_columns,
    check_present,
    choose_measures,
    factor_names,
    is_true,
    numbered_by_order,
    quantities_of,
    repeated_rows,
)
from simstudy.lazy import pd
from simstudy.measures import Measure, MeasureContext
from simstudy.measures.core import bind
from simstudy.output.manifest import write_unpublished
from simstudy.places import Place, place_of
from simstudy.read_table import BINARY, read_table
from simstudy.store.arrow_schema import ERROR, REP, nan_where_failed
from simstudy.store.provenance import Provenance
from simstudy.store.runs import check_study
from simstudy.study.spec import DefaultFigures, check_study_name, check_unique

NO_SEED = 0  # nothing was drawn here
DRAWN_LAST = {"relative_precision", "mse", "relative_error_model_se", "bias_eliminated_coverage"}
NO_ESTIMATE, NOT_CONVERGED = "no estimate", "not converged"  # why a method has failed
NOTHING = ["", "NA", "<NA>", "N/A", "n/a", "NaN", "nan"]  # an empty level
EMPTY = [*NOTHING, "None", "null", "NULL", "#N/A", "."]  # an empty number


def from_frame(
    rows: pd.DataFrame,
    *,
    estimate: str,
    se: str | None = None,
    truth: Truth = None,
    method: str | Sequence[str] | None = None,
    rep: str | None = None,
    by: str | Sequence[str] = (),
    lower: str | None = None,
    upper: str | None = None,
    p_value: str | None = None,
    df: float | str | None = None,
    level: float = 0.95,
    reference: str | None = None,
    converged: str | None = None,
    measures: Sequence[Measure | str] | None = None,
    name: str = "elsewhere",
    out: str | os.PathLike[str] | Place | None = None,
) -> Result:
    """Make a result of replicates that other software drew.

    Parameters
    ----------
    rows
        One for each replicate and method; nothing in `estimate` where a method failed.
    estimate, se, lower, upper, p_value
        Columns: of estimates, their standard errors, the limits of intervals, p-values. Limits may
        be infinite; one limit alone makes a one-sided interval.
    truth
        The true value: a number, a column, or a mapping to numbers from the levels of one column of
        `by`, or from methods.
    method, rep
        Columns that say by which method (several columns are put together), and on which data set:
        methods are compared on the data sets that they share. Without `rep`, the k-th row of each
        method in a cell is of data set k, and methods must have equally many.
    by
        Columns that say in which cell of the design.
    df
        Degrees of freedom of t intervals, a number or a column; without them and without limits,
        intervals are normal.
    level
        Coverage of the intervals. Tests reject if the interval excludes 0, or if the p-value is at
        most one minus the level.
    reference
        The method that others' precision is relative to; the first, if None.
    converged
        A column of truth values (or 1 and 0): a method failed where it is false.
    measures
        Measures of `simstudy.measures` over the columns, or names of those that need no other
        columns. Default: all usual ones for which there are columns. Measures read computed limits
        as `lower_limit` and `upper_limit`, tests as `reject`, a truth by levels as `truth`.
    name
        Name of the result and of its folder below `out`.
    out
        Folder for the replicates and for `publish`. Default: the result is in memory only.

    Returns
    -------
    Result
        A data set for which a method has no row, or no estimate, is a failure of that method. A
        method without any row in a cell was not applied there, and is left out of that cell.

    Raises
    ------
    ConfigError, DesignError
        For missing columns, and for rows that contradict the role of their column.

    Examples
    --------
    >>> import pandas as pd
    >>> import simstudy
    >>> rows = pd.DataFrame(
    ...     {"dataset": [1, 2, 3, 4] * 2, "method": ["mean"] * 4 + ["median"] * 4,
    ...      "b": [0.9, 1.1, 1.0, 1.2, 0.7, 1.3, 1.0, 1.4]}
    ... )
    >>> result = simstudy.from_frame(rows, estimate="b", truth=1.0, method="method", rep="dataset")
    >>> result.select("bias")[["method", "estimate", "mcse", "n_rep"]].round(3)
       method  estimate   mcse  n_rep
    0    mean      0.05  0.065      4
    1  median      0.10  0.158      4
    """
    asked: dict[str, Any] = {
        "estimate": estimate, "se": se, "lower": lower, "upper": upper, "p_value": p_value,
        "method": method, "rep": rep, "truth": truth, "by": by or None, "df": df, "level": level,
        "reference": reference, "converged": converged,
    }  # fmt: skip
    call = ", ".join(f"{role}={value!r}" for role, value in asked.items() if value is not None)
    rows = _numbered(rows)
    if method is not None and not isinstance(method, str):
        rows, asked["method"] = _with_joined_column(rows, method)
    if method and not rep:
        rows, asked["rep"] = numbered_by_order(rows, asked["method"], _as_list(by)), DATA_SET
    roles = ColumnRoles(**asked)
    check_study_name(name)
    choice = [measures] if isinstance(measures, str | Measure) else measures
    own = [measure for measure in choice or () if isinstance(measure, Measure)]
    reads = [column for measure in own for column in measure.reads if column in rows]
    check_columns(rows, roles, reads)
    factors = factor_names([*roles.by, *filter(None, [roles.method])])
    methods = [*map(str, rows[roles.method].astype(str).unique())] if roles.method else []
    declared, warnings = choose_measures(choice, roles, methods, rows)
    check_unique("measures", [measure.name for measure in declared])
    quantities = quantities_of(rows, roles, reads)
    axes = {factors[roles.method]: tuple(methods)} if roles.method else {}
    replicates = _replicates(rows, roles, quantities, name, factors, axes)
    warnings = _warnings_of_rows(replicates, roles, methods) + warnings
    warnings += filter(None, [repeated_rows(rows, roles, quantities)])
    details = ResultParts(
        replicates,
        declared=[bind(each, MeasureContext(axes, name, NO_SEED)) for each in declared],
        figures=DefaultFigures(sorted(declared, key=lambda each: each.name in DRAWN_LAST)),
        folder=None if out is None else _folder(out, name),
        outcome=RunStats(warnings=warnings),
        repeat_command=f"simstudy.from_frame(rows, {call})",
    )
    result = Result(details)
    write_unpublished(result)
    for text in warnings:
        warn(text, stacklevel=2)
    return result


def from_file(path: str | os.PathLike[str], **arguments: Any) -> Result:
    r"""Read a file of replicates and return its result, as `from_frame` does for a frame.

    Parameters
    ----------
    path
        CSV, TSV, Parquet, Feather, or Stata's `.dta`, or the URL of one. Its name is the result's,
        unless `name` is given. In text files, columns that identify rows may have the levels
        `None` and `null`. Methods are text: `01` is not `1`.
    arguments
        Arguments of `from_frame`.

    Returns
    -------
    Result
        The result.

    Raises
    ------
    ConfigError, StudyError
        In one line, for files that cannot be read, and as `from_frame`.

    Examples
    --------
    >>> from pathlib import Path
    >>> import simstudy
    >>> _ = Path("rows.csv").write_text("n,b,se\n20,0.9,0.2\n20,1.1,0.2\n80,1.0,0.1\n80,1.1,0.1\n")
    >>> result = simstudy.from_file("rows.csv", estimate="b", se="se", truth=1.0, by=["n"])
    >>> float(result.row("coverage", n=20)["estimate"])
    1.0
    """
    by, rep, method = (_as_list(arguments.get(name)) for name in ("by", "rep", "method"))
    columns = () if Path(path).suffix.lower() in BINARY else read_table(path, nrows=1, dtype=str)
    labels = [*by, *rep, *method]  # words for nothing are levels in these
    rows = read_table(
        path,
        dtype=dict.fromkeys(method, str) or None,
        keep_default_na=False,
        na_values={name: NOTHING if name in labels else EMPTY for name in columns},
    )
    name = re.sub(r"[^\w-]", "_", Path(path).name.partition(".")[0])
    return from_frame(rows, **{"name": name, **arguments})


def _as_list(columns: Any) -> list[str]:
    """The names in an argument: one, several, or none where it is a number or a mapping."""
    names = columns if isinstance(columns, list | tuple) else [columns]
    return [name for name in names if isinstance(name, str)]


def _numbered(rows: Any) -> pd.DataFrame:
    """The rows numbered from 0, with text column names."""
    if not isinstance(rows, pd.DataFrame):
        shown = in_one_line(repr(rows))[:100]
        raise ConfigError(f"rows is {shown}, not a data frame of pandas; from_file reads files.")
    if rows.empty:
        raise ConfigError("the table has no rows, so there is nothing to summarise.")
    return rows.reset_index(drop=True).set_axis([str(name) for name in rows.columns], axis=1)


def _with_joined_column(rows: pd.DataFrame, names: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """The rows with a column that joins the levels of several, and its name."""
    check_present(rows, names)
    parts = rows[list(names)].astype(object)
    parts = parts.where(parts.notna(), "").astype(str)
    levels = [", ".join(filter(None, map(str.strip, each))) for each in parts.to_numpy()]
    joined = pd.Series(levels, rows.index, dtype=object).replace("", None)
    return rows.assign(**{"_".join(names): joined}), "_".join(names)


# ---------------------------------------------------------------- rows as columns
def _replicates(
    frame: pd.DataFrame,
    roles: ColumnRoles,
    quantities: Quantities,
    name: str,
    factors: Mapping[str, str],
    axes: Mapping[str, tuple[str, ...]],
) -> ReplicatesInMemory:
    """The quantities of each cell of the design as columns, with failures."""
    rows = pd.DataFrame(quantities)
    for axis in axes:
        rows[axis] = frame[roles.method].astype(str)
    is_missing = rows[roles.estimate].isna().to_numpy()
    rows[ERROR] = pd.Series(NO_ESTIMATE, rows.index, dtype=object).where(is_missing, None)
    if roles.converged:
        rows.loc[is_missing & ~is_true(frame, roles.converged), ERROR] = NOT_CONVERGED
    kind = make_dataclass("Cell", [(factors[column], Any) for column in roles.by], frozen=True)
    cells, labels, scenarios = [], [], []
    for levels, part in cells_of(frame, roles.by):
        codes, sets = _data_sets(part, roles)
        cells.append(rows.loc[part.index].assign(**{REP: codes}))
        labels.append({roles.data_set: sets} if roles.rep else {})
        scenarios.append(kind(*levels))
    settings = {"study": name, "seed": NO_SEED, "axes": {n: [*known] for n, known in axes.items()}}
    settings |= {"rows": "#" + _hash(frame, roles, quantities), **roles.config}
    plan = Plan(name=name, seed=NO_SEED, scenarios=tuple(scenarios), axes=axes, block_size=1)
    replicates = replicates_of_cells(plan, cells, Provenance(settings))
    pairs = zip(replicates.given.items(), labels, strict=True)
    given = {key: sets | nan_where_failed(columns) for (key, columns), sets in pairs}
    return replace(replicates, given=given)


def _data_sets(rows: pd.DataFrame, roles: ColumnRoles) -> tuple[np.ndarray, np.ndarray]:
    """The index of each row's data set, and the names of the data sets."""
    codes, names = pd.factorize(rows[roles.rep] if roles.rep else rows.index)
    labels = np.asarray(names)
    are_numbers = labels.dtype.kind in "biuf"
    return codes, labels if are_numbers else np.array([*map(str, labels)], dtype=object)


def _hash(frame: pd.DataFrame, roles: ColumnRoles, quantities: Quantities) -> str:
    """The hash of all that is read of the table."""
    keys = {column: frame[column].astype(str) for column in roles.labels}
    numbers = {f"{name} in numbers": quantities[name] for name in quantities if name in frame}
    rows = pd.util.hash_pandas_object(pd.DataFrame(keys | numbers), index=False)
    return hashlib.sha256(rows.to_numpy().tobytes()).hexdigest()[:16]


def _warnings_of_rows(
    replicates: ReplicatesInMemory, roles: ColumnRoles, methods: Sequence[str]
) -> list[str]:
    """Warn of methods that lack rows in whole cells, or for single data sets."""
    left_out = Counter(at for labels in replicates.not_applied.values() for at in labels)
    gaps = (at for _, at in replicates.messages(ERROR) if at.text == NO_ROW)
    absent = Counter(methods[at.cell] for at in gaps)
    n_cells, n_rep = len(replicates.n_rep), sum(replicates.n_rep.values())
    return [
        f"{roles.method} {method} has no row in {n:,} of {n_cells:,} cells: it was not applied "
        "there, and is left out of them"
        for method, n in left_out.items()
    ] + [
        f"{roles.method} {method} has no row for {n:,} of {n_rep:,} data sets: they count as its "
        "failures"
        for method, n in absent.items()
    ]


def _folder(out: str | os.PathLike[str] | Place, name: str) -> Place:
    """The folder of the result, which may not hold another study."""
    place = place_of(out)
    folder = (place.absolute() if isinstance(place, Path) else place) / name
    check_study(name, folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
