"""How a table fits a width in LaTeX: by headings in several lines, smaller letters, or in parts.

Factors that stay the same over several rows may be said above them, and what still has no room
stands in further tables that begin with the same columns. Points are TeX's, 72.27 to an inch.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from simstudy.tables.grid import Cell, Grid, in_words
from simstudy.tables.latex_cells import room_behind, width_of
from simstudy.tables.latex_widths import EMS, ems
from simstudy.tables.latex_words import wrapped
from simstudy.tables.rounding import Rounded

PAGE = 6.5  # inches that a page with one column leaves
INCH = 72.27
UNBROKEN = 10_000  # letters of a line that no text has
ROWS_OF_A_GROUP = 3  # on average, from which on a line above them is worth its room
DIGIT = 0.5  # of an em
SPACE = 0.5  # lines before what is said above rows


class Style(NamedTuple):
    """How large and how dense a table is set.

    Parameters
    ----------
    points
        Of a letter; 0 is what the document has, for which there is room up to 12.
    gap
        Half of what is between two columns, in points.
    room
        Letters that a heading's line has room for, also where its numbers are narrower.
    text_room
        Letters that a line of a text in a cell has room for.
    breaks
        Whether words that are longer than a line go on in the next.
    """

    points: int
    gap: float
    room: int
    text_room: int = UNBROKEN
    breaks: bool = False

    @property
    def em(self) -> float:
        """In points."""
        return EMS[self.points or 12]


class Part(NamedTuple):
    """A table, and what is said above its rows: where it changes, and of all rows below."""

    grid: Grid
    above: tuple[str, ...] = ()

    def says_above(self, at: int) -> bool:
        """Whether a row is the first below what is said above it."""
        return bool(self.above) and (at == 0 or self.above[at] != self.above[at - 1])

    def rows(self, first: int, end: int) -> Part:
        """Some of its rows."""
        shown = self.grid._replace(rows=self.grid.rows[first:end])
        return Part(shown, self.above[first:end])

    def lines_of_heading(self, at: int, style: Style) -> list[str]:
        """A heading in as many lines as its column makes it."""
        of_cells = _width_of_cells(self, at, style) / style.em / DIGIT
        return wrapped(self.grid.headings[at].text, max(style.room, int(of_cells)), style.breaks)

    def width(self, style: Style) -> float:
        """What it takes, in points."""
        words = {word for said in set(self.above) for word in said.split()}
        return max(self._width_of_columns(style), *(ems(word) * style.em for word in words), 0.0)

    def _width_of_columns(self, style: Style) -> float:
        every = range(len(self.grid.headings))
        columns = sum(_width_of_column(self, at, style) for at in every)
        return columns + 2 * style.gap * (len(every) - 1)

    def lines_above(self, at: int, style: Style) -> list[str]:
        """What is said above a row, in lines as wide as the table."""
        lines, room = [""], self._width_of_columns(style) / style.em
        for word in self.above[at].split():
            longer = f"{lines[-1]} {word}".strip()
            lines = [*lines[:-1], longer] if ems(longer) <= room else [*lines, word]
        return [line for line in lines if line]


class Layout(NamedTuple):
    """A table in parts, each as wide as there is room at most, and how they are set."""

    style: Style
    parts: tuple[Part, ...]

    @property
    def width(self) -> float:
        """Of the widest part, in points."""
        return max(part.width(self.style) for part in self.parts)


OWN = Style(0, 6.0, UNBROKEN)
SIZES = (OWN, Style(9, 4.0, UNBROKEN), Style(8, 3.0, UNBROKEN), Style(7, 3.0, UNBROKEN))
ROOMS = (24, 18, 12)  # of headings, as they become narrower
NARROWEST = 6
TEXT_ROOMS = (28, 18)
BROKEN_ROOMS = (28, 18, 12, 6, 3)
SMALL, SMALLEST = (size._replace(room=NARROWEST) for size in SIZES[2:])


def layout_of(grid: Grid, inches: float = PAGE) -> Layout:
    """The plainest way in which a table fits a width, if need be in parts."""
    points = inches * INCH
    for style, n_above in _ways(grid):
        part = _with_rows_above(grid, n_above)
        if part.width(style) <= points:
            return Layout(style, (part,))
    return _in_parts(grid, points)


def lines_of(cell: Cell, style: Style) -> list[str]:
    """A cell in lines: a number in one, a text in as many as its column makes it."""
    if isinstance(cell, Rounded):
        return [in_words(cell)]
    return wrapped(cell, style.text_room, style.breaks)


def _ways(grid: Grid) -> Iterator[tuple[Style, int]]:
    """Styles with the number of columns that are said above rows, the plainest first."""
    yield OWN, 0
    for size in SIZES[:3]:
        yield from ((size._replace(room=room), 0) for room in ROOMS)
    yield SMALL, 0
    above = list(_numbers_above(grid))
    yield from ((SMALL, n) for n in above)
    yield from ((SMALLEST, n) for n in [0, *above])
    for room in TEXT_ROOMS:
        yield from ((SMALL._replace(text_room=room), n) for n in [0, *above])


# ---------------------------------------------------------------- what is said above rows
def _numbers_above(grid: Grid) -> Iterator[int]:
    """How many of the first columns may be said above rows: as far as these lie together."""
    for n in range(1, _n_names(grid)):
        said = [tuple(row[:n]) for row in grid.rows]
        runs = [at for at, each in enumerate(said) if at == 0 or each != said[at - 1]]
        if len(runs) == len(set(said)) and len(runs) * ROWS_OF_A_GROUP <= len(said):
            yield n


def _with_rows_above(grid: Grid, n: int) -> Part:
    if not n:
        return Part(grid)
    heads = [heading.text for heading in grid.headings[:n]]
    above = tuple(
        ", ".join(f"{head} = {in_words(cell)}" for head, cell in zip(heads, row, strict=False))
        for row in grid.rows
    )
    return Part(_only(grid, range(n, len(grid.headings))), above)


# ---------------------------------------------------------------- tables in parts
def _in_parts(grid: Grid, points: float) -> Layout:
    """As few as there can be, with letters as large as that allows."""
    above = [0, *_numbers_above(grid)]
    for text_room, size in itertools.product((UNBROKEN, *TEXT_ROOMS), SIZES[2:]):
        styles = (size._replace(room=room, text_room=text_room) for room in (*ROOMS, NARROWEST))
        ways = [
            Layout(style, _parts(_with_rows_above(grid, n), style, points))
            for style in styles
            for n in above
        ]
        if fitting := [way for way in ways if way.width <= points]:
            return min(fitting, key=lambda way: len(way.parts))
    return _broken(grid, points)


def _broken(grid: Grid, points: float) -> Layout:
    """With words in pieces, as long as there is room for: of words that fit no line."""
    for letters in BROKEN_ROOMS:
        style = SIZES[-1]._replace(room=letters, text_room=letters, breaks=True)
        made = Layout(style, _parts(Part(grid), style, points))
        if made.width <= points:
            break
    return made


def _parts(whole: Part, style: Style, points: float) -> tuple[Part, ...]:
    """As many columns as fit beside those that name a row, then the next."""
    names, rest = _names(whole, style, points)
    shown: list[list[int]] = [[]]
    for at in rest:
        if shown[-1] and _some(whole, [*names, *shown[-1], at]).width(style) > points:
            shown.append([])
        shown[-1].append(at)
    return tuple(_some(whole, [*names, *columns]) for columns in shown)


def _names(whole: Part, style: Style, points: float) -> tuple[list[int], list[int]]:
    """The first columns that tell rows apart, if they leave half of the page, else the first."""
    every = range(len(whole.grid.headings))
    n_names = _n_telling(whole)
    if n_names == len(every) or _some(whole, every[:n_names]).width(style) > points / 2:
        n_names = 1
    return list(every[:n_names]), list(every[n_names:])


def _n_telling(whole: Part) -> int:
    """The fewest columns before the first with errors that no two rows share; else all of these."""
    rows, n_names = whole.grid.rows, _n_names(whole.grid)
    above = whole.above or ("",) * len(rows)
    for n in range(1, n_names):
        said = {(text, *row[:n]) for text, row in zip(above, rows, strict=True)}
        if len(said) == len(rows):
            return n
    return n_names


def _n_names(grid: Grid) -> int:
    """Columns before the first with errors, of which at least one names a row."""
    every = range(len(grid.headings))
    return max(1, next((at for at in every if _has_errors(grid, at)), len(every)))


def _has_errors(grid: Grid, at: int) -> bool:
    cells = (row[at] for row in grid.rows)
    return any(isinstance(cell, Rounded) and bool(cell.error) for cell in cells)


def _some(part: Part, columns: Sequence[int]) -> Part:
    return part._replace(grid=_only(part.grid, columns))


def _only(grid: Grid, columns: Sequence[int]) -> Grid:
    headings = [grid.headings[at] for at in columns]
    return grid._replace(headings=headings, rows=[[row[at] for at in columns] for row in grid.rows])


def pieces(part: Part, style: Style, most: float) -> Iterator[tuple[Part, float]]:
    """Rows of a part in pieces of so many lines, with their lines; each says what is above it."""
    first, height = 0, 0.0
    for at, row in enumerate(part.grid.rows):
        lines = max(1, *(len(lines_of(cell, style)) for cell in row))
        above = SPACE + len(part.lines_above(at, style)) if part.above else 0.0
        if at > first and height + lines + above * part.says_above(at) > most:
            yield part.rows(first, at), height
            first, height = at, 0.0
        height += lines + above * (part.says_above(at) or at == first)
    yield part.rows(first, len(part.grid.rows)), height


# ---------------------------------------------------------------- widths
def _width_of_column(part: Part, at: int, style: Style) -> float:
    lines = part.lines_of_heading(at, style)
    return max(_width_of_cells(part, at, style), *(ems(line) * style.em for line in lines), 0.0)


def _width_of_cells(part: Part, at: int, style: Style) -> float:
    cells = tuple(row[at] for row in part.grid.rows)
    return _widest(cells, style, part.grid.headings[at].is_number) * style.em


@lru_cache(maxsize=500)
def _widest(cells: tuple[Cell, ...], style: Style, is_number: bool) -> float:
    """In ems; of texts their lines."""
    if is_number:
        room = room_behind(cells)
        said = (part for cell in cells for part in _parts_of(cell, style))
        return max((width_of(part, room) for part in said), default=0.0)
    lines = (line for cell in cells for line in lines_of(cell, style))
    return max(map(ems, lines), default=0.0)


def _parts_of(cell: Cell, style: Style) -> Sequence[Cell]:
    return [cell] if isinstance(cell, Rounded) else lines_of(cell, style)
