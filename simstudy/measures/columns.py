"""The replicate columns of a measure: selected, aligned on common axes, and checked.

A column has the shape (rep,) or (rep, *axes); axes are matched from the left, so a column without
the later axes, with an axis of size 1, or with no axis at all (a constant of the scenario, such
as a truth) holds for every value of those axes. NaN or a mask marks a failed replicate.
"""

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple, get_args

import numpy as np

from simstudy.array_types import Bool, Float, Int
from simstudy.errors import DesignError, StudyError, in_one_line
from simstudy.validation import unmasked

Columns = Mapping[str, np.ndarray]
Operand = str | float  # the name of a column, or the number itself
Keep = Bool[np.ndarray, " rep *axes"] | None  # replicates that may be used; None for all


class Sample(NamedTuple):
    """Aligned columns, and the usable replicates of each cell."""

    columns: Columns
    used: Bool[np.ndarray, " rep *axes"]
    n: Int[np.ndarray, " *axes"]

    @property
    def complete(self) -> bool:
        return bool((self.n == len(self.used)).all())

    @property
    def n_failed(self) -> Int[np.ndarray, " *axes"]:
        return np.asarray(len(self.used) - self.n)


def names_in(*operands: Operand, df: Operand | None = None) -> tuple[str, ...]:
    """The operands that are columns, in order.

    `df` (degrees of freedom) may be None.

    Raises
    ------
    DesignError
        If an operand is neither a name nor a number, or a column has two roles.
    """
    operands = operands if df is None else (*operands, df)
    for given in operands:
        is_number = isinstance(given, Real) and not isinstance(given, bool | np.bool_)
        if not (isinstance(given, str) or is_number):
            raise DesignError(
                f"{in_one_line(repr(given))} is neither the name of a column nor a number, so "
                "nothing can be compared with it. Give a column's name, or one number."
            )
    names = tuple(x for x in operands if isinstance(x, str))
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DesignError(
            f"column {twice!r} has two roles at once, such as the estimate and the "
            "truth, so it would be compared with itself: name two columns, or give a number."
        )
    return names


def operand(columns: Columns, name_or_number: Operand) -> np.ndarray:
    """A column by name, or a number as an array without axes."""
    if isinstance(name_or_number, str):
        return np.asarray(columns[name_or_number], dtype=float)
    return np.asarray(name_or_number, dtype=float)


def pick(columns: Columns, names: Sequence[str], *, measure: str) -> dict[str, np.ndarray]:
    """Select columns as numeric arrays; refuse missing and non-numeric ones."""
    absent = [name for name in names if name not in columns]
    if absent:
        raise StudyError(
            f"{measure} reads the column {absent[0]!r}, which the replicates do not have, so it "
            f"cannot be computed. Return that column from simulate, or name one of: "
            f"{', '.join(sorted(columns)) or 'none there'}."
        )
    return {name: _numeric(name, columns[name]) for name in names}


def _numeric(name: str, column: np.ndarray) -> np.ndarray:
    """Convert to double; flags stay as they are."""
    array = unmasked(column, name)
    if array.dtype.kind not in "biuf":
        raise StudyError(
            f"column {name!r} holds {array.dtype}, which has no mean. Return bool, "
            "int or float columns, with NaN where a replicate failed."
        )
    return array if array.dtype.kind == "b" else array.astype(float, copy=False)


def align(columns: Columns) -> dict[str, np.ndarray]:
    """Views of all columns with the same number of axes, so that NumPy broadcasts them."""
    ndim = max((column.ndim for column in columns.values()), default=0)
    aligned = {
        name: column.reshape(column.shape + (1,) * (ndim - column.ndim))
        for name, column in columns.items()
    }
    try:
        shape = np.broadcast_shapes(*(column.shape for column in aligned.values()))
    except ValueError:
        shape = ()
    if not shape:
        shapes = ", ".join(f"{name} {column.shape}" for name, column in columns.items())
        raise StudyError(
            f"columns do not share one replicate axis ({shapes}), so rows cannot be matched. "
            "Give each column the shape (rep,) or (rep, *axes), axes in the study's order."
        )
    return aligned


def missing(columns: Columns) -> Bool[np.ndarray, " rep *axes"]:
    """Mark replicates in which any of these aligned columns is NaN."""
    shape = np.broadcast_shapes(*(column.shape for column in columns.values()))
    failed = np.zeros(shape, dtype=bool)
    for column in columns.values():
        if column.dtype.kind == "f":
            failed |= np.isnan(column)
    return failed


