"""A table for a terminal: columns below each other, every letter as it is."""

from __future__ import annotations

from collections.abc import Iterable

from simstudy.tables.grid import Grid, in_words

GAP = "  "  # between columns


def as_text(grid: Grid) -> str:
    """The caption, headings over a rule, the rows with numbers to the right, and the notes."""
    heads = [_in_one_line(heading.text) for heading in grid.headings]
    rows = [[_in_one_line(in_words(cell)) for cell in row] for row in grid.rows]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    rule = GAP.join("-" * width for width in widths)
    lines = [_line(heads, widths, grid), rule, *(_line(row, widths, grid) for row in rows)]
    said = [_in_one_line(grid.caption), "\n".join(lines), *map(_in_one_line, grid.notes)]
    return "\n\n".join(said)


def _line(cells: Iterable[str], widths: Iterable[int], grid: Grid) -> str:
    placed = (
        cell.rjust(width) if heading.is_number else cell.ljust(width)
        for cell, width, heading in zip(cells, widths, grid.headings, strict=True)
    )
    return GAP.join(placed).rstrip()


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
