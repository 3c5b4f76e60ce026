"""The figures of a study that declares none: each measure over its first factor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simstudy.errors import FigureError
from simstudy.figures.captions import caption_of, format_name, wrapped_to
from simstudy.figures.curves import measure_curves
from simstudy.figures.dots import dots_plot
from simstudy.figures.frame import factors_of, is_number, ordered_levels
from simstudy.figures.theme import FULL_WIDTH
from simstudy.lazy import ggplot, p9, pd

MAX_COLORS = 8  # levels told apart by colour
MAX_PANELS, MAX_ROWS = 6, 5  # panels side by side (wrapped), and rows of panels
LABEL = " "  # column that names the only row of a figure
AT_ZERO = ("bias", "median_bias", "standardised_bias", "relative_bias", "relative_error_model_se")


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
    names = [name for name in factors_of(rows) if _n_levels(rows, name) > 1]
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
    return _with_fixed(figure, fixed)


def _in_words(
    result: Any, rows: pd.DataFrame, levels_of: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Rows with the study's labels: names of factors, and levels of some of them."""
    rows = rows.copy()
    for name in levels_of:
        if words := result.details.value_labels.get(name):
            levels = [words.get(level, str(level)) for level in ordered_levels(rows[name])]
            shown = rows[name].map(lambda level, words=words: words.get(level, str(level)))
            rows[name] = pd.Categorical(shown, list(dict.fromkeys(levels)))
    names = {name: result.details.labels.get(name, name) for name in factors_of(rows)}
    return rows.rename(columns=names), names


def nominal_of(measure: str, rows: pd.DataFrame) -> float | None:
    """The nominal value: 0 for a bias, the level of a coverage, α of a test; None for others."""
    if measure in AT_ZERO:
        return 0.0
    for name, own, other in (("coverage", "level", "alpha"), ("type_1_error", "alpha", "level")):
        if measure == name:
            for factor, flips in ((own, False), (other, True)):
                if factor in rows and is_number(rows[factor]) and rows[factor].nunique() == 1:
                    value = float(rows[factor].iloc[0])
                    return 1 - value if flips else value
            return 0.95 if measure == "coverage" else 0.05
    return None


def _n_levels(rows: pd.DataFrame, name: str) -> int:
    return len(set(map(repr, rows[name].tolist())))


def _first_levels(rows: pd.DataFrame, names: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """The rows with the first level of some factors, and these levels as text."""
    said = []
    for name in names:
        level = ordered_levels(rows[name])[0]
        n = _n_levels(rows, name)
        rows = rows[rows[name].isna() if level is None else rows[name] == level]
        said.append(f"{format_name(name)} = {level} (of {n} levels)")
    return rows, f"Drawn: {', '.join(said)}." if said else ""


def _spreads(values: pd.Series) -> bool:
    """Whether a quantity spans so many powers of ten that a logarithmic axis shows it better."""
    return is_number(values) and values.min() > 0 and values.max() / values.min() >= 30


def _with_fixed(figure: ggplot, fixed: str) -> ggplot:
    if not fixed:
        return figure
    return figure + p9.labs(caption=wrapped_to(FULL_WIDTH, f"{fixed} {caption_of(figure)}"))
