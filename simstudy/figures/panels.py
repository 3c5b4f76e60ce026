"""Panels: one for each level of a factor."""

from __future__ import annotations

import functools
import itertools
import math
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from simstudy.figures import theme
from simstudy.figures.captions import format_name
from simstudy.figures.frame import labelled
from simstudy.lazy import p9, pd

WRAP_AT = 3  # panels side by side
EDGE = 3  # points between the edge of a panel and its text
HIDDEN = 0.025  # inches between two points, half of a mark, at which one hides the other
ROOM_FOR_LABELS = {"alone": 70, "among": 24}  # characters along a panel's horizontal axis


def with_panels(
    rows: pd.DataFrame, source: pd.DataFrame, columns: Mapping[str, str | None]
) -> pd.DataFrame:
    """Rows with a category for each mapped role: `panel`, `rows`, `color`.

    Panels are titled with the factor's name, as in "n1 = 20". Levels of a colour are not, since the
    title of the legend names the factor.
    """
    given = {role: column for role, column in columns.items() if column is not None}
    words = {role: _words(source[column], role) for role, column in given.items()}
    return rows.assign(**words)


def _words(values: pd.Series, role: str) -> pd.Series:
    column = str(values.name)
    words = labelled(values, name=column if role in ("panel", "rows") else "")
    return words.cat.rename_categories(format_name) if column == "measure" else words


def facets(rows: pd.DataFrame, *, scales: str = "fixed", legend: bool = True) -> list[Any]:
    """The facet for the columns `panel` and `rows`, and the figure size.

    Parameters
    ----------
    rows
        The rows of a figure.
    scales
        "fixed", "free", "free_x" or "free_y": scales shared by panels, as in plotnine.
    legend
        Whether to leave room for a legend.
    """
    across, down = panel_grid(rows)
    size = theme.panel_sizes(across, down, legend=legend)
    if "rows" in rows:
        columns = {"cols": "panel"} if "panel" in rows else {}
        return [p9.facet_grid(rows="rows", scales=scales, **columns), size]
    panels = [p9.facet_wrap(["panel"], ncol=across, scales=scales)] if "panel" in rows else []
    return [*panels, size]


def panel_grid(rows: pd.DataFrame) -> tuple[int, int]:
    """The numbers of panels side by side and below each other."""
    levels = (rows[role].cat.categories if role in rows else () for role in ("panel", "rows"))
    n_panel, n_rows = (max(len(names), 1) for names in levels)
    if "rows" in rows:
        return n_panel, n_rows
    n_columns = math.ceil(n_panel / math.ceil(n_panel / WRAP_AT))
    return n_columns, math.ceil(n_panel / n_columns)


def square_panels(rows: pd.DataFrame, *, legend: bool) -> Any:
    """Square panels, and the figure height that fills the page width; in inches."""
    n_columns, n_rows = panel_grid(rows)
    side = min((theme.FULL_WIDTH - 0.9 - 1.1 * legend) / n_columns, 3.6)
    height = n_rows * (side + 0.25 * ("rows" not in rows)) + 1.2  # titles of panels included
    return p9.theme(
        aspect_ratio=1, figure_size=(theme.FULL_WIDTH, min(max(height, 2.6), theme.TALLEST))
    )


