"""Tables for publication, rounded to their Monte Carlo errors.

A table is written as CSV with all digits, and as Markdown and LaTeX with numbers rounded to their
Monte Carlo errors.
"""

from simstudy.tables.summary import summary_table
from simstudy.tables.table import Column, Table, save_table
from simstudy.tables.words import in_words

__all__ = [
    "Column",
    "Table",
    "in_words",
    "save_table",
    "summary_table",
]
