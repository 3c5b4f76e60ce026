"""Alternative texts of figures, for readers who cannot see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Real
from typing import Any

from simstudy.tables.summary import as_words

MARKS = {
    "geom_point": "points", "geom_jitter": "points", "geom_pointrange": "points",
    "geom_line": "lines", "geom_path": "lines", "geom_smooth": "lines", "geom_step": "steps",
    "geom_ribbon": "bands", "geom_area": "areas", "geom_density": "densities",
    "geom_bar": "bars", "geom_col": "bars", "geom_histogram": "bars", "geom_rect": "bars",
    "geom_tile": "coloured cells", "geom_raster": "coloured cells", "geom_segment": "segments",
}  # fmt: skip
SERIES = ("color", "fill", "shape", "linetype")
"""Aesthetics that a key explains."""
LAYOUT = {"panel", "panels", "row", "rows", "col", "cols", "column", "columns", "facet"}
"""Names of columns of panel titles, which say nothing beside the titles."""
MOST_NAMES = 8  # of series or panels; more are counted


def alt_text_of(figure: Any) -> str:
    """Describe a figure in one or two sentences: title, marks, axes, series, panels.

    Parameters
    ----------
    figure
        A plotnine ggplot, a composition of them, or a matplotlib Figure.
    """
    if hasattr(figure, "items") and not callable(figure.items):  # of a composition
        return " ".join(dict.fromkeys(map(alt_text_of, figure.items)))
    if hasattr(figure, "layers"):
        return _of_ggplot(figure)
    return _of_matplotlib(figure) if hasattr(figure, "axes") else ""


# ---------------------------------------------------------------- plotnine
def _of_ggplot(figure: Any) -> str:
    geoms = (type(layer.geom).__name__ for layer in figure.layers)
    marks = _list(MARKS[name] for name in geoms if name in MARKS) or "marks"
    x, y = (_label(figure, axis) for axis in ("x", "y"))
    shown = f"{marks} of {y}" if y else marks
    shown += f" against {x}" if x else ""
    parts = [shown, *_series(figure), *_panels(figure)]
    title = getattr(figure.labels, "title", None)
    return " ".join(map(_sentence, filter(None, [title, "; ".join(parts)])))


def _label(figure: Any, aesthetic: str) -> str:
    """The title of an axis or legend: its label, or the name of its scale or column."""
    label = getattr(figure.labels, aesthetic, None)
    scale = figure.scales.get_scales(aesthetic)
    if label is None and isinstance(getattr(scale, "name", None), str):
        label = scale.name
    if label is None:
        label = next((as_words(name) for name in _columns(figure, aesthetic)), "")
    return _line(label)


def _columns(figure: Any, aesthetic: str) -> Iterator[str]:
    """The columns that an aesthetic is mapped to."""
    for mapping in (figure.mapping, *(layer.mapping for layer in figure.layers)):
        name = (mapping or {}).get(aesthetic)
        if isinstance(name, str):
            yield name


def _series(figure: Any) -> Iterator[str]:
    """The columns that legends explain, with their values."""
    named = {name: by for by in reversed(SERIES) for name in _columns(figure, by)}
    for name, by in reversed(named.items()):
        values = _values(figure, name)
        if len(values) > 1:
            yield f"{_label(figure, by) or 'series'}: {_named(values)}"


def _panels(figure: Any) -> Iterator[str]:
    """The titles of the panels, by column."""
    facet = figure.facet
    names = [name for at in ("rows", "cols", "vars") for name in getattr(facet, at, ())]
    for name in names:
        label = "panels" if name in LAYOUT else f"panels by {as_words(name)}"
        values = _values(figure, name)
        if len(values) > 1:
            yield f"{label}: {_named(values)}"


def _values(figure: Any, name: str) -> list[Any]:
    """The distinct values of a column, in order."""
    for frame in (figure.data, *(layer._data for layer in figure.layers)):
        if name in getattr(frame, "columns", ()):
            column = frame[name].dropna()
            unique = column.unique()
            kinds = getattr(column, "cat", None)
            return list(unique if kinds is None else [v for v in kinds.categories if v in unique])
    return []


# ---------------------------------------------------------------- matplotlib
def _of_matplotlib(figure: Any) -> str:
    title, sentences = figure.get_suptitle(), []
    for axes in figure.axes:
        x, y = axes.get_xlabel(), axes.get_ylabel()
        shown = " against ".join(_line(text) for text in (y, x) if text)
        series = [t for t in axes.get_legend_handles_labels()[1] if not t.startswith("_")]
        parts = [_line(axes.get_title()), shown, f"series: {_named(series)}" if series else ""]
        sentences.append("; ".join(filter(None, parts)))
    return " ".join(map(_sentence, filter(None, dict.fromkeys([title, *sentences]))))


# ---------------------------------------------------------------- words
def _named(values: list[Any]) -> str:
    if len(values) > MOST_NAMES and all(isinstance(v, Real) for v in values):
        return f"{min(values):.3g} to {max(values):.3g}"
    texts = [_line(f"{v:g}" if isinstance(v, float) else as_words(v)) for v in values]
    if len(texts) <= MOST_NAMES:
        return ", ".join(texts)
    return f"{len(texts):,} from {texts[0]} to {texts[-1]}"


def _list(words: Iterable[str]) -> str:
    *most, last = [*dict.fromkeys(words)] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _line(text: Any) -> str:
    return " ".join(str(text).split())


def _sentence(text: Any) -> str:
    line = _line(text)
    return line[:1].upper() + line[1:] + "." * (not line.endswith((".", "!", "?")))
