"""Panels: one per level of a factor, in a grid whose size follows their number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from simstudy.figures.frame import in_words, labelled
from simstudy.figures.theme import INK, panel_sizes
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import p9

WRAP_AT = 4  # panels side by side
ROOM_FOR_LABELS = {"alone": 60, "among": 32}  # characters along a panel's horizontal axis


def with_panels(
    drawn: pd.DataFrame, source: pd.DataFrame, columns: Mapping[str, str | None]
) -> pd.DataFrame:
    """`drawn` with a category for each role given a column: `panel`, `rows`, `color`.

    Panels are headed "n1 = 20", so that a number says what it counts; a colour's levels stand
    alone, since the legend's title names the factor.
    """
    given = {role: column for role, column in columns.items() if column is not None}
    words = {role: _words(source[column], role) for role, column in given.items()}
    return drawn.assign(**words)


def _words(values: pd.Series, role: str) -> pd.Series:
    column = str(values.name)
    words = labelled(values, name=column if role in ("panel", "rows") else "")
    return words.cat.rename_categories(in_words) if column == "measure" else words


def facets(drawn: pd.DataFrame, *, scales: str = "fixed", legend: bool = True) -> list[Any]:
    """The facet for whichever of the columns `panel` and `rows` are there, and the figure's size.

    Parameters
    ----------
    drawn
        The rows of a figure.
    scales
        "fixed", "free", "free_x" or "free_y", as plotnine has them.
    legend
        Whether room is kept for a legend.
    """
    n_panel, n_rows = _n_levels(drawn, "panel"), _n_levels(drawn, "rows")
    if n_rows == 0:
        return _wrapped(n_panel, scales, legend)
    columns = {"cols": "panel"} if n_panel else {}
    facet = p9.facet_grid(rows="rows", scales=scales, **columns)
    return [facet, panel_sizes(max(n_panel, 1), n_rows, legend=legend)]


def _wrapped(n_panel: int, scales: str, legend: bool) -> list[Any]:
    if n_panel == 0:
        return [panel_sizes(legend=legend)]
    n_columns = n_panel if n_panel <= WRAP_AT else math.ceil(n_panel / math.ceil(n_panel / WRAP_AT))
    size = panel_sizes(n_columns, math.ceil(n_panel / n_columns), legend=legend)
    return [p9.facet_wrap("panel", ncol=n_columns, scales=scales), size]


def turned_labels(x: pd.Series, *, alone: bool) -> list[Any]:
    """Turns the labels of a categorical axis when side by side they would touch."""
    words = [str(word) for word in x.cat.categories]
    if sum(map(len, words)) + 2 * len(words) <= ROOM_FOR_LABELS["alone" if alone else "among"]:
        return []
    return [p9.theme(axis_text_x=p9.element_text(angle=35, ha="right"))]


def by_panel(drawn: pd.DataFrame) -> list[tuple[dict[str, Any], pd.DataFrame]]:
    """The rows of each panel, after what makes it that panel (`panel` and `rows`, where mapped)."""
    keys = [role for role in ("panel", "rows") if role in drawn]
    if not keys:
        return [({}, drawn)]
    groups = drawn.groupby(keys, observed=True, sort=True)
    return [(dict(zip(keys, key, strict=True)), rows) for key, rows in groups]


def words_in_panels(
    drawn: pd.DataFrame, say: Callable[[pd.DataFrame], str], *, right: bool = False, **scale: Any
) -> list[Any]:
    """What `say` makes of each panel's rows, in its upper corner, with room made above the rows.

    `scale` goes to the scale of the vertical axis.
    """
    said = pd.DataFrame([where | {"said": say(rows)} for where, rows in by_panel(drawn)])
    kinds = {role: drawn[role].dtype for role in ("panel", "rows") if role in drawn}
    place = said.astype(kinds).assign(x=np.inf if right else -np.inf, y=np.inf)
    n_lines = 1 + max(text.count("\n") for text in said["said"])
    inset = said["said"].str.replace("^|\n", r"\g<0>" if right else r"\g<0>  ", regex=True)
    words = p9.geom_text(
        p9.aes("x", "y", label="said"), place.assign(said=inset + "  " * right), size=8,
        ha="right" if right else "left", va="top", color=INK, inherit_aes=False,
    )  # fmt: skip
    return [words, p9.scale_y_continuous(expand=(0.05, 0, 0.04 + 0.07 * n_lines, 0), **scale)]


def _n_levels(drawn: pd.DataFrame, role: str) -> int:
    return len(drawn[role].cat.categories) if role in drawn.columns else 0
