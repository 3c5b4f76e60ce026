"""The columns of a table: their roles, the quantities in them, and the measures they allow."""

from __future__ import annotations

import keyword
import math
import numbers
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simstudy import measures as of
from simstudy.analysis.summary import MEASURE, NUMBERS, OPTIONAL
from simstudy.array_types import Bool, Float
from simstudy.errors import ConfigError, DesignError, in_one_line, nearest
from simstudy.lazy import pd, special
from simstudy.measures import Measure
from simstudy.store.arrow_schema import CELL_ERROR, CONVERGED, ERROR, REP, SCENARIO, WARNING

OWN = {SCENARIO, REP, ERROR, CELL_ERROR, WARNING, CONVERGED}  # names of stored columns
TAKEN = {*OWN, "block", "address", MEASURE, *NUMBERS, *OPTIONAL}
"""Names that columns of summaries, replicates or failures have anyway."""
LOWER, UPPER, REJECT, TRUTH = "lower_limit", "upper_limit", "reject", "truth"  # made of others

Truth = float | str | Mapping[Any, float] | None
"""A number, a column, a number for each level of `by`, or unknown."""


@dataclass
class ColumnRoles:
    """The roles of a table's columns.

    Parameters
    ----------
    estimate, se, lower, upper, p_value
        Columns; None for what there is not.
    df
        Degrees of freedom of t intervals: a number or a column.
    truth
        The true value.
    method, rep
        Columns that tell methods, and data sets, apart.
    by
        Columns that tell the cells of the design apart.
    level
        Nominal coverage of the intervals; tests are at one less it.
    reference
        The method that others are compared with in precision; the first, if None.
    converged
        Column of truth values: a method failed where it is false.
    """

    estimate: str
    se: str | None = None
    lower: str | None = None
    upper: str | None = None
    p_value: str | None = None
    df: float | str | None = None
    truth: Truth = None
    method: str | None = None
    rep: str | None = None
    by: Sequence[str] = ()
    level: float = 0.95
    reference: str | None = None
    converged: str | None = None

    def __post_init__(self) -> None:
        self.by = [self.by] if isinstance(self.by, str) else list(self.by or ())
        self.reference = None if self.reference is None else str(self.reference)
        self.df, self.level = _number("df", self.df), _number("level", self.level)
        if isinstance(self.truth, Mapping):
            self.truth = {str(at): _number("truth", value) for at, value in self.truth.items()}
        else:
            self.truth = _number("truth", self.truth)
        if not isinstance(self.level, float) or not 0 < self.level < 1:
            raise ConfigError(f"level={self.level!r} is not allowed: give a coverage in (0, 1).")
        roles = ("estimate", "se", "lower", "upper", "p_value", "truth", "df", "converged")
        named: dict[str, str] = {}
        for role in roles:
            column = getattr(self, role)
            if isinstance(column, list | tuple):
                raise ConfigError(
                    f"{role}={in_one_line(repr(column))} names several columns: give one row for "
                    "each method (pandas.wide_to_long makes them), and one column."
                )
            if isinstance(column, str) and named.setdefault(column, role) != role:
                raise ConfigError(
                    f"{named[column]} and {role} are both {column!r}, which would be compared with "
                    "itself: name two columns, or give a number."
                )
        if self.df is not None and self.se is None:
            raise ConfigError("df is given and se is not: t intervals are made of both.")

    @property
    def labels(self) -> list[str]:
        """The columns that identify a row."""
        return [name for name in (*self.by, self.method, self.rep) if name is not None]

    @property
    def data_set(self) -> str:
        """The name that the column of data sets has among replicates."""
        return f"{self.rep}_given" if self.rep in OWN else str(self.rep)

    @property
    def numbers(self) -> list[str]:
        """The columns that must hold numbers."""
        named = [self.estimate, self.se, self.lower, self.upper, self.p_value]
        named += [each for each in (self.df, self.truth) if isinstance(each, str)]
        return list(dict.fromkeys(name for name in named if name is not None))

    @property
    def limits(self) -> tuple[str, str] | None:
        """The columns of interval limits, given or computed from standard errors."""
        has_limits = any(name is not None for name in (self.lower, self.upper, self.se))
        return (self.lower or LOWER, self.upper or UPPER) if has_limits else None

    @property
    def config(self) -> dict[str, Any]:
        """The roles for a manifest, without unused ones."""
        return {name: value for name, value in vars(self).items() if value not in (None, [])}


