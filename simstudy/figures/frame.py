"""From a summary or replicates to the rows a figure draws: nothing missing, nothing hidden.

Every figure goes the same way. It asks for its columns and measures by name and is refused with
the nearest name that exists; it refuses rows that would fall on one another; and it gets a new
frame whose columns are named after what they do in the figure (`x`, `color`, `panel`, `rows`), so
that plotnine never evaluates a column's name as code.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from simstudy.errors import FigureError, nearest
from simstudy.lazy.pandas import pd

MEASURED = ("measure", "estimate", "mcse", "lower", "upper", "exact", "n_rep", "n_failed", "reason")
CAPTION_WIDTH = 82  # characters that fit under the narrowest figure, 5.8 inches, at 8 points


# ---------------------------------------------------------------- what is there, by name
def need_columns(frame: pd.DataFrame, names: Iterable[str | None]) -> None:
    """Refuse a name that is no column of `frame`, with the nearest that is; None is passed over."""
    columns = [str(column) for column in frame.columns]
    for name in names:
        if name is not None and name not in columns:
            raise FigureError(
                f"There is no column {name!r} to draw: {nearest(name, columns)} "
                "Name a column of the frame, or add one."
            )


def rows_of(summary: pd.DataFrame, measures: Sequence[str]) -> pd.DataFrame:
    """The rows of these measures, in a fresh frame with every column of `MEASURED`."""
    need_columns(summary, ["measure", "estimate", "mcse"])
    available = [str(name) for name in summary["measure"].unique()]
    for name in measures:
        if name not in available:
            raise FigureError(
                f"There is no measure {name!r} in this summary: {nearest(name, available)} "
                "Draw one that the study declares, or add it to the study's measures."
            )
    rows = summary[summary["measure"].isin(list(measures))].reset_index(drop=True)
    return rows.assign(**{name: np.nan for name in MEASURED if name not in rows.columns})


def factors_of(summary: pd.DataFrame) -> list[str]:
    """The columns that say which scenario and which axis values a row of a summary belongs to."""
    return [str(column) for column in summary.columns if column not in MEASURED]


def factors_of_replicates(replicates: pd.DataFrame, values: Iterable[str]) -> list[str]:
    """The columns of `replicates` that name a data set's scenario and axis values.

    They are the columns left of `rep`, and those right of it, `values` and yes-or-no results
    apart, whose every level every replicate has, as it has every method.
    """
    columns = [str(column) for column in replicates.columns]
    place, measured = columns.index("rep"), set(values)
    right = [c for c in columns[place + 1 :] if c not in measured]
    return columns[:place] + [c for c in right if _is_crossed(replicates, c)]


def _is_crossed(replicates: pd.DataFrame, column: str) -> bool:
    if replicates[column].isin([0, 1]).all():
        return False
    levels = replicates.groupby("rep")[column].nunique(dropna=False)
    return bool(levels.eq(replicates[column].nunique(dropna=False)).all())


# ---------------------------------------------------------------- one row, one mark
def refuse_hidden(
    frame: pd.DataFrame, fixed: Mapping[str, str | None], factors: Sequence[str]
) -> None:
    """Refuse rows that share a place once the columns in `fixed` are given.

    Parameters
    ----------
    frame
        The rows to be drawn.
    fixed
        What the figure maps: the argument's name and the column given for it, or None.
    factors
        Columns that may explain why rows are there more than once.
    """
    keys = list(dict.fromkeys(column for column in fixed.values() if column is not None))
    hidden = int(frame.duplicated(keys).sum() if keys else max(len(frame) - 1, 0))
    if hidden:
        differing = [_with_levels(frame, c) for c in factors if _differs(frame, keys, c)]
        raise FigureError(
            f"{hidden} point{'s' * (hidden > 1)} would be drawn over others: "
            + _why_hidden(differing, _fixed_in_words(fixed))
        )


def _why_hidden(differing: list[str], fixed: str) -> str:
    if not differing:
        return (
            f"rows are there more than once with {fixed} and no factor that tells them apart, so "
            "the figure would show one result and hide another. Drop the repeated rows first."
        )
    return (
        f"rows still differ in {' and '.join(differing)} once {fixed} are fixed. "
        "Filter to one level, or map that factor too (color, panel or rows where the figure "
        "has them)."
    )


def _fixed_in_words(fixed: Mapping[str, str | None]) -> str:
    given = [f"{role}={column!r}" for role, column in fixed.items() if column is not None]
    return ", ".join(given) if given else "nothing"


def _differs(frame: pd.DataFrame, keys: list[str], column: str) -> bool:
    if column in keys:
        return False
    if not keys:
        return bool(frame[column].nunique(dropna=False) > 1)
    levels = frame.groupby(keys, dropna=False, observed=True)[column].nunique(dropna=False)
    return bool(levels.gt(1).any())


def _with_levels(frame: pd.DataFrame, column: str) -> str:
    return f"{column} ({frame[column].nunique(dropna=False)} levels)"


# ---------------------------------------------------------------- levels, in order and in words
def is_number(values: pd.Series) -> bool:
    """Whether a column is a quantity: numbers, but not truth values or categories."""
    values = values.infer_objects()
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)


def ordered_levels(values: pd.Series) -> list[Any]:
    """The levels present: numbers by size, categories in their order, the rest as they come."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        present = set(values.dropna().unique())
        levels = [level for level in values.cat.categories if level in present]
    else:
        levels = list(values.dropna().unique())
    if is_number(values):
        levels = sorted(levels)
    return levels + [None] * bool(values.isna().any())


