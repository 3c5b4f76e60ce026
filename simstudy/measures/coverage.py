"""How good an interval is: coverage, on which side it misses, width, and score.

Intervals are closed. Formulas: Morris, White & Crowther (2019), Statistics in Medicine 38,
2074-2102, Table 6.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from simstudy.errors import DesignError
from simstudy.measures.columns import (
    Columns,
    Operand,
    names_in,
    operand,
    refuse_negative_se,
    refuse_where,
)
from simstudy.measures.critical import critical_values, refuse_df
from simstudy.measures.moments import MomentMeasure, only
from simstudy.measures.proportions import against, own_axis, probabilities, proportion

Side = Literal["below", "above"]


def coverage(lower: str, upper: str, truth: Operand, *, name: str = "coverage") -> MomentMeasure:
    """Share of intervals with lower <= truth <= upper.

    Crossed limits are refused.
    """

    def covered(columns: Columns) -> np.ndarray:
        true = operand(columns, truth)
        width_of(columns, lower, upper)
        return np.asarray((columns[lower] <= true) & (true <= columns[upper]))

    return proportion(name, names_in(lower, upper, truth), covered, by_cell=True, kind="coverage")


def coverage_at(
    estimate: str,
    se: str,
    truth: Operand,
    *,
    level: float | Sequence[float] = 0.95,
    df: Operand | None = None,
    name: str = "coverage",
) -> MomentMeasure:
    """Coverage of estimate plus and minus a quantile times its standard error.

    Parameters
    ----------
    estimate, se
        Columns of estimates and of their standard errors, which may not be negative.
    truth
        Column or number.
    level
        Nominal coverage in (0, 1); several of them add an axis "level" to the result.
    df
        Degrees of freedom of Student's t, a column or a number; None for the normal.
    """
    levels = probabilities(level, what="level", use="0.95")
    refuse_df(df)

    def covered(columns: Columns) -> np.ndarray:
        refuse_negative_se(columns, se)
        distance = np.abs(columns[estimate] - operand(columns, truth))
        half_width = critical_values(columns, (1 + levels) / 2, df) * against(columns[se], levels)
        return np.asarray(against(distance, levels) <= half_width)

    reads = names_in(estimate, se, truth, df=df)
    return proportion(
        name, reads, covered, axes=own_axis("level", levels), by_cell=True, kind="coverage_at"
    )


def tail_miss(
    lower: str, upper: str, truth: Operand, *, side: Side, name: str | None = None
) -> MomentMeasure:
    """Share of intervals that lie wholly below, or wholly above, the truth.

    With coverage the two sides sum to one. Crossed limits are refused.
    """
    if side not in ("below", "above"):
        raise DesignError(
            f"side={side!r} is not a side on which an interval can miss. Use 'below' for intervals "
            "below the truth, or 'above'."
        )
    column = upper if side == "below" else lower

    def missed(columns: Columns) -> np.ndarray:
        true = operand(columns, truth)
        width_of(columns, lower, upper)
        return np.asarray(columns[column] < true if side == "below" else columns[column] > true)

    return proportion(
        name or f"miss_{side}",
        names_in(lower, upper, truth),
        missed,
        by_cell=True,
        kind="tail_miss",
    )


def interval_width(lower: str, upper: str, *, name: str = "interval_width") -> MomentMeasure:
    """Mean of upper - lower; crossed limits are refused."""
    return MomentMeasure(
        by_cell=True,
        name=name,
        kind="interval_width",
        reads=(lower, upper),
        terms=lambda columns: (width_of(columns, lower, upper),),
        value=only,
    )


def interval_score(
    lower: str, upper: str, truth: Operand, *, level: float = 0.95, name: str = "interval_score"
) -> MomentMeasure:
    """Mean of the width plus 2/(1 - level) times the distance by which an interval misses.

    Lower is better, and the true quantiles are best. Crossed limits are refused.

    References
    ----------
    Gneiting & Raftery (2007), J. Am. Stat. Assoc. 102, 359-378, section 6.2.
    """
    probabilities(level, what="level", use="0.95")

    def score(columns: Columns) -> tuple[np.ndarray]:
        true = operand(columns, truth)
        below = np.maximum(columns[lower] - true, 0.0)
        above = np.maximum(true - columns[upper], 0.0)
        return (width_of(columns, lower, upper) + 2 / (1 - level) * (below + above),)

    reads = names_in(lower, upper, truth)
    return MomentMeasure(
        name=name, kind="interval_score", reads=reads, terms=score, value=only, by_cell=True
    )


def width_of(columns: Columns, lower: str, upper: str) -> np.ndarray:
    """Distance of two columns of limits; crossed limits are refused."""
    with np.errstate(invalid="ignore"):  # infinite limits on one side have no distance
        width = np.asarray(np.subtract(columns[upper], columns[lower], dtype=float))
    refuse_where(
        lambda column: column < 0,
        width,
        what=f"intervals from {lower!r} to {upper!r} have negative width, so they hold nothing",
        instead="Exchange the two columns, or return NaN where a method has no interval.",
    )
    return width
