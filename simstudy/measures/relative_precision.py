"""Precision relative to a reference method."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from simstudy.errors import DesignError, StudyError, in_one_line, nearest
from simstudy.measures.columns import Columns
from simstudy.measures.core import INFLUENCE, NORMAL, Formula, MeasureContext
from simstudy.measures.estimation import sizes_of_powers, two_powers
from simstudy.measures.intervals import StudentInterval
from simstudy.measures.moments import (
    Mcse,
    Means,
    MomentMeasure,
    check_mcse_method,
    ratio,
    variance_of,
)


def relative_precision(
    estimate: str,
    *,
    axis: int | str = 0,
    reference: int | str = 0,
    name: str = "relative_precision",
    mcse: Mcse = "influence",
) -> MomentMeasure:
    """Variance of a reference method over that of each method, less one: a gain as a proportion.

    Only the replicates in which both the method and the reference succeeded are used; the others
    count as failed.

    Parameters
    ----------
    estimate
        Column of estimates, of shape (rep, *axes).
    axis
        The axis of methods: its name in the study, or its index, counted without the replicate
        axis.
    reference
        The reference method on this axis: its label in the study, or its index.
    name
        Name of the measure in the summary.
    mcse
        "influence", or "normal": 2 (SE_ref/SE)^2 sqrt((1 - r^2)/(n - 1)), with r the correlation
        of the two methods' estimates (Morris, White & Crowther 2019, Table 6).

    Returns
    -------
    MomentMeasure
        A measure without a unit: 0.2 if the reference has 1.2 times the method's variance.

    Raises
    ------
    DesignError
        If an option has a value that does not exist.

    Notes
    -----
    Let V and W be the variances, and e and d the errors, of the method and of the reference. By
    the delta method the influence of a replicate on the gain is W/V (d^2/W - e^2/V), so the error
    that two methods share cancels.
    """
    check_mcse_method(mcse)
    for what, given in (("axis", axis), ("reference", reference)):
        if isinstance(given, bool) or not isinstance(given, int | str):
            raise DesignError(
                f"{what}={in_one_line(repr(given))} is neither a name nor an index. "
                "Give the name used in the study, or an index from 0."
            )
    other = f"reference {estimate}"
    return _RelativePrecision(
        name=name,
        formula=Formula(
            "variance of the reference's θ̂ᵢ / variance of the method's, less 1",
            NORMAL if mcse == "normal" else INFLUENCE,
        ),
        interval=StudentInterval(low=-1.0),
        min_rep=3,
        reads=(estimate,),
        derive=partial(_beside_reference, axis=axis, reference=reference),
        terms=lambda columns: (*two_powers(columns, estimate), *two_powers(columns, other)),
        sizes=lambda columns: (
            *sizes_of_powers(columns, estimate),
            *sizes_of_powers(columns, other),
        ),
        value=_gain,
        centred_columns=(estimate, other),
        doubted=(1, 3),
        normal_mcse=_normal_gain if mcse == "normal" else None,
        undefined="the estimates of this method have no spread",
        axis=axis,
        reference=reference,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _RelativePrecision(MomentMeasure):
    axis: int | str
    reference: int | str

    def bind(self, context: MeasureContext) -> MomentMeasure:
        if not isinstance(self.axis, str) and not isinstance(self.reference, str):
            return self
        axis = _place("axis", self.axis, list(context.axes))
        labels = [*context.axes.values()][axis] if axis < len(context.axes) else ()
        reference = _place("reference", self.reference, labels)
        derive = partial(_beside_reference, axis=axis, reference=reference)
        return replace(self, axis=axis, reference=reference, derive=derive)


def _beside_reference(columns: Columns, *, axis: int | str, reference: int | str) -> Columns:
    ((name, column),) = columns.items()
    return {name: column, f"reference {name}": reference_of(column, axis, reference)}


def _gain(means: Means, n: np.ndarray) -> np.ndarray:
    own, reference = variance_of(means[0], means[1], n), variance_of(means[2], means[3], n)
    return np.asarray(ratio(reference, own) - 1)


def _normal_gain(means: Means, covariance: np.ndarray, n: np.ndarray) -> np.ndarray:
    correlation2 = covariance[0, 2] ** 2 / (covariance[0, 0] * covariance[2, 2])
    unexplained = np.maximum(1 - correlation2, 0.0)
    return np.asarray(2 * (1 + _gain(means, n)) * np.sqrt(unexplained / (n - 1.0)))


def reference_of(column: np.ndarray, axis: int | str, reference: int | str) -> np.ndarray:
    """One method's values, with an axis of size 1 in place of the axis of methods."""
    if isinstance(axis, str) or isinstance(reference, str):
        raise StudyError(
            f"axis={axis!r} and reference={reference!r} are names, but columns alone have no "
            "names of axes. Declare the measure in a study, or use indices from 0."
        )
    if column.ndim == 1:
        raise StudyError(
            f"relative_precision needs at least two methods, but columns of shape {column.shape} "
            "are those of one. Name methods in the study's axes or as its methods=...."
        )
    if not 0 <= axis < column.ndim - 1:
        raise StudyError(
            f"axis={axis} is not an axis of columns of shape {column.shape}, so there are no "
            "methods to compare. Count axes from 0, without the replicate axis."
        )
    size = column.shape[axis + 1]
    if not 0 <= reference < size:
        raise StudyError(
            f"method {reference} is not on axis {axis}, which has {size} values, so there is "
            f"nothing to compare with. Use an index from 0 to {size - 1}."
        )
    return np.asarray(np.take(column, [reference], axis=axis + 1))


def _place(what: str, given: int | str, known: Sequence[str]) -> int:
    """The index of an axis in the study, or of a label on the axis."""
    if not isinstance(given, str):
        return given
    if given not in known:
        raise StudyError(
            f"relative_precision: {what}={given!r} is not in the study, so there is nothing to "
            f"compare with; {nearest(given, known)}"
        )
    return known.index(given)
