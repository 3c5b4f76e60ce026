r"""A table in LaTeX, ruled by booktabs: to be `\input` as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from simstudy.tables.grid import Grid
from simstudy.tables.latex_letters import typeset
from simstudy.tables.latex_room import INCH, Layout, Part, Style, layout_of, pieces
from simstudy.tables.latex_rows import body_of, columns_of, head_of, height_of_head
from simstudy.tables.latex_words import OF_A_CAPTION, OF_A_NOTE, breakable

ROWS_OF_A_PAGE = 40  # a table with more breaks over pages
HEIGHT = 6.6 * INCH  # of a table's lines that leave a page room for its caption and notes
FLOATS_AT_ONCE = 12  # that LaTeX holds until there is room for them; it may hold 18
TWO_COLUMNS = 5.0  # inches: a column of a journal that has two is narrower, both are wider
LEADING = {0: 12.0, 9: 11.0, 8: 9.5, 7: 8.5}  # points from a line to the next, by size
NOTES = r"\fontsize{8}{9.5}\selectfont"
SAME_NUMBER = r"\addtocounter{table}{-1}"


def as_latex(grid: Grid, label: str = "") -> str:
    r"""The table for a page of one column, with its caption, `\label`, and its notes below.

    A long one breaks over pages. The first line says which packages it needs.

    Parameters
    ----------
    label
        Without its `tab:`; none where it is empty.
    """
    layout = layout_of(grid)
    if len(grid.rows) * len(layout.parts) > ROWS_OF_A_PAGE:
        packages = r"% \usepackage{booktabs} \usepackage{longtable}"
        return _text([packages, *_over_pages(grid, layout, label)])
    titled = _titled(grid, label)
    return _text(
        [r"% \usepackage{booktabs}", *_float(layout.parts, layout.style, titled, grid.notes)]
    )


def in_columns(grid: Grid, inches: float, label: str = "") -> str:
    r"""The table for a column of so many inches, or for two together, where pages have two.

    A long one is several tables of one number, since no table breaks there.

    Parameters
    ----------
    label
        Without its `tab:`; none where it is empty.
    """
    layout = layout_of(grid, inches)
    kind = "table*" if inches > TWO_COLUMNS else "table"
    lines = [rf"% \usepackage{{booktabs}}, for a width of {inches:g} inches"]
    pages = list(_pages(layout))
    for at, page in enumerate(pages):
        notes = grid.notes if page is pages[-1] else ()
        titled = _titled(grid, label, is_more=at > 0)
        lines += _float(page, layout.style, titled, notes, kind)
        if at % FLOATS_AT_ONCE == FLOATS_AT_ONCE - 1 and page is not pages[-1]:
            lines.append(r"\clearpage")
    return _text(lines)


def _text(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def _titled(grid: Grid, label: str, *, is_more: bool = False) -> list[str]:
    """The caption with what can be referred to; of further tables of one number, with that."""
    said = typeset(breakable(grid.caption, OF_A_CAPTION))
    if is_more:
        return [SAME_NUMBER, rf"\caption{{{said} (continued)}}"]
    return [rf"\caption{{{said}}}{_labelled(label)}"]


def _labelled(label: str) -> str:
    """What can be referred to: a label is not typeset, and its letters are few."""
    return rf"\label{{tab:{re.sub(r'[^A-Za-z0-9:._-]+', '-', label)}}}" if label else ""


# ---------------------------------------------------------------- on a page
def _float(
    parts: Sequence[Part],
    style: Style,
    titled: Sequence[str],
    notes: Sequence[str],
    kind: str = "table",
) -> list[str]:
    first, *others = [_tabular(part, style) for part in parts]
    return [
        *[rf"\begin{{{kind}}}", r"\centering"],
        *titled[:-1],
        rf"{titled[-1]}\smallskip",
        *_smaller(style),
        *first,
        *(line for other in others for line in [r"\par\medskip", *other]),
        *_notes(notes),
        rf"\end{{{kind}}}",
    ]


def _tabular(part: Part, style: Style) -> list[str]:
    return [
        rf"\begin{{tabular}}{{{columns_of(part)}}}",
        *[*head_of(part, style), *body_of(part, style), r"\bottomrule"],
        r"\end{tabular}",
    ]


def _smaller(style: Style) -> list[str]:
    """What makes letters and the gaps between columns smaller, where they have to be."""
    if not style.points:
        return []
    size = rf"\fontsize{{{style.points}}}{{{LEADING[style.points]:g}}}\selectfont"
    return [rf"{size}\setlength{{\tabcolsep}}{{{style.gap:g}pt}}"]


def _notes(notes: Sequence[str]) -> list[str]:
    if not notes:
        return []
    said = " ".join(typeset(breakable(note, OF_A_NOTE)) for note in notes)
    return [r"\par\smallskip", rf"{{\raggedright\noindent{NOTES} {said}\par}}"]


# ---------------------------------------------------------------- over several pages
def _over_pages(grid: Grid, layout: Layout, label: str) -> list[str]:
    tables = [
        line
        for at, part in enumerate(layout.parts)
        for line in _long_table(part, layout.style, _titled(grid, label, is_more=at > 0))
    ]
    smaller = [r"\setlength{\LTcapwidth}{\linewidth}", *_smaller(layout.style)]
    return [r"\begingroup", *smaller, *tables, *_notes(grid.notes), r"\endgroup"]


def _long_table(part: Part, style: Style, titled: Sequence[str]) -> list[str]:
    *before, caption = titled
    head = head_of(part, style)
    return [
        *before,
        rf"\begin{{longtable}}{{{columns_of(part)}}}",
        rf"{caption}\\",
        *[*head, r"\endfirsthead"],
        *[*head, r"\endhead"],
        *[r"\bottomrule", r"\endfoot"],
        *body_of(part, style),
        r"\end{longtable}",
    ]


def _pages(layout: Layout) -> Iterator[list[Part]]:
    """Parts, and pieces of long ones, as many as stand below each other on a page."""
    style = layout.style
    room = int(HEIGHT / LEADING[style.points])
    page, left = list[Part](), float(room)
    for part in layout.parts:
        head = height_of_head(part, style)
        for piece, height in pieces(part, style, room - head):
            if page and height + head > left:
                yield page
                page, left = [], float(room)
            page.append(piece)
            left -= height + head
    yield page
