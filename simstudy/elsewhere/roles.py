"""What the columns of a table are: which has the estimates, which the methods, and so on."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from simstudy.analysis.summary import MEASURE, NUMBERS, SOMETIMES
from simstudy.errors import ConfigError, nearest
from simstudy.lazy import pd
from simstudy.store.layout import CELL_ERROR, CONVERGED, ERROR, REP, SCENARIO, WARNING

OWN = {SCENARIO, REP, ERROR, CELL_ERROR, WARNING, CONVERGED}  # of rows as they are stored
TAKEN = {*OWN, "block", "address", MEASURE, *NUMBERS, *SOMETIMES}
"""Names that columns of summaries, replicates or failures have anyway."""

Truth = float | str | Mapping[Any, float] | None
"""A number, a column, a number for each level of `by`, or unknown."""


@dataclass(frozen=True)
class Roles:
    """The columns of a table, by what they are.

    Parameters
    ----------
    estimate, se, lower, upper, p_value
        Columns; None for what there is not.
    df
        Degrees of freedom of t intervals: a number or a column.
    truth
        What is estimated.
    method, rep
        Columns that tell methods, and data sets, apart.
    by
        Columns that tell the cells of the design apart.
    level
        Nominal coverage of the intervals; tests are at one less it.
    reference
        The method that others are compared with in precision; the first, if None.
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
    by: tuple[str, ...] = ()
    level: float = 0.95
    reference: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ConfigError(f"level={self.level:g} is no coverage: say one between 0 and 1.")
        if (self.lower is None) != (self.upper is None):
            given, other = ("lower", "upper") if self.lower else ("upper", "lower")
            raise ConfigError(f"{given} is given and {other} is not: an interval has two limits.")
        if self.df is not None and self.se is None:
            raise ConfigError("df is given and se is not: t intervals are made of both.")
        if self.method and not self.rep:
            raise ConfigError(
                "method is given and rep is not, so it is not known which rows are of one data "
                "set, on which methods are compared. Name the column that numbers the data sets."
            )

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that have to hold numbers."""
        own = (self.estimate, self.se, self.lower, self.upper, self.p_value)
        texts = (each for each in (self.df, self.truth) if isinstance(each, str))
        return _each_once([*own, *texts])

    @property
    def all(self) -> dict[str, str]:
        """Every column that is named, by what names it."""
        named = {
            name: column
            for name, column in vars(self).items()
            if isinstance(column, str) and name != "reference"
        }
        return named | {f"by[{at}]": column for at, column in enumerate(self.by)}

    @property
    def has_limits(self) -> bool:
        """Whether there are intervals: given, or made of standard errors."""
        return self.lower is not None or self.se is not None

    @property
    def config(self) -> dict[str, Any]:
        """As a manifest keeps it, without what was not said."""
        said = {name: value for name, value in vars(self).items() if value not in (None, ())}
        if isinstance(self.truth, Mapping):
            said["truth"] = {str(levels): value for levels, value in self.truth.items()}
        return said | ({"by": list(self.by)} if self.by else {})


def _each_once(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name is not None))


def refuse_unknown(frame: pd.DataFrame, roles: Roles) -> None:
    """Refuse a column that is not there, is there twice, or plays two parts of which one is lost.

    Raises
    ------
    ConfigError
        Naming it, with the nearest name that there is.
    """
    known = [str(name) for name in frame.columns]
    for role, column in roles.all.items():
        if column not in known:
            raise ConfigError(
                f"{role}={column!r} is no column of the table; {nearest(column, known)}"
            )
        if known.count(column) > 1:
            raise ConfigError(
                f"{known.count(column)} columns are named {column!r}, so it is not known which is "
                f"meant by {role}: rename one."
            )
    names = [roles.method, roles.rep, *roles.by]
    for column in filter(None, names):
        if names.count(column) > 1:
            raise ConfigError(f"{column!r} tells two things apart: name it in method, rep or by.")


def refuse_own_names(columns: Iterable[str]) -> None:
    """Refuse columns whose names rows have for something else as they are stored.

    Raises
    ------
    ConfigError
        Naming the first.
    """
    for column in columns:
        if column in OWN or set(column) & set("[],"):
            raise ConfigError(
                f"{column!r} is a name that stored replicates have for something of their own, or "
                "has one of [ ] , in it: rename that column."
            )


def plain_names(columns: Iterable[str]) -> dict[str, str]:
    """Names that factors can have in Python, by the columns': `n.obs` is `n_obs`, `lambda`
    is `lambda_`.

    Raises
    ------
    ConfigError
        Where a name is that of a column which summaries have anyway, or of two columns.
    """
    named: dict[str, str] = {}
    for column in columns:
        plain = unicodedata.normalize("NFKC", re.sub(r"\W+", "_", column).strip("_"))
        plain += "_" if keyword.iskeyword(plain) else ""
        if not plain.isidentifier():
            raise ConfigError(f"{column!r} can be no factor's name: rename it, with letters first.")
        if plain in (*TAKEN, *named.values()):
            raise ConfigError(
                f"{column!r} would be called {plain!r} in summaries, which have a column of that "
                "name anyway: rename it."
            )
        named[column] = plain
    return named
