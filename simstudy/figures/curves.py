"""Curves of a measure over a factor: coverage, power, type-I error against n, k, alpha."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simstudy.errors import FigureError
from simstudy.figures import captions
from simstudy.figures.captions import caption, notes
from simstudy.figures.frame import (
    as_axis,
    drawable,
    factors_of,
    in_words,
    is_number,
    need_columns,
    refuse_hidden,
    rows_of,
    with_interval,
)
from simstudy.figures.panels import facets, turned_labels, with_panels
from simstudy.figures.theme import INK, MUTED, color_scales, theme_study
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9

LINES = {"exact": "solid", "simulated": "dotted"}


def measure_curves(
    summary: pd.DataFrame,
    *,
    x: str,
    y: str | Sequence[str],
    color: str | None = None,
    panel: str | None = None,
    rows: str | None = None,
    nominal: float | str | Mapping[str, float] | None = None,
    exact: bool | pd.DataFrame = True,
    log_x: bool = False,
    colors: Mapping[str, str] | None = None,
    joined: bool = True,
    apart: bool = True,
) -> ggplot:
    """Measures over a factor, each point with its Monte Carlo interval, theory as solid lines.

    Parameters
    ----------
    summary
        One row per scenario, axis values and measure. Points carry `lower` to `upper` where the
        summary has them (Wilson, for proportions), else 2 MCSE either side.
    x
        Column on the horizontal axis: a quantity, or anything else as categories.
    y
        Measure, or several. Several are told apart by `rows`, else `panel`, else `color`,
        whichever is free first, unless one of these is "measure" already.
    color, panel, rows
        Columns mapped to colour and mark, to panels, and to rows of panels.
    nominal
        Level to draw as a dashed line, the column that holds it, or one for each measure by name.
    exact
        Whether to draw the column `exact` as a solid line, with simulation dotted. Or a frame of
        theory on a finer grid: columns `x`, those mapped, and `exact`, in the units of the measure.
        Without the column of `color` it holds for all colours. Of several measures it may have one
        that is known without simulation: a panel of its own.
    log_x
        Whether the horizontal axis is logarithmic.
    colors
        A colour for each level of `color`, in words, the same in all figures of a study.
    joined
        Whether a dotted line joins the points where there is theory, and a thin one where not.
    apart
        Whether points of several colours at one `x` are set apart, so that none covers another;
        without, they stand on their theory's lines.

    Returns
    -------
    ggplot
        Colours are set slightly apart at a shared `x`, so that no point covers another. Refused:
        unknown columns and measures, rows that would share a place.
    """
    measures = [y] if isinstance(y, str) else list(y)
    mapped = _with_measure_mapped(measures, {"rows": rows, "panel": panel, "color": color})
    need_columns(summary, [x, *mapped.values(), nominal if isinstance(nominal, str) else None])
    found = rows_of(summary, measures)
    if log_x:
        _check_log(found[x])
    refuse_hidden(found, {"x": x, **mapped}, ["measure", *factors_of(summary)])
    drawn = _drawn(found, x, mapped)
    theory, drawn = _same_panels(_theory(exact, drawn, x, mapped), drawn, mapped)
    width = _dodge_width(drawn, log_x)
    place = p9.position_dodge(width=width, preserve="single") if apart else "identity"
    return (
        p9.ggplot(drawable(drawn), _position(drawn))
        + _nominal(nominal, drawn, found)
        + _lines(drawn, theory, place, joined)
        + _points(place)
        + _scales(drawn, found, mapped["color"], log_x, colors)
        + facets(drawn, scales=_free(mapped), legend="color" in drawn or not theory.empty)
        + p9.labs(
            x=in_words(x),
            y=_title(measures),
            caption=caption(*_says(drawn, theory, nominal), *notes(drawn)),
        )
    )


def _with_measure_mapped(
    measures: Sequence[str], mapped: dict[str, str | None]
) -> dict[str, str | None]:
    if len(measures) == 1 or "measure" in mapped.values():
        return mapped
    for role, column in mapped.items():
        if column is None:
            return {**mapped, role: "measure"}
    raise FigureError(
        f"{len(measures)} measures ({', '.join(measures)}) would share the panels: color, panel "
        "and rows are all taken. Give one of them as 'measure', or draw one measure a figure."
    )


def _drawn(found: pd.DataFrame, x: str, mapped: dict[str, str | None]) -> pd.DataFrame:
    keep = ["measure", "estimate", "mcse", "lower", "upper", "exact", "n_rep", "n_failed"]
    drawn = with_interval(found)[keep].assign(x=as_axis(found[x]))
    return with_panels(drawn, found, mapped)


def _position(drawn: pd.DataFrame) -> Any:
    colored = {"color": "color", "shape": "color"} if "color" in drawn else {}
    group = {"group": "color"} if "color" in drawn else {"group": 1}
    return p9.aes(x="x", y="estimate", **colored, **group)


# ---------------------------------------------------------------- theory
def _theory(
    exact: bool | pd.DataFrame, drawn: pd.DataFrame, x: str, mapped: dict[str, str | None]
) -> pd.DataFrame:
    """Rows of the theory's line; none where there is no theory or it is not asked for."""
    if isinstance(exact, pd.DataFrame):
        return _finer_theory(exact, drawn, x, mapped)
    return drawn[drawn["exact"].notna() & exact]


