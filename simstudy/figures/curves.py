"""Curves of a measure over a factor: coverage, power, type-I error against n, k, alpha.

A study that declares no figures has one for each of its first measures, by `draw_default`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np

from simstudy.errors import FigureError
from simstudy.figures import captions, frame, panels
from simstudy.figures.captions import caption, format_name, notes
from simstudy.figures.comparisons import dots_plot
from simstudy.figures.theme import BLUE, INK, MUTED, colors_by, panel_inches, theme_study
from simstudy.lazy import ggplot, p9, pd

N_GRID = 61  # points at which a theoretical function is evaluated
MARK = 0.085  # inches between the middles of two marks side by side
# Theory at categories, or at fewer points, is drawn as level marks: a line would claim values
# between them.
MIN_FOR_LINE = 5

# Of the figures that a study does not declare:
MAX_COLORS = 8  # levels told apart by colour
MAX_PANELS, MAX_ROWS = 6, 5  # panels side by side (wrapped), and rows of panels
LABEL = " "  # column that names the only row of a figure
AT_ZERO = ("bias", "median_bias", "standardised_bias", "relative_bias", "relative_error_model_se")


def measure_curves(
    summary: pd.DataFrame,
    *,
    x: str,
    y: str | Sequence[str],
    color: str | None = None,
    panel: str | None = None,
    rows: str | None = None,
    nominal: float | str | Mapping[str, float] | None = None,
    dashed: str | None = None,
    exact: bool | pd.DataFrame | Callable[..., float] = True,
    solid: str = "exact theory",
    log_x: bool = False,
    colors: Mapping[str, str] | None = None,
    joined: bool = True,
    dodge: float = True,
) -> ggplot:
    """Plot measures over a factor: points with Monte Carlo intervals, theory as solid lines.

    Parameters
    ----------
    summary
        One row per scenario, axis values and measure. Bars are from `lower` to `upper` if the
        summary has them (Wilson, for proportions), else 2 MCSE to either side.
    x
        Column on the horizontal axis: a quantity, or anything else as categories.
    y
        Measure, or several. Several measures are mapped to the first free one of `rows`, `panel`
        and `color`, unless one of these is "measure" already.
    color, panel, rows
        Columns mapped to colour and mark, to panels, and to rows of panels.
    nominal
        Level to draw as a dashed line, the column that holds it, or one for each measure by name.
    dashed
        Name of that line in the caption. Default: its level, in words.
    exact
        Whether to draw the column `exact` as a solid line. Or a frame of theory on a finer grid,
        with the columns `x`, those mapped, and `exact`, in the units of the measure. Without the
        column of `color` it applies to all colours. With several measures, it may contain one that
        is not in the summary, which gets a separate panel. Or a function whose parameters are such
        columns, drawn from the first point to the last; it returns NaN if theory has no value.
    solid
        Name of that line in the caption, such as "theory to order 1/n".
    log_x
        Whether the horizontal axis is logarithmic.
    colors
        Colour for each level of `color`, by label, the same in all figures of a study.
    joined
        Whether a dotted line joins the points. Use False if points lie on a theoretical line.
    dodge
        Whether points of several colours at one `x`, and their theoretical lines, are shifted so
        that none covers another. Or the fraction of the available room to use, such as 0.5.

    Returns
    -------
    ggplot
        The figure.

    Raises
    ------
    FigureError
        If a column or a measure is unknown, rows would share a position, or a value has no place on
        a logarithmic axis.
    """
    measures = [y] if isinstance(y, str) else list(y)
    mapped = _with_measure_mapped(measures, {"rows": rows, "panel": panel, "color": color})
    frame.need_columns(
        summary, [x, *mapped.values(), nominal if isinstance(nominal, str) else None]
    )
    found = frame.rows_of(summary, measures)
    if log_x and frame.is_number(found[x]) and (found[x] <= 0).any():
        raise FigureError(
            f"log_x=True with x={found[x].min():g}: it has no position on a logarithmic axis, so "
            "the point would vanish. Leave log_x out, or filter those rows."
        )
    frame.check_no_hidden_rows(found, {"x": x, **mapped}, ["measure", *frame.factors_of(summary)])
    drawn = frame.with_interval(found)[[*frame.MEASURED]].assign(x=frame.as_axis(found[x]))
    drawn = panels.with_panels(drawn, found, mapped)
    if callable(exact):
        exact = _on_a_grid(exact, found, x, mapped, log_x)
    if isinstance(exact, pd.DataFrame):
        theory = _finer_theory(exact, drawn, x, mapped)
    else:
        theory = drawn[drawn["exact"].notna() & exact]
    theory, drawn = _same_panels(theory, drawn, mapped)
    width = _dodge_width(drawn, log_x)
    drawn, theory = (_dodged(rows, width * dodge, log_x) for rows in (drawn, theory))
    is_aside = bool(width * dodge) and not frame.is_number(drawn["x"])
    place = p9.position_dodge(width=width * dodge, preserve="single") if is_aside else "identity"
    parts = _joined(frame.drawable(drawn))[0], *_joined(theory, MIN_FOR_LINE)
    colored = "color" in drawn
    marks = dict.fromkeys(("color", "shape", "group"), "color") if colored else {"group": 1}
    levels = frame.nominal_lines(drawn, frame.nominal_levels(nominal, found))
    level = p9.geom_hline(p9.aes(yintercept="nominal"), levels, linetype="dashed", color=MUTED)
    own_scales = "measure" in (mapped["panel"], mapped["rows"])
    shown = frame.drawable(drawn)
    across = _across(shown, width * dodge, log_x)
    return (
        p9.ggplot(shown, p9.aes("place", "estimate", **marks))
        + [level] * (nominal is not None)
        + _layers(drawn, parts, place, joined)
        + panels.words_in_empty_panels(shown)
        + theme_study()
        + colors_by(drawn, found, mapped["color"], colors)
        + _x_scale(drawn, log_x)
        + panels.facets(drawn, scales="free_y" if own_scales else "fixed", legend=colored)
        + p9.labs(
            x=format_name(x),
            y=format_name(measures[0]) if len(measures) == 1 else "estimate" * (not own_scales),
            caption=caption(
                captions.BARS * bool(drawn["lower"].notna().any()),
                f"Solid lines: {solid}." * (not parts[1].empty),
                f"Level marks: {solid}." * (not parts[2].empty),
                captions.JOINS * (joined and not parts[0].empty),
                captions.dashed_at(levels["nominal"], dashed),
                captions.APART * bool(colored and dodge and frame.is_number(drawn["x"])),
                panels.format_hidden(shown, across, shown["estimate"], free_y=own_scales),
                captions.format_fixed(found, x, *mapped.values()),
                *notes(drawn),
            ),
        )
    )


def _across(rows: pd.DataFrame, width: float, log_x: bool) -> Any:
    """Where points are drawn on a linear horizontal axis."""
    if not frame.is_number(rows["x"]):
        return rows["x"].cat.codes + width * _turn(rows)
    return np.log10(rows["place"]) if log_x else rows["place"]


def _with_measure_mapped(
    measures: Sequence[str], mapped: dict[str, str | None]
) -> dict[str, str | None]:
    free = next((role for role, column in mapped.items() if column is None), None)
    if len(measures) == 1 or "measure" in mapped.values() or free is None:
        return mapped
    return {**mapped, free: "measure"}


def _on_a_grid(
    formula: Callable[..., float],
    rows: pd.DataFrame,
    x: str,
    mapped: dict[str, str | None],
    log_x: bool,
) -> pd.DataFrame:
    """A frame of theoretical values from a function of `x` and of mapped columns."""
    parameters = signature(formula).parameters
    columns = [c for role, c in mapped.items() if c and (role != "color" or c in parameters)]
    between = np.geomspace if log_x else np.linspace
    grid = pd.DataFrame({x: between(rows[x].min(), rows[x].max(), N_GRID)})
    if columns:
        grid = rows[columns].drop_duplicates().merge(grid, how="cross")
    given = {str(name): grid[name].tolist() for name in grid if name in parameters}
    places = (dict(zip(given, at, strict=True)) for at in zip(*given.values(), strict=True))
    return grid.assign(exact=[formula(**at) for at in places]).dropna(subset="exact")


def _finer_theory(
    exact: pd.DataFrame, rows: pd.DataFrame, x: str, mapped: dict[str, str | None]
) -> pd.DataFrame:
    known = {role: c for role, c in mapped.items() if role != "color" or c in exact.columns}
    frame.need_columns(exact, [x, "exact", *known.values()])
    frame.check_no_hidden_rows(
        exact, {"x": x, **known}, [str(c) for c in exact.columns if c != "exact"]
    )
    line = panels.with_panels(pd.DataFrame({"x": exact[x], "exact": exact["exact"]}), exact, known)
    for role, column in known.items():
        if column is not None and column != "measure":
            line[role] = _same_levels(line[role], rows[role], column)
    return line


def staircase(theory: pd.DataFrame, x: str) -> pd.DataFrame:
    """Theory for whole numbers `x` as steps that end half-way to the neighbours."""
    almost_half = 0.5 - 1e-6  # the ends of neighbours stay distinct, joined by a vertical line
    sides = [theory.assign(**{x: theory[x] + side}) for side in (-almost_half, almost_half)]
    return pd.concat(sides).sort_values(x, kind="stable")


def _same_panels(
    theory: pd.DataFrame, rows: pd.DataFrame, mapped: dict[str, str | None]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Give theory and simulation the panels of all measures."""
    role = next((role for role, column in mapped.items() if column == "measure"), None)
    if role is None or role not in theory:
        return theory, rows
    levels = dict.fromkeys([*rows[role].cat.categories, *theory[role].cat.categories])
    of_theory, drawn = (each[role].cat.set_categories(list(levels)) for each in (theory, rows))
    return theory.assign(**{role: of_theory}), rows.assign(**{role: drawn})


