"""Precision relative to a reference method.

Methods that fail in different replicates can be compared in two ways, and the two answer
different questions (White, Pham, Quartagno & Morris 2024, International Journal of Epidemiology
53, dyad134, on failures that depend on the data): what the methods do with the same data, and what
each does with the data that it can analyse.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from simstudy.errors import DesignError, StudyError, in_one_line, nearest
from simstudy.measures.columns import Columns, total
from simstudy.measures.core import MeasureContext
from simstudy.measures.estimation import two_powers
from simstudy.measures.formulas import INFLUENCE, NORMAL, Formula
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
        The axis of methods: its name in the study, or its place, counted without the replicate
        axis.
    reference
        The reference method on it: its label in the study, or its index.
    replicates
        "both": replicates in which the method and the reference succeeded, `n_rep` of them; the
        others count as failed. "own": the variance of each over all replicates in which it
        succeeded itself; then `n_rep` counts those in which either did, and `n_given` those in
        which the method did.
    name
        What the summary calls it.
    mcse
        "influence", or "normal": 2 (SE_ref/SE)^2 sqrt((1 - r^2)/(n - 1)), with r the correlation
        of the two methods' estimates (Morris, White & Crowther 2019, Table 6), which is for
        pairs, so for "both" only.

    Returns
    -------
    MomentMeasure
        A measure without a unit: 0.2 where the reference has 1.2 times the method's variance.

    Raises
    ------
    DesignError
        If an option has a value that does not exist, or "normal" is combined with "own".

    Notes
    -----
    With V and W the variances of the method and of the reference, the delta method gives a
    replicate with errors e and d of the two the influence W/V (d^2/W - e^2/V) on the gain; so what
    two methods have in common cancels. With "own" replicates, of which the method has a share a
    and the reference a share b, it is W/V (d^2/W - 1)/b - W/V (e^2/V - 1)/a, where a term is 0
    in replicates in which that method failed.
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
        span=(-1.0, np.inf),
        fewest=3,
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
        grouped = self.of_groups(context.group_size)
        if not isinstance(self.axis, str) and not isinstance(self.reference, str):
            return grouped
        axis = _place("axis", self.axis, list(context.axes))
        labels = [*context.axes.values()][axis] if axis < len(context.axes) else ()
        reference = _place("reference", self.reference, labels)
        assert isinstance(self.derive, partial)
        derive = partial(self.derive, axis=axis, reference=reference)
        return replace(grouped, axis=axis, reference=reference, derive=derive)


# ---------------------------------------------------------------- which replicates
def _beside_reference(
    columns: Columns, *, estimate: str, axis: int | str, reference: int | str
) -> Columns:
    column = columns[estimate]
    return {estimate: column, _other(estimate): reference_of(column, axis, reference)}


def _with_gaps_filled(
    columns: Columns, *, estimate: str, axis: int | str, reference: int | str
) -> Columns:
    """Replace gaps by the mean of the other values, and flag them.

    The flag makes the term 0; a mean keeps the digits of the variance. Where both failed, both
    stay missing, so that the replicate counts as failed.
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
            f"axis={axis!r} and reference={reference!r} are names, and columns alone do not know "
            "which place has which name. Declare the measure in a study, or count from 0."
        )
    if column.ndim == 1:
        raise StudyError(
            f"relative_precision was given columns of shape {column.shape}, which are those of one "
            "method, so there is none to compare it with. Name methods in the study's axes or "
            "as its methods=...."
        )
    if not 0 <= axis < column.ndim - 1:
        raise StudyError(
            f"axis={axis} is not an axis of columns of shape {column.shape}, so there are no "
            "methods to compare. Count axes from 0, without the replicate axis."
        )
    size = column.shape[axis + 1]
    if not 0 <= reference < size:
        raise StudyError(
            f"method {reference} is not on axis {axis}, which has {size}, so there is nothing to "
            f"compare with. Use an index from 0 to {size - 1}."
        )
    return np.asarray(np.take(column, [reference], axis=axis + 1))


def _place(what: str, given: int | str, known: Sequence[str]) -> int:
    """The place of an axis among the study's, or of a label among those of the axis."""
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
                f"{what}={in_one_line(repr(given))} is neither a name nor a place, so nothing is "
                f"found by it. Give the name that the study has for it, or count from 0."
            )
    if replicates not in _OF:
        raise DesignError(
            f"replicates={in_one_line(repr(replicates))} does not say which replicates to compare. "
            "Use 'both', those in which both methods succeeded, or 'own', those of each."
        )
    if replicates == "own" and mcse == "normal":
        raise DesignError(
            "mcse='normal' is a formula for pairs of estimates, so it says nothing of replicates "
            "in which only one of two methods succeeded. Use replicates='both', or "
            "mcse='influence'."
        )