def labelled(values: pd.Series, name: str = "") -> pd.Series:
    """The same values as an ordered category of words.

    Parameters
    ----------
    values
        One factor's column; a missing level reads "none".
    name
        Put before levels that do not speak for themselves, as in "n1 = 20"; a level that is text
        stands alone.

    Returns
    -------
    pd.Series
        Categories in the order of `ordered_levels`. Levels that read the same are refused, since
        they would be drawn as one.
    """
    levels = ordered_levels(values)
    words = _distinct_words(levels, str(values.name))
    prefix = f"{name} = " if name and not _all_text(levels) else ""
    place = {level: i for i, level in enumerate(levels)}
    missing = values.isna()
    codes = [place[None if gone else v] for v, gone in zip(values, missing, strict=True)]
    categories = pd.Index([prefix + word for word in words])
    drawn = pd.Categorical.from_codes(codes, categories=categories, ordered=True)
    return pd.Series(drawn, index=values.index)


def _all_text(levels: Sequence[Any]) -> bool:
    return all(isinstance(level, str) for level in levels)


def _distinct_words(levels: Sequence[Any], column: str) -> list[str]:
    readings: tuple[Callable[[Any], str], ...] = (_word, str, repr)
    for reading in readings:
        words = [reading(level) for level in levels]
        if len(set(words)) == len(words):
            return words
    raise FigureError(
        f"Different levels of {column!r} read the same ({', '.join(dict.fromkeys(words))}), so "
        "they would be drawn as one. Give each level a name of its own."
    )


def _word(level: Any) -> str:
    if level is None:
        return "none"
    number = isinstance(level, (int, float, np.number)) and not isinstance(level, (bool, np.bool_))
    return f"{level:g}" if number else str(level)


def as_axis(values: pd.Series) -> pd.Series:
    """A column for an axis of position: finite numbers as they are, the rest as categories."""
    values = values.infer_objects()
    finite = is_number(values) and bool(np.isfinite(values.to_numpy(float)).all())
    return values if finite else labelled(values)


def in_words(name: str) -> str:
    """A column's or measure's name for a reader: underscores become spaces."""
    return name.replace("_", " ")


# ---------------------------------------------------------------- Monte Carlo error
def with_interval(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with `lower` and `upper` wherever they can be had: as given, else 2 MCSE."""
    return rows.assign(
        lower=rows["lower"].fillna(rows["estimate"] - 2 * rows["mcse"]),
        upper=rows["upper"].fillna(rows["estimate"] + 2 * rows["mcse"]),
    )


def caption(*sentences: str) -> str:
    """Sentences under a figure, wrapped to its width; empty ones are left out."""
    return "\n".join(textwrap.wrap(" ".join(s for s in sentences if s), CAPTION_WIDTH))


def replicates_in_words(rows: pd.DataFrame) -> str:
    """How many replicates stand behind a point, where the summary says so."""
    counts = rows["n_rep"].dropna()
    if counts.empty:
        return ""
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,} replicates per point." if low == high else f"{low:,} to {high:,} replicates."


def failures_in_words(rows: pd.DataFrame) -> str:
    """How many points lost replicates to failures, and how many at most; "" when none did.

    `n_rep` replicates were used and `n_failed` were not: together they are all.
    """
    failed = rows["n_failed"].fillna(0)
    if not failed.gt(0).any():
        return ""
    n_rep = rows["n_rep"].iloc[int(failed.to_numpy().argmax())]
    of_all = "" if pd.isna(n_rep) else f" of {int(n_rep + failed.max()):,}"
    return (
        f"Failed replicates: {int(failed.gt(0).sum()):,} of {len(rows):,} points have some, "
        f"at most {int(failed.max()):,}{of_all}."
    )


def undefined_in_words(rows: pd.DataFrame) -> str:
    """How many rows have no estimate, so no mark, or a mark without Monte Carlo error."""
    no_value = int((~np.isfinite(rows["estimate"].to_numpy(float))).sum())
    bare = int((rows["estimate"].notna() & (rows["lower"].isna() | rows["upper"].isna())).sum())
    return " ".join(
        [f"{no_value} of {len(rows)} estimates are not finite and not drawn."] * (no_value > 0)
        + [f"{bare} of {len(rows)} points have no Monte Carlo error to show."] * (bare > 0)
    )


def notes(rows: pd.DataFrame) -> list[str]:
    """What every figure of a summary says beneath: replicates, failures, what is not drawn."""
    return [replicates_in_words(rows), failures_in_words(rows), undefined_in_words(rows)]


def drawable(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a finite estimate; refused where there is none."""
    finite = np.isfinite(rows["estimate"].to_numpy(float))
    if not finite.any():
        raise FigureError(
            f"None of the {len(rows)} estimates to draw is finite, so the figure would be empty. "
            "Look at n_failed and at the errors among the replicates; a conditional measure also "
            "needs a replicate that meets its condition, so more replicates (n_rep) may do."
        )
    kept: pd.DataFrame = rows.loc[finite]
    return kept
