"""A cell in LaTeX: a text, or a number whose point stands below the others of its column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from simstudy.tables.grid import NAMED, Cell, in_words, with_thousands
from simstudy.tables.latex_letters import typeset
from simstudy.tables.latex_widths import ems

IN_LATEX = {"nan": "--", "inf": r"$\infty$", "-inf": r"$-\infty$"}


class Behind(NamedTuple):
    """What stands behind the place of a number's point, and so moves it to the left."""

    digits: int = 0
    points: int = 0
    commas: int = 0
    errors: int = 0  # a space and two parentheses

    @property
    def text(self) -> str:
        """Something as wide."""
        return "0" * self.digits + "." * self.points + "," * self.commas + " ()" * self.errors

    def less(self, other: Behind) -> Behind:
        """What is missing in another one."""
        return Behind(*(mine - its for mine, its in zip(self, other, strict=True)))


def behind(cell: Cell) -> Behind | None:
    """What stands behind the place of the point; None of a power of ten, which has its own."""
    if isinstance(cell, str) or cell.value in NAMED:
        return Behind()
    if "e" in cell.value or "e" in cell.error:
        return None
    _, point, decimals = cell.value.partition(".")
    error = with_thousands(cell.error)
    digits = len(decimals) + sum(letter.isdigit() for letter in error)
    n_points = len(point) + error.count(".")
    return Behind(digits, n_points, error.count(","), 1 if error else 0)


def room_behind(cells: Iterable[Cell]) -> Behind:
    """What stands behind the place of the point in a column, at most."""
    there = [each for each in map(behind, cells) if each is not None]
    return Behind(*map(max, zip(*there, strict=True))) if there else Behind()


def pad_of(cell: Cell, room: Behind) -> str:
    """What a cell to the right of its column lacks for its point to stand below the others."""
    own = behind(cell)
    return "" if own is None else room.less(own).text


def width_of(cell: Cell, room: Behind) -> float:
    """In ems, with what it lacks."""
    said = cell if isinstance(cell, str) else _as_printed(in_words(cell))
    return ems(said + pad_of(cell, room))


def _as_printed(number: str) -> str:
    """A number with its minus, and a power of ten as wide as it is printed."""
    return number.replace("e", " × 10").replace("-", "−")


def typeset_cell(cell: Cell) -> str:
    """A cell as LaTeX is to read it."""
    if isinstance(cell, str):
        return typeset(cell)
    value = _number(cell.value)
    return f"{value} ({_number(cell.error)})" if cell.error else value


def _number(digits: str) -> str:
    """Digits with a minus that is one, and powers of ten as they are printed."""
    if digits in IN_LATEX:
        return IN_LATEX[digits]
    factor, _, power = digits.partition("e")
    if power:
        return rf"${factor} \times 10^{{{int(power)}}}$"
    return f"${_in_formula(digits)}$" if digits.startswith("-") else with_thousands(digits)


def _in_formula(digits: str) -> str:
    """Where a comma is a letter of punctuation, and has room after it."""
    return with_thousands(digits).replace(",", "{,}")
