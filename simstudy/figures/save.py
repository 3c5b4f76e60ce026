"""Files of figures, byte for byte the same each time, with texts that fit.

Titles of panels are wrapped, and labels of axes that touch are left out. Both are measured with
their font, at the size of the figure.
"""

from __future__ import annotations

import copy
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from simstudy.errors import FigureError
from simstudy.figures.captions import wrapped_to
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
MARGIN = 4  # points between the title of a panel and both ends of its box
GAP = 0.5  # least gap between two labels of a horizontal axis, in heights of a letter
ROUNDS = 3  # layouts at most: a wrapped title leaves its panel less room
EVEN = 0.1  # labels are evenly spaced if their distances differ by less, relative to the mean
HYPHEN = re.compile(r"(?<![\w.)\]-])-(?=\d|\.\d|∞)")  # before a number, not in a range
MINUS = "−"

Ends = tuple[float, float]


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
    figure: Any, folder: str | Place, name: str, *, dpi: int = 200, pdf: bool = False
) -> SavedFigure:
    """Write `<name>.png` and `<name>.svg`, byte for byte the same for the same figure.

    The figure is laid out once for all of its files.

    Parameters
    ----------
    figure
        A plotnine ggplot, a composition of them, or a matplotlib Figure; none is changed.
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
        with dense_marks_as_pixels(drawn), _laid_out(drawn, figure, dpi):
            return [_bytes(drawn, ending, dpi) for ending in endings]


@contextmanager
def _laid_out(drawn: Any, figure: Any, dpi: int) -> Iterator[None]:
    """Compute the layout once for all files; otherwise matplotlib draws each file twice.

    The layout engine is restored at the end. Texts are fitted unless the figure is matplotlib's.
    """
    layout = drawn.get_layout_engine()
    if layout is None:
        yield
        return
    before = drawn.dpi
    try:
        drawn.set_dpi(dpi)
        if drawn is figure:
            drawn.draw_without_rendering()
        else:
            fit_texts(drawn)
        if isinstance(figure, p9.ggplot):
            move_caption_to_edge(drawn, figure)
        drawn.set_layout_engine(None)
        yield
    finally:
        drawn.set_dpi(before)
        drawn.set_layout_engine(layout)


def _bytes(figure: Any, ending: str, dpi: int) -> bytes:
    content = BytesIO()
    figure.savefig(content, format=ending, dpi=dpi, metadata=METADATA[ending])
    return content.getvalue()


@contextmanager
def as_printed() -> Iterator[None]:
    """Context in which matplotlib uses its defaults and `REPRODUCIBLE`."""
    import matplotlib
    import matplotlib.style

    if "matplotlib.pyplot" not in sys.modules and matplotlib.get_backend(auto_select=False) is None:
        matplotlib.use("Agg")  # without a display, unless a backend has been chosen
    with matplotlib.style.context("default", after_reset=True), matplotlib.rc_context(REPRODUCIBLE):
        yield


def drawn_figure(figure: Any, dpi: int) -> Any:
    """The matplotlib Figure of a ggplot or a composition, before layout."""
    from matplotlib.figure import Figure

    if isinstance(figure, Figure):
        return figure
    if not type(figure).__module__.startswith("plotnine."):
        raise FigureError(
            f"an object of type {type(figure).__name__} cannot be saved as a figure: return a "
            "plotnine ggplot, or a matplotlib Figure (of an Axes, `axes.figure`)."
        )
    if not isinstance(figure, p9.ggplot):
        return with_minus_signs(copy.deepcopy(figure).draw())  # drawing changes it
    return with_minus_signs((figure + p9.theme(dpi=dpi)).draw())


def printed(plot: Any) -> Any:
    """A ggplot at its printed size in inches, with its caption wrapped."""
    if not isinstance(plot, p9.ggplot):
        return plot
    own_width, height = plot.theme.getp("figure_size")
    width = min(own_width, FULL_WIDTH)
    caption = wrapped_to(width, plot.labels.get("caption", None) or "")
    return plot + p9.theme(figure_size=(width, min(height, TALLEST))) + p9.labs(caption=caption)


def move_caption_to_edge(figure: Any, plot: Any) -> None:
    """Move the caption of a figure that is laid out to the left margin.

    Panels of a fixed shape that are narrow because of the page's height are centred. The caption,
    which is wrapped to the page's width, would start at their left and end beyond the page.

    Parameters
    ----------
    figure
        The matplotlib figure.
    plot
        The ggplot that it was drawn from.
    """
    caption = plot.labels.get("caption", None)
    for text in figure.texts:
        if text.get_text() == with_minus(caption or ""):
            text.set_x(plot.theme.getp("plot_margin_left"))


def with_minus(text: str) -> str:
    """Replace hyphens before numbers by minus signs."""
    return HYPHEN.sub(MINUS, text)


def with_minus_signs(figure: Any) -> Any:
    """A matplotlib figure with minus signs in texts and ticks."""
    from matplotlib.text import Text

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(_signed(axis.get_major_formatter()))
    for text in figure.findobj(Text):
        text.set_text(with_minus(text.get_text()))
    return figure


def _signed(formatter: Any) -> Callable[[float, int | None], str]:
    """A tick formatter with minus signs."""
    return lambda place, at: with_minus(formatter(place, at))


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
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D

    layers = figure.findobj(lambda artist: isinstance(artist, (Collection, Line2D)))
    sizes = [(_vector_bytes(artist), artist) for artist in layers]
    sizes.sort(key=lambda pair: -pair[0])
    total, chosen = sum(size for size, _ in sizes), []
    for size, artist in sizes:
        if total <= MAX_VECTOR_BYTES:
            break
        chosen.append(artist)
        total -= size
    return chosen


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


def fit_texts(figure: Any) -> None:
    """Wrap titles of panels that are longer than their boxes, and leave out labels that touch.

    Parameters
    ----------
    figure
        A figure of matplotlib that plotnine has drawn; its layout is computed.
    """
    figure.draw_without_rendering()
    for _ in range(ROUNDS):
        if not [text for text in figure.artists if _wrap(text)]:
            break
        figure.draw_without_rendering()
    for name, across, along in (("xaxis", "y0", "x0"), ("yaxis", "x0", "y0")):
        lines: dict[int, list[Any]] = {}
        for axes in sorted(figure.axes, key=lambda axes: float(getattr(axes.bbox, along))):
            lines.setdefault(round(getattr(axes.bbox, across)), []).append(getattr(axes, name))
        for line in lines.values():
            _thin_line(line)


def _wrap(text: Any) -> bool:
    """Wrap a text if it is a title of a panel and too long; return whether it was."""
    title = getattr(text, "draw_info", None)
    if title is None:
        return False
    side = "width" if title.position == "top" else "height"
    room = getattr(title.ax.bbox, side) - 2 * MARGIN * text.get_figure().dpi / 72
    before = text.get_text()
    split = before.split("\n")
    n_letters = max(map(len, split))
    while n_letters > 1 and getattr(text.get_window_extent(), side) > room:
        n_letters -= 1
        lines = (textwrap.fill(line, n_letters, break_on_hyphens=False) for line in split)
        text.set_text("\n".join(lines))
        text.set_va("center")
    return bool(text.get_text() != before)


def _thin_line(line: Sequence[Any]) -> None:
    """Thin out the labels of each axis, then those of neighbouring panels."""
    shown = [ends for ends in map(_thin, line) if ends]
    for left, right in pairwise(shown):
        (last, (_, end)), (_, (start, _)) = left[-1], right[0]
        if end > start and len(left) > 1:
            last.set_visible(False)


def _thin(axis: Any) -> list[tuple[Any, Ends]]:
    """Hide labels of an axis that touch another; return the others with their ends."""
    low, high = sorted(axis.get_view_interval())
    labels = [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    labels = [label for label in labels if label.get_visible() and label.get_text()]
    found = sorted(((label, _ends(label, axis.axis_name)) for label in labels), key=lambda f: f[1])
    kept = _kept([ends for _, ends in found])
    for i, (label, _) in enumerate(found):
        label.set_visible(i in kept)
    return [found[i] for i in kept]


def _ends(label: Any, axis: str) -> Ends:
    """Both ends of a label along its axis, in pixels, with half of the gap."""
    box = label.get_window_extent()
    if axis == "y":
        return float(box.y0), float(box.y1)
    letter = label.get_fontsize() * label.get_figure().dpi / 72
    turn = float(np.sin(np.radians(label.get_rotation())))
    if label.get_ha() == "right" and turn > 0:  # lines of turned text lie side by side
        return float(box.x1 - letter / turn), float(box.x1)
    return float(box.x0 - GAP * letter / 2), float(box.x1 + GAP * letter / 2)


def _kept(ends: list[Ends]) -> list[int]:
    """Which labels are shown: every second or third if evenly spaced, else those that fit.

    The last of unevenly spaced labels is always shown, since it is the end of the axis.
    """
    n, gaps = len(ends), np.diff([low + high for low, high in ends])
    if n < 3 or np.ptp(gaps) < EVEN * gaps.mean():
        steps = (list(range(0, n, every)) for every in range(1, n + 1))
        return next((at for at in steps if _fit([ends[i] for i in at])), [])
    kept: list[int] = []
    for i in range(n - 1):
        if _fit([*(ends[j] for j in kept[-1:]), ends[i], ends[-1]]):
            kept.append(i)
    return [*kept, n - 1]


def _fit(ends: Sequence[Ends]) -> bool:
    """Whether no label reaches into the next."""
    return all(end <= start for (_, end), (start, _) in pairwise(ends))
