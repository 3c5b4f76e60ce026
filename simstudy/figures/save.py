"""Saves figures, byte for byte the same each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import Any, Final, NamedTuple

import numpy as np

from simstudy.atomic_files import write_bytes
from simstudy.errors import FigureError
from simstudy.figures.drawing import as_printed, drawn_figure, printed
from simstudy.figures.page import COLUMNS, check_columns, column_files, laid_out_for
from simstudy.figures.theme import TALLEST
from simstudy.remote.paths import Place, place_of
from simstudy.validation import check_file_name

MAX_VECTOR_BYTES: Final = 400_000  # of one SVG's marks; the densest of the others become pixels
PER_MARK, PER_VERTEX, PER_SHADE = 110, 25, 6_000  # bytes in an SVG, as matplotlib writes it
METADATA: Final = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
UNDATED: Final = {"Creator": None, "Producer": None, "CreationDate": None}
POINTS_PER_INCH: Final = 72  # in which a PDF measures


class SavedFigure(NamedTuple):
    """The files of a figure.

    Attributes
    ----------
    png, svg
        Path of the file.
    """

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
    check_file_name(name, "figure", FigureError)
    paths = SavedFigure(*(place_of(folder) / f"{name}.{ending}" for ending in METADATA))
    for path, content in zip(paths, _png_and_svg(printed(figure, size), dpi), strict=True):
        write_bytes(path, content)
    return paths


def save_pdfs(
    figure: Any,
    folder: str | Place,
    name: str,
    *,
    columns: Mapping[str, float] = COLUMNS,
    dpi: int = 300,
) -> dict[str, Place]:
    """Write `<column>/<name>.pdf` for each width, the same bytes for the same figure.

    Text keeps its size in points, and a figure its height, up to 9 inches. One that has too many
    panels, or too long words, for a narrow column is crowded there.

    Parameters
    ----------
    figure
        A plotnine ggplot, a composition of them or a matplotlib Figure; none is changed. Or a
        function without arguments that makes one, such as `lambda: result.figure("1B")`, which is
        called for each width: the figures of this package then put panels and keys where there is
        room.
    folder
        Made if it is not there; each width has a folder of its own below.
    name
        File name without its ending, such as "1B".
    columns
        By name, the widths in inches, from 2 to 20; unless given, `single`, 3.5 inches (89 mm),
        and `double`, 7.2 inches (183 mm).
    dpi
        Pixels per inch of layers that are too dense for vectors, as in `save_figure`.

    Returns
    -------
    dict
        The paths by the widths' names. Fonts are embedded as TrueType.

    Raises
    ------
    FigureError
        Where a name is none for a file, a width is none, or what is given is no figure.
    """
    check_file_name(name, "figure", FigureError)
    check_columns(columns, FigureError)
    places = (place_of(folder) / file for file in column_files(name, columns, "pdf"))
    paths = dict(zip(columns, places, strict=True))
    for column, inches in columns.items():
        with laid_out_for(inches):
            made = figure() if _makes_one(figure) else figure
            write_bytes(paths[column], _pdf(made, inches, dpi))
    return paths


def _png_and_svg(figure: Any, dpi: int) -> list[bytes]:
    with as_printed():
        drawn = drawn_figure(figure, dpi)
        with dense_marks_as_pixels(drawn), _laid_out(drawn, dpi):
            return [_bytes(drawn, ending, dpi, METADATA[ending]) for ending in METADATA]


def _makes_one(figure: Any) -> bool:
    return isinstance(figure, Callable) and not hasattr(figure, "draw")  # type: ignore[arg-type]


def _pdf(figure: Any, width: float, dpi: int) -> bytes:
    with as_printed():
        drawn = drawn_figure(printed(figure, of_width=width), POINTS_PER_INCH)
        with _at_width(drawn, width), dense_marks_as_pixels(drawn, of_keys=False):
            return _bytes(drawn, "pdf", dpi, UNDATED)


@contextmanager
def _at_width(figure: Any, width: float) -> Iterator[None]:
    """A context in which a matplotlib figure has a width, in inches."""
    before = figure.get_size_inches()
    try:
        figure.set_size_inches(width, min(before[1], TALLEST))
        yield
    finally:
        figure.set_size_inches(before)


@contextmanager
def _laid_out(figure: Any, dpi: int) -> Iterator[None]:
    """Compute the layout once: matplotlib would draw each file twice.

    The layout is put back at the end.
    """
    layout = figure.get_layout_engine()
    if layout is None:
        yield
        return
    before = figure.dpi
    try:
        figure.set_dpi(dpi)
        figure.draw_without_rendering()
        figure.set_layout_engine(None)
        yield
    finally:
        figure.set_dpi(before)
        figure.set_layout_engine(layout)


def _bytes(figure: Any, ending: str, dpi: int, metadata: Mapping[str, None]) -> bytes:
    content = BytesIO()
    figure.savefig(content, format=ending, dpi=dpi, metadata=metadata)
    return content.getvalue()


# ---------------------------------------------------------------- dense layers
@contextmanager
def dense_marks_as_pixels(figure: Any, *, of_keys: bool = True) -> Iterator[None]:
    """A context in which the densest artists are rasterised.

    Parameters
    ----------
    of_keys
        Whether artists of keys may be: only where the figure is laid out in the same pixels, since
        these stand where the layout put them, in pixels, and would be drawn elsewhere.
    """
    changed = [artist for artist in _too_dense(figure) if of_keys or artist.axes is not None]
    before = [artist.get_rasterized() for artist in changed]
    for artist in changed:
        artist.set_rasterized(True)
    try:
        yield
    finally:
        for artist, was in zip(changed, before, strict=True):
            artist.set_rasterized(was)


def _too_dense(figure: Any) -> list[Any]:
    sizes = [(_vector_bytes(artist), artist) for artist in figure.findobj(_is_layer)]
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
    """The approximate size of an artist in SVG."""
    from matplotlib.collections import QuadMesh
    from matplotlib.lines import Line2D

    if isinstance(artist, QuadMesh):  # a colour bar: each cell is four shaded triangles
        return PER_SHADE * len(artist.get_paths())
    if isinstance(artist, Line2D):
        return PER_MARK + PER_VERTEX * int(np.size(artist.get_xdata()))
    vertices = [len(path.vertices) for path in artist.get_paths()]
    n_marks: int = max(len(vertices), len(artist.get_offsets()))
    return n_marks * (PER_MARK + PER_VERTEX * sum(vertices) // max(len(vertices), 1))
