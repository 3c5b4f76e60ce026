"""Makes a result of replicates that other software drew.

A block is one replicate, so that cells may have unequal numbers of them and no row is a filler.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import make_dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from simstudy.analysis.details import NOT_APPLIED, Details
from simstudy.analysis.result import Result
from simstudy.data.content_hash import hash_of_frame
from simstudy.design.plan import Plan
from simstudy.engine.columns import count_failed
from simstudy.engine.provenance import LAYOUT
from simstudy.engine.run_stats import RunStats
from simstudy.errors import ConfigError, in_one_line, nearest
from simstudy.external.column_roles import (
    DATA_SET,
    OWN,
    ColumnRoles,
    Truth,
    check_columns,
    factor_names,
    long_table,
    numbered_by_order,
)
from simstudy.external.figures import general_figures
from simstudy.external.quantities import (
    Quantities,
    cells_of,
    check_labels,
    is_true,
    quantities_of,
    repeated_rows,
)
from simstudy.external.standard_measures import choose_measures
from simstudy.lazy import pd
from simstudy.measures import Measure, MeasureContext
from simstudy.output.manifest import explain_folder
from simstudy.provenance.scenario_id import typed
from simstudy.read_table import BINARY, PACKED, SEPARATORS, read_table
from simstudy.remote.paths import Place
from simstudy.store.arrow_schema import ERROR, Block, block_table, concat_tables
from simstudy.store.block_files import write_blocks
from simstudy.store.block_index import BlockRange
from simstudy.store.io_errors import translate_io_errors
from simstudy.store.provenance import Provenance
from simstudy.store.study_folder import StudyFolder
from simstudy.study.run_options import check_switches
from simstudy.study.validation import check_study_name, check_unique

NO_SEED = 0  # nothing was drawn here
NO_ROW, NO_ESTIMATE = "no row", "no estimate"  # why a method has failed on a data set
NOT_CONVERGED = "not converged"
NOTHING = ["", "NA", "<NA>", "N/A", "n/a", "NaN", "nan"]  # an empty level
EMPTY = [*NOTHING, "None", "null", "NULL", "#N/A", "."]  # an empty number


Columns = str | Sequence[str] | None
"""A column; of a wide table one for each method, in the order of `estimate`."""


class Cell(NamedTuple):
    """A cell of the design: levels of factors, number of data sets, columns, methods left out.

    Columns are `(rep,)` or `(rep, method)`.
    """

    levels: tuple[Any, ...]
    n_rep: int
    columns: dict[str, np.ndarray]
    not_applied: tuple[str, ...]


def from_frame(
    rows: pd.DataFrame,
    *,
    estimate: str | Sequence[str],
    se: Columns = None,
    truth: Truth = None,
    method: str | Sequence[str] | None = None,
    rep: str | None = None,
    by: str | Sequence[str] = (),
    lower: Columns = None,
    upper: Columns = None,
    p_value: Columns = None,
    df: float | str | None = None,
    level: float = 0.95,
    reference: str | None = None,
    null: float = 0.0,
    converged: str | None = None,
    measures: Sequence[Measure | str] | None = None,
    name: str = "elsewhere",
    out: str | os.PathLike[str] | Place | None = None,
    restart: bool = False,
) -> Result:
    """Make a result of replicates that other software drew.

    Parameters
    ----------
    rows
        One for each replicate and method; nothing in `estimate` where a method failed.
    estimate, se, lower, upper, p_value
        Columns: of estimates, their standard errors, the limits of intervals, p-values. Lists of
        columns where the table is wide: one for each method, as in `estimate=["b_cc", "b_mi"],
        se=["se_cc", "se_mi"]`, whose methods are `cc` and `mi`. Each row is then a data set, and
        `se_cc` belongs to `b_cc` in any order. Limits may be infinite; one limit alone makes a
        one-sided interval.
    truth
        The true value: a number, a column, or a mapping to numbers from the levels of one of `by`,
        from those of all of `by` (in a tuple), or from methods.
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
        Coverage of the intervals. Tests reject if the interval excludes `null`, or if the p-value
        is at most one minus the level.
    reference
        The method that others' precision is relative to; the first, if None.
    null
        The value that tests by intervals reject.
    converged
        A column of truth values (or 1 and 0): a method failed where it is false.
    measures
        Measures of `simstudy.measures` over the columns, or names of those that need no other
        columns. Default: all usual ones for which there are columns. Measures read computed limits
        as `lower_limit` and `upper_limit`, tests as `reject`, a truth by levels as `truth`.
    name
        Name of the result and of its folder below `out`.
    out
        Folder for the rows and for `publish`. Default: a temporary one, deleted with the result.
    restart
        Whether to delete first what that folder holds of another table.

    Returns
    -------
    Result
        A data set for which a method has no row, or no estimate, is a failure of that method. A
        method without any row in a cell was not applied there, and is left out of that cell.

    Raises
    ------
    ConfigError, DesignError
        For missing columns, and for rows that contradict the role of their column.
    """
    columns = {
        "estimate": estimate, "se": se, "lower": lower, "upper": upper, "p_value": p_value,
        "method": method, "rep": rep,
    }  # fmt: skip
    others = {
        "truth": truth, "by": by, "df": df, "level": level, "reference": reference, "null": null,
        "converged": converged,
    }  # fmt: skip
    wide: dict[str, Any] = {}
    rows = _numbered(rows)
    if method is not None and not isinstance(method, str):
        rows, method = _with_joined_column(rows, method)
        columns["method"] = method
    if isinstance(estimate, list | tuple):
        wide = {r: c for r, c in columns.items() if c and r not in ("method", "rep")}
        rows, columns = long_table(rows, wide, method=method, rep=rep)
    elif method and not rep:
        rows, columns["rep"] = numbered_by_order(rows, method, [by] if isinstance(by, str) else by)
    roles = ColumnRoles(**columns, **others)  # type: ignore[arg-type]
    method, rep = roles.method, roles.rep
    check_switches(restart=restart)
    check_study_name(name)
    frame = rows
    choice = [measures] if isinstance(measures, str | Measure) else measures
    own = [measure for measure in choice or () if isinstance(measure, Measure)]
    reads = [column for measure in own for column in measure.reads if column in frame]
    check_columns(frame, roles, reads)
    factors = factor_names([*roles.by, *filter(None, [method])])
    check_labels(frame, roles)
    methods = [*map(str, frame[method].astype(str).unique())] if method else []
    declared, noticed = choose_measures(choice, roles, methods)
    check_unique("measures", [measure.name for measure in declared])
    quantities = quantities_of(frame, roles, reads)
    cells, absent = _reshape(frame, roles, quantities, methods)
    noticed += filter(None, [repeated_rows(frame, roles, quantities)])
    names, axis = [factors[column] for column in roles.by], factors[method] if method else None
    axes = {axis: tuple(methods)} if axis else {}
    declared = [each.bind(MeasureContext(axes, name, NO_SEED)) for each in declared]
    kind = make_dataclass("Cell", [(factor, Any) for factor in names], frozen=True)
    plan = Plan(
        name=name,
        seed=NO_SEED,
        scenarios=tuple(kind(*cell.levels) for cell in cells),
        axes=axes,
        block_size=1,
        reads={measure.name: tuple(measure.reads) for measure in declared},
    )
    settings = {"rows": "#" + _hash(frame, roles, quantities), **roles.config}
    n_most = max(cell.n_rep for cell in cells)
    home = StudyFolder.open(
        plan, out, _provenance(plan, settings), restart=n_most if restart else 0
    )
    stored = dict(zip(plan.keys, cells, strict=True))
    outcome = RunStats(noticed=[*absent, *noticed])
    if not all(home.store.n_blocks(key) == cell.n_rep for key, cell in stored.items()):
        _write(plan, home, stored)
        outcome.n_blocks = sum(cell.n_rep for cell in cells)
    made: tuple[str, ...] = ("method", "rep") if wide else ("rep",) * (roles.rep == DATA_SET)
    typed_roles = {r: v for r, v in roles.config.items() if r not in made} | wide
    arguments = ", ".join(f"{role}={value!r}" for role, value in typed_roles.items())
    details = Details(
        plan=plan,
        store=home.store,
        n_rep={key: cell.n_rep for key, cell in stored.items()},
        declared=declared,
        figures=general_figures(roles, names, axis),
        folder=home.path,
        outcome=outcome,
        keep_alive=home.temporary,
        given=f"simstudy.from_frame(rows, {arguments})",
        not_applied={key: cell.not_applied for key, cell in stored.items() if cell.not_applied},
    )
    result = Result(details)
    explain_folder(result)
    for text in outcome.noticed:
        warnings.warn(text, stacklevel=2)
    return result


Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def from_file(path: Paths, **arguments: Any) -> Result:
    """Read a file of replicates and return its result, as `from_frame` does for a frame.

    Parameters
    ----------
    path
        CSV, TSV, Parquet, Feather, or Stata's `.dta`, or the URL of one; several of them, or a
        folder, are put together, with the file's name in a column `file`. Data sets that have one
        number in several files are different ones. The name of the (first) file is the result's,
        unless `name` says otherwise. In columns of a text that say where rows belong `None` and
        `null` are levels, and methods are text: `01` is not `1`.
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
    """
    several = not isinstance(path, str | os.PathLike)
    paths: list[Any] = list(path) if not isinstance(path, str | os.PathLike) else [path]
    first = Path(paths[0])
    if not several and first.is_dir():
        readable = (*SEPARATORS, *BINARY)
        paths = sorted(each for each in first.iterdir() if _ending(each) in readable)
        if not paths:
            raise ConfigError(f"{first} holds no file that ends in {', '.join(readable)}.")
    by, rep, method = (_as_list(arguments.get(name)) for name in ("by", "rep", "method"))
    tables = [_read(each, [*by, *rep, *method], method) for each in paths]
    rows = tables[0]
    if len(tables) > 1:
        rows = pd.concat(
            [table.assign(file=_stem(each)) for each, table in zip(paths, tables, strict=True)],
            ignore_index=True,
        )
        if rep and rep[0] in rows:
            n_files = rows.groupby(rep[0])["file"].nunique()
            if (n_files > 1).any():
                rows[rep[0]] = rows["file"] + "/" + rows[rep[0]].astype(str)
    stem = _stem(first)
    name = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in stem)
    return from_frame(rows, **{"name": name, **arguments})


def _as_list(columns: str | Sequence[str] | None) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns or ())


def _stem(path: Any) -> str:
    return Path(path).name.partition(".")[0]


def _ending(path: Path) -> str:
    """The ending of a file's name, without that of its packing."""
    packed = path.suffix.lower() in PACKED
    return Path(path.stem).suffix.lower() if packed else path.suffix.lower()


