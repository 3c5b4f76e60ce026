"""Trade-off plots: one measure against another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simstudy.errors import FigureError
from simstudy.figures import captions
from simstudy.figures.captions import caption, format_name, notes
from simstudy.figures.frame import (
    check_no_hidden_rows,
    drawable,
    factors_of,
    need_columns,
    nominal_levels,
    rows_of,
    with_interval,
)
from simstudy.figures.panels import facets, with_panels
from simstudy.figures.theme import BLUE, MUTED, colors_by, theme_study
from simstudy.lazy import ggplot, p9, pd

NUMBERS = ("estimate", "lower", "upper")


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
    need_columns(summary, mapped.values())
    found = with_interval(rows_of(summary, [x, y]))
    check_no_hidden_rows(found, {"measure": "measure", **mapped}, factors_of(summary))
    nominal_levels(nominal, found)
    drawn = _paired(with_panels(found[["measure", *NUMBERS]], found, mapped), x, y)
    look = {} if color is None else {"color": "color", "shape": "color"}
    return (
        p9.ggplot(drawn, p9.aes("estimate_x", "estimate_y", **look))
        + _dashed(nominal or {}, x, y)
        + _crosses(drawn)
        + theme_study()
        + colors_by(drawn, found, color, colors)
        + facets(drawn, legend=color is not None)
        + p9.labs(
            x=format_name(x),
            y=format_name(y),
            caption=caption(
                captions.BARS,
                captions.dashed_at((nominal or {}).values(), dashed),
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
    return drawable(both.assign(estimate=finite_where_both_are))


def _dashed(nominal: Mapping[str, float], x: str, y: str) -> list[Any]:
    look = {"linetype": "dashed", "color": MUTED}
    upright = [p9.geom_vline(xintercept=nominal[x], **look)] if x in nominal else []
    return upright + ([p9.geom_hline(yintercept=nominal[y], **look)] if y in nominal else [])


def _crosses(rows: pd.DataFrame) -> list[Any]:
    """The points with both intervals."""
    plain = {} if "color" in rows else {"color": BLUE}
    across = p9.aes(x="lower_x", xend="upper_x", yend="estimate_y")
    up = p9.aes(y="lower_y", yend="upper_y", xend="estimate_x")
    bar = {"size": 0.5, "show_legend": False, "na_rm": True, **plain}
    return [
        p9.geom_segment(across, **bar),
        p9.geom_segment(up, **bar),
        p9.geom_point(size=2.4, **plain),
    ]
