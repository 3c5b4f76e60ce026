"""Files of figures, byte for byte the same each time."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any, Final, NamedTuple

import numpy as np

from simstudy.errors import FigureError
from simstudy.figures.captions import wrapped_to
from simstudy.figures.fit import fit_texts
from simstudy.figures.theme import FULL_WIDTH, TALLEST
from simstudy.lazy import p9
from simstudy.places import Place, place_of, write_bytes
from simstudy.validation import check_file_name, file_name

MAX_VECTOR_BYTES: Final = 400_000  # marks of one SVG; denser layers become pixels
PER_MARK, PER_VERTEX, PER_SHADE = 110, 25, 6_000  # bytes in matplotlib's SVG
METADATA: Final[dict[str, dict[str, None]]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
REPRODUCIBLE: Final[dict[Any, Any]] = {
    "svg.hashsalt": "simstudy",
    "svg.fonttype": "path",
    "svg.id": None,
    "pdf.fonttype": 42,  # TrueType, which journals ask for
}
HYPHEN = re.compile(r"(?<![\w.)\]-])-(?=\d|\.\d|∞)")  # before a number, not in a range
MINUS = "−"


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
    pdf: bool = False,
) -> SavedFigure:
    """Write `<name>.png` and `<name>.svg`, byte for byte the same for the same figure.

    The figure is laid out once for all of its files.

    Parameters
    ----------
    figure
        A plotnine ggplot, a composition of them, or a matplotlib Figure or Axes; none is changed.
        The size of a ggplot, such as `+ plotnine.theme(figure_size=(3.4, 3))` for one of two
        columns, is limited to a page's text, 6.5 by 9 inches, and its caption is wrapped to it.
    folder
        Folder of the files; created if it does not exist.
    name
        File name without its ending, such as "1B". Letters that Windows does not allow in names of
        files become `_`.
    dpi
        Pixels per inch of the PNG, and of layers that are too dense for an SVG. If marks would take
        more than 400 kB (about 500 points or 2,500 segments), the densest layers are stored as
        pixels within the SVG. Text, axes and the other layers stay vectors.
    pdf
        Whether to write `<name>.pdf` too, with fonts embedded as TrueType.

    Returns
    -------
    SavedFigure
        Paths of the files. Each file is written completely or not at all.
    """
    check_file_name(name, "figure", FigureError)
    endings = [ending for ending in METADATA if pdf or ending != "pdf"]
    paths = [place_of(folder) / f"{file_name(name)}.{ending}" for ending in endings]
    for path, content in zip(paths, _contents(printed(figure), endings, dpi), strict=True):
        write_bytes(path, content)
    return SavedFigure(*paths)


def _contents(figure: Any, endings: Iterable[str], dpi: int) -> list[bytes]:
    """The files of a figure, from one layout."""
    with as_printed():
        drawn = drawn_figure(figure, dpi)
        lay_out = type(drawn).draw_without_rendering if drawn is figure else fit_texts
        with dense_marks_as_pixels(drawn), _laid_out(drawn, dpi, lay_out):
            return [_bytes(drawn, ending, dpi) for ending in endings]


@contextmanager
def _laid_out(figure: Any, dpi: int, lay_out: Callable[[Any], None]) -> Iterator[None]:
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
        lay_out(figure)
        figure.set_layout_engine(None)
        yield
    finally:
        figure.set_dpi(before)
        figure.set_layout_engine(layout)


def _bytes(figure: Any, ending: str, dpi: int) -> bytes:
    content = BytesIO()
    figure.savefig(content, format=ending, dpi=dpi, metadata=METADATA[ending])
    return content.getvalue()


@contextmanager
def as_printed() -> Iterator[None]:
    """Context in which matplotlib uses its defaults and `REPRODUCIBLE`."""
    _headless()
    import matplotlib
    import matplotlib.style

    with matplotlib.style.context("default", after_reset=True), matplotlib.rc_context(REPRODUCIBLE):
        yield


def _headless() -> None:
    """Use a backend without a display, unless one has been chosen."""
    import matplotlib

    if "matplotlib.pyplot" not in sys.modules and matplotlib.get_backend(auto_select=False) is None:
        matplotlib.use("Agg")


def drawn_figure(figure: Any, dpi: int) -> Any:
    """The matplotlib Figure of a ggplot or a composition, before layout."""
    from matplotlib.figure import Figure

    if isinstance(figure, Figure):
        return figure
    if not type(figure).__module__.startswith("plotnine."):
        raise FigureError(
            f"an object of type {type(figure).__name__} cannot be saved as a figure: return a "
            "plotnine ggplot, or a matplotlib Figure or Axes."
        )
    if not isinstance(figure, p9.ggplot):
        return with_minus_signs(copy.deepcopy(figure).draw())  # drawing changes it
    plot = figure + p9.theme(dpi=dpi)
    return with_minus_signs(with_caption_at_edge(plot.draw(), plot))


def printed(plot: Any) -> Any:
    """A ggplot at its printed size in inches, with its caption wrapped; of an Axes its figure."""
    if not isinstance(plot, p9.ggplot):
        axes = getattr(sys.modules.get("matplotlib.axes"), "Axes", ())
        return plot.get_figure() if isinstance(plot, axes) else plot  # seaborn returns Axes
    own_width, height = plot.theme.getp("figure_size")
    width = min(own_width, FULL_WIDTH)
    caption = wrapped_to(width, plot.labels.get("caption", None) or "")
    return plot + p9.theme(figure_size=(width, min(height, TALLEST))) + p9.labs(caption=caption)


def with_caption_at_edge(figure: Any, plot: Any) -> Any:
    """A drawn ggplot with its caption at the left margin.

    Panels of a fixed shape that are narrow because of the page's height are centred. The caption,
    which is wrapped to the page's width, would start at their left and end beyond the page.

    Parameters
    ----------
    figure
        The matplotlib figure, not yet laid out.
    plot
        The ggplot that it was drawn from.
    """
    caption = plot.labels.get("caption", None)
    text = next((text for text in figure.texts if text.get_text() == caption), None)
    if text is not None:
        margin = plot.theme.getp("plot_margin_left")
        figure.set_layout_engine(_moving(text, margin, figure.get_layout_engine()))
    return figure


def _moving(caption: Any, left: float, inner: Any) -> Any:
    """A layout engine that moves the caption to the left margin."""
    from matplotlib.layout_engine import LayoutEngine

    class AtEdge(LayoutEngine):
        _adjust_compatible = inner.adjust_compatible
        _colorbar_gridspec = inner.colorbar_gridspec
        plot = getattr(inner, "plot", None)

        def execute(self, fig: Any) -> None:
            inner.execute(fig)
            caption.set_x(left)

    return AtEdge()


def with_minus(text: str) -> str:
    """Replace hyphens before numbers by minus signs."""
    return HYPHEN.sub(MINUS, text)


def with_minus_signs(figure: Any) -> Any:
    """A matplotlib figure with minus signs in texts and ticks."""
    from matplotlib.text import Text

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(_formatter(axis.get_major_formatter()))
    for text in figure.findobj(Text):
        text.set_text(with_minus(text.get_text()))
    return figure


def _formatter(inner: Any) -> Any:
    """A tick formatter with minus signs."""
    from matplotlib.ticker import Formatter

    class Signed(Formatter):
        def __call__(self, place: float, at: int | None = None) -> str:
            return with_minus(inner(place, at))

        def format_ticks(self, values: Sequence[float]) -> list[str]:
            return list(map(with_minus, inner.format_ticks(values)))

        def get_offset(self) -> str:
            return with_minus(inner.get_offset())

    return Signed()


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
