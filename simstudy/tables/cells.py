"""A table as cells of text, for Markdown and for the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from textwrap import wrap
from typing import Final, NamedTuple

from simstudy.lazy import pd
from simstudy.tables.rounding import RoundedToError

NAMED: Final = {"nan": "–", "inf": "∞", "-inf": "-∞"}
SPECIAL = re.compile(r"([\\`*_\[\]<>|$~&#])")  # characters with a meaning in Markdown
GAP: Final = "  "  # between columns in a terminal
MIN_FIRST_WIDTH: Final = 20  # letters in a line of the first column
THOUSANDS = re.compile(r"(?<=\d)(?=(?:\d{3})+$)")


class Heading(NamedTuple):
    """The heading of a column, and whether the column holds numbers."""

    text: str
    is_number: bool


class Grid(NamedTuple):
    """A table of text cells: headings, rows, caption, notes."""

    headings: list[Heading]
    rows: list[list[str]]
    caption: str
    notes: tuple[str, ...] = ()


def format_cell(cell: str | RoundedToError) -> str:
    """A text, or a number with its error in parentheses."""
    if isinstance(cell, str):
        return cell
    value, error = map(format_digits, cell)
    return f"{value} ({error})" if error else value


def format_digits(digits: str) -> str:
    """A rounded number with commas between thousands; a sign for NaN and infinity."""
    whole, point, rest = digits.partition(".")
    return NAMED.get(digits) or THOUSANDS.sub(",", whole) + point + rest


# ---------------------------------------------------------------- text
def as_markdown(grid: Grid) -> str:
    """Format as Markdown: caption, table, notes.

    The pipe syntax is that of GitHub, Pandoc and Jupyter.
    """
    heads = [escaped(heading.text) for heading in grid.headings]
    rows = [list(map(escaped, row)) for row in grid.rows]
    widths = [max(*map(len, column), 3) for column in zip(heads, *rows, strict=True)]
    rule = [
        "-" * (width - 1) + ":" if heading.is_number else "-" * width
        for heading, width in zip(grid.headings, widths, strict=True)
    ]
    lines = [f"| {' | '.join(_placed(row, widths, grid))} |" for row in (heads, rule, *rows)]
    parts = [escaped(grid.caption), "\n".join(lines), *map(escaped, grid.notes)]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Escape a text for Markdown, in one line."""
    return SPECIAL.sub(r"\\\1", _in_one_line(text))


def as_text(grid: Grid, width: int | None = None) -> str:
    """Format as plain text: caption, headings, rows, notes.

    Parameters
    ----------
    width
        Letters in a line: texts of the first column are folded to fit. Default: no folding.
    """
    heads = [_in_one_line(heading.text) for heading in grid.headings]
    rows = [list(map(_in_one_line, row)) for row in grid.rows]
    first, *others = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    if width is not None:
        left = width - sum(others) - len(GAP) * len(others)
        first = min(first, max(left, MIN_FIRST_WIDTH))
    widths = [first, *others]
    rule = GAP.join("-" * width for width in widths)
    head, *lines = [
        GAP.join(_placed(row, widths, grid)).rstrip()
        for whole in (heads, *rows)
        for row in _folded(whole, first)
    ]
    table = "\n".join([head, rule, *lines])
    return "\n\n".join([_in_one_line(grid.caption), table, *map(_in_one_line, grid.notes)])


def as_html(grid: Grid) -> str:
    """Format as HTML for a notebook."""
    style = (
        as_frame(grid)
        .style.hide(axis="index")
        .set_caption(escape(grid.caption))
        .set_uuid("simstudy")
    )
    style = style.format(escape="html").format_index(escape="html", axis="columns")
    return style.to_html() + "".join(f"<p>{escape(note)}</p>" for note in grid.notes)


def as_frame(grid: Grid) -> pd.DataFrame:
    """The cells as a frame of texts."""
    headings = pd.Index([heading.text for heading in grid.headings], dtype=object)
    return pd.DataFrame(grid.rows, columns=headings, dtype=object)


def _folded(row: Sequence[str], width: int) -> Iterator[list[str]]:
    """A row in several lines, with the first text folded to a width."""
    name, *others = row
    first, *more = wrap(name, width) or [""]
    yield [first, *others]
    yield from ([text, *([""] * len(others))] for text in more)


def _placed(cells: Sequence[str], widths: Iterable[int], grid: Grid) -> list[str]:
    """Pad cells to the width of their columns."""
    return [
        cell.rjust(width) if heading.is_number else cell.ljust(width)
        for cell, width, heading in zip(cells, widths, grid.headings, strict=True)
    ]


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