def _same_levels(levels: pd.Series, drawn: pd.Series, column: str) -> pd.Series:
    strange = [c for c in levels.cat.categories if c not in drawn.cat.categories]
    if strange:
        raise FigureError(
            f"The theory has {column} at {', '.join(strange)}, which was not simulated, so it "
            "would be a line without points. Leave those rows out of `exact`."
        )
    return levels.cat.set_categories(drawn.cat.categories)


def _layers(
    rows: pd.DataFrame, parts: Sequence[pd.DataFrame], dodge: Any, joined: bool
) -> list[Any]:
    """Dotted lines through simulated values, solid ones through exact values; points and bars."""
    dotted = {"linetype": "dotted", "size": 0.5, "position": dodge, "show_legend": False}
    plain = {} if "color" in rows else {"color": BLUE}
    simulated, line, marks = parts
    bars = p9.aes(ymin="lower", ymax="upper")
    level = {"shape": "_", "size": 3.4, "position": dodge, "show_legend": False}
    return [
        *[p9.geom_line(simulated, **dotted, **plain)] * (joined and not simulated.empty),
        *(_exact_line(line, rows) if not line.empty else []),
        *([p9.geom_point(p9.aes(y="exact"), marks, **level)] if not marks.empty else []),
        p9.geom_linerange(bars, size=0.6, position=dodge, show_legend=False, na_rm=True, **plain),
        p9.geom_point(size=1.8, position=dodge, stroke=0.3, **plain),
    ]


