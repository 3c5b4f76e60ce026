"""Replicates in which all methods succeeded.

Measures use the complete cases of each cell: a failure of one method does not affect another.
If failures depend on the data, methods are then compared on different replicates; `all_methods`
compares them on the same.
"""

import numpy as np

from simstudy.array_types import Bool
from simstudy.errors import StudyError
from simstudy.measures.columns import Columns, align, pick


def all_methods(columns: Columns, *, axis: int = 0) -> dict[str, np.ndarray]:
    """Drop a replicate in every method if any method failed.

    Parameters
    ----------
    columns
        Replicate columns of shape (rep, *axes), by name. Columns without the axis, or with one
        value on it, stay as they are.
    axis
        The axis of methods, counted without the replicate axis.

    Returns
    -------
    dict[str, np.ndarray]
        The columns, NaN in every method if one failed.

    Raises
    ------
    StudyError
        If `axis` is not an axis of the columns.
    """
    failed = _failed(pick(columns, tuple(columns), measure="all_methods"), axis)
    return {name: _drop(np.asarray(column), failed, axis) for name, column in columns.items()}


def _failed(columns: Columns, axis: int) -> Bool[np.ndarray, " rep *axes"]:
    """Mark replicates in which any method failed, with size 1 on the axis of methods."""
    aligned = align(columns)
    shape = np.broadcast_shapes(*(column.shape for column in aligned.values()))
    if not 0 <= axis < len(shape) - 1:
        raise StudyError(
            f"axis={axis} is not an axis of columns of shape {shape}, so there are no methods to "
            "hold together. Count axes from 0, without the replicate axis."
        )
    failed = np.zeros((*shape[: axis + 1], 1, *shape[axis + 2 :]), dtype=bool)
    for column in aligned.values():
        if column.dtype.kind == "f":
            failed |= np.isnan(column).any(axis=axis + 1, keepdims=True)
    return failed


def _drop(column: np.ndarray, failed: Bool[np.ndarray, " rep *axes"], axis: int) -> np.ndarray:
    if column.ndim < axis + 2 or column.shape[axis + 1] == 1:
        return column
    later = tuple(range(column.ndim, failed.ndim))  # axes this column does not have
    mask = failed.any(axis=later)
    return np.where(mask, np.nan, column) if mask.any() else column
