"""How a table fits a page of LaTeX: by headings in several lines, smaller letters, or in parts.

Widths are estimated by counting letters, each as wide as a digit. Points are TeX's, 72.27 to an
inch, on a page that leaves 6.5 inches; a table that fits is written as it is.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from simstudy.tables.grid import Grid, in_words
from simstudy.tables.rounding import Rounded

PAGE = 6.5 * 72.27
UNBROKEN = 10_000  # letters of a line that no heading has
ROOMS = (24, 18, 12, 6)  # letters of a heading's line, where its numbers are narrower


class Layout(NamedTuple):
    """A table in parts that stand below each other, and how large and how dense it is set.

    Parameters
    ----------
    letter, gap
        Width of a digit, and of the margin on either side of a column.
    room
        Letters that a heading's line has room for, also where its numbers are narrower.
    """

    letter: float
    gap: float
    room: int
    is_small: bool
    parts: tuple[Grid, ...] = ()

    def lines_of(self, grid: Grid, at: int) -> list[str]:
        """A heading in as many lines as its column makes it."""
        room = max(self.room, _width_of_cells(grid, at))
        return textwrap.wrap(
            grid.headings[at].text, room, break_long_words=False, break_on_hyphens=False
        )

    def width(self, grid: Grid) -> float:
        """What a table takes, in points."""
        return sum(self._width_of(grid, at) for at in range(len(grid.headings)))

    def _width_of(self, grid: Grid, at: int) -> float:
        lines = [*map(len, self.lines_of(grid, at)), _width_of_cells(grid, at)]
        return max(lines) * self.letter + 2 * self.gap


def _lines(text: str, room: int) -> list[str]:
    """Lines of so many letters, or of one word that is longer."""
    return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)


PLAIN = Layout(5.0, 6.0, UNBROKEN, is_small=False)
SMALL = Layout(4.25, 3.0, ROOMS[-1], is_small=True)
WAYS = (PLAIN, *(way._replace(room=room) for way in (PLAIN, SMALL) for room in ROOMS))


def layout_of(grid: Grid) -> Layout:
    """The plainest way in which a table fits a page, if need be in parts."""
    fitting = (way._replace(parts=(grid,)) for way in WAYS if way.width(grid) <= PAGE)
    return next(fitting, None) or SMALL._replace(parts=tuple(_parts(grid)))


def _parts(grid: Grid) -> Iterator[Grid]:
    """As many columns as fit beside those that name a row, then the next."""
    names, rest = _names(grid)
    shown: list[int] = []
    for at in rest:
        if shown and SMALL.width(_only(grid, [*names, *shown, at])) > PAGE:
            yield _only(grid, [*names, *shown])
            shown = []
        shown.append(at)
    yield _only(grid, [*names, *shown])


def _names(grid: Grid) -> tuple[list[int], list[int]]:
    """Columns before the first with errors, if they leave half of the page, else only the first."""
    every = range(len(grid.headings))
    n_names = next((at for at in every if _has_errors(grid, at)), len(every))
    if not 0 < n_names < len(every) or SMALL.width(_only(grid, every[:n_names])) > PAGE / 2:
        n_names = 1
    return list(every[:n_names]), list(every[n_names:])


def _has_errors(grid: Grid, at: int) -> bool:
    cells = (row[at] for row in grid.rows)
    return any(isinstance(cell, Rounded) and bool(cell.error) for cell in cells)


def _only(grid: Grid, columns: Sequence[int]) -> Grid:
    headings = [grid.headings[at] for at in columns]
    return grid._replace(headings=headings, rows=[[row[at] for at in columns] for row in grid.rows])


def _width_of_cells(grid: Grid, at: int) -> int:
    return max((len(in_words(row[at])) for row in grid.rows), default=0)
