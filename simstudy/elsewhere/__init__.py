"""Results from other software: a row for each replicate and method becomes a result like any other.

`from_frame` takes a data frame, `from_file` what pandas reads; the measures, figures, tables and
the report are those of a study that was drawn here.
"""

from simstudy.elsewhere.frames import from_file, from_frame

__all__ = ["from_file", "from_frame"]
