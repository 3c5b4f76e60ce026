"""The roles of a table's columns (estimate, standard error, method), and wide tables made long."""

from __future__ import annotations

import keyword
import math
import numbers
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
    null
        Value that tests by intervals reject.
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
    null: float = 0.0
    converged: str | None = None

    def __post_init__(self) -> None:
        self.by = (self.by,) if isinstance(self.by, str) else tuple(self.by or ())
        self.reference = None if self.reference is None else str(self.reference)
        self.df, self.level = _plain("df", self.df), _plain("level", self.level)
        if isinstance(self.truth, Mapping):
            self.truth = {levels: _plain("truth", value) for levels, value in self.truth.items()}
        else:
            self.truth = _plain("truth", self.truth)
        if not isinstance(self.level, float) or not 0 < self.level < 1:
            raise ConfigError(f"level={self.level!r} is not allowed: give a coverage in (0, 1).")
        self.null = float(_plain("null", self.null))
        roles = ("estimate", "se", "lower", "upper", "p_value", "truth", "df", "converged")
        named: dict[str, str] = {}
        for role in roles:
            column = getattr(self, role)
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
        given = {name: value for name, value in given.items() if (name, value) != ("null", 0.0)}
        if isinstance(self.truth, Mapping):
            given["truth"] = {str(levels): value for levels, value in self.truth.items()}
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


# ---------------------------------------------------------------- wide tables
DATA_SET, METHOD = "data_set", "method"  # columns that are made
Wide = str | Sequence[str] | None


def long_table(
    rows: pd.DataFrame, *, method: str | None, rep: str | None, **columns: Wide
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Reshape a table with a column per method to one row per data set and method.

    Parameters
    ----------
    columns
        The columns of each role (`estimate`, `se`, `lower`, `upper`, `p_value`), one per method:
        `se_cc` belongs to `b_cc`, in whatever order they are given.
    rep
        Column that numbers data sets; without it each row is one.

    Returns
    -------
    rows, roles
        The long table, and the columns of it by role, `method` and `rep` among them. A method is
        named by what tells its column of estimates from the others: `b_cc` and `b_mi` are `cc` and
        `mi`.

    Raises
    ------
    ConfigError
        If roles have unequal numbers of columns, or a column of methods is named as well.
    """
    listed = {r: [c] if isinstance(c, str) else list(c) for r, c in columns.items() if c}
    estimates = listed["estimate"]
    if method is not None:
        raise ConfigError(
            f"method={method!r} with estimate={estimates}: each of these columns is a method. "
            "Name one column of estimates, or leave out method."
        )
    for role, names in listed.items():
        if len(names) != len(estimates):
            raise ConfigError(
                f"{role} names {len(names)} columns and estimate {len(estimates)}: give one for "
                "each method."
            )
        check_present(rows, names)
        listed[role] = _in_order_of_methods(role, names, estimates)
    wide = {name for names in listed.values() for name in names}
    rest = rows[[name for name in rows if name not in wide]]
    if rep is None:
        rest = rest.assign(**{DATA_SET: np.arange(len(rows))})
    parts = [
        rest.assign(
            **{METHOD: label},
            **{role: rows[names[at]].to_numpy() for role, names in listed.items()},
        )
        for at, label in enumerate(method_labels(estimates))
    ]
    roles = {role: role for role in listed} | {"method": METHOD, "rep": rep or DATA_SET}
    return pd.concat(parts, ignore_index=True), roles


def _in_order_of_methods(role: str, names: Sequence[str], estimates: Sequence[str]) -> list[str]:
    """The columns of a role in the order of the estimates of the same methods."""
    wanted, found = _differences(estimates), _differences(names)
    if sorted(wanted) != sorted(found) or len(set(found)) < len(found):
        raise ConfigError(
            f"{role} names {', '.join(names)}, and estimate {', '.join(estimates)}: it is not "
            "known which belong together, since names do not end, or begin, with the same methods "
            "as in b_cc, se_cc. Rename the columns."
        )
    return [names[found.index(method)] for method in wanted]


def _differences(names: Sequence[str], ends: str = "") -> list[str]:
    """Names without what all of them begin, or end, with: up to one of some letters, if any."""
    start = _n_common(names, ends)
    rest = [name[start:][::-1] for name in names]
    end = _n_common(rest, ends)
    return [name[end:][::-1] for name in rest]


def _n_common(names: Sequence[str], ends: str) -> int:
    """The number of first letters that all names share, up to the last of `ends`."""
    shared = os.path.commonprefix(list(names))  # noqa: RUF071 - letter by letter is meant
    return max((shared.rfind(letter) + 1 for letter in ends), default=len(shared))


def method_labels(columns: Sequence[str]) -> list[str]:
    """Names of methods from column names, without the common parts next to a `_` or `.`."""
    labels = _differences(columns, "_.")
    return labels if all(labels) and len(columns) > 1 else list(columns)


def numbered_by_order(
    rows: pd.DataFrame, method: str, by: Sequence[str]
) -> tuple[pd.DataFrame, str]:
    """Number the rows of each method and cell, and name the new column.

    Raises
    ------
    ConfigError
        If methods have unequal numbers of rows in a cell, so that it is unknown which data sets
        they lack.
    """
    cells = [*by, method]
    check_present(rows, cells)
    groups = rows.groupby(cells, sort=False, dropna=False)
    counts = groups.size()
    uneven = counts.groupby(level=list(range(len(by)))) if by else [((), counts)]
    for _, of_cell in uneven:
        if of_cell.nunique() > 1:
            pairs = ", ".join(
                f"{at[-1] if isinstance(at, tuple) else at}: {n}" for at, n in of_cell.items()
            )
            raise ConfigError(
                f"rep is not given, and {method} has unequal numbers of rows ({pairs}), so it is "
                "not known which data sets a method lacks: name the column that numbers them, "
                "rep=..."
            )
    return rows.assign(**{DATA_SET: groups.cumcount()}), DATA_SET
