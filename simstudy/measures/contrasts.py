"""Differences and ratios of a measure between methods or scenarios, with MCSE.

On common data, the errors of the two estimates are correlated. The error of their difference is
the spread of the difference of their influence values, often far smaller than either error. If two
shares agree in every pair, the error is that of one more pair in which they differ; the interval
always allows for such a pair (Bonett & Price 2012, Journal of Educational and Behavioral Statistics
37, 479-488). Two sides that differ by rounding alone are the same: 0 or 1, without error. The
limits of a ratio, or of a difference from independent replicates, are computed from the limits of
the two sides (`intervals.of_difference`, `intervals.of_ratio`).
"""

from typing import Literal

import numpy as np

from simstudy.errors import StudyError
from simstudy.measures import intervals
from simstudy.measures.columns import Columns, check_choice
from simstudy.measures.core import Estimates, Influence, Measure, explain, standard_error
from simstudy.measures.intervals import NOT_NEGATIVE, StudentInterval
from simstudy.measures.moments import ratio
from simstudy.measures.warnings import doubts, of_both
from simstudy.validation import ROUNDING

Scale = Literal["difference", "ratio"]


def paired(
    measure: Measure,
    first: Columns,
    second: Columns,
    *,
    scale: Scale = "difference",
    level: float = 0.95,
) -> Estimates:
    """Contrast of two sets of columns whose rows come from the same random numbers.

    Only pairs in which neither failed are used, also for the two estimates.

    Parameters
    ----------
    measure
        Any measure.
    first, second
        Columns of two methods, or of two scenarios that share random numbers, with the same
        number of replicates.
    scale
        "difference" (first - second) or "ratio" (first/second, by the delta method).
    level
        Coverage of the interval, in (0, 1).

    Returns
    -------
    Estimates
        The contrast in each cell, with its MCSE and interval; `n_rep` counts pairs.
    """
    check_choice("scale", scale, Scale)
    both = _pairs(measure, first, second)
    left, right = (measure.influence(columns, keep=both) for columns in (first, second))
    slope, weight = _slopes(left.estimate, right.estimate, scale)

    def parts() -> list[np.ndarray]:
        """The parts of the influences on both sides that may cancel each other."""
        both = [(slope, left), (slope * weight, right)]
        return [factor * part for factor, side in both if side.parts for part in side.parts()]

    with np.errstate(invalid="ignore"):
        apart = left.psi - weight * right.psi
        estimate = _contrast(left.estimate, right.estimate, scale)
        same = _same_up_to_rounding(left, right, apart) & np.isfinite(estimate)
        apart = np.where(same, 0.0, apart)
        joint = left._replace(
            estimate=np.where(same, 0.0 if scale == "difference" else 1.0, estimate),
            psi=slope * apart,
            trials=left.n_rep.astype(float),
            parts=parts,
        )
    mcse = standard_error(joint)
    warning = doubts(joint, mcse, measure.interval, AGREE)
    joint = joint._replace(warning=of_both(of_both(left.warning, right.warning), warning))
    events = [(side.interval or measure.interval).one_event(side) for side in (left, right)]
    with np.errstate(all="ignore"):  # the error with one more discordant pair of each kind
        more = np.asarray(np.hypot(mcse, np.abs(slope) * np.hypot(events[0], weight * events[1])))
    # it is that of events, and of others that are the same on both sides by luck
    cautious = more if measure.interval.is_proportion else np.where(mcse == 0, more, mcse)
    if scale == "difference":
        limits = intervals.student(joint.estimate, cautious, joint.n_independent - 1, level=level)
    else:
        limits = _ratio_of_pairs(measure, left, right, cautious / np.abs(slope), level)
    mcse = np.where(mcse == 0, cautious, mcse)
    estimates = _report(joint, mcse, _range(measure, scale).within(limits))
    n_outside = _n_outside(measure, first, second, estimates.n_failed.ndim)
    return estimates._replace(n_failed=estimates.n_failed - n_outside)


def _same_up_to_rounding(left: Influence, right: Influence, apart: np.ndarray) -> np.ndarray:
    """Whether two sides differ in no replicate by more than rounding, in each cell."""
    size = np.abs(left.estimate) + np.fmax.reduce(np.abs(left.psi), axis=0, initial=0.0)
    largest = np.fmax.reduce(np.abs(apart), axis=0, initial=0.0)
    apart_by = np.maximum(largest, np.abs(left.estimate - right.estimate))
    return np.asarray(apart_by <= ROUNDING * size)


AGREE = (
    "the two agree in all {n:,.0f} pairs: a difference rarer than 1 in {rare:,.0f} may be missing"
)