def sample(columns: Columns, keep: Keep = None) -> Sample:
    """Align columns and mark the usable replicates: no NaN, and in `keep` unless that is None."""
    aligned = align(columns)
    used = ~missing(aligned)
    if keep is not None:
        used = used & keep
    return Sample(aligned, used, np.asarray(used.sum(axis=0)))


def total(values: np.ndarray) -> np.ndarray:
    """Sum over replicates, in an order that depends on the number of replicates only.

    The second half is added to the first until one row is left; if the number of rows is odd, the
    last is added to the first. Only whole arrays are added, so a cell's sum has the same bits for
    any neighbouring cells, memory layout and register width, which NumPy's own sums do not
    promise. Rounding error grows with the logarithm of the number of replicates.

    Parameters
    ----------
    values
        Numbers or truth values of shape (rep, *cells).
    """
    n = len(values)
    if n < 2:
        return np.asarray(values.astype(float).sum(axis=0))
    half = n // 2
    left = np.asarray(np.add(values[:half], values[half : 2 * half], dtype=float))
    if n % 2:
        left[0] += values[-1]
    while half > 1:
        n, half = half, half // 2
        np.add(left[:half], left[half : 2 * half], out=left[:half])
        if n % 2:
            left[0] += left[n - 1]
    return np.asarray(left[0])


RELATIVE_ROUNDING = 1e-12  # smaller differences of numbers of size 1 are rounding


def without_rounding(
    psi: Float[np.ndarray, " rep *cells"], sizes: Float[np.ndarray, " rep *cells"]
) -> Float[np.ndarray, " rep *cells"]:
    """Influences, 0 where they are below the rounding of what they were computed from.

    Parameters
    ----------
    sizes
        Sum of the absolute numbers that were added or subtracted, for each influence. An influence
        is also compared with the median of these sums in its cell. NaN as in `psi`.
    """
    with np.errstate(all="ignore"):
        limit = RELATIVE_ROUNDING * np.fmax.reduce(sizes, axis=0, initial=0.0)
        if not ((np.abs(psi) <= limit) & (psi != 0)).any():
            return psi
        known = ~np.isnan(psi)
        ordered = np.sort(np.where(known, sizes, np.inf), axis=0)
        middle = np.maximum(known.sum(axis=0, keepdims=True) - 1, 0) // 2
        typical = np.take_along_axis(ordered, middle, axis=0)
        is_rounding = np.abs(psi) <= RELATIVE_ROUNDING * np.fmax(sizes, typical)
    return np.where(is_rounding, 0.0, psi)


def mean_used(
    values: np.ndarray, used: Bool[np.ndarray, " rep *axes"], *, complete: bool
) -> Float[np.ndarray, " *cells"]:
    """Mean over the used replicates of each cell; NaN without a warning if there are none."""
    if values.shape != used.shape:
        values = np.broadcast_to(values, np.broadcast_shapes(values.shape, used.shape))
    with np.errstate(all="ignore"):
        if complete:
            return np.asarray(total(values) / len(values))
        return np.asarray(total(np.where(used, values, 0.0)) / used.sum(axis=0))


def check_none(
    bad: Callable[[np.ndarray], np.ndarray], column: np.ndarray, *, name: str, instead: str
) -> None:
    """Refuse a column in which any value meets a condition; NaN never does."""
    offending = np.asarray(bad(column))
    if offending.any():
        value = np.broadcast_to(column, offending.shape)[offending].flat[0]
        raise StudyError(f"{name} (found {value:g}, {int(offending.sum())} in all). {instead}")


def check_choice(name: str, value: object, kind: Any) -> None:
    """Refuse an argument that is none of the values of a `Literal`."""
    if value not in get_args(kind):
        choices = " or ".join(map(repr, get_args(kind)))
        raise DesignError(f"{name}={in_one_line(repr(value))} is not a choice. Use {choices}.")


def check_se(columns: Columns, se: str) -> None:
    """Refuse a column of standard errors in which some are negative."""
    check_none(
        lambda column: column < 0,
        columns[se],
        name=f"column {se!r} has negative standard errors, so a square would hide a mistake",
        instead="Return standard errors, not log or signed ones, and NaN where there is none.",
    )
