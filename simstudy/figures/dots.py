"""Methods compared: dots of published, exact and simulated values; one measure against another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from simstudy.errors import FigureError
from simstudy.figures import captions, frame, theme
from simstudy.figures.captions import caption, format_name, notes
from simstudy.figures.panels import facets, format_hidden, panel_grid, with_panels
from simstudy.lazy import ggplot, p9, pd
from simstudy.measures import intervals
from simstudy.tables.rounding import with_error

ROOM = 1.5  # gap between the dots of two rows, in gaps between dots of one row
NUMBERS = ("estimate", "lower", "upper")  # of both measures of a trade-off
EDGE = 0.45  # rows: margin beyond the middle of the first and the last, room for eight dots
GREY = "#BBBBBB"


def dots_plot(
    summary: pd.DataFrame,
    *,
    measure: str | Sequence[str],
    y: str,
    color: str | None = None,
    rows: str | None = None,
    nominal: float | Mapping[str, float] | None = None,
    published: pd.DataFrame | None = None,
    colors: Mapping[str, str] | None = None,
    in_figures: bool = False,
) -> ggplot:
    """Plot estimates by method with Monte Carlo intervals, a column of panels for each measure.

    Parameters
    ----------
    summary
        One row per scenario, axis values and measure.
    measure
        Measure, or several: panels side by side, each on its own scale.
    y
        Column on the vertical axis, such as the method: its first level is on top.
    color
        Column mapped to colour and mark; dots of one row are dodged.
    rows
        Column mapped to rows of panels.
    nominal
        Level to draw as a dashed line, or one for each measure by name.
    published
        Values of a document: columns `y`, `estimate`, `mcse` (that of the document, may be
        missing), and `measure` and the column of `rows` if they distinguish panels.
    colors
        Colour for each level of `color`, the same in all figures of a study.
    in_figures
        Whether each estimate is also printed as a number, with one MCSE.

    Returns
    -------
    ggplot
        The figure, with vertical marks at the values of the column `exact`, if there is one.
    """
    measures = [measure] if isinstance(measure, str) else list(measure)
    mapped = {"rows": rows, "color": color, "y": y}
    frame.need_columns(summary, list(mapped.values()))
    found = frame.rows_of(summary, measures)
    frame.check_no_hidden_rows(found, {"panel": "measure", **mapped}, frame.factors_of(summary))
    drawn = _placed(frame.with_interval(found), mapped, measures)
    levels = frame.nominal_lines(drawn, frame.nominal_levels(nominal, drawn))
    return (
        p9.ggplot(frame.drawable(drawn), p9.aes("estimate", "place"))
        + _dashed(levels)
        + _printed(published, drawn, mapped)
        + _dots(drawn)
        + _exact(drawn)
        + (_figures(drawn) if in_figures else [p9.scale_x_continuous(breaks=_ticks(4))])
        + theme.theme_study()
        + theme.colors_by(drawn, found, color, colors)
        + _heights(drawn)
        + facets(drawn, scales="free_x" if len(measures) > 1 else "fixed", legend=bool(color))
        + _size(drawn)
        + p9.labs(
            x="" if len(measures) > 1 else format_name(measures[0]),
            y="",
            caption=caption(
                *_sentences(drawn, published, levels, in_figures),
                captions.format_fixed(found, *mapped.values()),
                *notes(drawn),
            ),
        )
    )


def _placed(
    rows: pd.DataFrame, mapped: Mapping[str, str | None], measures: Sequence[str]
) -> pd.DataFrame:
    """The height of each row: first level on top, colours dodged."""
    panel = {"panel": "measure"} if len(measures) > 1 else {}
    named = rows.assign(measure=pd.Categorical(rows["measure"], list(measures)))
    drawn = with_panels(named, named, {**mapped, **panel})
    return drawn.assign(place=_height(drawn["y"]) - _aside(drawn))


def _height(levels: pd.Series) -> pd.Series:
    return (len(levels.cat.categories) - 1 - levels.cat.codes).astype(float)


def _aside(rows: pd.DataFrame) -> Any:
    """The dodge of a dot below its row; 0 if it is alone."""
    if "color" not in rows:
        return 0.0
    where = [role for role in ("panel", "rows", "y") if role in rows]
    there = rows["color"].cat.codes.groupby([rows[role] for role in where], observed=True)
    n_there, turn = there.transform("size"), there.rank() - 1
    return (turn - (n_there - 1) / 2) / (n_there - 1 + ROOM)


def _dashed(levels: pd.DataFrame) -> list[Any]:
    line = p9.geom_vline(p9.aes(xintercept="nominal"), levels, linetype="dashed", color=theme.MUTED)
    return [line] * (not levels.empty)


def _printed(
    published: pd.DataFrame | None, rows: pd.DataFrame, mapped: Mapping[str, str | None]
) -> list[Any]:
    """Crosses at published numbers, with the interval of the document's replicates."""
    if published is None:
        return []
    panel = {"panel": "measure"} if "panel" in rows else {}
    columns = {**panel, "rows": mapped["rows"], "y": mapped["y"]}
    frame.need_columns(published, ["estimate", *columns.values()])
    kept = {role: published[c].astype(str) for role, c in columns.items() if c is not None}
    marks = pd.DataFrame({"estimate": published["estimate"].astype(float), **kept})
    for role in kept:
        words = marks[role].map(format_name) if role == "panel" else marks[role]
        marks[role] = pd.Categorical(words, rows[role].cat.categories, ordered=True)
    error = published.get("mcse", np.nan)
    low, high = intervals.normal(marks["estimate"], error, level=0.95)
    marks = marks.assign(place=_height(marks["y"]), lower=low, upper=high)
    bar = p9.aes(x="lower", xend="upper", yend="place")
    return [
        p9.geom_segment(bar, marks.dropna(subset="lower"), color=GREY, size=2.6),
        p9.geom_point(p9.aes(), marks, color=theme.INK, shape="x", size=2.6),
    ]


