"""Tables for publication, rounded to their Monte Carlo errors.

A table is written as CSV with all digits, and as Markdown and LaTeX with numbers rounded to their
Monte Carlo errors.
"""

from simstudy.tables.summary import in_words as in_words
from simstudy.tables.summary import summary_table as summary_table
from simstudy.tables.table import Column as Column
from simstudy.tables.table import Table as Table
from simstudy.tables.table import save_table as save_table
