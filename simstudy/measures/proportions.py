"""Proportions of replicates: events, rejections by tests, convergence.

A p-value rejects if it is at most alpha, up to rounding.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simstudy.errors import DesignError, in_one_line
from simstudy.lazy import special
from simstudy.measures.columns import (
    Columns,
    Operand,
    check_none,
    check_se,
    missing,
    names_in,
    operand,
)
from simstudy.measures.core import BINOMIAL, WITHIN, Formula
from simstudy.measures.intervals import WilsonInterval
from simstudy.measures.moments import MomentMeasure, only, share
from simstudy.validation import ROUNDING

EVENTS = Formula("Σ1(event)/n", BINOMIAL)
Event = Callable[[Columns], np.ndarray]


def proportion(
    name: str,
    reads: tuple[str, ...],
    event: Event,
    *,
    given: str | None = None,
    axes: Mapping[str, tuple[float, ...]] | None = None,
    by_cell: bool = False,
    formula: Formula = EVENTS,
) -> MomentMeasure:
    """Share of replicates with an event, among all or among those in a condition.

    Parameters
    ----------
    name, reads
        Name and columns of the measure; see `Measure`.
    event
        Function of aligned columns that returns whether the event happened: shape (rep, *axes),
        and the measure's own axis last.
    given
        Column of flags: whether a replicate is in the condition. The share is then a ratio of
        means with a random denominator, and `trials` is the number in the condition.
    axes
        Name and values of the measure's own axis, if it has one.
    by_cell
        Whether `event` reads values of the cell only; see `Measure`.
    formula
        Formulas of the estimate and its MCSE for the summary's legend, without the condition.

    Returns
    -------
    MomentMeasure
        A measure of a proportion, with Wilson's interval.
    """
    axes = axes or {}
    among_all = MomentMeasure(
        name=name,
        formula=formula,
        reads=reads,
        terms=lambda columns: (event(columns),),
        value=only,
        interval=WilsonInterval(),
        ddof=0,
        axes=axes,
        by_cell=by_cell,
    )
    if given is None:
        return among_all

    def terms(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
        condition = flags(columns, given)
        condition = condition.reshape(condition.shape + (1,) * len(axes))
        return event(columns) * condition, condition

    if formula.mcse == BINOMIAL:
        formula = Formula(f"{formula.estimate}, in the condition", WITHIN)
    return replace(
        among_all,
        formula=formula,
        reads=tuple(dict.fromkeys((*reads, given))),
        terms=terms,
        value=share,
        trials=lambda means, n: means[1] * n,
        undefined=f"no replicate has {given}",
    )


def flag_share(
    name: str, formula: Formula, flag: str, given: str | None, *, true: bool = True
) -> MomentMeasure:
    """Share of replicates in which a column is true, or false, among all or in a condition."""

    def event(columns: Columns) -> np.ndarray:
        return flags(columns, flag) if true else 1 - flags(columns, flag)

    return proportion(name, names_in(flag), event, given=given, by_cell=True, formula=formula)


def flags(columns: Columns, name: str) -> np.ndarray:
    """A column of true and false, as 1 and 0; any other value is refused."""
    column = columns[name]
    if column.dtype.kind != "b":
        check_none(
            lambda values: (values != 0) & (values != 1) & ~np.isnan(values),
            column,
            name=f"column {name!r} should say yes or no, as True and False or 1 and 0",
            instead="For p-values use rejection_rate(p_value=column, alpha=...).",
        )
    return np.asarray(column, dtype=float)


def probabilities(values: float | Sequence[float], *, name: str, use: str) -> np.ndarray:
    """One or several probabilities as an array; anything else is refused."""
    if np.asarray(values).dtype.kind not in "iuf":
        raise DesignError(
            f"{name}={in_one_line(repr(values))} is not a number, so nothing can be compared with "
            f"it. Use for example {name}={use}."
        )
    found = np.asarray(values, dtype=float)
    wrong = found[~((found > 0) & (found < 1))]
    if wrong.size or not found.size or found.ndim > 1:
        shown = f"{wrong[0]:g}" if wrong.size else f"{values!r}"
        raise DesignError(
            f"{name}={shown} is not a proportion between 0 and 1, so nothing can be compared "
            f"with it. Use for example {name}={use}."
        )
    return found


def own_axis(name: str, values: np.ndarray) -> dict[str, tuple[float, ...]]:
    """The axis that several values add to a result; none for a single number."""
    return {name: tuple(values.tolist())} if values.ndim else {}


def against(column: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A column with a last axis of size 1, to be compared with several values."""
    return column[..., None] if values.ndim else column


