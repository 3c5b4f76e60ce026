"""Lolly plot: measures side by side, each estimate a lolly on a stick between parentheses.

Morris, White & Crowther (2019), Statistics in Medicine 38(11), 2074-2102, section 5.4: the stick
runs from a reference to the estimate, and parentheses enclose its Monte Carlo interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simstudy.errors import FigureError
from simstudy.figures.frame import (
    caption,
    drawable,
    factors_of,
    in_words,
    need_columns,
    notes,
    refuse_hidden,
    rows_of,
    with_interval,
)
from simstudy.figures.panels import facets, with_panels
from simstudy.figures.theme import BLUE, MUTED, VERMILLION, theme_study
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9


def lolly_plot(
    summary: pd.DataFrame,
    *,
    measure: str | Sequence[str],
    y: str,
    rows: str | None = None,
    reference: float | Mapping[str, float] = 0.0,
    exact: bool = True,
) -> ggplot:
    """Estimates of one or several measures, a column of panels for each.

    Parameters
    ----------
    summary
        One row per scenario, axis values and measure.
    measure
        Measure, or several: panels side by side, each on its own scale.
    y
        Column on the vertical axis, such as the method.
    rows
        Column mapped to rows of panels, such as a factor.
    reference
        Where sticks begin: a number, or one for each measure by name (nominal coverage, say);
        measures without one begin at 0.
    exact
        Whether to mark the column `exact` with a vertical tick.

    Returns
    -------
    ggplot
        Parentheses stand at `lower` and `upper` where the summary has them, else at 2 MCSE.
    """
    measures = [measure] if isinstance(measure, str) else list(measure)
    need_columns(summary, [y, rows])
    found = rows_of(summary, measures)
    refuse_hidden(found, {"y": y, "panel": "measure", "rows": rows}, factors_of(summary))
    kept = with_interval(found).assign(measure=pd.Categorical(found["measure"], measures))
    drawn = with_panels(kept, kept, {"panel": "measure", "rows": rows, "y": y})
    drawn = drawn.assign(start=_starts(reference, measures, found))
    return (
        p9.ggplot(drawable(drawn), p9.aes(y="y"))
        + _sticks()
        + _theory(drawn, exact)
        + _parentheses(drawn)
        + p9.scale_y_discrete(limits=list(reversed(drawn["y"].cat.categories)))
        + [theme_study(), p9.theme(panel_grid_major_y=p9.element_blank())]
        + facets(drawn, scales="free_x", legend=False)
        + _size(drawn)
        + p9.labs(x="", y=in_words(y), caption=_says(drawn, exact))
    )


def _starts(
    reference: float | Mapping[str, float], measures: Sequence[str], found: pd.DataFrame
) -> pd.Series:
    if not isinstance(reference, Mapping):
        return pd.Series(float(reference), index=found.index)
    unknown = sorted(set(reference) - set(measures))
    if unknown:
        raise FigureError(
            f"reference has a value for {unknown[0]!r}, which is not drawn here: the figure draws "
            f"{', '.join(measures)}. Name one of these."
        )
    return found["measure"].map(dict(reference)).astype(float).fillna(0.0)


def _sticks() -> list[Any]:
    return [
        p9.geom_vline(p9.aes(xintercept="start"), linetype="dashed", color=MUTED, size=0.4),
        p9.geom_segment(
            p9.aes(x="start", xend="estimate", yend="y"), size=0.6, color=BLUE, alpha=0.6
        ),
        p9.geom_point(p9.aes(x="estimate"), size=2.6, color=BLUE),
    ]


def _theory(drawn: pd.DataFrame, exact: bool) -> list[Any]:
    known = drawn.dropna(subset="exact")
    if not exact or known.empty:
        return []
    return [p9.geom_point(p9.aes(x="exact"), known, shape="|", size=5, color=VERMILLION)]


def _parentheses(drawn: pd.DataFrame) -> list[Any]:
    return [
        p9.geom_text(
            p9.aes(x=end),
            drawn.dropna(subset=[end, "estimate"]),
            label=glyph,
            size=12,
            va="center",
            color=BLUE,
        )
        for end, glyph in (("lower", "("), ("upper", ")"))
    ]


def _size(drawn: pd.DataFrame) -> Any:
    """Lollies a third of an inch apart; in inches."""
    n_y, n_columns = (len(drawn[role].cat.categories) for role in ("y", "panel"))
    n_rows = len(drawn["rows"].cat.categories) if "rows" in drawn else 1
    width, height = 2.7 * n_columns + 1.4, n_rows * (0.34 * n_y + 0.35) + 1.3
    return p9.theme(figure_size=(min(max(width, 5.8), 14.0), min(max(height, 2.6), 24.0)))


def _says(drawn: pd.DataFrame, exact: bool) -> str:
    theory = exact and bool(drawn["exact"].notna().any())
    return caption(
        "Parentheses: Monte Carlo interval of each estimate.",
        "Vertical ticks: exact theory." * theory,
        *notes(drawn),
    )
