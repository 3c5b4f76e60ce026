"""Figures to files: the same bytes from the same figure, and no SVG that a browser chokes on."""

import copy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from simstudy.errors import FigureError
from simstudy.figures.captions import wrapped_to
from simstudy.figures.page import FULL_WIDTH
from simstudy.figures.page_edge import with_caption_at_edge
from simstudy.figures.signs import with_minus_signs
from simstudy.figures.theme import TALLEST
from simstudy.remote.paths import Place, place_of
from simstudy.whole_files import write_bytes

MAX_VECTOR_BYTES: Final = 400_000  # of one SVG's marks; the densest of the others become pixels
PER_MARK, PER_VERTEX, PER_SHADE = 110, 25, 6_000  # bytes in an SVG, as matplotlib writes it
REPRODUCIBLE: Final[dict[Any, Any]] = {
    "svg.hashsalt": "simstudy",
    "svg.fonttype": "path",
    "svg.id": None,
}
METADATA: Final = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


class SavedFigure(NamedTuple):
    """Where a figure was written."""

    png: Place
    svg: Place


def save_figure(
    figure: Any,
    folder: str | Place,
    name: str,
    *,
    dpi: int = 200,
    size: tuple[float, float] | None = None,
) -> SavedFigure:
    """Write `<name>.png` and `<name>.svg`, byte for byte the same for the same figure.

    Parameters
    ----------
    figure
        A plotnine ggplot, a composition of them, or a matplotlib Figure; none is changed.
    folder
        Made if it is not there.
    name
        File name without its ending, such as "1B".
    dpi
        Pixels per inch of the PNG, and of what is too dense for an SVG: once marks would take more
        than 400 kB (about 500 points or 2,500 segments), the densest layers are pixels within it,
        none left out. Text, axes and the other layers stay vectors.
    size
        Width and height of a ggplot in inches, such as (3.4, 3) for one of two columns; unless
        given, its own. Neither is larger than a page's text, 6.5 by 9. Text keeps its size in
        points, and the caption is wrapped to the width.

    Returns
    -------
    SavedFigure
        The two paths. Each file appears whole, under its own name, or not at all.
    """
    refuse_name(name)
    paths = SavedFigure(*(place_of(folder) / f"{name}.{ending}" for ending in METADATA))
    sized = figure if size is None else printed(figure, size)
    for path, content in zip(paths, _rendered(sized, dpi), strict=True):
        write_bytes(path, content)
    return paths


def refuse_name(name: str) -> None:
    """Refuse what is no name of a file in the folder."""
    if not name or Path(name).name != name:
        raise FigureError(
            f"{name!r} is no file name for a figure: it has to be one name, without a folder, so "
            "that the figure lands where the report looks for it. Give the folder as `folder`."
        )


def _rendered(figure: Any, dpi: int) -> list[bytes]:
    """The figure's PNG and SVG."""
    with as_printed():
        drawn = _drawn(figure, dpi)
        with dense_marks_as_pixels(drawn), _laid_out(drawn, dpi):
            return [_bytes(drawn, ending, dpi) for ending in METADATA]


@contextmanager
def as_printed(settings: dict[Any, Any] = REPRODUCIBLE) -> Iterator[None]:
    """Within it, matplotlib draws by its defaults and these, and not by the user's."""
    _headless()
    import matplotlib
    import matplotlib.style

    with matplotlib.style.context("default", after_reset=True), matplotlib.rc_context(settings):
        yield


def _headless() -> None:
    """Draw without a display, unless someone has chosen how to draw already."""
    import matplotlib

    if "matplotlib.pyplot" not in sys.modules and matplotlib.get_backend(auto_select=False) is None:
        matplotlib.use("Agg")


def _drawn(figure: Any, dpi: int) -> Any:
    from matplotlib.figure import Figure

    refuse_others(figure)
    if isinstance(figure, Figure):
        return figure
    from simstudy.lazy import p9

    plot = copy.deepcopy(figure)  # drawing leaves its traces on a plot
    if not isinstance(plot, p9.ggplot):
        return with_minus_signs(plot.draw())
    plot = printed(plot) + p9.theme(dpi=dpi)
    return with_minus_signs(with_caption_at_edge(plot.draw(), plot))