def _exact_line(line: pd.DataFrame, rows: pd.DataFrame) -> list[Any]:
    """The exact line, coloured by its level, or in ink if it belongs to all.

    The legend has the line only if each colour has one.
    """
    look = {"size": 0.7, "inherit_aes": False}
    if "color" not in line:
        return [p9.geom_line(p9.aes(x="place", y="exact"), line, color=INK, **look)]
    for_all = set(line["color"]) >= set(rows["color"])
    place = p9.aes(x="place", y="exact", color="color", group="color")
    return [p9.geom_line(place, line, show_legend=for_all, **look)]


def _joined(points: pd.DataFrame, least: int = 2) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Points to join by a line, and single points; only quantities are joined."""
    if points.empty or not frame.is_number(points["x"]):
        return points.iloc[:0], points
    group = [points[role] for role in ("color", "panel", "rows") if role in points]
    together = points["x"].groupby(group or np.zeros(len(points)), observed=True)
    alone = together.transform("nunique") < least
    return points[~alone], points[alone]


def _dodged(rows: pd.DataFrame, width: float, log_x: bool) -> pd.DataFrame:
    """Add the column `place`: `x`, with colours side by side within `width` if it is a quantity.

    On a logarithmic axis `width` is a power of ten.
    """
    if not frame.is_number(rows["x"]) or "color" not in rows:
        return rows.assign(place=rows["x"])
    turn = _turn(rows)
    moved = rows["x"] * 10 ** (width * turn) if log_x else rows["x"] + width * turn
    return rows.assign(place=moved)


def _turn(rows: pd.DataFrame) -> Any:
    """The shift of each colour, from -1/2 to 1/2 of the room for all; 0 without colours."""
    if "color" not in rows:
        return 0.0
    n_colors = len(rows["color"].cat.categories)
    return (rows["color"].cat.codes - (n_colors - 1) / 2) / n_colors


def _dodge_width(rows: pd.DataFrame, log_x: bool) -> float:
    """Room for all colours at one x, within the gap to the next x."""
    n_colors = len(rows["color"].cat.categories) if "color" in rows else 1
    if not frame.is_number(rows["x"]):
        return min(0.5, 0.12 * n_colors)
    places = np.unique(np.log10(rows["x"]) if log_x else rows["x"].to_numpy(float))
    if len(places) < 2:
        return 0.1
    mark = MARK / panel_inches(*panels.panel_grid(rows))[0]  # relative to a panel
    return float(min(0.5 * np.diff(places).min(), mark * n_colors * np.ptp(places)))


def _x_scale(rows: pd.DataFrame, log_x: bool) -> list[Any]:
    """The scale of the horizontal axis."""
    x = rows["x"]
    if not frame.is_number(x):
        return panels.turned_labels(x, alone="panel" not in rows)
    if not log_x:
        return []
    places = sorted(x.unique())
    if len(places) > 8:
        return [p9.scale_x_log10()]
    # minor breaks cannot be computed for a single position
    between: dict[str, Any] = {"minor_breaks": []} if len(places) == 1 else {}
    return [p9.scale_x_log10(breaks=places, labels=_in_full, **between)]


def _in_full(places: Sequence[float]) -> list[str]:
    """Labels of the places that are within a panel's limits."""
    return [f"{place:,g}" for place in places]


