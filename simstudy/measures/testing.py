"""How good a test is: power and type-I error, plain or conditional, and what significance costs.

A p-value rejects when it is at most alpha, as the statistics' own tests have it; one that equals
alpha but for rounding is at most alpha.
"""

from collections.abc import Sequence

import numpy as np

from simstudy.measures.columns import (
    Columns,
    Operand,
    names_in,
    operand,
    refuse_negative_se,
    refuse_where,
    refuse_zero_column,
    refuse_zero_number,
)
from simstudy.measures.moments import MomentMeasure, only, share
from simstudy.measures.proportions import (
    against,
    critical_values,
    flags,
    own_axis,
    probabilities,
    proportion,
    refuse_df,
)
from simstudy.stats.arguments import ROUNDING


def rejection_rate(
    reject: str, *, given: str | None = None, name: str = "rejection_rate"
) -> MomentMeasure:
    """Share of replicates that reject.

    Parameters
    ----------
    reject
        Column of True and False, or 1 and 0 (NaN where the replicate failed).
    given
        Such a column too: only replicates where it is true count, as in the power given that the
        null is false. NaN where there are none.
    """
    reads = names_in(reject)
    return proportion(
        name,
        reads,
        lambda columns: flags(columns, reject),
        given=given,
        by_cell=True,
        kind="rejection_rate",
    )


def power(reject: str, *, given: str | None = None, name: str = "power") -> MomentMeasure:
    """`rejection_rate` under its name where the null is false."""
    return rejection_rate(reject, given=given, name=name)


def type_1_error(
    reject: str, *, given: str | None = None, name: str = "type_1_error"
) -> MomentMeasure:
    """`rejection_rate` under its name where the null is true."""
    return rejection_rate(reject, given=given, name=name)


def rejection_rate_at(
    p_value: str,
    *,
    alpha: float | Sequence[float] = 0.05,
    given: str | None = None,
    name: str = "rejection_rate",
) -> MomentMeasure:
    """Share of p-values that are at most alpha, roundings aside.

    Parameters
    ----------
    p_value
        Column of p-values; values outside [0, 1] are refused.
    alpha
        Significance level in (0, 1); several of them add an axis "alpha" to the result.
    given
        As in `rejection_rate`.
    """
    alphas = probabilities(alpha, what="alpha", use="0.05")

    def rejected(columns: Columns) -> np.ndarray:
        _refuse_no_probability(columns[p_value], p_value)
        return np.asarray(against(columns[p_value], alphas) <= alphas * (1 + ROUNDING))

    reads, axes = names_in(p_value), own_axis("alpha", alphas)
    return proportion(
        name, reads, rejected, given=given, axes=axes, by_cell=True, kind="rejection_rate_at"
    )


def power_at(
    estimate: str,
    se: str,
    *,
    null: Operand = 0.0,
    alpha: float | Sequence[float] = 0.05,
    df: Operand | None = None,
    given: str | None = None,
    name: str = "power",
) -> MomentMeasure:
    """Share of replicates whose two-sided Wald interval of level 1 - alpha leaves the null out.

    So it is one less `coverage_at` of the null, and with a standard error of 0 every estimate
    but the null itself rejects.

    Parameters
    ----------
    estimate, se
        Columns of estimates and of their standard errors, which may not be negative.
    null
        The value tested: a column or a number.
    alpha
        Significance level in (0, 1); several of them add an axis "alpha" to the result.
    df
        Degrees of freedom of Student's t, a column or a number; None for the normal.
    given
        As in `rejection_rate`.

    References
    ----------
    Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102, Table 6.
    """
    alphas = probabilities(alpha, what="alpha", use="0.05")
    refuse_df(df)

    def rejected(columns: Columns) -> np.ndarray:
        refuse_negative_se(columns, se)
        distance = np.abs(columns[estimate] - operand(columns, null))
        half_width = -critical_values(columns, alphas / 2, df) * against(columns[se], alphas)
        return np.asarray(against(distance, alphas) > half_width)

    reads, axes = names_in(estimate, se, null, df=df), own_axis("alpha", alphas)
    return proportion(name, reads, rejected, given=given, axes=axes, by_cell=True, kind="power_at")


def type_s_rate(
    estimate: str, truth: Operand, *, significant: str, name: str = "type_s_rate"
) -> MomentMeasure:
    """Share of significant estimates that have the wrong sign.

    Parameters
    ----------
    estimate
        Column of estimates.
    truth
        Column or number; a truth of zero has no sign and is refused.
    significant
        Column of True and False, or 1 and 0.

    References
    ----------
    Gelman & Carlin (2014), Perspectives on Psychological Science 9, 641-651.
    """
    refuse_zero_number(truth, _zero_truth(name))

    def wrong_sign(columns: Columns) -> np.ndarray:
        true = operand(columns, truth)
        refuse_zero_column(true, _zero_truth(name))
        return np.asarray(columns[estimate] * np.sign(true) < 0)

    return proportion(
        name,
        names_in(estimate, truth),
        wrong_sign,
        given=significant,
        by_cell=True,
        kind="type_s_rate",
    )


def exaggeration(
    estimate: str, truth: Operand, *, significant: str, name: str = "exaggeration"
) -> MomentMeasure:
    """Mean of abs(estimate/truth) among significant estimates: 1 is right, 2 is twice too large.

    Parameters and source as for `type_s_rate`.
    """
    refuse_zero_number(truth, _zero_truth(name))

    def terms(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
        true, condition = operand(columns, truth), flags(columns, significant)
        refuse_zero_column(true, _zero_truth(name))
        return np.where(condition, np.abs(columns[estimate] / true), 0.0), condition

    return MomentMeasure(
        by_cell=True,
        name=name,
        kind="exaggeration",
        reads=names_in(estimate, truth, significant),
        terms=terms,
        value=share,
        trials=lambda means, n: means[1] * n,
        undefined=f"no replicate has {significant}",
    )


def convergence_rate(*columns: str, name: str = "convergence_rate") -> MomentMeasure:
    """Share of replicates in which none of the columns is NaN, among all replicates."""

    def derive(aligned: Columns) -> Columns:
        return {f"{column} is there": ~_absent(aligned[column]) for column in columns}

    def terms(derived: Columns) -> tuple[np.ndarray]:
        there = np.asarray(True)
        for column in derived.values():
            there = there & column
        return (there,)

    return MomentMeasure(
        by_cell=True,
        name=name,
        kind="convergence_rate",
        reads=columns,
        derive=derive,
        terms=terms,
        value=only,
        bounds="wilson",
        ddof=0,
    )


def _absent(column: np.ndarray) -> np.ndarray:
    return np.isnan(column) if column.dtype.kind == "f" else np.zeros(column.shape, dtype=bool)


def _refuse_no_probability(column: np.ndarray, name: str) -> None:
    refuse_where(
        lambda values: (values < 0) | (values > 1),
        column,
        what=f"column {name!r} has p-values outside [0, 1], so rejections would be miscounted",
        instead="Return probabilities, not their logs or percentages.",
    )


def _zero_truth(name: str) -> str:
    return (
        f"{name} compares estimates with the sign and size of the truth, which is 0 here, so it "
        "has no value. Use it in scenarios with an effect, and type_1_error in those without."
    )
