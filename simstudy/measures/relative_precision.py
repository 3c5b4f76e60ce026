"""Precision relative to a reference method.

Methods that fail in different replicates can be compared in two ways, and the two answer
different questions (White, Pham, Quartagno & Morris 2024, International Journal of Epidemiology
53, dyad134, on failures that depend on the data): how the methods compare on the same data, and how
each performs on the data that it can analyse.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from simstudy.errors import DesignError, StudyError, in_one_line, nearest
from simstudy.measures.columns import Columns, total
from simstudy.measures.core import INFLUENCE, NORMAL, Formula, MeasureContext
from simstudy.measures.estimation import two_powers
from simstudy.measures.intervals import StudentInterval
from simstudy.measures.moments import (
    Mcse,
    Means,
    MomentMeasure,
    Value,
    check_mcse_method,
    ratio,
    variance_of,
)

Replicates = Literal["both", "own"]


def relative_precision(
    estimate: str,
    *,
    axis: int | str = 0,
    reference: int | str = 0,
    replicates: Replicates = "both",
    name: str = "relative_precision",
    mcse: Mcse = "influence",
) -> MomentMeasure:
    """Variance of a reference method over that of each method, less one: a gain as a proportion.

    Parameters
    ----------
    estimate
        Column of estimates, of shape (rep, *axes).
    axis
        The axis of methods: its name in the study, or its index, counted without the replicate
        axis.
    reference
        The reference method on this axis: its label in the study, or its index.
    replicates
        "both": only the `n_rep` replicates in which both the method and the reference succeeded;
        the others count as failed. "own": each variance is over all replicates in which that
        method succeeded; `n_rep` counts those in which either did, and `n_given` those in which
        the method did.
    name
        Name of the measure in the summary.
    mcse
        "influence", or "normal": 2 (SE_ref/SE)^2 sqrt((1 - r^2)/(n - 1)), with r the correlation
        of the two methods' estimates (Morris, White & Crowther 2019, Table 6). It is for pairs,
        so it requires "both".

    Returns
    -------
    MomentMeasure
        A measure without a unit: 0.2 if the reference has 1.2 times the method's variance.

    Raises
    ------
    DesignError
        If an option has a value that does not exist, or "normal" is combined with "own".

    Notes
    -----
    Let V and W be the variances, and e and d the errors, of the method and of the reference. By
    the delta method the influence of a replicate on the gain is W/V (d^2/W - e^2/V), so the error
    that two methods share cancels. With "own" replicates, in which the method succeeds with share a
    and the reference with share b, it is W/V (d^2/W - 1)/b - W/V (e^2/V - 1)/a; the term of a
    method is 0 in replicates in which it failed.
    """
    _refuse_options(axis, reference, replicates, mcse)
    of = _OF[replicates]
    other = _other(estimate)
    return _RelativePrecision(
        name=name,
        formula=Formula(
            "variance of the reference's θ̂ᵢ / variance of the method's, less 1",
            NORMAL if mcse == "normal" else INFLUENCE,
        ),
        interval=StudentInterval(low=-1.0),
        min_rep=3,
        reads=(estimate,),
        derive=partial(of.derive, estimate=estimate, axis=axis, reference=reference),
        terms=partial(of.terms, estimate=estimate),
        value=of.value,
        trials=of.trials,
        centred_columns=(estimate, other),
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
        assert isinstance(self.derive, partial)
        derive = partial(self.derive, axis=axis, reference=reference)
        return replace(self, axis=axis, reference=reference, derive=derive)


# ---------------------------------------------------------------- which replicates
def _beside_reference(
    columns: Columns, *, estimate: str, axis: int | str, reference: int | str
) -> Columns:
    column = columns[estimate]
    return {estimate: column, _other(estimate): reference_of(column, axis, reference)}


def _with_gaps_filled(
    columns: Columns, *, estimate: str, axis: int | str, reference: int | str
) -> Columns:
    """Replace missing values by the mean of the others, and flag them.

    The flag makes the term 0; filling with the mean loses no digits of the variance. If both
    methods failed, both stay missing, so that the replicate counts as failed.
    """
    pair = _beside_reference(columns, estimate=estimate, axis=axis, reference=reference)
    there = {name: ~np.isnan(column) for name, column in pair.items()}
    either = np.logical_or(*there.values())
    filled = {
        name: np.where(there[name] | ~either, column, _mean_of(column, there[name]))
        for name, column in pair.items()
    }
    return filled | {_there(name): there[name] for name in pair}


def _mean_of(column: np.ndarray, present: np.ndarray) -> np.ndarray:
    return np.asarray(total(np.where(present, column, 0.0)) / np.maximum(total(present), 1))


def _of_both(columns: Columns, *, estimate: str) -> tuple[np.ndarray, ...]:
    return (*two_powers(columns, estimate), *two_powers(columns, _other(estimate)))


def _of_each(columns: Columns, *, estimate: str) -> tuple[np.ndarray, ...]:
    names = (estimate, _other(estimate))
    return tuple(term for name in names for term in _where_there(columns, name))


def _where_there(columns: Columns, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    there = np.asarray(columns[_there(name)], float)
    first, second = two_powers(columns, name)
    return there, first * there, second * there


def _gain(means: Means, n: np.ndarray) -> np.ndarray:
    own, reference = variance_of(means[0], means[1], n), variance_of(means[2], means[3], n)
    return np.asarray(ratio(reference, own) - 1)


def _gain_of_each(means: Means, n: np.ndarray) -> np.ndarray:
    own, reference = _variance_within(means[:3], n), _variance_within(means[3:], n)
    return np.asarray(ratio(reference, own) - 1)


def _variance_within(means: Means, n: np.ndarray) -> np.ndarray:
    """Variance of the values present, from their share and overall means."""
    share, first, second = means
    return variance_of(ratio(first, share), ratio(second, share), n * share)


class _Form(NamedTuple):
    derive: Callable[..., Columns]
    terms: Callable[..., tuple[np.ndarray, ...]]
    value: Value
    trials: Value


_OF: Mapping[str, _Form] = {
    "both": _Form(_beside_reference, _of_both, _gain, lambda _, n: n),
    "own": _Form(_with_gaps_filled, _of_each, _gain_of_each, lambda means, n: means[0] * n),
}


def _normal_gain(means: Means, covariance: np.ndarray, n: np.ndarray) -> np.ndarray:
    correlation2 = covariance[0, 2] ** 2 / (covariance[0, 0] * covariance[2, 2])
    unexplained = np.maximum(1 - correlation2, 0.0)
    return np.asarray(2 * (1 + _gain(means, n)) * np.sqrt(unexplained / (n - 1.0)))


def _other(estimate: str) -> str:
    return f"reference {estimate}"


def _there(name: str) -> str:
    return f"{name} is there"


# ---------------------------------------------------------------- which method
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


def _refuse_options(axis: object, reference: object, replicates: str, mcse: str) -> None:
    check_mcse_method(mcse)
    for what, given in (("axis", axis), ("reference", reference)):
        if isinstance(given, bool) or not isinstance(given, int | str):
            raise DesignError(
                f"{what}={in_one_line(repr(given))} is neither a name nor an index. "
                "Give the name used in the study, or an index from 0."
            )
    if replicates not in _OF:
        raise DesignError(
            f"replicates={in_one_line(repr(replicates))} is not a set of replicates to compare. "
            "Use 'both', those in which both methods succeeded, or 'own', those of each."
        )
    if replicates == "own" and mcse == "normal":
        raise DesignError(
            "mcse='normal' is a formula for pairs of estimates, so it does not apply to replicates "
            "in which only one of two methods succeeded. Use replicates='both', or "
            "mcse='influence'."
        )
