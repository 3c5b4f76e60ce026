"""A table in Markdown: pipes, which GitHub, Pandoc and Jupyter read."""

from __future__ import annotations

import re
from collections.abc import Iterable

from simstudy.tables.grid import Cell, Grid, in_words

SPECIAL = re.compile(r"([\\`*_\[\]<>|$~&#])")  # letters that are more than themselves


def as_markdown(grid: Grid) -> str:
    """The caption as a paragraph, the table with numbers to the right, and a paragraph a note."""
    heads = [escaped(heading.text) for heading in grid.headings]
    rows = [[_cell(cell) for cell in row] for row in grid.rows]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    widths = [max(width, 3) for width in widths]
    rule = [
        "-" * (width - 1) + ":" if heading.is_number else "-" * width
        for heading, width in zip(grid.headings, widths, strict=True)
    ]
    lines = [_line(heads, widths, grid), _line(rule, widths, grid)]
    lines += [_line(row, widths, grid) for row in rows]
    parts = [escaped(grid.caption), "\n".join(lines), *map(escaped, grid.notes)]
    return "\n\n".join(parts) + "\n"


def _line(cells: Iterable[str], widths: Iterable[int], grid: Grid) -> str:
    """Cells between pipes, below each other also where nothing renders them."""
    padded = (
        cell.rjust(width) if heading.is_number else cell.ljust(width)
        for cell, width, heading in zip(cells, widths, grid.headings, strict=True)
    )
    return f"| {' | '.join(padded)} |"


def _cell(cell: Cell) -> str:
    return escaped(cell) if isinstance(cell, str) else in_words(cell)


def escaped(text: str) -> str:
    """A text in one line, whose letters are themselves."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))