def _read(path: Any, labels: Sequence[str], methods: Sequence[str]) -> pd.DataFrame:
    """A file's rows; words for nothing are levels in columns of labels."""
    is_binary = Path(path).suffix.lower() in BINARY
    columns = () if is_binary else read_table(path, nrows=1, dtype=str)
    return read_table(
        path,
        dtype=dict.fromkeys(methods, str) or None,
        keep_default_na=False,
        na_values={name: NOTHING if name in labels else EMPTY for name in columns},
    )


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
    for name in names:
        if name not in rows:
            near = nearest(str(name), [str(each) for each in rows])
            raise ConfigError(f"{name!r} is not a column of the table; {near}")
    known = rows[list(names)].notna().all(axis=1)
    joined = rows[list(names)].astype(str).agg(", ".join, axis=1).where(known)
    return rows.assign(**{"_".join(names): joined}), "_".join(names)


# ---------------------------------------------------------------- rows as arrays
def _reshape(
    frame: pd.DataFrame, roles: ColumnRoles, quantities: Quantities, methods: list[str]
) -> tuple[list[Cell], list[str]]:
    """The cells of a table, and a text about methods that lack rows."""
    names = frame[roles.method].astype(str) if roles.method else [""] * len(frame)
    codes = pd.Categorical(names, categories=methods or [""]).codes
    cells: list[Cell] = []
    left_out = dict[str, list[str]]()  # cells without any row, by method
    converged = is_true(frame, roles.converged) if roles.converged else np.ones(len(frame), bool)
    absent = dict[str, list[str]]()  # data sets without a row, by method
    for levels, rows in cells_of(frame, roles.by):
        reps, labels = _data_sets(rows, roles)
        at = rows.index.to_numpy()
        where, shape = (reps, codes[at]), (len(labels), max(len(methods), 1))
        columns = {name: _filled(values[at], where, shape) for name, values in quantities.items()}
        has_row = _filled(np.ones(len(at)), where, shape) == 1
        is_missing, is_applied = np.isnan(columns[roles.estimate]), has_row.any(axis=0)
        if is_missing.any():
            why = np.where(has_row, NO_ESTIMATE, NO_ROW).astype(object)
            why[_filled(~converged[at], where, shape) == 1] = NOT_CONVERGED
            why[:, ~is_applied] = NOT_APPLIED
            why[~is_missing] = None
            columns[ERROR] = why
        if not methods:
            columns = {name: values[:, 0] for name, values in columns.items()}
        if roles.rep:
            columns[f"{roles.rep}_given" if roles.rep in OWN else roles.rep] = labels
        missing = tuple(methods[code] for code in np.flatnonzero(~is_applied))
        cells.append(Cell(levels, len(labels), columns, missing))
        for each in missing:
            cell = ", ".join(f"{n}={v}" for n, v in zip(roles.by, levels, strict=True))
            left_out.setdefault(each, []).append(cell)
        for number, code in zip(*np.nonzero(~has_row & is_applied), strict=True):
            pairs = [(roles.rep, labels[number]), *zip(roles.by, levels, strict=True)]
            text = ", ".join(f"{name}={level}" for name, level in pairs)
            absent.setdefault(methods[code], []).append(text)
    n_rep = sum(cell.n_rep for cell in cells)
    texts = [
        f"{roles.method} {method} has no row in {len(where):,} of {len(cells):,} cells (the first "
        f"is {where[0]}): it was not applied there, and is left out of them"
        for method, where in left_out.items()
    ]
    return cells, texts + [
        f"{roles.method} {method} has no row for {len(where):,} of {n_rep:,} data sets (the first "
        f"is {where[0]}): they count as its failures"
        for method, where in absent.items()
    ]