def words_in_empty_panels(rows: pd.DataFrame) -> list[Any]:
    """A text in each panel of a grid that has no points.

    Parameters
    ----------
    rows
        The points: columns `panel`, `rows`, `x` and `estimate`.
    """
    if not {"panel", "rows"} <= set(rows):
        return []
    levels = [list(rows[role].cat.categories) for role in ("panel", "rows")]
    there = set(zip(rows["panel"], rows["rows"], strict=True))
    empty = [pair for pair in itertools.product(*levels) if pair not in there]
    if not empty:
        return []
    found = pd.DataFrame(empty, columns=["panel", "rows"]).assign(words="no estimate")
    found = found.astype({role: rows[role].dtype for role in ("panel", "rows")})
    middle = rows["x"].sort_values().iloc[len(rows) // 2]
    height = rows.groupby("rows", observed=True)["estimate"].median()
    y = found["rows"].astype(object).map(height).astype(float).fillna(rows["estimate"].median())
    place = found.assign(x=pd.Series([middle] * len(found), dtype=rows["x"].dtype), y=y)
    words = p9.aes("x", "y", label="words")
    return [p9.geom_text(words, place, size=theme.WORDS_SIZE, color=theme.INK, inherit_aes=False)]


def format_hidden(rows: pd.DataFrame, x: pd.Series, y: pd.Series, *, free_y: bool = False) -> str:
    """The sentence on points that later ones of the key hide; empty if there are none.

    Parameters
    ----------
    rows
        The points, with their `color`, and the columns of their panels.
    x, y
        Their positions, on linear axes.
    free_y
        Whether panels have vertical scales of their own.
    """
    if "color" not in rows or len(rows) < 2:
        return ""
    across, up = theme.panel_inches(*panel_grid(rows))
    here = rows.assign(at=across * _share(x), up=up * _share(y))
    n_hidden: dict[str, int] = {}
    for _, of_panel in by_panel(here):
        heights = up * _share(y[of_panel.index]) if free_y else of_panel["up"]
        at, code = of_panel["at"].to_numpy(float), of_panel["color"].cat.codes.to_numpy()
        far = np.hypot(np.subtract.outer(at, at), np.subtract.outer(*[heights.to_numpy(float)] * 2))
        is_hidden = ((far < HIDDEN) & np.less.outer(code, code)).any(axis=1)
        for name in of_panel["color"][is_hidden]:
            n_hidden[str(name)] = n_hidden.get(str(name), 0) + 1
    found = ", ".join(f"{name} {n}" for name, n in sorted(n_hidden.items()))
    return f"Points that others hide: {found}." * bool(found)


def _share(values: pd.Series) -> pd.Series:
    """Positions as shares of an axis that fits them."""
    span = float(values.max() - values.min())
    share: pd.Series = 0.9 * (values - values.min()) / (span or 1.0)
    return share


def turned_labels(x: pd.Series, *, alone: bool) -> list[Any]:
    """Rotate the labels of a categorical axis if they would touch."""
    words = [str(word) for word in x.cat.categories]
    if sum(map(len, words)) + 2 * len(words) <= ROOM_FOR_LABELS["alone" if alone else "among"]:
        return []
    return [p9.theme(axis_text_x=p9.element_text(angle=35, ha="right"))]


def by_panel(frame: pd.DataFrame) -> list[tuple[dict[str, Any], pd.DataFrame]]:
    """Iterate over panels: their keys and their rows."""
    keys = [role for role in ("panel", "rows") if role in frame]
    if not keys:
        return [({}, frame)]
    groups = frame.groupby(keys, observed=True, sort=True)
    return [(dict(zip(keys, key, strict=True)), rows) for key, rows in groups]


def words_in_panels(
    frame: pd.DataFrame,
    say: Callable[[pd.DataFrame], str],
    *,
    right: bool = False,
    low: bool = False,
    **scale: Any,
) -> list[Any]:
    """A text in a corner of each panel, by default the upper left one.

    The vertical axis is extended to make room at the top; a lower corner must be free of points.
    Long lines are wrapped. `scale` holds further arguments of the scale of the vertical axis.
    """
    n_letters = int((theme.FULL_WIDTH - 0.9) / panel_grid(frame)[0] / theme.LETTER) - 2

    def wrapped(text: str) -> str:
        fill = functools.partial(textwrap.fill, width=n_letters, break_long_words=False)
        return "\n".join(map(fill, text.split("\n")))

    found = [where | {"text": wrapped(say(rows))} for where, rows in by_panel(frame)]
    texts = pd.DataFrame(found)
    n_lines = 1 + max(text.count("\n") for text in texts["text"])
    _, height = theme.panel_inches(*panel_grid(frame))
    taken = (1.3 * theme.WORDS_SIZE * n_lines + 2 * EDGE) / 72 / height  # relative to a panel
    above = 0.05 if low else taken / (1 - taken)
    kinds = {role: frame[role].dtype for role in ("panel", "rows") if role in frame}
    words = _in_corner(texts.astype(kinds), right, low)
    return [words, p9.scale_y_continuous(expand=(0.05, 0, above, 0), **scale)]


def _in_corner(words: pd.DataFrame, right: bool, low: bool) -> Any:
    """The texts of panels, indented by two spaces."""
    inset = words["text"].str.replace(
        "\n|$" if right else "^|\n", r"  \g<0>" if right else r"\g<0>  ", regex=True
    )
    place = words.assign(text=inset, x=np.inf if right else -np.inf, y=-np.inf if low else np.inf)
    return _text_off_the_edge()(
        p9.aes("x", "y", label="text"), place, size=theme.WORDS_SIZE, color=theme.INK,
        ha="right" if right else "left", va="bottom" if low else "top", inherit_aes=False,
    )  # fmt: skip


@functools.cache
def _text_off_the_edge() -> Any:
    """A `geom_text` whose text keeps a few points away from the upper or lower edge of a panel."""
    from matplotlib.transforms import offset_copy

    class TextOffTheEdge(p9.geom_text):  # type: ignore[misc]
        @staticmethod
        def draw_group(data: Any, panel_params: Any, coord: Any, ax: Any, params: Any) -> None:
            n_before = len(ax.texts)
            p9.geom_text.draw_group(data, panel_params, coord, ax, params)
            for text in ax.texts[n_before:]:
                points = EDGE if text.get_va() == "bottom" else -EDGE
                moved = offset_copy(text.get_transform(), ax.figure, y=points, units="points")
                text.set_transform(moved)

    return TextOffTheEdge
