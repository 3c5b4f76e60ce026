"""Checks of values: masked arrays, exact integers, integer settings."""

import math
import numbers
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simstudy.errors import ConfigError, SimstudyError, StudyError, in_one_line

ROUNDING = 1e-12
"""Relative tolerance for comparing probabilities: tails that agree this closely are ties."""
LARGEST_EXACT = 1 << 53  # up to here a double holds every whole number


def unmasked(value: Any, name: str) -> np.ndarray:
    """A column as a plain array; masked numbers become doubles with NaN.

    Always, so that a column has one type in blocks where something is hidden and in those where
    nothing is.
    """
    if not isinstance(value, np.ma.MaskedArray):
        return np.asarray(value)
    if value.dtype.kind in "biuf":
        refuse_inexact(name, value.compressed())
        return np.asarray(np.ma.filled(value.astype(float), np.nan))
    return np.asarray(np.ma.filled(value.astype(object), None))


def refuse_inexact(name: str, array: np.ndarray) -> None:
    """Refuse integers that a double cannot represent.

    Another block of the column may hold doubles, where something is missing, and one column of a
    table has one type.
    """
    if array.size and _may_be_inexact(array):
        largest = max(int(array.max()), -int(array.min()))
        if largest > LARGEST_EXACT:
            raise StudyError(
                f"column {name!r} holds {largest}, a whole number beyond 2^53, which is rounded "
                "wherever it is read beside one that is missing: return column.astype(float) "
                "where rounding does no harm, or column.astype(str) where it is a name."
            )


def _may_be_inexact(array: np.ndarray) -> bool:
    """Whether an array holds 8-byte or Python integers."""
    if array.dtype == object:
        return all(isinstance(value, int) for value in array.flat)
    return array.dtype.kind in "iu" and array.dtype.itemsize == 8


def is_whole(value: Any) -> bool:
    """Whether a value is an integer (Python's or NumPy's), and not a boolean."""
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
    """Refuse anything but an integer of at least a minimum.

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
    text = f", {counts}" if counts else ""
    raise refusal(
        f"{name}={in_one_line(repr(value))}: must be a whole number at least {least}{text}; "
        f"nearest that works: {name}={near}"
    )


def check_one_of(
    name: str,
    value: Any,
    allowed: Sequence[Any],
    refusal: type[SimstudyError] = ConfigError,
) -> None:
    """Refuse a word that is not among the allowed ones.

    Raises
    ------
    SimstudyError
        Of the given kind, with the allowed words.
    """
    if value not in allowed:
        words = ", ".join(map(str, allowed))
        raise refusal(f"{name}={in_one_line(repr(value))}: must be one of {words}.")


def check_file_name(name: str, what: str, refusal: type[SimstudyError]) -> None:
    """Refuse anything but a plain file name without ending."""
    if not name or Path(name).name != name:
        raise refusal(
            f"{name!r} is not a file name for a {what}: it has to be one name, without a folder, "
            f"so that the {what} lands where it is looked for. Give the folder as `folder`."
        )
