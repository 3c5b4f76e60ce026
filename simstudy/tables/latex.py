r"""A table in LaTeX, ruled by booktabs: to be `\input` as it is."""

from __future__ import annotations

import re

from simstudy.tables.grid import Cell, Grid, with_thousands
from simstudy.tables.latex_letters import typeset
from simstudy.tables.latex_room import Layout, layout_of

ROWS_OF_A_PAGE = 40  # a table with more breaks over pages
NAMED = {"nan": "--", "inf": r"$\infty$", "-inf": r"$-\infty$"}


def as_latex(grid: Grid, label: str = "") -> str:
    r"""The table with its caption, its label for `\ref`, and its notes below.

    A long one breaks over pages. The first line says which packages it needs.

    Parameters
    ----------
    label
        Without its `tab:`; none where it is empty.
    """
    layout = layout_of(grid)
    is_long = len(grid.rows) * len(layout.parts) > ROWS_OF_A_PAGE
    packages = r"\usepackage{booktabs}" + r" \usepackage{longtable}" * is_long
    titled = rf"\caption{{{typeset(grid.caption)}}}" + _labelled(label)
    body = _over_pages(grid, layout, titled) if is_long else _on_a_page(grid, layout, titled)
    return "\n".join([f"% {packages}", *body]) + "\n"


def _labelled(label: str) -> str:
    """What can be referred to: a label is not typeset, and its letters are few."""
    return rf"\label{{tab:{re.sub(r'[^A-Za-z0-9:._-]+', '-', label)}}}" if label else ""


def _on_a_page(grid: Grid, layout: Layout, titled: str) -> list[str]:
    first, *others = [_tabular(part, layout) for part in layout.parts]
    return [
        r"\begin{table}",
        r"\centering",
        titled,
        *_smaller(layout),
        *first,
        *(line for other in others for line in [r"\par\medskip", *other]),
        *_notes(grid),
        r"\end{table}",
    ]


def _tabular(part: Grid, layout: Layout) -> list[str]:
    return [
        rf"\begin{{tabular}}{{{_columns(part)}}}",
        *[*_head(part, layout), *_rows(part), r"\bottomrule"],
        r"\end{tabular}",
    ]


def _over_pages(grid: Grid, layout: Layout, titled: str) -> list[str]:
    again = rf"\caption*{{{typeset(grid.caption)} (continued)}}"
    titles = [titled, *[again] * (len(layout.parts) - 1)]
    parts = zip(layout.parts, titles, strict=True)
    lines = [line for part, title in parts for line in _long_table(part, layout, title)]
    smaller = _smaller(layout)
    return [r"\begingroup", *smaller, *lines, r"\endgroup", *_notes(grid)] if smaller else [
        *lines, *_notes(grid),
    ]  # fmt: skip


def _long_table(part: Grid, layout: Layout, titled: str) -> list[str]:
    head = _head(part, layout)
    return [
        rf"\begin{{longtable}}{{{_columns(part)}}}",
        rf"{titled}\\",
        *[*head, r"\endfirsthead"],
        *[*head, r"\endhead"],
        *[r"\bottomrule", r"\endfoot"],
        *_rows(part),
        r"\end{longtable}",
    ]


def _smaller(layout: Layout) -> list[str]:
    """What makes letters and the gaps between columns smaller, where they have to be."""
    if not layout.is_small:
        return []
    return [rf"\footnotesize\setlength{{\tabcolsep}}{{{layout.gap:g}pt}}"]


def _columns(grid: Grid) -> str:
    return "".join("r" if heading.is_number else "l" for heading in grid.headings)


def _head(part: Grid, layout: Layout) -> list[str]:
    """Headings between their rules, in several lines where their column is narrower."""
    lines = [layout.lines_of(part, at) for at in range(len(part.headings))]
    heads = map(_guarded, map(_stacked, lines, _columns(part)))
    return [r"\toprule", f"{' & '.join(heads)} \\\\", r"\midrule"]


def _stacked(lines: list[str], side: str) -> str:
    """Lines below each other in one cell, the last of them beside the other headings' last."""
    if len(lines) < 2:
        return "".join(map(typeset, lines))
    below = r" \\ ".join(_guarded(typeset(line)) for line in lines)
    return rf"\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}{below}\end{{tabular}}"


def _rows(grid: Grid) -> list[str]:
    return [_row(row) for row in grid.rows]


def _row(cells: list[Cell]) -> str:
    first, *others = map(_cell, cells)
    return " & ".join([_guarded(first), *others]) + r" \\"


def _guarded(text: str) -> str:
    """What begins a line, but not as an argument of the line before it would."""
    return f"{{}}{text}" if text.startswith(("[", "*")) else text


def _notes(grid: Grid) -> list[str]:
    if not grid.notes:
        return []
    said = " ".join(map(typeset, grid.notes))
    return [r"\par\smallskip", rf"{{\footnotesize {said}\par}}"]


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return typeset(cell)
    return f"{_number(cell.value)} ({_number(cell.error)})" if cell.error else _number(cell.value)


def _number(digits: str) -> str:
    """Digits with a minus that is one, and powers of ten as they are printed."""
    if digits in NAMED:
        return NAMED[digits]
    factor, _, power = digits.partition("e")
    if power:
        return rf"${factor} \times 10^{{{int(power)}}}$"
    return f"${_in_formula(digits)}$" if digits.startswith("-") else with_thousands(digits)


def _in_formula(digits: str) -> str:
    """Where a comma is a letter of punctuation, and has room after it."""
    return with_thousands(digits).replace(",", "{,}")
