"""Nested-loop plots: all scenarios in one panel, with the factors as step lines below.

Rücker & Schwarzer (2014), BMC Medical Research Methodology 14, 129. Scenarios are ordered by the
factors, the first changing slowest. The design need not be a full grid: only existing scenarios are
shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simstudy.errors import FigureError
from simstudy.figures import theme
from simstudy.figures.captions import SHADED, caption, dashed_at, format_name, notes
from simstudy.figures.frame import (
    check_no_hidden_rows,
    drawable,
    factors_of,
    labelled,
    need_columns,
    rows_of,
    with_interval,
)
from simstudy.lazy import ggplot, p9, pd

DASHED = {"linetype": "dashed", "color": theme.MUTED}
BAND = 0.07  # height of a factor's steps, as a share of the measure's range
CROWDED = 80  # scenarios; lines are thinner if there are more
GAP = 0.09  # room above each factor's steps for its name, as a share of the measure's range


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
    need_columns(summary, [color, *(factors or [])])
    found = rows_of(summary, [y])
    ordered = list(factors) if factors else _varying(found, color)
    if not ordered:
        raise FigureError(
            f"No factor varies among the {len(found)} rows of {y!r}, so there is no order for a "
            "nested loop. Draw a lolly plot, or keep more scenarios."
        )
    named = {f"factors[{i}]": name for i, name in enumerate(ordered)}
    check_no_hidden_rows(found, {**named, "color": color}, factors_of(summary))
    drawn = _in_order(with_interval(found), ordered, color)
    steps = _bands(drawn, ordered, _span(drawn, nominal))
    return (
        p9.ggplot(drawable(drawn))
        + ([p9.geom_hline(yintercept=nominal, **DASHED)] if nominal is not None else [])
        + _measure(drawable(drawn), "color" in drawn)
        + _theory(drawn)
        + _factor_steps(steps)
        + _scales(drawn, found, color, colors, _span(drawn, nominal))
        + p9.theme(figure_size=(theme.FULL_WIDTH, 3.6 + 0.45 * len(ordered)))
        + p9.labs(
            x=f"{drawn['scenario'].nunique()} scenarios, ordered by "
            + ", ".join(map(format_name, ordered)),
            y=format_name(y),
            caption=_caption(drawn, nominal),
        )
    )


def _varying(rows: pd.DataFrame, color: str | None) -> list[str]:
    levels = {c: rows[c].nunique(dropna=False) for c in factors_of(rows) if c != color}
    return sorted((c for c, n in levels.items() if n > 1), key=lambda c: levels[c])


def _in_order(rows: pd.DataFrame, factors: Sequence[str], color: str | None) -> pd.DataFrame:
    """Rows with the index of their scenario, and factor levels as categories."""
    levels = {f"factor_{i}": labelled(rows[name]) for i, name in enumerate(factors)}
    codes = pd.DataFrame({name: words.cat.codes for name, words in levels.items()})
    place = codes.groupby(list(levels), sort=True).ngroup()
    drawn = rows.assign(scenario=place, **levels)
    return drawn if color is None else drawn.assign(color=labelled(rows[color]))


def staircase(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Both ends of each scenario's step, grouped so that only neighbours are joined.

    Parameters
    ----------
    frame
        Rows with `scenario`, `value` and optionally `color`; a step is 1 wide, centred at its
        scenario.
    value
        Column that holds the height of the steps.
    """
    rows = frame.dropna(subset=value).sort_values("scenario")
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


def _measure(rows: pd.DataFrame, colored: bool) -> list[Any]:
    box = rows.assign(x0=rows["scenario"] - 0.5, x1=rows["scenario"] + 0.5).dropna(
        subset=["lower", "upper"]
    )
    corners = {"xmin": "x0", "xmax": "x1", "ymin": "lower", "ymax": "upper"}
    place = {"x": "x", "y": "y", "group": "run"}
    steps, size = staircase(rows, "estimate"), 0.7 if rows["scenario"].max() < CROWDED else 0.4
    fill = {"fill": "color"} if colored else {}
    line = {"color": "color", "linetype": "color"} if colored else {}
    blue = {} if colored else {"fill": theme.BLUE}, {} if colored else {"color": theme.BLUE}
    return [
        p9.geom_rect(p9.aes(**corners, **fill), box, alpha=0.18, show_legend=False, **blue[0]),
        p9.geom_path(p9.aes(**place, **line), steps, size=size, **blue[1]),
    ]


def _theory(rows: pd.DataFrame) -> list[Any]:
    if rows["exact"].isna().all():
        return []
    place = {"x": "x", "y": "y", "group": "run"}
    colors = {"color": "color"} if "color" in rows else {}
    steps = staircase(rows, "exact")
    dotted = {"size": 0.6, "linetype": "dotted", "show_legend": False}
    return [p9.geom_path(p9.aes(**place, **colors), steps, **dotted)]


def _span(rows: pd.DataFrame, nominal: float | None) -> tuple[float, float]:
    """Lowest and highest value of the measure."""
    parts = [rows[c].to_numpy(float) for c in ("estimate", "lower", "upper", "exact")]
    parts += [np.array([nominal])] if nominal is not None else []
    values = np.concatenate(parts)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _bands(rows: pd.DataFrame, factors: Sequence[str], span: tuple[float, float]) -> pd.DataFrame:
    """The step lines of the factors below the measure, and the positions of their names."""
    scenarios = rows.drop_duplicates("scenario")
    bands = [_band(scenarios, i, name, span) for i, name in enumerate(factors)]
    return pd.concat(bands, ignore_index=True)


def _band(scenarios: pd.DataFrame, i: int, name: str, span: tuple[float, float]) -> pd.DataFrame:
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


def _scales(
    rows: pd.DataFrame,
    summary_rows: pd.DataFrame,
    color: str | None,
    colors: Mapping[str, str] | None,
    span: tuple[float, float],
) -> list[Any]:
    from matplotlib.ticker import MaxNLocator

    ticks = [t for t in MaxNLocator(6).tick_values(*span) if span[0] <= t <= span[1]]
    return [
        theme.theme_study(),
        *theme.colors_by(rows, summary_rows, color, colors),
        *([] if color is None else [theme.stroke_scale(rows["color"], color)]),
        p9.scale_y_continuous(breaks=ticks),
        p9.theme(panel_grid_major_x=p9.element_blank(), axis_text_x=p9.element_blank()),
        p9.theme(axis_ticks_major_x=p9.element_blank()),
    ]


def _caption(rows: pd.DataFrame, nominal: float | None) -> str:
    theory = bool(rows["exact"].notna().any())
    several = "color" in rows and len(rows["color"].cat.categories) > 1
    return caption(
        SHADED,
        "Where lines coincide, the last in the key is on top." * several,
        "Dotted: exact theory." * theory,
        dashed_at([] if nominal is None else [nominal]),
        "Steps: each factor's level in each scenario, the lowest step the first level named.",
        *notes(rows),
    )
