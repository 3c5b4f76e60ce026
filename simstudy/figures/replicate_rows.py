"""Selection and checks of the replicates that a figure draws."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import numpy as np

from simstudy.errors import FigureError
from simstudy.figures.frame import need_columns
from simstudy.figures.panels import with_panels
from simstudy.lazy import pd

STRIP_WIDTH = 24  # letters in a line of a panel's title, for the narrowest panels


def drawable(
    replicates: pd.DataFrame, values: Mapping[str, str], mapped: Mapping[str, str | None]
) -> pd.DataFrame:
    """Rows with finite values, with columns named by their role; `color` is always present."""
    need_columns(replicates, [*values.values(), *mapped.values()])
    numbers = pd.DataFrame(
        {role: _numbers(replicates, column) for role, column in values.items()},
        index=replicates.index,
    )
    drawn = with_panels(numbers, replicates, mapped)
    strips = {role: _wrapped(drawn[role]) for role in ("panel", "rows") if role in drawn}
    drawn = drawn.assign(**strips)
    if "color" not in drawn:
        drawn = drawn.assign(color=pd.Categorical([""] * len(drawn)))
    finite = np.isfinite(numbers.to_numpy()).all(axis=1)
    if not finite.any():
        raise FigureError(
            f"None of the {len(drawn)} replicates has a finite {' and '.join(values.values())}, so "
            "the figure would be empty. Look at their errors, or name other columns."
        )
    kept: pd.DataFrame = drawn.loc[finite]
    return kept


def what_is_shown(
    n_all: int, rows: pd.DataFrame, subset: pd.DataFrame, words: tuple[str, str, str]
) -> list[str]:
    """The sentences on rows that are not drawn, because they are many or have no value.

    Parameters
    ----------
    words
        Beginning of the first sentence, noun for the rows, and which of them are drawn.
    """
    begins, what, which = words
    n_rows, n_lost = len(rows), n_all - len(rows)
    return [
        f"{begins}: {len(subset):,} of {n_rows:,} {what}, {which}." * (len(subset) < n_rows),
        f"Not drawn, missing or not finite: {n_lost:,} of {n_all:,}." * (n_lost > 0),
    ]


def _wrapped(words: pd.Series) -> pd.Series:
    """Wrap panel titles to the panel width."""
    lines = {word: textwrap.fill(word, STRIP_WIDTH) for word in words.cat.categories}
    return words.cat.rename_categories(lines) if len({*lines.values()}) == len(lines) else words


def truth_of(replicates: pd.DataFrame, truth: str | float | None) -> pd.Series:
    """The truth of each row; NaN if unknown."""
    if isinstance(truth, str):
        need_columns(replicates, [truth])
        return _numbers(replicates, truth)
    return pd.Series(np.nan if truth is None else float(truth), index=replicates.index)


def _numbers(replicates: pd.DataFrame, column: str) -> pd.Series:
    """A column as doubles with NaN for missing values; refuse anything else."""
    try:
        return replicates[column].infer_objects().astype("Float64").astype(float)
    except (TypeError, ValueError):
        raise FigureError(
            f"column {column!r} holds {replicates[column].dtype}, which cannot be drawn on an axis "
            "of numbers. Name a column of numbers, with NaN where a replicate has none."
        ) from None