def _filled(values: np.ndarray, where: Any, shape: tuple[int, int]) -> np.ndarray:
    """Values as `(rep, method)`, NaN where there is no row."""
    full = np.full(shape, np.nan)
    full[where] = values
    return full


def _data_sets(rows: pd.DataFrame, roles: ColumnRoles) -> tuple[np.ndarray, np.ndarray]:
    """The index of each row's data set, and the names of the data sets."""
    if roles.rep is None:
        return np.arange(len(rows)), np.arange(len(rows))
    codes, names = pd.factorize(rows[roles.rep])
    labels = np.asarray(names)
    are_numbers = labels.dtype.kind in "biuf"
    return codes, labels if are_numbers else np.array([*map(str, labels)], dtype=object)


# ---------------------------------------------------------------- what is stored
def _hash(frame: pd.DataFrame, roles: ColumnRoles, quantities: Quantities) -> str:
    """The hash of all that is read of the table."""
    keys = {column: frame[column].astype(str).astype(object) for column in roles.labels}
    numbers = {f"{name} in numbers": quantities[name] for name in quantities if name in frame}
    return hash_of_frame(pd.DataFrame(keys | numbers))[:16]


def _provenance(plan: Plan, read: Mapping[str, Any]) -> Provenance:
    """The provenance of the rows: the table, and how it was read."""
    settings = {
        "study": plan.name,
        "seed": plan.seed,
        "block_size": plan.block_size,
        "axes": {axis: list(labels) for axis, labels in plan.axes.items()},
        "layout": LAYOUT,
        **read,
    }
    values = {key: typed(scenario) for key, scenario in plan.keys.items()}
    return Provenance(settings, values, {key: {} for key in plan.keys})


def _write(plan: Plan, home: StudyFolder, cells: Mapping[str, Cell]) -> None:
    """Write all cells to one file."""
    tables = []
    for key, cell in cells.items():
        n_failed = count_failed(cell.columns.get(ERROR))
        block = Block(plan.keys[key], 0, cell.columns, n_failed, key)
        tables.append(block_table(replace(plan, block_size=cell.n_rep), [block]))
    ranges = [BlockRange(key, 0, cell.n_rep) for key, cell in cells.items()]
    with translate_io_errors(home.store.files):
        write_blocks(
            home.store.files, ranges, concat_tables(tables), provenance=home.store.provenance
        )
    home.store.scan()
