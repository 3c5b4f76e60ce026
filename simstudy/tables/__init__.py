"""Tables to be published: a frame, how its numbers are rounded, and what it shows.

A table is rounded by the Monte Carlo errors of its numbers, and is written as CSV to the last
digit, and as Markdown and LaTeX for readers.
"""

from typing import TYPE_CHECKING

from simstudy.lazy import exports

if TYPE_CHECKING:
    from simstudy.tables.save import SavedTable, save_latex, save_table
    from simstudy.tables.summary import summary_table
    from simstudy.tables.table import Column, Table

__all__ = ["Column", "SavedTable", "Table", "save_latex", "save_table", "summary_table"]

_NAMES = {
    "save": ("SavedTable", "save_latex", "save_table"),
    "summary": ("summary_table",),
    "table": ("Column", "Table"),
}  # by module

__getattr__, __dir__ = exports(__name__, _NAMES)
