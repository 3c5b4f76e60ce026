"""Whole numbers, and the one refusal of what is none."""

import math
import numbers
from typing import Any

from simstudy.errors import ConfigError, SimstudyError, in_one_line


def is_whole(value: Any) -> bool:
    """Python's whole numbers and NumPy's, but not the truth values."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_whole(
    name: str,
    value: Any,
    *,
    least: int,
    counts: str = "",
    usual: int | None = None,
    refusal: type[SimstudyError] = ConfigError,
) -> None:
    """Refuse anything but a whole number of at least so many.

    Parameters
    ----------
    counts
        What it is a number of, as `of replicates in a block`.
    usual
        What works where nothing near it does; the least, unless given.

    Raises
    ------
    SimstudyError
        Of the given kind, with the nearest that works.
    """
    if is_whole(value) and value >= least:
        return
    is_near = isinstance(value, int | float) and math.isfinite(value)
    near = max(least, round(value)) if is_near else least if usual is None else usual
    said = f", {counts}" if counts else ""
    raise refusal(
        f"{name}={in_one_line(repr(value))}: allowed is a whole number at least {least}{said}; "
        f"nearest that works: {name}={near}"
    )
