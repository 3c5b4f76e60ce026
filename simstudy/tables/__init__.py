"""Tables for publication, rounded to their Monte Carlo errors.

A table is written as CSV with all digits, and as Markdown and LaTeX with numbers rounded to their
Monte Carlo errors.
"""

from simstudy.tables.summary import ranked_methods, summary_table
from simstudy.tables.table import Column, SavedTable, Table, save_table
from simstudy.tables.words import in_words

__all__ = [
    "Column",
    "SavedTable",
    "Table",
    "in_words",
    "ranked_methods",
    "save_table",
    "summary_table",
]