def critical_values(columns: Columns, probability: np.ndarray, df: Operand | None) -> np.ndarray:
    """Quantiles of the standard normal, or of t with `df` degrees of freedom of each replicate.

    Parameters
    ----------
    probability
        Probability, or a row of probabilities, which adds a last axis to the result.
    df
        Column or number; None for the normal.
    """
    if df is None:
        return np.asarray(special.ndtri(probability))
    degrees = operand(columns, df)
    check_none(
        lambda values: values <= 0,
        degrees,
        name="df holds degrees of freedom that are not positive, for which there is no Student's t",
        instead="Give positive ones, and NaN where a replicate has none.",
    )
    return np.asarray(special.stdtrit(against(degrees, probability), probability))


# ---------------------------------------------------------------- tests
def rejection_rate(
    reject: str | None = None,
    *,
    p_value: str | None = None,
    estimate: str | None = None,
    se: str | None = None,
    null: Operand = 0.0,
    alpha: float | Sequence[float] = 0.05,
    df: Operand | None = None,
    given: str | None = None,
    name: str = "rejection_rate",
) -> MomentMeasure:
    """Share of replicates that reject.

    Use one of `rejection_rate("reject")`, `rejection_rate(p_value="p", alpha=0.05)` and
    `rejection_rate(estimate="b", se="se", null=0.0)`.

    Parameters
    ----------
    reject
        Column of True and False, or 1 and 0 (NaN if the replicate failed).
    p_value
        Column of p-values, instead of `reject`: a p-value of at most `alpha` rejects.
    estimate, se
        Columns of estimates and their standard errors, instead of `reject`: a two-sided Wald
        interval of level 1 - alpha that excludes `null` rejects.
    null
        Tested value for `estimate` and `se`: a column or a number.
    alpha
        Significance level in (0, 1) for `p_value` and `se`; several add an axis `alpha` to the
        result.
    df
        Degrees of freedom of Student's t for `se`, a column or a number; None for the normal.
    given
        Column of True and False, or 1 and 0: only replicates in which it is true count, for
        example those in which the null is false. The rate is NaN if there are none.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure of a proportion, with Wilson's interval; with an axis `alpha` for several
        levels.

    Raises
    ------
    DesignError
        If none or several of the three forms are used.
    """
    if reject and not (p_value or estimate or se):
        return flag_share(name, Formula("Σ1(rejects)/n", BINOMIAL), reject, given)
    alphas = probabilities(alpha, name="alpha", use="0.05")
    if p_value and not (reject or estimate or se):
        reads, formula = names_in(p_value), "Σ1(pᵢ ≤ α)/n"
        rejected = _p_rejects(p_value, alphas)
    elif estimate and se and not (reject or p_value):
        reads, formula = names_in(estimate, se, null, df=df), "Σ1(|θ̂ᵢ − null| > quantile · seᵢ)/n"
        rejected = _wald_rejects(estimate, se, null, alphas, df)
    else:
        raise DesignError(
            f"{name}: reject={reject!r}, p_value={p_value!r}, estimate={estimate!r}, se={se!r} do "
            "not define one test. Give a column of rejections, or p_value=, or estimate= and se=."
        )
    made = proportion(
        name,
        reads,
        rejected,
        given=given,
        axes=own_axis("alpha", alphas),
        by_cell=True,
        formula=Formula(formula, BINOMIAL),
    )
    return made if alphas.ndim else replace(made, nominal=float(alphas))


def _p_rejects(p_value: str, alphas: np.ndarray) -> Event:
    """Whether a p-value is at most alpha, up to rounding."""

    def rejected(columns: Columns) -> np.ndarray:
        check_none(
            lambda values: (values < 0) | (values > 1),
            columns[p_value],
            name=f"column {p_value!r} has p-values outside [0, 1], so rejections would be "
            "miscounted",
            instead="Return probabilities, not their logs or percentages.",
        )
        return np.asarray(against(columns[p_value], alphas) <= alphas * (1 + ROUNDING))

    return rejected


