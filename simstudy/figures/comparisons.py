"""Methods compared: dots, one measure against another, and all scenarios in a nested loop.

Nested-loop plots are those of Rücker & Schwarzer (2014), BMC Medical Research Methodology 14, 129:
all scenarios in one panel, with the factors as step lines below. Scenarios are ordered by the
factors, the first changing slowest. The design need not be a full grid: only existing scenarios are
shown.
"""

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
NUMBERS = ("estimate", "lower", "upper")
EDGE = 0.45  # rows: margin beyond the middle of the first and the last, room for eight dots
GREY = "#BBBBBB"
DASHED = {"linetype": "dashed", "color": theme.MUTED}
# Of nested-loop plots:
BAND = 0.07  # height of a factor's steps, as a share of the measure's range
GAP = 0.09  # room above each factor's steps for its name, as a share of the measure's range
CROWDED = 80  # scenarios; lines are thinner if there are more


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
    known = drawn.dropna(subset="exact")
    mark = p9.geom_point(p9.aes(x="exact"), known, shape="|", size=5, color=theme.INK)
    return (
        p9.ggplot(frame.drawable(drawn), p9.aes("estimate", "place"))
        + [p9.geom_vline(p9.aes(xintercept="nominal"), levels, **DASHED)] * (not levels.empty)
        + _printed(published, drawn, mapped)
        + _dots(drawn)
        + [mark] * (not known.empty)
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
                captions.BARS,
                captions.PARENTHESES * in_figures,
                captions.UPRIGHT * (not known.empty),
                captions.CROSSES * (published is not None),
                captions.dashed_at(levels["nominal"]),
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
    upright = [p9.geom_vline(xintercept=nominal[x], **DASHED)] if x in nominal else []
    return upright + ([p9.geom_hline(yintercept=nominal[y], **DASHED)] if y in nominal else [])


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


def nested_loop_plot(
    summary: pd.DataFrame,
    *,
    y: str,
    color: str | None = None,
    factors: Sequence[str] | None = None,
    nominal: float | None = None,
    colors: Mapping[str, str] | None = None,
) -> ggplot:
    """Plot one measure over all scenarios, as steps with their Monte Carlo interval.

    Parameters
    ----------
    summary
        One row per scenario, axis values and measure.
    y
        Measure to draw.
    color
        Column whose levels are drawn as separate lines, such as the method.
    factors
        Factors that order the scenarios, slowest first, and are drawn as steps below. Default: all
        that vary, those with the fewest levels first.
    nominal
        Level to draw as a dashed line.
    colors
        Colour for each level of `color`, the same in all figures of a study.

    Returns
    -------
    ggplot
        The figure, with the column `exact` as dotted steps. Lines also differ by their stroke and
        are drawn in the order of the legend, so that coinciding lines are both visible. A line is
        interrupted if a scenario has no result.

    Raises
    ------
    FigureError
        If no factor varies, or several scenarios have the same factors.

    References
    ----------
    Rücker & Schwarzer (2014), BMC Med. Res. Methodol. 14, 129.
    """
    frame.need_columns(summary, [color, *(factors or [])])
    found = frame.rows_of(summary, [y])
    ordered = list(factors) if factors else _varying(found, color)
    if not ordered:
        raise FigureError(
            f"No factor varies among the {len(found)} rows of {y!r}, so there is no order for a "
            "nested loop. Draw a lolly plot, or keep more scenarios."
        )
    named = {f"factors[{i}]": name for i, name in enumerate(ordered)}
    frame.check_no_hidden_rows(found, {**named, "color": color}, frame.factors_of(summary))
    drawn = _in_order(frame.with_interval(found), ordered, color)
    scenarios, span = drawn.drop_duplicates("scenario"), _span(drawn, nominal)
    steps = pd.concat([_band(scenarios, i, name, span) for i, name in enumerate(ordered)])
    ticks = [at for at in _ticks(6, span[1])(span) if at >= span[0]]
    several = "color" in drawn and len(drawn["color"].cat.categories) > 1
    return (
        p9.ggplot(frame.drawable(drawn))
        + ([p9.geom_hline(yintercept=nominal, **DASHED)] if nominal is not None else [])
        + _measure(frame.drawable(drawn), drawn)
        + _factor_steps(steps)
        + theme.theme_study()
        + theme.colors_by(drawn, found, color, colors)
        + ([] if color is None else [theme.stroke_scale(drawn["color"], color)])
        + p9.scale_y_continuous(breaks=ticks)
        + p9.theme(panel_grid_major_x=p9.element_blank(), axis_text_x=p9.element_blank())
        + p9.theme(axis_ticks_major_x=p9.element_blank())
        + p9.theme(figure_size=(theme.FULL_WIDTH, 3.6 + 0.45 * len(ordered)))
        + p9.labs(
            x=f"{drawn['scenario'].nunique()} scenarios, ordered by "
            + ", ".join(map(format_name, ordered)),
            y=format_name(y),
            caption=caption(
                captions.SHADED,
                "Where lines coincide, the last in the key is on top." * several,
                "Dotted: exact theory." * bool(drawn["exact"].notna().any()),
                captions.dashed_at([] if nominal is None else [nominal]),
                "Steps: each factor's level in each scenario, the lowest step the first level "
                "named.",
                *notes(drawn),
            ),
        )
    )


def _varying(rows: pd.DataFrame, color: str | None) -> list[str]:
    levels = {c: rows[c].nunique(dropna=False) for c in frame.factors_of(rows) if c != color}
    return sorted((c for c, n in levels.items() if n > 1), key=lambda c: levels[c])


def _in_order(rows: pd.DataFrame, factors: Sequence[str], color: str | None) -> pd.DataFrame:
    """Rows with the index of their scenario, and factor levels as categories."""
    levels = {f"factor_{i}": frame.labelled(rows[name]) for i, name in enumerate(factors)}
    codes = pd.DataFrame({name: words.cat.codes for name, words in levels.items()})
    place = codes.groupby(list(levels), sort=True).ngroup()
    drawn = rows.assign(scenario=place, **levels)
    return drawn if color is None else drawn.assign(color=frame.labelled(rows[color]))


def staircase(points: pd.DataFrame, value: str) -> pd.DataFrame:
    """Both ends of each scenario's step, grouped so that only neighbours are joined.

    Parameters
    ----------
    points
        Rows with `scenario`, `value` and optionally `color`; a step is 1 wide, centred at its
        scenario.
    value
        Column that holds the height of the steps.
    """
    rows = points.dropna(subset=value).sort_values("scenario")
    turn = _turn(rows)
    is_first = rows["scenario"].groupby(turn).diff() != 1
    rows = rows.assign(run=turn + is_first.groupby(turn).cumsum().astype(str))
    ends = [rows.assign(x=rows["scenario"] + side, side=side) for side in (-0.5, 0.5)]
    both = pd.concat(ends).sort_values(["scenario", "side"], kind="stable")
    return both.assign(y=both[value])


def _turn(rows: pd.DataFrame) -> pd.Series:
    """The position of each row's colour in the legend, as sortable text."""
    if "color" not in rows:
        return pd.Series("", index=rows.index)
    return rows["color"].cat.codes.map("{:04d}/".format)


def _measure(rows: pd.DataFrame, of_all: pd.DataFrame) -> list[Any]:
    """Steps of the estimates with their intervals, and dotted ones of exact values."""
    box = rows.assign(x0=rows["scenario"] - 0.5, x1=rows["scenario"] + 0.5).dropna(
        subset=["lower", "upper"]
    )
    corners = {"xmin": "x0", "xmax": "x1", "ymin": "lower", "ymax": "upper"}
    place = {"x": "x", "y": "y", "group": "run"}
    steps, size = staircase(rows, "estimate"), 0.7 if rows["scenario"].max() < CROWDED else 0.4
    colored = "color" in rows
    fill, line = ({"fill": "color"}, {"color": "color"}) if colored else ({}, {})
    stroke = {"linetype": "color"} if colored else {}
    blue = {} if colored else {"fill": theme.BLUE}, {} if colored else {"color": theme.BLUE}
    dotted = {"size": 0.6, "linetype": "dotted", "show_legend": False}
    layers = [
        p9.geom_rect(p9.aes(**corners, **fill), box, alpha=0.18, show_legend=False, **blue[0]),
        p9.geom_path(p9.aes(**place, **line, **stroke), steps, size=size, **blue[1]),
    ]
    if of_all["exact"].notna().any():
        theory = staircase(of_all, "exact")
        layers.append(p9.geom_path(p9.aes(**place, **line), theory, **dotted))
    return layers


def _span(rows: pd.DataFrame, nominal: float | None) -> tuple[float, float]:
    """Lowest and highest value of the measure."""
    drawn = rows[[*NUMBERS, "exact"]].to_numpy(float)
    values = np.append(drawn, np.nan if nominal is None else nominal)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _band(scenarios: pd.DataFrame, i: int, name: str, span: tuple[float, float]) -> pd.DataFrame:
    """The step line of a factor below the measure, and the position of its name."""
    low, height = span[0], span[1] - span[0]
    floor = low - (i + 1) * (BAND + GAP) * height
    levels = scenarios[f"factor_{i}"].cat
    raised = levels.codes / max(len(levels.categories) - 1, 1)
    rows = scenarios[["scenario"]].assign(level=floor + raised * BAND * height)
    words = f"{format_name(name)}: {', '.join(levels.categories)}"
    return staircase(rows, "level").assign(
        factor=name, words=words, run=name, name_at=floor + (BAND + 0.015) * height
    )


def _factor_steps(steps: pd.DataFrame) -> list[Any]:
    names = steps.drop_duplicates("factor").assign(x=-0.5)
    return [
        p9.geom_path(p9.aes(x="x", y="y", group="run"), steps, size=0.5, color=theme.INK),
        p9.geom_text(
            p9.aes(x="x", y="name_at", label="words"),
            names, ha="left", va="bottom", size=theme.WORDS_SIZE, color=theme.INK,
        ),
    ]  # fmt: skip