def _number(role: str, value: Any) -> Any:
    """A number as a Python number; a column name unchanged."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, numbers.Real) or math.isnan(value):
        raise ConfigError(
            f"{role}={in_one_line(repr(value))} is neither a number nor a column's name."
        )
    return int(value) if isinstance(value, numbers.Integral) else float(value)


# ---------------------------------------------------------------- names of columns
def check_columns(frame: pd.DataFrame, roles: ColumnRoles, reads: Iterable[str]) -> None:
    """Refuse a column that is missing or ambiguous, or whose name the store uses, and bad labels.

    Parameters
    ----------
    reads
        Further columns that measures read.

    Raises
    ------
    ConfigError
        Naming it, with the nearest name that there is.
    DesignError
        For rows with a missing label, or with the labels of another row.
    """
    known = [*frame.columns]
    named = [*roles.labels, *roles.numbers, *filter(None, [roles.converged])]
    check_present(frame, named)
    for column in named:
        if known.count(column) > 1:
            raise ConfigError(f"{known.count(column)} columns are named {column!r}: rename one.")
        if roles.labels.count(column) > 1:
            raise ConfigError(f"{column!r} tells two things apart: name it in method, rep or by.")
    for column in [*roles.numbers, *reads]:
        if column in OWN:
            raise ConfigError(
                f"{column!r} is a column that tables of replicates have anyway: rename yours."
            )
    for column in roles.labels:
        _refuse_rows(frame[column].isna(), frame[[column]], "is missing, and every row needs it")
    if roles.rep:
        why = "was there before, and a replicate counts once: leave one out, or add to by="
        _refuse_rows(frame.duplicated(roles.labels), frame[roles.labels], why)


def check_present(rows: pd.DataFrame, columns: Iterable[str]) -> None:
    """Refuse columns that a table does not have."""
    for name in columns:
        if name not in rows.columns:
            near = nearest(str(name), map(str, rows.columns))
            raise ConfigError(f"{name!r} is not a column of the table; {near}")


def factor_names(columns: Iterable[str]) -> dict[str, str]:
    """Return valid Python names for factors: `n.obs` becomes `n_obs`, `lambda`
    is `lambda_`.

    Raises
    ------
    ConfigError
        If a name is also that of a column of every summary, or of two factors.
    """
    named: dict[str, str] = {}
    for column in columns:
        plain = unicodedata.normalize("NFKC", re.sub(r"\W+", "_", column).strip("_"))
        plain += "_" if keyword.iskeyword(plain) else ""
        if not plain.isidentifier() or plain in (*TAKEN, *named.values()):
            raise ConfigError(
                f"{column!r} is not a valid name of a factor, or is already taken: rename it."
            )
        named[column] = plain
    return named


# ---------------------------------------------------------------- numbers of data sets
DATA_SET = "data_set"  # a column that is made


def numbered_by_order(rows: pd.DataFrame, method: str, by: Sequence[str]) -> pd.DataFrame:
    """Number the rows of each method and cell, in a new column `data_set`.

    Raises
    ------
    ConfigError
        If methods have unequal numbers of rows in a cell, so that it is unknown which data sets
        they lack.
    """
    check_present(rows, [*by, method])
    groups = rows.groupby([*by, method], sort=False, dropna=False)
    sizes = pd.DataFrame({"n_rows": groups.size()}).reset_index()
    in_cells = sizes.groupby([*by] or (lambda _: 0), dropna=False)["n_rows"]
    if in_cells.nunique().max() > 1:
        raise ConfigError(
            f"rep is not given, and the levels of {method} have unequal numbers of rows, so it is "
            "not known which data sets a method lacks: name the column that numbers them, rep=..."
        )
    return rows.assign(**{DATA_SET: groups.cumcount()})


# ---------------------------------------------------------------- quantities
MISSING = {"", ".", "na", "nan", "n/a", "null", "none", "<na>"}  # R, Stata and Python

LEAVE_EMPTY = "leave it empty where a method failed"
POINTS = "write decimal points, or a file with semicolons between cells"

ROUNDING = 1e-12  # 1 - 0.95 is 0.050000000000000044
MANY_TIMES = 20  # repeats of one row: few distinct values rather than a file read twice
MIN_DISTINCT = 10  # fewer distinct rows are not compared, nor are shorter sequences counted
RARE = 9  # digits of the chance below which a repeated sequence is reported

Quantities = dict[str, Float[np.ndarray, " row"]]
"""Numbers of each row, by the name under which measures read them."""


def quantities_of(frame: pd.DataFrame, roles: ColumnRoles, reads: Iterable[str]) -> Quantities:
    """Return the quantities that measures read, for every row.

    Parameters
    ----------
    reads
        Further columns, which measures of the user's own read.

    Raises
    ------
    DesignError
        For entries that are not numbers, and numbers that contradict the role of their column.
    """
    read = {
        name: numbers_in(frame, name, may_be_infinite=name in (roles.lower, roles.upper))
        for name in dict.fromkeys([*roles.numbers, *reads])
    }
    _check_numbers(read, roles)
    if roles.converged:
        failed = ~is_true(frame, roles.converged)
        for name in [name for name in read if name != roles.truth]:
            read[name][failed] = np.nan
    made: Quantities = {}
    if roles.lower and not roles.upper:
        made[UPPER] = np.where(np.isnan(read[roles.lower]), np.nan, np.inf)
    elif roles.upper and not roles.lower:
        made[LOWER] = np.where(np.isnan(read[roles.upper]), np.nan, -np.inf)
    elif roles.se and not roles.lower:
        half = _quantile(read, roles) * read[roles.se]
        made |= {LOWER: read[roles.estimate] - half, UPPER: read[roles.estimate] + half}
    if roles.p_value:
        p_value = read[roles.p_value]
        made[REJECT] = np.where(np.isnan(p_value), np.nan, p_value <= 1 - roles.level + ROUNDING)
    elif roles.limits:
        lower, upper = ((read | made)[name] for name in roles.limits)
        excludes = ((lower > 0) | (upper < 0)).astype(float)
        made[REJECT] = np.where(np.isnan(lower) | np.isnan(upper), np.nan, excludes)
    if isinstance(roles.truth, Mapping):
        made[TRUTH] = _truths(roles.truth, frame, roles)
    for name in set(reads) & set(made):
        raise ConfigError(
            f"column {name!r} is made of other columns, too: rename the one you have."
        )
    return read | made


def numbers_in(
    frame: pd.DataFrame, column: str, *, may_be_infinite: bool = False
) -> Float[np.ndarray, " row"]:
    """Return a column as doubles, NaN for missing values."""
    found = values = frame[column]
    if not pd.api.types.is_numeric_dtype(values):
        found = pd.to_numeric(values.astype(object), errors="coerce")
        is_word = ~values.astype(str).str.strip().str.lower().isin(MISSING)
        is_bad = found.isna() & values.notna() & is_word
        has_comma = values[is_bad].astype(str).str.contains(",", regex=False).any()
        advice = POINTS if has_comma else LEAVE_EMPTY
        _refuse_rows(is_bad, {column: values}, f"is not a number; {advice}")
    doubles = found.astype("Float64").to_numpy(dtype=float, na_value=np.nan, copy=True)
    if not may_be_infinite:
        _refuse_rows(np.isinf(doubles), {column: doubles}, f"is not finite; {LEAVE_EMPTY}")
    return doubles


TRUE, FALSE = {"true", "t", "yes", "1", "1.0"}, {"false", "f", "no", "0", "0.0"}


def is_true(frame: pd.DataFrame, column: str) -> Bool[np.ndarray, " row"]:
    """Return a column of truth values; what is missing is false."""
    words = frame[column].astype(str).str.strip().str.lower()
    other = ~words.isin(TRUE | FALSE | MISSING)
    _refuse_rows(other, {column: frame[column]}, "is neither true nor false, nor 1 or 0")
    return words.isin(TRUE).to_numpy()


def repeated_rows(frame: pd.DataFrame, roles: ColumnRoles, read: Quantities) -> str:
    """Warn of rows that repeat all numbers of earlier ones; empty if none does.

    Numbers of at least five decimals count as repeated wherever they stand, others only in a
    sequence of rows that is repeated, since single ones may agree by chance.
    """
    names = [name for name in roles.numbers if name not in (roles.truth, roles.df)]
    keys = [*roles.by, *([roles.method] if roles.method else [])]
    rows = frame[keys].assign(**{name: read[name] for name in names})
    rows = rows[rows[roles.estimate].notna()]
    codes = rows.groupby([*keys, *names], dropna=False, sort=False).ngroup().to_numpy()
    times = np.bincount(codes)[codes]
    exact = (rows[roles.estimate] != rows[roles.estimate].round(4)).to_numpy()
    again, n_again = exact & rows.duplicated().to_numpy(), 0
    if again.any() and times[exact].max() <= MANY_TIMES:
        at = int(np.argmax(again))
        n_again, pair = int(again.sum()), (at, int(np.argmax(codes == codes[at])))
    elif len(np.unique(codes)) >= MIN_DISTINCT and (times > 1).any():
        cells = rows.groupby(keys, dropna=False).ngroup() if keys else pd.Series(0, rows.index)
        n_again, pair = _repeated_sequence(rows[names], codes, cells)
    if not n_again:
        return ""
    row, first = (int(rows.index[at]) + 1 for at in pair)
    return (
        f"{n_again:,} rows repeat all numbers of earlier rows (row {row:,} those of row "
        f"{first:,}), as where two jobs with one seed are put together: data sets that count twice "
        "make Monte Carlo errors too small"
    )


def _repeated_sequence(
    numbers: pd.DataFrame, codes: np.ndarray, cells: pd.Series[Any]
) -> tuple[int, tuple[int, int]]:
    """Find a sequence of rows that stands twice, with a chance below 1e-9 among all places.

    The chance of a row is its frequency in its cell. A row counts where all columns turn, up or
    down, so that sorted rows do not count.

    Returns
    -------
    tuple
        The number of repeated rows, 0 if chance may explain them, and the first of them with the
        earlier one.
    """
    shift = _commonest_shift(codes)
    same = np.concatenate([[False], codes[shift:] == codes[:-shift], [False]])
    if not same.any():
        return 0, (0, 0)
    starts, ends = (np.flatnonzero(np.diff(same.astype(int)) == step) for step in (1, -1))
    longest = np.argmax(ends - starts)
    part = slice(starts[longest], ends[longest])
    in_cell = np.bincount(cells)[cells]
    surprise = np.log10(in_cell / np.bincount(codes)[codes])[part].mean()
    steps = numbers.groupby(cells.to_numpy()).diff().to_numpy()
    after = pd.DataFrame(steps).groupby(cells.to_numpy()).shift(-1).to_numpy()
    moves, turns = np.nan_to_num(steps)[part] != 0, (steps * after < 0)[part]
    n_turns = turns.sum(axis=0)[moves.any(axis=0)].min(initial=len(turns))
    if n_turns * surprise < RARE + 2 * np.log10(len(codes)):
        return 0, (0, 0)
    lengths = ends - starts
    n_again = int(lengths[lengths >= MIN_DISTINCT].sum())
    return n_again, (int(starts[longest]) + shift, int(starts[longest]))


def _commonest_shift(codes: np.ndarray) -> int:
    """The commonest distance between rows of equal numbers, of those that few rows share."""
    order = np.argsort(codes, kind="stable")
    few = np.bincount(codes)[codes[order]] <= MANY_TIMES
    distances = [np.zeros(1, int)]
    for k in range(1, 6):
        is_pair = (codes[order[k:]] == codes[order[:-k]]) & few[k:]
        distances.append((order[k:] - order[:-k])[is_pair])
    counts = np.bincount(np.concatenate(distances), minlength=2)[1:]
    return int(np.argmax(counts)) + 1


def _check_numbers(read: Quantities, roles: ColumnRoles) -> None:
    if roles.se:
        se = read[roles.se]
        _refuse_rows(se <= 0, {roles.se: se}, f"is not above 0, as errors are; {LEAVE_EMPTY}")
    if roles.lower and roles.upper:
        limits = {name: read[name] for name in (roles.lower, roles.upper)}
        is_empty = read[roles.lower] > read[roles.upper]
        _refuse_rows(is_empty, limits, "is an empty interval; are the two columns swapped?")
    if roles.p_value:
        p = read[roles.p_value]
        why = "is not a p-value, which lies between 0 and 1; give no logs or percentages"
        _refuse_rows((p < 0) | (p > 1), {roles.p_value: p}, why)
    if isinstance(roles.truth, str):
        unknown = np.isnan(read[roles.truth]) & ~np.isnan(read[roles.estimate])
        why = f"has no truth in {roles.truth!r}; fill it in, or give truth= as a number"
        _refuse_rows(unknown, {roles.estimate: read[roles.estimate]}, why)


def _refuse_rows(bad: Any, columns: Any, reason: str) -> None:
    """Refuse a table with bad rows, showing the first one."""
    if np.any(bad):
        at, n_bad = int(np.argmax(bad)), int(np.sum(bad))
        shown = [f"{name}={in_one_line(str(values[at]))[:60]}" for name, values in columns.items()]
        raise DesignError(f"row {at + 1:,}: {', '.join(shown)} {reason} ({n_bad:,} such rows).")


def _quantile(read: Quantities, roles: ColumnRoles) -> Any:
    at = (1 + roles.level) / 2
    if roles.df is None:
        return special.ndtri(at)
    df = read[roles.df] if isinstance(roles.df, str) else np.asarray(float(roles.df))
    if (df <= 0).any():
        raise DesignError(f"df={np.min(df):g} gives no t interval: degrees of freedom are above 0.")
    return special.stdtrit(df, at)


# ---------------------------------------------------------------- where rows belong
def cells_of(frame: pd.DataFrame, by: Sequence[str]) -> list[tuple[tuple[Any, ...], pd.DataFrame]]:
    """Group the rows by cell of the design, in order of appearance."""
    if not by:
        return [((), frame)]
    groups = frame.groupby([*by], sort=False, observed=True)
    return [(tuple(map(_plain, levels)), rows) for levels, rows in groups]


def _plain(level: object) -> object:
    """A level as the value of a factor."""
    value = level.item() if isinstance(level, np.generic) else level
    return value if isinstance(value, bool | int | float | str) else str(value)


# ---------------------------------------------------------------- truth
def _truths(
    truth: Mapping[Any, float], frame: pd.DataFrame, roles: ColumnRoles
) -> Float[np.ndarray, " row"]:
    """The truth of each row, by the levels of one column of `by`, or by methods.

    Numbers agree in single precision, as Stata has them.
    """
    by_level = {_as_text(level): value for level, value in truth.items()}
    columns = [name for name in (*roles.by, roles.method) if name]
    levels = {name: frame[name].map(_as_text) for name in columns}
    fitting = {
        name: texts.map(by_level).to_numpy(dtype=float)
        for name, texts in levels.items()
        if texts.isin(by_level).all()
    }
    given = f"truth has {', '.join(map(str, truth))}, which are"
    if not fitting:
        raise ConfigError(
            f"{given} not the levels of any column of by= or method= "
            f"({', '.join(columns) or 'none is given'}): give a number for each level, or name a "
            "column of true values."
        )
    first, *others = fitting.values()
    if not all(np.array_equal(first, other) for other in others):
        raise ConfigError(
            f"{given} levels of {' and of '.join(fitting)}, so it is unclear which of them has the "
            "truth: name a column of true values."
        )
    return first


def _as_text(level: Any) -> str:
    """A level as text, equal for 1, 1.0 and "1"."""
    try:
        return f"{float(level):.7g}"
    except (TypeError, ValueError):
        return str(level)


# ---------------------------------------------------------------- standard measures
ON_REQUEST = {"relative_bias", "rmse", "interval_width"}
"""Names of measures that are computed only if `measures=` asks for them."""
Standard = tuple[str, Callable[[], Measure]]
"""What makes a measure, after what it needs of the columns, with blanks between."""


def choose_measures(
    measures: Sequence[Measure | str] | None,
    roles: ColumnRoles,
    methods: Sequence[str],
    frame: pd.DataFrame,
) -> tuple[list[Measure], list[str]]:
    """Choose the measures that a table allows, and explain what was left out.

    Parameters
    ----------
    measures
        Measures, or names of standard ones; None for all usual ones that the columns allow.

    Raises
    ------
    ConfigError
        For a name that no measure or no method has, and a measure whose columns are not there.
    """
    if roles.reference not in (None, *methods):
        near = nearest(str(roles.reference), methods)
        raise ConfigError(f"reference={roles.reference!r} is not a method of the table; {near}")
    standard, lacking = _standard_measures(roles), _lacking_columns(roles, methods)
    if measures is not None:
        return [_measure(each, standard, lacking) for each in measures], []
    usual = {name: each for name, each in standard.items() if name not in ON_REQUEST}
    texts = []
    if _truth_varies(frame, roles):
        usual = {name: each for name, each in usual.items() if name not in OF_FIXED_TRUTH}
        texts = [
            f"{roles.truth} differs between data sets of a cell, so there is no "
            f"{', '.join(OF_FIXED_TRUTH)}, which need one truth: name them in measures= to have "
            "them"
        ]
    if "truth" in lacking:
        without = [name for name, (needs, _) in usual.items() if "truth" in needs]
        texts = [f"no truth is given, so there is no {', '.join(without)}: say {lacking['truth']}"]
    return [make() for needs, make in usual.values() if not lacking.keys() & needs.split()], texts


OF_FIXED_TRUTH = (
    *("empirical_se", "relative_precision", "relative_error_model_se"),
    "bias_eliminated_coverage",
)
"""Measures of the spread of estimates, which is that of the errors only for one truth."""


def _truth_varies(frame: pd.DataFrame, roles: ColumnRoles) -> bool:
    """Whether data sets of one cell have several values of the truth."""
    if not isinstance(roles.truth, str):
        return False
    cell = [*roles.by, *filter(None, [roles.method])]
    truth = frame[roles.truth]
    n = truth.groupby([frame[name] for name in cell]).nunique().max() if cell else truth.nunique()
    return bool(n > 1)


def _lacking_columns(roles: ColumnRoles, methods: Sequence[str]) -> dict[str, str]:
    """Missing columns of measures, and the arguments that would supply them."""
    limits = "se=, or lower= and upper="
    needs = {
        "truth": (roles.truth, "truth=, a number, a column, or one for each level of by"),
        "se": (roles.se, "se=, the column of standard errors"),
        "limits": (roles.limits, f"{limits}, the columns of limits"),
        "tests": (roles.limits or roles.p_value, f"p_value=, {limits}"),
        "methods": (methods[1:] or None, "method=, a column with at least two methods"),
    }
    return {name: how for name, (found, how) in needs.items() if found is None}


def _measure(
    measure: Measure | str, standard: Mapping[str, Standard], lacking: Mapping[str, str]
) -> Measure:
    if isinstance(measure, Measure):
        return measure
    if measure not in standard:
        raise ConfigError(
            f"{measure!r} is not a measure of these columns (others are given with their columns, "
            f"as measures=[simstudy.measures.NAME(...)]); {nearest(str(measure), standard)}"
        )
    needs, make = standard[measure]
    for need in needs.split():
        if need in lacking:
            raise ConfigError(f"{measure} cannot be computed without {lacking[need]}.")
    return make()


def _standard_measures(roles: ColumnRoles) -> dict[str, Standard]:
    b, se = roles.estimate, str(roles.se)
    truth = roles.truth if isinstance(roles.truth, int | float | str) else TRUTH
    limits = roles.limits or (LOWER, UPPER)
    reference = roles.reference or 0
    return {
        "bias": ("truth", lambda: of.bias(b, truth)),
        "relative_bias": ("truth", lambda: of.relative_bias(b, truth)),
        "empirical_se": ("", lambda: of.empirical_se(b)),
        "relative_precision": ("methods", lambda: of.relative_precision(b, reference=reference)),
        "mse": ("truth", lambda: of.mse(b, truth)),
        "rmse": ("truth", lambda: of.rmse(b, truth)),
        "model_se": ("se", lambda: of.model_se(se)),
        "relative_error_model_se": ("se", lambda: of.relative_error_model_se(b, se)),
        "coverage": ("truth limits", lambda: of.coverage(*limits, truth)),
        "bias_eliminated_coverage": ("limits", lambda: of.bias_eliminated_coverage(b, *limits)),
        "interval_width": ("limits", lambda: of.interval_width(*limits)),
        "power": ("tests", lambda: of.power(REJECT)),
    }