def _wald_rejects(
    estimate: str, se: str, null: Operand, alphas: np.ndarray, df: Operand | None
) -> Event:
    """Whether the two-sided Wald interval of level 1 - alpha excludes the null.

    If the standard error is 0, every estimate other than the null rejects.
    """

    def rejected(columns: Columns) -> np.ndarray:
        check_se(columns, se)
        distance = np.abs(columns[estimate] - operand(columns, null))
        half_width = -critical_values(columns, alphas / 2, df) * against(columns[se], alphas)
        return np.asarray(against(distance, alphas) > half_width)

    return rejected


def power(reject: str | None = None, *, name: str = "power", **test: Any) -> MomentMeasure:
    """Rejection rate under a false null: `rejection_rate` with the name "power".

    Parameters
    ----------
    reject
        Column of True and False, or 1 and 0 (NaN if the replicate failed).
    name
        Name of the measure in the summary.
    test
        Other arguments of `rejection_rate`, instead of `reject`.

    Returns
    -------
    MomentMeasure
        A measure of a proportion, with Wilson's interval.
    """
    return rejection_rate(reject, name=name, **test)


def type_1_error(
    reject: str | None = None, *, name: str = "type_1_error", **test: Any
) -> MomentMeasure:
    """Rejection rate under a true null: `rejection_rate` with the name "type_1_error".

    Parameters
    ----------
    reject
        Column of True and False, or 1 and 0 (NaN if the replicate failed).
    name
        Name of the measure in the summary.
    test
        Other arguments of `rejection_rate`, instead of `reject`.

    Returns
    -------
    MomentMeasure
        A measure of a proportion, with Wilson's interval.
    """
    return rejection_rate(reject, name=name, **test)


def convergence_rate(*columns: str, name: str = "convergence_rate") -> MomentMeasure:
    """Share of replicates in which none of the columns is NaN, among all replicates.

    Parameters
    ----------
    columns
        Names of columns. Default: `converged`, which is NaN where a replicate failed.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure of a proportion, with Wilson's interval.
    """
    return MomentMeasure(
        by_cell=True,
        name=name,
        formula=Formula("Σ1(did not fail)/all replicates", BINOMIAL),
        reads=columns or ("converged",),
        derive=lambda aligned: {"there": ~missing(aligned)},
        terms=lambda derived: (derived["there"],),
        value=only,
        interval=WilsonInterval(),
        ddof=0,
    )


# ---------------------------------------------------------------- diagnostic tests
def non_rejection_rate(
    reject: str, *, given: str | None = None, name: str = "non_rejection_rate"
) -> MomentMeasure:
    """Share of replicates that do not reject.

    Parameters
    ----------
    reject
        Column of True and False, or 1 and 0 (NaN if the replicate failed).
    given
        Column of True and False, or 1 and 0: only replicates in which it is true count. Default:
        all.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure of a proportion, with Wilson's interval.
    """
    formula = Formula("Σ1(does not reject)/n", BINOMIAL)
    return flag_share(name, formula, reject, given, true=False)


def sensitivity(reject: str, *, effect: str, name: str = "sensitivity") -> MomentMeasure:
    """Share of replicates with an effect that reject: power if the truth is drawn.

    Parameters
    ----------
    reject
        Column of True and False, or 1 and 0 (NaN if the replicate failed).
    effect
        Column of True and False, or 1 and 0: whether the replicate has an effect, so that its
        null is false.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure of a proportion, with Wilson's interval; NaN if no replicate has an effect.
    """
    return flag_share(name, Formula("Σ1(rejects, effect)/Σ1(effect)", WITHIN), reject, effect)


def specificity(reject: str, *, effect: str, name: str = "specificity") -> MomentMeasure:
    """Share of replicates without an effect that do not reject.

    Parameters
    ----------
    reject
        Column of True and False, or 1 and 0 (NaN if the replicate failed).
    effect
        Column of True and False, or 1 and 0: whether the replicate has an effect, so that its
        null is false.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure of a proportion, with Wilson's interval; NaN if every replicate has an
        effect.
    """

    def terms(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
        others = 1 - flags(columns, effect)
        return others * (1 - flags(columns, reject)), others

    return replace(
        non_rejection_rate(reject, given=effect, name=name),
        formula=Formula("Σ1(does not reject, no effect)/Σ1(no effect)", WITHIN),
        reads=names_in(reject, effect),
        terms=terms,
        undefined=f"no replicate is without {effect}",
    )