def draw_default(result: Any, measure: str) -> ggplot:
    """Draw a measure over the first factor with more than two levels, or the first one.

    Methods are colours; the next two factors are panels. Of further factors the first level is
    drawn, which the caption says. Without factors the estimates are dots by method.

    Parameters
    ----------
    result
        Result of a study.
    measure
        Name of a measure of the study.

    Raises
    ------
    FigureError
        If the measure has no estimate.
    """
    rows = result.select(measure=measure)
    rows = rows[rows["estimate"].notna()]
    if rows.empty:
        raise FigureError(f"{measure} has no estimate in this run.")
    nominal = nominal_of(measure, rows)
    names = [name for name in frame.factors_of(rows) if _n_levels(rows, name) > 1]
    methods = result.plan.methods_axis if result.plan.methods else "method"
    color = methods if methods in names and _n_levels(rows, methods) <= MAX_COLORS else None
    others = [name for name in names if name != color]
    x = next((name for name in others if _n_levels(rows, name) > 2), next(iter(others), None))
    if x is None:
        if color is None:  # one row
            color, rows = LABEL, rows.assign(**{LABEL: format_name(measure)})
        return dots_plot(rows, measure=measure, y=color, nominal=nominal)
    rest = [name for name in others if name != x]
    if color is None:
        color = next((name for name in rest if _n_levels(rows, name) <= MAX_COLORS), None)
        rest = [name for name in rest if name != color]
    panel = next((name for name in rest if _n_levels(rows, name) <= MAX_PANELS), None)
    row = next((n for n in rest if n != panel and _n_levels(rows, n) <= MAX_ROWS), None)
    rows, fixed = _first_levels(rows, [name for name in rest if name not in (panel, row)])
    is_wide = _spreads(rows[x])
    rows, name_of = _in_words(result, rows, [name for name in (color, panel, row) if name])
    figure = measure_curves(
        rows, x=name_of[x], y=measure, color=name_of.get(color or ""),
        panel=name_of.get(panel or ""), rows=name_of.get(row or ""), nominal=nominal, log_x=is_wide,
    )  # fmt: skip
    return figure + p9.labs(caption=caption(fixed, figure.labels.caption))


def _in_words(
    result: Any, rows: pd.DataFrame, levels_of: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Rows with the study's labels: names of factors, and levels of some of them."""
    rows = rows.copy()
    for name in levels_of:
        if words := result.details.value_labels.get(name):
            levels = [words.get(level, str(level)) for level in frame.ordered_levels(rows[name])]
            shown = rows[name].map(lambda level, words=words: words.get(level, str(level)))
            rows[name] = pd.Categorical(shown, list(dict.fromkeys(levels)))
    names = {name: result.details.labels.get(name, name) for name in frame.factors_of(rows)}
    return rows.rename(columns=names), names


def nominal_of(measure: str, rows: pd.DataFrame) -> float | None:
    """The nominal value: 0 for a bias, the level of a coverage, α of a test; None for others."""
    if measure in AT_ZERO:
        return 0.0
    if measure not in ("coverage", "type_1_error"):
        return None
    own, other = ("level", "alpha") if measure == "coverage" else ("alpha", "level")
    for factor in (own, other):
        if factor in rows and frame.is_number(rows[factor]) and rows[factor].nunique() == 1:
            value = float(rows[factor].iloc[0])
            return value if factor == own else 1 - value
    return 0.95 if own == "level" else 0.05


def _n_levels(rows: pd.DataFrame, name: str) -> int:
    return len(set(map(repr, rows[name].tolist())))


def _first_levels(rows: pd.DataFrame, names: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """The rows with the first level of some factors, and these levels as text."""
    said = []
    for name in names:
        level = frame.ordered_levels(rows[name])[0]
        n = _n_levels(rows, name)
        rows = rows[rows[name].isna() if level is None else rows[name] == level]
        said.append(f"{format_name(name)} = {level} (of {n} levels)")
    return rows, f"Drawn: {', '.join(said)}." if said else ""


def _spreads(values: pd.Series) -> bool:
    """Whether a quantity spans so many powers of ten that a logarithmic axis shows it better."""
    return frame.is_number(values) and values.min() > 0 and values.max() / values.min() >= 30