def refuse_others(figure: Any) -> None:
    """Refuse what is neither a figure of plotnine nor one of matplotlib."""
    from matplotlib.figure import Figure

    if not isinstance(figure, Figure) and not type(figure).__module__.startswith("plotnine."):
        raise FigureError(
            f"A {type(figure).__name__} cannot be saved as a figure: `save_figure` draws a "
            "plotnine ggplot or a matplotlib Figure. Return one of these."
        )


def printed(plot: Any, size: tuple[float, float] | None = None) -> Any:
    """A ggplot at the size at which it is printed, with its caption in lines of that width."""
    from simstudy.lazy import p9

    width, height = _within_a_page(*(size or plot.theme.getp("figure_size")))
    said = plot.labels.get("caption", None) or ""
    return plot + p9.theme(figure_size=(width, height)) + p9.labs(caption=wrapped_to(width, said))


def _within_a_page(width: float, height: float) -> tuple[float, float]:
    return min(width, FULL_WIDTH), min(height, TALLEST)


@contextmanager
def _laid_out(drawn: Any, dpi: int) -> Iterator[None]:
    """Where everything lies is found once, not four times: matplotlib draws each file twice else.

    The layout is put back at the end.
    """
    layout = drawn.get_layout_engine()
    if layout is None:
        yield
        return
    before = drawn.dpi
    try:
        drawn.set_dpi(dpi)
        drawn.draw_without_rendering()
        drawn.set_layout_engine(None)
        yield
    finally:
        drawn.set_dpi(before)
        drawn.set_layout_engine(layout)


def _bytes(drawn: Any, ending: str, dpi: int) -> bytes:
    content = BytesIO()
    drawn.savefig(content, format=ending, dpi=dpi, metadata=METADATA[ending])
    return content.getvalue()


# ---------------------------------------------------------------- dense layers
@contextmanager
def dense_marks_as_pixels(drawn: Any, *, of_keys: bool = True) -> Iterator[None]:
    """Rasterise the densest artists until the rest is few enough; undone at the end.

    Parameters
    ----------
    of_keys
        Whether artists of keys may be: only where the figure is laid out in the same pixels, since
        these stand where the layout put them, in pixels, and would be drawn elsewhere.
    """
    changed = [artist for artist in _too_dense(drawn) if of_keys or artist.axes is not None]
    before = [artist.get_rasterized() for artist in changed]
    for artist in changed:
        artist.set_rasterized(True)
    try:
        yield
    finally:
        for artist, was in zip(changed, before, strict=True):
            artist.set_rasterized(was)


def _too_dense(drawn: Any) -> list[Any]:
    sizes = [(_vector_bytes(artist), artist) for artist in drawn.findobj(_is_layer)]
    sizes.sort(key=lambda pair: -pair[0])
    total, chosen = sum(size for size, _ in sizes), []
    for size, artist in sizes:
        if total <= MAX_VECTOR_BYTES:
            break
        chosen.append(artist)
        total -= size
    return chosen


def _is_layer(artist: Any) -> bool:
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D

    return isinstance(artist, (Collection, Line2D))


def _vector_bytes(artist: Any) -> int:
    """What an artist takes in an SVG, roughly."""
    from matplotlib.collections import QuadMesh
    from matplotlib.lines import Line2D

    if isinstance(artist, QuadMesh):  # a colour bar: each cell is four shaded triangles
        return PER_SHADE * len(artist.get_paths())
    if isinstance(artist, Line2D):
        return PER_MARK + PER_VERTEX * int(np.size(artist.get_xdata()))
    vertices = [len(path.vertices) for path in artist.get_paths()]
    n_marks: int = max(len(vertices), len(artist.get_offsets()))
    return n_marks * (PER_MARK + PER_VERTEX * sum(vertices) // max(len(vertices), 1))
