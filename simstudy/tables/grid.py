"""A table as cells: what the forms of a table write, each in its own letters."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from simstudy.tables.rounding import Rounded

Cell = str | Rounded  # a text, or a number with its error
NAMED: Final = {"nan": "–", "inf": "∞", "-inf": "-∞"}
THOUSANDS = re.compile(r"(?<=\d)(?=(?:\d{3})+$)")


class Heading(NamedTuple):
    """What stands above a column, and whether numbers stand below."""

    text: str
    is_number: bool


class Grid(NamedTuple):
    """Headings, rows of cells, and what is said above and below them."""

    headings: list[Heading]
    rows: list[list[Cell]]
    caption: str
    notes: tuple[str, ...] = ()


def in_words(cell: Cell) -> str:
    """A cell as it is read: a text as it is, a number with its error in parentheses."""
    if isinstance(cell, str):
        return cell
    value, error = map(_plain, cell)
    return f"{value} ({error})" if error else value


def _plain(digits: str) -> str:
    return NAMED.get(digits) or with_thousands(digits)


def with_thousands(digits: str) -> str:
    """Digits with commas between the thousands before the point, none behind it."""
    whole, point, rest = digits.partition(".")
    return THOUSANDS.sub(",", whole) + point + rest
