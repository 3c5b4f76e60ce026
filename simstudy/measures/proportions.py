"""Proportions of replicates, unconditional and conditional."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from simstudy.errors import DesignError, in_one_line
from simstudy.lazy import special
from simstudy.measures.columns import Columns, Operand, check_none, names_in, operand
from simstudy.measures.core import BINOMIAL, WITHIN, Formula
from simstudy.measures.intervals import WilsonInterval
from simstudy.measures.moments import MomentMeasure, only, share

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
    if given is None:
        return MomentMeasure(
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
    return MomentMeasure(
        name=name,
        formula=_within(formula),
        reads=tuple(dict.fromkeys((*reads, given))),
        terms=lambda columns: _both(event(columns), flags(columns, given), own=len(axes)),
        value=share,
        trials=lambda means, n: means[1] * n,
        interval=WilsonInterval(),
        ddof=0,
        axes=axes,
        undefined=f"no replicate has {given}",
        by_cell=by_cell,
    )


def _within(formula: Formula) -> Formula:
    """The formulas of a share within a condition."""
    if formula.mcse != BINOMIAL:
        return formula
    return Formula(f"{formula.estimate}, in the condition", WITHIN)


def _both(event: np.ndarray, condition: np.ndarray, *, own: int) -> tuple[np.ndarray, np.ndarray]:
    condition = condition.reshape(condition.shape + (1,) * own)
    return event * condition, condition


def flag_share(name: str, formula: Formula, flag: str, *, given: str | None) -> MomentMeasure:
    """Share of replicates in which a column is true, among all or those in a condition."""
    return proportion(
        name,
        names_in(flag),
        lambda columns: flags(columns, flag),
        given=given,
        by_cell=True,
        formula=formula,
    )


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
    _refuse_no_df(degrees)
    return np.asarray(special.stdtrit(against(degrees, probability), probability))


def check_df(df: Operand | None) -> None:
    """Refuse degrees of freedom that Student's t does not have."""
    if df is not None and not isinstance(df, str):
        _refuse_no_df(np.asarray(df, dtype=float))


def _refuse_no_df(df: np.ndarray) -> None:
    check_none(
        lambda degrees: degrees <= 0,
        df,
        name="df holds degrees of freedom that are not positive, for which there is no Student's t",
        instead="Give positive ones, and NaN where a replicate has none.",
    )
