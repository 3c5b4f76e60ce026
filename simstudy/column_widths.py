"""How wide a journal's columns are, by name, for figures and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from simstudy.errors import SimstudyError

COLUMNS: Final[Mapping[str, float]] = {"single": 3.5, "double": 7.2}  # inches: 89 and 183 mm
LEAST, MOST = 2.0, 20.0  # inches of a width, narrower than letters allow or in another unit


def column_files(name: str, columns: Iterable[str], ending: str) -> list[str]:
    """The files of a figure or table for columns, below the folder of all of them."""
    return [f"{column}/{name}.{ending}" for column in columns]


def check_columns(columns: Mapping[str, Any], refusal: type[SimstudyError]) -> None:
    """Refuse widths that are none in inches, and names that are none for a folder.

    Raises
    ------
    SimstudyError
        Of the given kind, naming the first.
    """
    for name, inches in columns.items():
        is_number = isinstance(inches, int | float) and not isinstance(inches, bool)
        if not (is_number and math.isfinite(inches) and LEAST <= inches <= MOST):
            raise refusal(
                f"column {name!r} is {inches!r} wide: a width is a number of inches from {LEAST:g} "
                f"to {MOST:g}, such as 3.5, which is 89 mm."
            )
        if not str(name).isidentifier():
            raise refusal(
                f"{name!r} is no name of a width: it is a folder's name too, so write letters, "
                "digits and _, such as single."
            )
