"""Which replicates count: those that meet a condition, or those in which all methods succeeded.

Measures use the complete cases of each cell: a failure of one method does not affect another.
If failures depend on the data, methods are then compared on different replicates; `all_methods`
compares them on the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simstudy.array_types import Bool
from simstudy.errors import StudyError
from simstudy.measures.columns import Columns, Keep, align, missing, pick
from simstudy.measures.core import Estimates, Formula, Influence, Measure, MeasureContext, inherited
from simstudy.measures.proportions import flags


def given(measure: Measure, condition: str, *, name: str | None = None) -> Measure:
    """Restrict any measure to the replicates that meet a condition.

    For example `given(bias("estimate", truth=0.0), "converged")`. The error is that of the
    replicates that meet the condition. A contrast of two methods compares the replicates in which
    both meet it; the others do not count as failed. With a measure's own `given=`, each method has
    its own replicates.

    Parameters
    ----------
    measure
        Any measure.
    condition
        Column of True and False, or 1 and 0. Replicates in which it is false count neither as
        used nor as failed. Replicates in which it is missing count as failed.
    name
        Name in the summary. Default: that of the measure.

    Returns
    -------
    Measure
        The same measure, NaN with a reason if no replicate meets the condition.
    """
    formula = measure.formula
    return _WithinCondition(
        **inherited(measure)
        | {
            "name": name or measure.name,
            "reads": tuple(dict.fromkeys((*measure.reads, condition))),
            "formula": Formula(f"{formula.estimate}, given {condition}", formula.mcse),
            "undefined": f"no replicate has {condition}",
        },
        base=measure,
        condition=condition,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _WithinCondition(Measure):
    """A measure that treats replicates outside a condition as absent, not as failed."""

    base: Measure
    condition: str

    def bind(self, context: MeasureContext) -> Measure:
        return replace(self, base=self.base.bind(context))

    def used(self, columns: Columns) -> Bool[np.ndarray, " rep *axes"]:
        return self.base.used(self._restricted(columns))

    def influence(self, columns: Columns, *, keep: Keep = None) -> Influence:
        return self.base.influence(self._restricted(columns), keep=keep)

    def estimate(self, columns: Columns, *, level: float = 0.95) -> Estimates:
        found = self.base.estimate(self._restricted(columns), level=level)
        outside = self.outside(columns).sum(axis=0)
        wide = outside.reshape(outside.shape + (1,) * (found.n_failed.ndim - outside.ndim))
        n_failed = found.n_failed - np.broadcast_to(wide, found.n_failed.shape)
        is_empty = (found.n_rep == 0) & (n_failed == 0)
        reason = np.where(is_empty, self.undefined, found.reason).astype(object)
        return found._replace(n_failed=n_failed, reason=reason)

    def _restricted(self, columns: Columns) -> Columns:
        """The columns of the base, missing if the condition is not met."""
        picked = pick(columns, self.reads, measure=self.name)
        holds = flags(picked, self.condition) == 1
        found = {}
        for name in self.base.reads:
            pair = align({"holds": holds, "column": picked[name]})
            found[name] = np.where(pair["holds"], pair["column"].astype(float), np.nan)
        return found

    def outside(self, columns: Columns) -> Bool[np.ndarray, " rep *axes"]:
        picked = pick(columns, [self.condition], measure=self.name)
        return np.asarray(flags(picked, self.condition) == 0)


def all_methods(
    columns: Columns, *, axis: int = 0, failed_by: str | None = None
) -> dict[str, np.ndarray]:
    """Drop a replicate in every method if any method failed.

    Parameters
    ----------
    columns
        Replicate columns of shape (rep, *axes), by name. Columns without the axis, or with one
        value on it, stay as they are.
    axis
        The axis of methods, counted without the replicate axis.
    failed_by
        Column that is NaN where a method failed, such as `converged`. Default: NaN in any column.

    Returns
    -------
    dict[str, np.ndarray]
        The columns, NaN in every method if one failed.

    Raises
    ------
    StudyError
        If `axis` is not an axis of the columns.
    """
    watched = tuple(columns) if failed_by is None else (failed_by,)
    failed = _failed(pick(columns, watched, measure="all_methods"), axis)
    return {name: _drop(np.asarray(column), failed, axis) for name, column in columns.items()}


def _failed(columns: Columns, axis: int) -> Bool[np.ndarray, " rep *axes"]:
    """Mark replicates in which any method failed, with size 1 on the axis of methods."""
    failed = missing(align(columns))
    if not 0 <= axis < failed.ndim - 1:
        raise StudyError(
            f"axis={axis} is not an axis of columns of shape {failed.shape}, so there are no "
            "methods to hold together. Count axes from 0, without the replicate axis."
        )
    return np.asarray(failed.any(axis=axis + 1, keepdims=True))


def _drop(column: np.ndarray, failed: Bool[np.ndarray, " rep *axes"], axis: int) -> np.ndarray:
    if column.ndim < axis + 2 or column.shape[axis + 1] == 1:
        return column
    later = tuple(range(column.ndim, failed.ndim))  # axes this column does not have
    mask = failed.any(axis=later)
    return np.where(mask, np.nan, column) if mask.any() else column