def _ratio_of_pairs(
    measure: Measure, left: Influence, right: Influence, apart: np.ndarray, level: float
) -> intervals.Interval:
    """Limits of a ratio from those of its two sides, whose errors are correlated.

    Parameters
    ----------
    apart
        Error of (first estimate - ratio x second estimate).
    """
    reports = [
        measure.report(side, standard_error(side, ddof=measure.ddof), level=level)
        for side in (left, right)
    ]
    with np.errstate(all="ignore"):
        a, b = reports[0].mcse, reports[1].mcse * np.abs(left.estimate / right.estimate)
        correlation = np.clip(np.nan_to_num((a * a + b * b - apart**2) / (2 * a * b)), -1.0, 1.0)
        sign = np.sign(left.estimate * right.estimate)
    of_left, of_right = (intervals.Interval(each.lower, each.upper) for each in reports)
    estimates = left.estimate, right.estimate
    limits = intervals.of_ratio(*estimates, of_left, of_right, sign * correlation)
    return _known_where(limits, apart)


def _known_where(limits: intervals.Interval, mcse: np.ndarray) -> intervals.Interval:
    """Limits, with NaN in cells whose error is NaN."""
    return intervals.Interval(*(np.where(np.isnan(mcse), np.nan, limit) for limit in limits))


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
    """Contrast of two methods on the same replicates: two indices along an axis of the columns.

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
    """Contrast of two scenarios with independent replicates: squared MCSEs add.

    Parameters
    ----------
    measure
        Any measure.
    first, second
        Columns of two scenarios with independent random numbers; the numbers of replicates may
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
    check_choice("scale", scale, Scale)
    left, right = (measure.estimate(columns, level=level) for columns in (first, second))
    estimate = _contrast(left.estimate, right.estimate, scale)
    slope, weight = _slopes(left.estimate, right.estimate, scale)
    with np.errstate(invalid="ignore"):
        mcse = np.asarray(np.abs(slope) * np.hypot(left.mcse, weight * right.mcse))
    n_rep, n_failed = left.n_rep + right.n_rep, left.n_failed + right.n_failed
    psi = np.empty((0, *np.shape(estimate)))
    joint = Influence(estimate, psi, n_rep, n_failed, np.asarray(n_rep, float))
    joint = joint._replace(warning=of_both(left.warning, right.warning))
    combine = intervals.of_difference if scale == "difference" else intervals.of_ratio
    of_left, of_right = (intervals.Interval(each.lower, each.upper) for each in (left, right))
    limits = _known_where(combine(left.estimate, right.estimate, of_left, of_right), mcse)
    return _report(joint, mcse, _range(measure, scale).within(limits))


def take_index(columns: Columns, *, axis: int, index: int) -> dict[str, np.ndarray]:
    """Select one value on an axis; columns without the axis stay as they are."""
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    sizes = {array.shape[axis + 1] for array in arrays.values() if array.ndim > axis + 1}
    size = max(sizes, default=0)
    if not 0 <= index < size:
        raise StudyError(
            f"index {index} is not on axis {axis}, which has {size} values here, so there is "
            "nothing to compare. Count axes from 0, without the replicate axis, and values from 0."
        )
    at = axis + 1
    return {
        name: array.take(0 if array.shape[at] == 1 else index, at) if array.ndim > at else array
        for name, array in arrays.items()
    }


def _pairs(measure: Measure, first: Columns, second: Columns) -> np.ndarray:
    used, other = measure.used(first), measure.used(second)
    if used.shape != other.shape:
        raise StudyError(
            f"{measure.name}: {used.shape} against {other.shape} replicates and cells cannot be "
            "paired row by row. Use unpaired, or run both with the same number of replicates."
        )
    return np.asarray(used & other)


def _n_outside(measure: Measure, first: Columns, second: Columns, n_axes: int) -> np.ndarray:
    """The number of pairs in which a side does not meet the condition of a measure."""
    n = np.asarray((measure.outside(first) | measure.outside(second)).sum(axis=0))
    return n.reshape(n.shape + (1,) * (n_axes - n.ndim))


def _contrast(first: np.ndarray, second: np.ndarray, scale: Scale) -> np.ndarray:
    return np.asarray(np.subtract(first, second) if scale == "difference" else ratio(first, second))


def _slopes(first: np.ndarray, second: np.ndarray, scale: Scale) -> tuple[np.ndarray, np.ndarray]:
    """Slope and weight such that error(contrast) = slope x error(first - weight x second).

    The slope is the derivative of the contrast with respect to the first estimate.
    """
    if scale == "difference":
        return np.ones(np.shape(first)), np.ones(np.shape(first))
    return np.asarray(ratio(1.0, second)), np.asarray(ratio(first, second))


def _range(measure: Measure, scale: Scale) -> StudentInterval:
    """Least and greatest value of a contrast."""
    low, high = measure.interval.low, measure.interval.high
    if scale == "difference":
        return StudentInterval(low - high, high - low)
    return NOT_NEGATIVE if low >= 0 else StudentInterval()


def _report(joint: Influence, mcse: np.ndarray, limits: intervals.Interval) -> Estimates:
    reason = explain(joint, mcse, undefined="the second estimate is zero or not defined")
    counts = joint.n_rep, joint.n_failed, joint.n_in_condition
    return Estimates(joint.estimate, mcse, *limits, *counts, reason, warning=joint.warning)
