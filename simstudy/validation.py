"""Checks of values: masked arrays, exact integers, integer settings."""

import math
import numbers
import re
from pathlib import Path
from typing import Any

import numpy as np

from simstudy.errors import ConfigError, SimstudyError, StudyError, in_one_line

ROUNDING = 1e-12
"""Relative tolerance for comparing probabilities: tails that agree this closely are ties."""
LARGEST_EXACT = 1 << 53  # a double holds every integer up to this one


def unmasked(value: Any, name: str) -> np.ndarray:
    """Return a column as a plain array; masked arrays of numbers become doubles with NaN.

    They become doubles even if no value is masked, so that a column has the same type in all
    blocks.
    """
    if not isinstance(value, np.ma.MaskedArray):
        return np.asarray(value)
    if value.dtype.kind in "biuf":
        refuse_inexact(name, value.compressed())
        return np.asarray(np.ma.filled(value.astype(float), np.nan))
    return np.asarray(np.ma.filled(value.astype(object), None))


def refuse_inexact(name: str, array: np.ndarray) -> None:
    """Refuse integers that a double cannot represent.

    All blocks of a column have one type. Blocks with missing values hold doubles, so the integers
    of other blocks must be convertible.
    """
    are_python_ints = array.dtype == object and all(isinstance(value, int) for value in array.flat)
    if array.size and (are_python_ints or (array.dtype.kind in "iu" and array.dtype.itemsize == 8)):
        largest = max(int(array.max()), -int(array.min()))
        if largest > LARGEST_EXACT:
            raise StudyError(
                f"column {name!r} holds {largest}, a whole number beyond 2^53, which would be "
                "rounded if other values are missing: return column.astype(float) if rounding does "
                "no harm, or column.astype(str) if it is an identifier."
            )


def is_whole(value: Any) -> bool:
    """Whether a value is an integer (of Python or NumPy), and not a boolean."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_whole(
    name: str, value: Any, *, least: int, counts: str = "", usual: int | None = None
) -> None:
    """Refuse anything but an integer of at least a minimum.

    Parameters
    ----------
    counts
        Words for the thing counted, such as `of replicates in a block`.
    usual
        Value to suggest if the given one is not a number. Default: the minimum.

    Raises
    ------
    ConfigError
        With the nearest allowed value.
    """
    if is_whole(value) and value >= least:
        return
    is_near = isinstance(value, int | float) and math.isfinite(value)
    near = max(least, round(value)) if is_near else least if usual is None else usual
    text = f", {counts}" if counts else ""
    raise ConfigError(
        f"{name}={in_one_line(repr(value))}: must be a whole number at least {least}{text}; "
        f"nearest that works: {name}={near}"
    )


WINDOWS_REFUSES = re.compile(r'[<>:"\\|?*\x00-\x1f]')
DEVICES = re.compile(r"(?i)^(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)")  # of Windows: no file's names


def file_name(name: str) -> str:
    """The file name of a figure or table on every system, without ending."""
    return DEVICES.sub(r"\1_", WINDOWS_REFUSES.sub("_", name))


def check_file_name(name: Any, what: str, refusal: type[SimstudyError]) -> None:
    """Refuse anything but a plain file name without ending."""
    if not isinstance(name, str) or not name or Path(name).name != name:
        raise refusal(
            f"{name!r} is not a file name for a {what}: it must be one name, without a folder. "
            "Give the folder as `folder`."
        )
