"""The roles of a table's columns: estimate, standard error, method, factors."""

from __future__ import annotations

import keyword
import math
import numbers
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simstudy.analysis.summary import MEASURE, NUMBERS, OPTIONAL
from simstudy.errors import ConfigError, in_one_line, nearest
from simstudy.lazy import pd
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
        self.by = (self.by,) if isinstance(self.by, str) else tuple(self.by or ())
        self.reference = None if self.reference is None else str(self.reference)
        self.df, self.level = _plain("df", self.df), _plain("level", self.level)
        if isinstance(self.truth, Mapping):
            self.truth = {str(at): _plain("truth", value) for at, value in self.truth.items()}
        else:
            self.truth = _plain("truth", self.truth)
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
        given = {name: value for name, value in vars(self).items() if value not in (None, ())}
        return given | ({"by": list(self.by)} if self.by else {})


def _plain(role: str, value: Any) -> Any:
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
    """Refuse a column that is missing or ambiguous, or whose name the store uses.

    Parameters
    ----------
    reads
        Further columns that measures read.

    Raises
    ------
    ConfigError
        Naming it, with the nearest name that there is.
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
