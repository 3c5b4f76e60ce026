"""Headings and rows of a table in LaTeX, between their rules."""

from __future__ import annotations

from simstudy.tables.grid import Cell
from simstudy.tables.latex_cells import Behind, pad_of, room_behind, typeset_cell
from simstudy.tables.latex_letters import typeset
from simstudy.tables.latex_room import Part, Style, lines_of

OF_RULES = 2  # lines that they take with the space about them


def columns_of(part: Part) -> str:
    """Which columns are to the left and to the right, without a gap at the ends of the rules."""
    return f"@{{}}{''.join(map(_side, part.grid.headings))}@{{}}"


def _side(heading: object) -> str:
    return "r" if getattr(heading, "is_number", False) else "l"


def head_of(part: Part, style: Style) -> list[str]:
    """Headings between their rules, in several lines where their column is narrower."""
    columns = enumerate(part.grid.headings)
    heads = [_stacked(part.lines_of_heading(at, style), _side(head), "b") for at, head in columns]
    return [r"\toprule", f"{' & '.join(map(_guarded, heads))} \\\\", r"\midrule"]


def height_of_head(part: Part, style: Style) -> int:
    """In lines, with the rules of the table."""
    every = range(len(part.grid.headings))
    return OF_RULES + max(1, *(len(part.lines_of_heading(at, style)) for at in every))


def body_of(part: Part, style: Style) -> list[str]:
    """Rows, each beneath what is said above it where that changes."""
    n = len(part.grid.headings)
    numbers = [_room_of(part, at) for at in range(n)]
    lines = []
    for at, row in enumerate(part.grid.rows):
        if part.says_above(at):
            lines += [r"\addlinespace"] * (at > 0)
            lines += [_across(said, n) for said in part.lines_above(at, style)]
        cells = [_cell(cell, room, style) for cell, room in zip(row, numbers, strict=True)]
        lines.append(rf"{' & '.join([_guarded(cells[0]), *cells[1:]])} \\")
    return lines


def _across(said: str, n: int) -> str:
    """A line over so many columns, from which no page is turned."""
    return rf"\multicolumn{{{n}}}{{@{{}}l@{{}}}}{{\emph{{{typeset(said)}}}}} \\*"


def _room_of(part: Part, at: int) -> Behind | None:
    """What a column of numbers has behind the places of their points; None of texts."""
    is_number = part.grid.headings[at].is_number
    return room_behind(row[at] for row in part.grid.rows) if is_number else None


def _cell(cell: Cell, room: Behind | None, style: Style) -> str:
    side, pad = ("l", "") if room is None else ("r", pad_of(cell, room))
    is_text = isinstance(cell, str)
    said = _stacked(lines_of(cell, style), side, "t") if is_text else typeset_cell(cell)
    return said + (rf"\phantom{{{pad}}}" if pad else "")


def _stacked(lines: list[str], side: str, place: str) -> str:
    """Lines below each other in one cell; the last of a heading, the first of a text, is level."""
    if len(lines) < 2:
        return "".join(map(typeset, lines))
    below = r" \\ ".join(_guarded(typeset(line)) for line in lines)
    return rf"\begin{{tabular}}[{place}]{{@{{}}{side}@{{}}}}{below}\end{{tabular}}"


def _guarded(text: str) -> str:
    """What begins a line, but not as an argument of the line before it would."""
    return f"{{}}{text}" if text.startswith(("[", "*")) else text
