"""Differences and ratios of a measure between methods or scenarios, with MCSE.

On common data, the two estimates err together, and the error of their difference is the spread of
the difference of their influence values, often far smaller than either error.
"""

from typing import Literal

import numpy as np

from simstudy.array_types import Float
from simstudy.errors import DesignError, StudyError
from simstudy.measures import intervals
from simstudy.measures.columns import Columns
from simstudy.measures.core import (
    Estimates,
    Influence,
    Measure,
    explain,
    of_both,
    standard_error,
    whole_trials,
)
from simstudy.measures.moments import ratio

Scale = Literal["difference", "ratio"]


def paired(
    measure: Measure,
    first: Columns,
    second: Columns,
    *,
    scale: Scale = "difference",
    level: float = 0.95,
) -> Estimates:
    """First against second, where row i of both comes from the same random numbers.

    Only pairs in which neither failed are used, for the estimates too.

    Parameters
    ----------
    measure
        Any measure.
    first, second
        Columns of two methods, or of two scenarios that share random numbers; as many replicates.
    scale
        "difference" (first - second) or "ratio" (first/second, by the delta method).
    level
        Coverage of the interval, in (0, 1).

    Returns
    -------
    Estimates
        The contrast in each cell, with its MCSE and interval; `n_rep` counts pairs.
    """
    both = _pairs(measure, first, second)
    left, right = (measure.influence(columns, keep=both) for columns in (first, second))
    estimate, slope = _compare(left.estimate, right.estimate, scale)
    with np.errstate(invalid="ignore"):
        psi = slope * (left.psi - _weight(estimate, scale) * right.psi)
    trials, remark = left.n_rep.astype(float), of_both(left.remark, right.remark)
    joint = left._replace(estimate=estimate, psi=psi, trials=trials, remark=remark)
    joint = measure.in_groups(joint)
    return _report(joint, standard_error(joint), level)


def paired_methods(
    measure: Measure,
    columns: Columns,
    *,
    method: int,
    reference: int,
    axis: int = 0,
    scale: Scale = "difference",
    level: float = 0.95,
) -> Estimates:
    """One method against another on the same replicates: two indices along an axis of the columns.

    Parameters
    ----------
    measure
        Any measure.
    columns
        Replicate columns of shape (rep, *axes).
    method, reference
        Indices of the two methods along `axis`.
    axis
        The axis of methods, counted without the replicate axis; the result does not have it.
    scale
        "difference" (method - reference) or "ratio" (method/reference, by the delta method).
    level
        Coverage of the interval, in (0, 1).

    Returns
    -------
    Estimates
        The contrast in each cell, with its MCSE and interval; `n_rep` counts pairs.
    """
    first, second = (take_index(columns, axis=axis, index=index) for index in (method, reference))
    return paired(measure, first, second, scale=scale, level=level)


def unpaired(
    measure: Measure,
    first: Columns,
    second: Columns,
    *,
    scale: Scale = "difference",
    level: float = 0.95,
) -> Estimates:
    """First against second, from independent replicates: MCSEs add as squares.

    Parameters
    ----------
    measure
        Any measure.
    first, second
        Columns of two scenarios with random numbers of their own; the numbers of replicates may
        differ.
    scale
        "difference" (first - second) or "ratio" (first/second, by the delta method).
    level
        Coverage of the interval, in (0, 1).

    Returns
    -------
    Estimates
        The contrast in each cell; `n_rep` and `n_failed` are sums over both.
    """
    left, right = (measure.estimate(columns, level=level) for columns in (first, second))
    estimate, slope = _compare(left.estimate, right.estimate, scale)
    with np.errstate(invalid="ignore"):
        mcse = np.abs(slope) * np.hypot(left.mcse, _weight(estimate, scale) * right.mcse)
    n_rep, n_failed = left.n_rep + right.n_rep, left.n_failed + right.n_failed
    psi = np.empty((0, *np.shape(estimate)))
    joint = Influence(estimate, psi, n_rep, n_failed, np.asarray(n_rep, float))
    joint = joint._replace(remark=of_both(left.remark, right.remark))
    return _report(joint, np.asarray(mcse), level)


def take_index(columns: Columns, *, axis: int, index: int) -> dict[str, np.ndarray]:
    """The columns of one value on an axis; those without the axis stay as they are."""
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    sizes = {array.shape[axis + 1] for array in arrays.values() if array.ndim > axis + 1}
    size = max(sizes, default=0)
    if not 0 <= index < size:
        raise StudyError(
            f"index {index} is not on axis {axis}, which has {size} values here, so there is "
            "nothing to compare. Count axes from 0, without the replicate axis, and values from 0."
        )
    return {name: _take(array, axis + 1, index) for name, array in arrays.items()}


def _take(array: np.ndarray, axis: int, index: int) -> np.ndarray:
    if array.ndim <= axis:
        return array
    return np.asarray(np.take(array, 0 if array.shape[axis] == 1 else index, axis=axis))


def _pairs(measure: Measure, first: Columns, second: Columns) -> np.ndarray:
    used, other = measure.used(first), measure.used(second)
    if used.shape != other.shape:
        raise StudyError(
            f"{measure.name}: {used.shape} against {other.shape} replicates and cells cannot be "
            "paired row by row. Use unpaired, or run both with the same number of replicates."
        )
    return np.asarray(used & other)


def _compare(first: np.ndarray, second: np.ndarray, scale: Scale) -> tuple[np.ndarray, np.ndarray]:
    """The contrast, and its derivative by the first estimate."""
    if scale == "difference":
        return np.asarray(np.subtract(first, second)), np.ones(np.shape(first))
    if scale == "ratio":
        return np.asarray(ratio(first, second)), np.asarray(ratio(1.0, second))
    raise DesignError(
        f"scale={scale!r} is not a way to compare two estimates. Use 'difference' or 'ratio'."
    )


def _weight(estimate: np.ndarray, scale: Scale) -> Float[np.ndarray, " *cells"]:
    """Derivative of the contrast by the second estimate, relative to the first."""
    return np.ones(np.shape(estimate)) if scale == "difference" else estimate


def _report(joint: Influence, mcse: np.ndarray, level: float) -> Estimates:
    lower, upper = intervals.normal(joint.estimate, mcse, level=level)
    reason = explain(joint, mcse, undefined="the second estimate is zero or not defined")
    counts = joint.n_rep, joint.n_failed, whole_trials(joint)
    return Estimates(joint.estimate, mcse, lower, upper, *counts, reason, remark=joint.remark)