def _finer_theory(
    exact: pd.DataFrame, drawn: pd.DataFrame, x: str, mapped: dict[str, str | None]
) -> pd.DataFrame:
    known = {role: c for role, c in mapped.items() if role != "color" or c in exact.columns}
    need_columns(exact, [x, "exact", *known.values()])
    refuse_hidden(exact, {"x": x, **known}, [str(c) for c in exact.columns if c != "exact"])
    line = with_panels(pd.DataFrame({"x": exact[x], "exact": exact["exact"]}), exact, known)
    for role, column in known.items():
        if column is not None and column != "measure":
            line[role] = _same_levels(line[role], drawn[role], column)
    return line


def _same_panels(
    theory: pd.DataFrame, drawn: pd.DataFrame, mapped: dict[str, str | None]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both with the panels of all measures, of which some are known without simulation."""
    role = next((role for role, column in mapped.items() if column == "measure"), None)
    if role is None or role not in theory:
        return theory, drawn
    both = [*drawn[role].cat.categories, *theory[role].cat.categories]
    levels = list(dict.fromkeys(both))
    return (
        theory.assign(**{role: theory[role].cat.set_categories(levels)}),
        drawn.assign(**{role: drawn[role].cat.set_categories(levels)}),
    )


def _same_levels(levels: pd.Series, drawn: pd.Series, column: str) -> pd.Series:
    strange = [c for c in levels.cat.categories if c not in drawn.cat.categories]
    if strange:
        raise FigureError(
            f"The theory has {column} at {', '.join(strange)}, where nothing was simulated, so it "
            "would be a line without its points. Leave those rows out of `exact`."
        )
    return levels.cat.set_categories(drawn.cat.categories)


def _lines(drawn: pd.DataFrame, theory: pd.DataFrame, apart: Any, joined: bool) -> list[Any]:
    """Lines through what is simulated and what is exact, told apart by their dashes.

    Only quantities are joined. Theory at a category, or at a single place, is a short level mark.
    """
    simulated, _ = _joined(drawable(drawn))
    if theory.empty:
        return [p9.geom_line(simulated, size=0.5, alpha=0.6, position=apart)] * joined
    line, marks = _joined(theory)
    if not joined:
        return [*_exact_line(line, {}), *_level_marks(marks, apart)]
    dotted = simulated.assign(line="simulated")
    return [
        p9.geom_line(p9.aes(linetype="line"), dotted, size=0.4, position=apart),
        *_exact_line(line, {"linetype": "line"}),
        *_level_marks(marks, apart),
        p9.scale_linetype_manual(values=LINES, breaks=list(LINES), name=" "),
    ]


def _exact_line(line: pd.DataFrame, named: Mapping[str, str]) -> list[Any]:
    """In the colours of what it belongs to, or in ink where it is for all."""
    drawn, look = line.assign(line="exact"), {"size": 0.7, "inherit_aes": False}
    if "color" in line:
        place = p9.aes(x="x", y="exact", color="color", group="color", **named)
        return [p9.geom_line(place, drawn, **look)]
    return [p9.geom_line(p9.aes(x="x", y="exact", **named), drawn, color=INK, **look)]


def _level_marks(marks: pd.DataFrame, apart: Any) -> list[Any]:
    at = p9.aes(y="exact")
    return [p9.geom_point(at, marks, shape="_", size=3.4, position=apart, show_legend=False)]


def _joined(points: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The points that a line can join, and those that stand alone."""
    if not is_number(points["x"]):
        return points.iloc[:0], points
    group = [role for role in ("color", "panel", "rows") if role in points]
    together = points.groupby(group, observed=True)["x"] if group else points["x"]
    n_places = together.transform("nunique") if group else together.nunique()
    alone = pd.Series(n_places < 2, index=points.index)
    return points[~alone], points[alone]


# ---------------------------------------------------------------- simulation
def _points(apart: Any) -> list[Any]:
    bars = p9.aes(ymin="lower", ymax="upper")
    return [
        p9.geom_linerange(bars, size=0.6, position=apart, show_legend=False, na_rm=True),
        p9.geom_point(size=1.8, position=apart, stroke=0.3),
    ]


def _dodge_width(drawn: pd.DataFrame, log_x: bool) -> float:
    """Room for all colours at one x: well within the gap to the next x, and never wide."""
    n_colors = len(drawn["color"].cat.categories) if "color" in drawn else 1
    if not is_number(drawn["x"]):
        return min(0.5, 0.12 * n_colors)
    places = np.unique(np.log10(drawn["x"]) if log_x else drawn["x"].to_numpy(float))
    if len(places) < 2:
        return 0.1
    return float(min(0.5 * np.diff(places).min(), 0.015 * n_colors * np.ptp(places)))


def _nominal(
    nominal: float | str | Mapping[str, float] | None, drawn: pd.DataFrame, found: pd.DataFrame
) -> list[Any]:
    if nominal is None:
        return []
    line = drawn.assign(nominal=_nominal_levels(nominal, found)).dropna(subset="nominal")
    where = [c for c in ("nominal", "panel", "rows") if c in line]
    line = line[where].drop_duplicates()
    return [p9.geom_hline(p9.aes(yintercept="nominal"), line, linetype="dashed", color=MUTED)]


def _nominal_levels(nominal: float | str | Mapping[str, float], found: pd.DataFrame) -> pd.Series:
    if isinstance(nominal, str):
        return found[nominal].astype(float)
    if not isinstance(nominal, Mapping):
        return pd.Series(float(nominal), index=found.index)
    unknown = sorted(set(nominal) - set(found["measure"]))
    if unknown:
        raise FigureError(
            f"nominal has a level for {unknown[0]!r}, which is not drawn here: the figure draws "
            f"{', '.join(found['measure'].unique())}. Name one of these."
        )
    return found["measure"].map(dict(nominal)).astype(float)


def _scales(
    drawn: pd.DataFrame,
    found: pd.DataFrame,
    color: str | None,
    log_x: bool,
    colors: Mapping[str, str] | None,
) -> list[Any]:
    by_color: list[Any] = []
    if color is not None:
        is_quantity = is_number(found[color])
        by_color = color_scales(drawn["color"], color, is_quantity=is_quantity, colors=colors)
    return [theme_study(), *by_color, *_x_scale(drawn, log_x)]


def _x_scale(drawn: pd.DataFrame, log_x: bool) -> list[Any]:
    x = drawn["x"]
    if not is_number(x):
        return turned_labels(x, alone="panel" not in drawn)
    if not log_x:
        return []
    places = sorted(x.unique())
    if len(places) > 8:
        return [p9.scale_x_log10()]
    # between one place and itself there are no minor breaks, and none could be computed
    between: dict[str, Any] = {"minor_breaks": []} if len(places) == 1 else {}
    labels = [f"{place:,g}" for place in places]
    return [p9.scale_x_log10(breaks=places, labels=labels, **between)]


def _check_log(x: pd.Series) -> None:
    if is_number(x) and (x <= 0).any():
        raise FigureError(
            f"log_x=True with x={x.min():g}: there is no place for it on a logarithmic axis, so "
            "the point would vanish. Leave log_x out, or filter those rows."
        )


def _free(mapped: Mapping[str, str | None]) -> str:
    return "free_y" if "measure" in (mapped["panel"], mapped["rows"]) else "fixed"


def _title(measures: Sequence[str]) -> str:
    return in_words(measures[0]) if len(measures) == 1 else "estimate"


def _says(drawn: pd.DataFrame, theory: pd.DataFrame, nominal: object) -> list[str]:
    line, marks = _joined(theory) if not theory.empty else (theory, theory)
    return [
        captions.BARS * bool(drawn["lower"].notna().any()),
        captions.LINES * (not line.empty),
        captions.LEVEL_MARKS * (not marks.empty),
        captions.dashed() * (nominal is not None),
    ]
