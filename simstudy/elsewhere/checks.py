"""What a table of replicates may hold: refused by row and value, before anything is made of it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from simstudy.elsewhere.roles import Roles
from simstudy.errors import DesignError, in_one_line
from simstudy.lazy import pd
from simstudy.shapes import Bool, Float

MISSING = {"", ".", "na", "nan", "n/a", "null", "none", "<na>"}  # as R, Stata and Python write it


def numbers_in(frame: pd.DataFrame, column: str) -> Float[np.ndarray, " row"]:
    """A column as doubles, NaN where it has nothing.

    Raises
    ------
    DesignError
        Naming the first row that holds text, or what is not finite.
    """
    values = frame[column]
    if values.dtype.kind == "c":
        raise DesignError(f"{column} has complex numbers, which have no order: give real ones.")
    if pd.api.types.is_numeric_dtype(values):
        found = values.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
    else:
        found = _read(values)
    infinite = np.isinf(found)
    if infinite.any():
        at = int(infinite.argmax())
        raise DesignError(
            f"{row_of(at)}: {column} is {found[at]:g}, which is not finite, and no mean with it "
            f"is ({int(infinite.sum())} in all). Leave it empty where a method failed."
        )
    return found


def _read(values: pd.Series) -> Float[np.ndarray, " row"]:
    """Texts as numbers."""
    texts = values.astype(object)
    found = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=float)
    for at in np.flatnonzero(np.isnan(found)).tolist():
        text = texts.iloc[at]
        if not (pd.isna(text) or str(text).strip().lower() in MISSING):
            raise DesignError(
                f"{row_of(at)}: {values.name} is {in_one_line(repr(text))[:60]}, which is no "
                "number. Write numbers in that column, and nothing where a method failed."
            )
    return found


def row_of(at: int) -> str:
    """A row as a person counts it, the header not counted."""
    return f"row {at + 1:,}"


# ---------------------------------------------------------------- which rows there are
def refuse_unnamed(frame: pd.DataFrame, roles: Roles) -> None:
    """Refuse rows that do not say of which cell, method or data set they are."""
    for column in filter(None, [*roles.by, roles.method, roles.rep]):
        _refuse_no_level(frame[column])
        unknown = frame[column].isna().to_numpy()
        if unknown.any():
            raise DesignError(
                f"{row_of(int(unknown.argmax()))} says nothing in {column!r}, so it is not known "
                f"where it belongs ({int(unknown.sum())} such rows). Fill it in, or leave them out."
            )


def _refuse_no_level(values: pd.Series) -> None:
    """Refuse what cannot be told apart, such as lists."""
    for at, level in enumerate(values) if values.dtype == object else ():
        if not isinstance(level, Hashable):
            raise DesignError(
                f"{row_of(at)}: {values.name} is {in_one_line(repr(level))[:60]}, a "
                f"{type(level).__name__}, by which rows cannot be told apart: write a text."
            )


def refuse_double(frame: pd.DataFrame, roles: Roles) -> None:
    """Refuse two rows of one data set, in the hands of one method."""
    if roles.rep is None:
        return
    keys = [*roles.by, *filter(None, [roles.method]), roles.rep]
    again = frame.duplicated(keys).to_numpy()
    if again.any():
        at = int(again.argmax())
        same = (frame[keys] == frame[keys].iloc[at]).all(axis=1).to_numpy()
        raise DesignError(
            f"{row_of(int(same.argmax()))} and {row_of(at)} are both {in_words(frame, keys, at)}, "
            f"and a replicate counts once ({int(again.sum())} such rows). Leave one out, or name "
            "in by= what tells them apart."
        )


def refuse_single(frame: pd.DataFrame, roles: Roles) -> None:
    """Refuse a method with one row, and a cell with one data set: neither has a spread."""
    if roles.method:
        counts = frame[roles.method].value_counts(sort=False)
        lone = [str(name) for name, n in counts.items() if n == 1]
        if lone:
            raise DesignError(
                f"method {lone[0]!r} has one row, of which there is no spread and no error to "
                "tell: look for a slip in its name, or leave it out."
            )
    for cell, rows in cells_of(frame, roles.by):
        n_rep = rows[roles.rep].nunique() if roles.rep else len(rows)
        if n_rep < 2:
            where = _said(dict(zip(roles.by, cell, strict=True))) or "the table"
            raise DesignError(
                f"{where} has one replicate, of which there is no spread and no error to tell: "
                "give at least two, or leave it out."
            )


def cells_of(
    frame: pd.DataFrame, by: Sequence[str]
) -> list[tuple[tuple[object, ...], pd.DataFrame]]:
    """The rows of each cell of the design, by its levels, in order of appearance."""
    if not by:
        return [((), frame)]
    groups = frame.groupby(list(by), sort=False, observed=True)
    return [(tuple(map(_plain, levels)), rows) for levels, rows in groups]


def _plain(level: object) -> object:
    """A level as a factor has it."""
    value = level.item() if isinstance(level, np.generic) else level
    return value if isinstance(value, bool | int | float | str) else str(value)


def in_words(frame: pd.DataFrame, columns: Sequence[str], at: int) -> str:
    """What a row says in some columns."""
    return _said({column: frame[column].iloc[at] for column in columns})


def _said(levels: dict[str, object]) -> str:
    return ", ".join(f"{column}={level}" for column, level in levels.items())


# ---------------------------------------------------------------- what they hold
def refuse_no_errors(se: Float[np.ndarray, " row"], name: str) -> None:
    """Refuse standard errors that are not above 0."""
    bad = se <= 0
    if bad.any():
        at = int(bad.argmax())
        raise DesignError(
            f"{int(bad.sum()):,} standard errors are not above 0, the first in {row_of(at)} "
            f"({name} = {se[at]:g}), and no interval could be made of them. Leave them empty where "
            "a method failed."
        )


def refuse_crossed(
    lower: Float[np.ndarray, " row"], upper: Float[np.ndarray, " row"], names: tuple[str, str]
) -> None:
    """Refuse intervals whose limits are in the wrong order."""
    crossed = lower > upper
    if crossed.any():
        at = int(crossed.argmax())
        raise DesignError(
            f"{row_of(at)}: {names[0]} is {lower[at]:g} and {names[1]} {upper[at]:g}, so the "
            f"interval is empty ({int(crossed.sum())} in all). Are the two columns swapped?"
        )


def refuse_no_probability(p_value: Float[np.ndarray, " row"], name: str) -> None:
    """Refuse p-values outside [0, 1]."""
    bad = (p_value < 0) | (p_value > 1)
    if bad.any():
        at = int(bad.argmax())
        raise DesignError(
            f"{row_of(at)}: {name} is {p_value[at]:g}, and a p-value lies between 0 and 1 "
            f"({int(bad.sum())} do not). Give probabilities, not their logs or percentages."
        )


def refuse_no_truth(
    truth: Float[np.ndarray, " row"], there: Bool[np.ndarray, " row"], name: str
) -> None:
    """Refuse an estimate of which it is not said what it estimates."""
    unknown = np.isnan(truth) & there
    if unknown.any():
        at = int(unknown.argmax())
        raise DesignError(
            f"{row_of(at)} has an estimate, and no truth in {name!r} to compare it with "
            f"({int(unknown.sum())} such rows). Fill it in, or give truth= as a number."
        )
