"""Figures as PDFs at the widths of a journal's columns: the same bytes from the same figure."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any, Final

from simstudy.column_widths import COLUMNS, check_columns, column_files
from simstudy.errors import FigureError
from simstudy.figures.journal.copies import copy_of
from simstudy.figures.journal.keys import with_keys_inside
from simstudy.figures.journal.mending import mended
from simstudy.figures.journal.refit import refitted
from simstudy.figures.page import FULL_WIDTH, laid_out_for
from simstudy.figures.page_edge import with_caption_at_edge
from simstudy.figures.save import as_printed, dense_marks_as_pixels, refuse_name, refuse_others
from simstudy.figures.signs import with_minus_signs
from simstudy.figures.theme import TALLEST
from simstudy.lazy import p9
from simstudy.remote.paths import Place, place_of
from simstudy.whole_files import write_bytes

PER_INCH: Final = 72  # points, in which a PDF measures
EMBEDDED: Final[dict[Any, Any]] = {"pdf.fonttype": 42, "pdf.use14corefonts": False}
UNDATED: Final = {"Creator": None, "Producer": None, "CreationDate": None}


def save_pdfs(
    figure: Any,
    folder: str | Place,
    name: str,
    *,
    columns: Mapping[str, float] = COLUMNS,
    dpi: int = 300,
) -> dict[str, Place]:
    """Write `<column>/<name>.pdf` for each width, the same bytes for the same figure.

    A figure is laid out anew for each: panels in as many columns as there is room for, keys above
    or below them, titles in several lines, fewer numbers on axes, and as high as that takes, up to
    9 inches. No letters become smaller.

    Parameters
    ----------
    figure
        A plotnine ggplot, a composition of them or a matplotlib Figure; none is changed. Or a
        function without arguments that makes one, such as `lambda: result.figure("1B")`, which is
        called for each width: the figures of this package then choose what they say in it.
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
    refuse_name(name)
    check_columns(columns, FigureError)
    places = (place_of(folder) / file for file in column_files(name, columns, "pdf"))
    paths = dict(zip(columns, places, strict=True))
    for column, inches in columns.items():
        write_bytes(paths[column], pdf_of(figure, inches, dpi))
    return paths


def pdf_of(figure: Any, width: float, dpi: int = 300) -> bytes:
    """A figure as PDF, so many inches wide."""
    with laid_out_for(width):
        made = figure() if _makes_one(figure) else figure
    content = BytesIO()
    with as_printed(EMBEDDED):
        drawn = drawn_at(made, width)
        with dense_marks_as_pixels(drawn, of_keys=False):
            drawn.savefig(content, format="pdf", dpi=dpi, metadata=UNDATED)
    return content.getvalue()


def _makes_one(figure: Any) -> bool:
    return isinstance(figure, Callable) and not hasattr(figure, "draw")  # type: ignore[arg-type]


def drawn_at(figure: Any, width: float) -> Any:
    """A figure drawn and laid out anew for a width in inches, as a matplotlib Figure."""
    from matplotlib.figure import Figure

    refuse_others(figure)
    if isinstance(figure, Figure):
        drawn = copy_of(figure)
        drawn.set_size_inches(width, min(drawn.get_size_inches()[1], TALLEST))
        return mended(_as_in_pdf(drawn), keep_height=True)
    is_wide = width >= FULL_WIDTH
    if isinstance(figure, p9.ggplot):
        with laid_out_for(width):
            return mended(refitted(figure, width, _draw), keep_height=is_wide)
    drawn = _draw(figure)
    drawn.set_size_inches(width, min(drawn.get_size_inches()[1], TALLEST))
    return mended(drawn, keep_height=True)


def _draw(plot: Any) -> Any:
    """A figure of plotnine, laid out with the widths that letters have in a PDF."""
    plot = copy.deepcopy(plot)  # drawing leaves its traces on a plot
    is_one = isinstance(plot, p9.ggplot)
    drawn = (plot + p9.theme(dpi=PER_INCH)).draw() if is_one else plot.draw()
    at_edge = with_caption_at_edge(drawn, plot) if is_one else drawn
    return _as_in_pdf(with_minus_signs(with_keys_inside(at_edge)))


def _as_in_pdf(drawn: Any) -> Any:
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    FigureCanvasPdf(drawn)
    drawn.set_dpi(PER_INCH)
    return drawn
