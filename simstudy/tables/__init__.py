"""Tables for publication, rounded to their Monte Carlo errors.

A table is rounded by the Monte Carlo errors of its numbers, and is written as CSV to the last
digit, and as Markdown and LaTeX for readers.
"""

from simstudy.tables.summary import ranked_methods, summary_table
from simstudy.tables.table import Column, SavedTable, Table, save_latex, save_table

__all__ = [
    "Column",
    "SavedTable",
    "Table",
    "ranked_methods",
    "save_latex",
    "save_table",
    "summary_table",
]