def _dots(rows: pd.DataFrame) -> list[Any]:
    bar = {"x": "lower", "xend": "upper", "yend": "place"}
    colored = "color" in rows
    line, mark = ({"color": "color"}, {"shape": "color"}) if colored else ({}, {})
    plain = {} if colored else {"color": theme.BLUE}
    bars = p9.aes(**bar, **line)
    return [
        p9.geom_segment(bars, size=0.7, na_rm=True, show_legend=False, **plain),
        p9.geom_point(p9.aes(**line, **mark), size=2.2, **plain),
    ]


def _exact(rows: pd.DataFrame) -> list[Any]:
    known = rows.dropna(subset="exact")
    mark = p9.geom_point(p9.aes(x="exact"), known, shape="|", size=5, color=theme.INK)
    return [mark] * (not known.empty)


def _figures(rows: pd.DataFrame) -> list[Any]:
    pairs = zip(rows["estimate"], rows["mcse"], strict=True)
    rounded = [with_error(estimate, mcse) for estimate, mcse in pairs]
    words = [f"{found.value} ({found.error})" if found.error else found.value for found in rounded]
    last = float(rows[["upper", "exact"]].max().max())
    span = last - float(rows[["lower", "exact"]].min().min())
    label = {"label": "words", **({"color": "color"} if "color" in rows else {})}
    text = p9.geom_text(
        p9.aes(**label), rows.assign(words=words), x=last + 0.04 * span, ha="left",
        size=theme.WORDS_SIZE, show_legend=False,
    )  # fmt: skip
    return [text, p9.scale_x_continuous(breaks=_ticks(6, last), expand=(0.05, 0, 0.3, 0))]


def _ticks(most: int, last: float = np.inf) -> Callable[[tuple[float, float]], list[float]]:
    """Ticks, few enough to be separate from those of other panels, none below printed numbers."""

    def breaks(limits: tuple[float, float]) -> list[float]:
        from matplotlib.ticker import MaxNLocator

        ticks = MaxNLocator(most).tick_values(limits[0], min(limits[1], last))
        return [float(tick) for tick in ticks if tick <= last]

    return breaks


def _heights(rows: pd.DataFrame) -> Any:
    """The vertical axis: a row for each name, the first on top."""
    names = list(reversed(rows["y"].cat.categories))
    return p9.scale_y_continuous(
        breaks=list(range(len(names))), labels=names, limits=(-EDGE, len(names) - 1 + EDGE)
    )


def _size(rows: pd.DataFrame) -> Any:
    """The figure size: rows a third of an inch apart, less if the page is full."""
    n_rows = panel_grid(rows)[1] if "rows" in rows else 1
    height = n_rows * (0.33 * len(rows["y"].cat.categories) + 0.4) + 1.2
    return p9.theme(figure_size=(theme.FULL_WIDTH, min(max(height, 2.8), theme.TALLEST)))


