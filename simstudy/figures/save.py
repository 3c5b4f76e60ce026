"""Files of figures, byte for byte the same each time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any, Final, NamedTuple

import numpy as np

from simstudy.atomic_files import write_bytes
from simstudy.errors import FigureError
from simstudy.figures.drawing import as_printed, drawn_figure, printed
from simstudy.remote.paths import Place, place_of
from simstudy.validation import check_file_name

MAX_VECTOR_BYTES: Final = 400_000  # marks of one SVG; denser layers become pixels
PER_MARK, PER_VERTEX, PER_SHADE = 110, 25, 6_000  # bytes in matplotlib's SVG
METADATA: Final[dict[str, dict[str, None]]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}


class SavedFigure(NamedTuple):
    """The files of a figure.

    Attributes
    ----------
    png, svg : Place
        Path of the file.
    pdf
        Path of the PDF file. None unless `pdf=True`.
    """

    png: Place
    svg: Place
    pdf: Place | None = None


def save_figure(
    figure: Any,
    folder: str | Place,
    name: str,
    *,
    dpi: int = 200,
    size: tuple[float, float] | None = None,
    pdf: bool = False,
) -> SavedFigure:
    """Write `<name>.png` and `<name>.svg`, byte for byte the same for the same figure.

    The figure is laid out once for all of its files.

    Parameters
    ----------
    figure
        A plotnine ggplot, a composition of them, or a matplotlib Figure; none is changed.
    folder
        Folder of the files; created if it does not exist.
    name
        File name without its ending, such as "1B".
    dpi
        Pixels per inch of the PNG, and of layers that are too dense for an SVG. If marks would take
        more than 400 kB (about 500 points or 2,500 segments), the densest layers are stored as
        pixels within the SVG. Text, axes and the other layers stay vectors.
    size
        Width and height of a ggplot in inches, such as (3.4, 3) for one of two columns. Default:
        those of the figure. Both are limited to a page's text, 6.5 by 9. Text keeps its size in
        points, and the caption is wrapped to the width.
    pdf
        Whether to write `<name>.pdf` too, with fonts embedded as TrueType.

    Returns
    -------
    SavedFigure
        Paths of the files. Each file is written completely or not at all.
    """
    check_file_name(name, "figure", FigureError)
    endings = [ending for ending in METADATA if pdf or ending != "pdf"]
    paths = [place_of(folder) / f"{name}.{ending}" for ending in endings]
    for path, content in zip(paths, _contents(printed(figure, size), endings, dpi), strict=True):
        write_bytes(path, content)
    return SavedFigure(*paths)


def _contents(figure: Any, endings: Iterable[str], dpi: int) -> list[bytes]:
    """The files of a figure, from one layout."""
    with as_printed():
        drawn = drawn_figure(figure, dpi)
        with dense_marks_as_pixels(drawn), _laid_out(drawn, dpi):
            return [_bytes(drawn, ending, dpi) for ending in endings]


@contextmanager
def _laid_out(figure: Any, dpi: int) -> Iterator[None]:
    """Compute the layout once for all files; otherwise matplotlib draws each file twice.

    The layout engine is restored at the end.
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


def _bytes(figure: Any, ending: str, dpi: int) -> bytes:
    content = BytesIO()
    figure.savefig(content, format=ending, dpi=dpi, metadata=METADATA[ending])
    return content.getvalue()


# ---------------------------------------------------------------- dense layers
@contextmanager
def dense_marks_as_pixels(figure: Any) -> Iterator[None]:
    """Context in which the densest artists are rasterised."""
    changed = _too_dense(figure)
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
