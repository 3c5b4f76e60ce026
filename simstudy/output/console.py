"""A console for tables and sentences: as wide as the terminal, and without an end in a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDE = 100_000  # where nobody wraps: what reads a pipe wants whole lines
NARROWEST = 72  # a table does not fit into less, and a terminal breaks lines better than numbers


def new_console() -> Console:
    """Standard output; what becomes of a pipe that nobody reads is left to the command."""
    from rich.console import Console

    class Unbroken(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # where Rich would end the process, with the status of a defect

    console = Unbroken(highlight=False)
    console.width = max(console.width, NARROWEST) if console.is_terminal else WIDE
    return console


def new_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """The first column is text, which is folded and never cut; the others are numbers."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for place, (name, *cells) in enumerate(zip(names, *rows, strict=True)):
        widest = max(_longest_word(cell) for cell in (name, *cells))
        table.add_column(
            name,
            justify="right" if place else "left",
            overflow="fold",
            min_width=widest if place else None,
        )
    for row in rows:
        table.add_row(*row)
    return table


def _longest_word(cell: str) -> int:
    """Letters in it, without the marks that colour it."""
    from rich.text import Text

    return max(map(len, Text.from_markup(cell).plain.split()), default=0)