def _sentences(
    rows: pd.DataFrame, published: pd.DataFrame | None, levels: pd.DataFrame, in_figures: bool
) -> list[str]:
    return [
        captions.BARS,
        captions.PARENTHESES * in_figures,
        captions.UPRIGHT * bool(rows["exact"].notna().any()),
        captions.CROSSES * (published is not None),
        captions.dashed_at(levels["nominal"]),
    ]


def trade_off_plot(
    summary: pd.DataFrame,
    *,
    x: str,
    y: str,
    color: str | None = None,
    panel: str | None = None,
    rows: str | None = None,
    nominal: Mapping[str, float] | None = None,
    dashed: str | None = None,
    colors: Mapping[str, str] | None = None,
) -> ggplot:
    """Plot one measure against another: a point and a cross of both intervals for each method.

    Parameters
    ----------
    summary
        One row per scenario, axis values and measure. Crosses are from `lower` to `upper` if the
        summary has them (Wilson, for proportions), else 2 MCSE to either side.
    x, y
        Measures, each in its own units, such as coverage and interval width.
    color, panel, rows
        Columns mapped to colour and mark, to panels, and to rows of panels.
    nominal
        Levels to draw as dashed lines, by measure: vertical for `x`, horizontal for `y`.
    dashed
        Name of these lines in the caption. Default: their levels, in words.
    colors
        Colour for each level of `color`, by label, the same in all figures of a study.

    Returns
    -------
    ggplot
        The figure. Refused: unknown columns and measures, rows that would share a position, and
        points with only one of the two measures.
    """
    mapped = {"color": color, "panel": panel, "rows": rows}
    frame.need_columns(summary, mapped.values())
    found = frame.with_interval(frame.rows_of(summary, [x, y]))
    frame.check_no_hidden_rows(found, {"measure": "measure", **mapped}, frame.factors_of(summary))
    frame.nominal_levels(nominal, found)
    drawn = _paired(with_panels(found[["measure", *NUMBERS]], found, mapped), x, y)
    look = {} if color is None else {"color": "color", "shape": "color"}
    return (
        p9.ggplot(drawn, p9.aes("estimate_x", "estimate_y", **look))
        + _dashed_lines(nominal or {}, x, y)
        + _crosses(drawn)
        + theme.theme_study()
        + theme.colors_by(drawn, found, color, colors)
        + facets(drawn, legend=color is not None)
        + p9.labs(
            x=format_name(x),
            y=format_name(y),
            caption=caption(
                captions.BARS,
                captions.dashed_at((nominal or {}).values(), dashed),
                format_hidden(drawn, drawn["estimate_x"], drawn["estimate_y"]),
                captions.format_fixed(found, *mapped.values()),
                *notes(found),
            ),
        )
    )


def _paired(rows: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """A row for each point, with the numbers of both measures."""
    roles = [role for role in ("color", "panel", "rows") if role in rows]
    across, up = (rows[rows["measure"] == name].assign(point=0) for name in (x, y))
    both = across.merge(up, how="outer", on=["point", *roles], indicator="there")
    alone = int((both["there"] != "both").sum())
    if alone:
        raise FigureError(
            f"{alone} of {len(both)} points have only one of {x!r} and {y!r}, so they would have "
            "no place in the figure. Give both measures of every row, or leave both out."
        )
    finite_where_both_are = both["estimate_x"] + both["estimate_y"]
    return frame.drawable(both.assign(estimate=finite_where_both_are))


def _dashed_lines(nominal: Mapping[str, float], x: str, y: str) -> list[Any]:
    look = {"linetype": "dashed", "color": theme.MUTED}
    upright = [p9.geom_vline(xintercept=nominal[x], **look)] if x in nominal else []
    return upright + ([p9.geom_hline(yintercept=nominal[y], **look)] if y in nominal else [])


def _crosses(rows: pd.DataFrame) -> list[Any]:
    """The points with both intervals."""
    plain = {} if "color" in rows else {"color": theme.BLUE}
    across = p9.aes(x="lower_x", xend="upper_x", yend="estimate_y")
    up = p9.aes(y="lower_y", yend="upper_y", xend="estimate_x")
    bar = {"size": 0.5, "show_legend": False, "na_rm": True, **plain}
    return [
        p9.geom_segment(across, **bar),
        p9.geom_segment(up, **bar),
        p9.geom_point(size=2.4, **plain),
    ]
