"""How good an interval is: coverage, on which side it misses, width, and score.

Intervals are closed. Formulas: Morris, White & Crowther (2019), Statistics in Medicine 38,
2074-2102, Table 6.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simstudy.errors import DesignError
from simstudy.lazy.scipy import special
from simstudy.measures.columns import (
    Columns,
    Operand,
    mean_used,
    names_in,
    operand,
    refuse_negative_se,
    refuse_where,
    total,
)
from simstudy.measures.core import Influence, Measure
from simstudy.measures.moments import MomentMeasure, only
from simstudy.measures.proportions import against, own_axis, probabilities, proportion
from simstudy.shapes import Bool

Side = Literal["below", "above"]


def coverage(lower: str, upper: str, truth: Operand, *, name: str = "coverage") -> MomentMeasure:
    """Share of intervals with lower <= truth <= upper.

    An empty interval (lower > upper) covers nothing.
    """

    def covered(columns: Columns) -> np.ndarray:
        true = operand(columns, truth)
        return np.asarray((columns[lower] <= true) & (true <= columns[upper]))

    return proportion(name, names_in(lower, upper, truth), covered, by_cell=True)


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

    def covered(columns: Columns) -> np.ndarray:
        refuse_negative_se(columns, se)
        distance = np.abs(columns[estimate] - operand(columns, truth))
        half_width = _quantiles(columns, levels, df) * against(columns[se], levels)
        return np.asarray(against(distance, levels) <= half_width)

    reads = names_in(estimate, se, truth, df)
    return proportion(name, reads, covered, axes=own_axis("level", levels), by_cell=True)


def tail_miss(
    lower: str, upper: str, truth: Operand, *, side: Side, name: str | None = None
) -> MomentMeasure:
    """Share of intervals that lie wholly below, or wholly above, the truth.

    With coverage the two sides sum to one, unless an interval is empty.
    """
    if side not in ("below", "above"):
        raise DesignError(
            f"side={side!r} is not a side on which an interval can miss. Use 'below' for intervals "
            "below the truth, or 'above'."
        )
    column = upper if side == "below" else lower

    def missed(columns: Columns) -> np.ndarray:
        true = operand(columns, truth)
        return np.asarray(columns[column] < true if side == "below" else columns[column] > true)

    return proportion(name or f"miss_{side}", names_in(lower, upper, truth), missed, by_cell=True)


def interval_width(lower: str, upper: str, *, name: str = "interval_width") -> MomentMeasure:
    """Mean of upper - lower; crossed limits are refused."""
    return MomentMeasure(
        by_cell=True,
        name=name,
        reads=(lower, upper),
        terms=lambda columns: (_width(columns, lower, upper),),
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
        return (_width(columns, lower, upper) + 2 / (1 - level) * (below + above),)

    reads = names_in(lower, upper, truth)
    return MomentMeasure(name=name, reads=reads, terms=score, value=only, by_cell=True)


def bias_eliminated_coverage(
    estimate: str, lower: str, upper: str, *, name: str = "bias_eliminated_coverage"
) -> Measure:
    """Share of intervals that hold the mean of the estimates, in place of the truth.

    The mean is itself estimated, so the influence of a replicate has a second part: its pull on
    the mean times the slope of coverage in the point to be covered. The slope is a difference
    over plus and minus sd n^(-1/5); it vanishes for symmetric intervals and is what the binomial
    formula of Morris et al. leaves out for others. It cannot be gathered block by block.
    """
    return _BiasEliminatedCoverage(
        name=name,
        reads=(estimate, lower, upper),
        bounds="wilson",
        ddof=0,
        limits=(lower, upper),
        center=estimate,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _BiasEliminatedCoverage(Measure):
    limits: tuple[str, str]
    center: str

    def influence(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Influence:
        data = self.sample(columns, keep=keep)
        x, lower, upper = (data.columns[name] for name in (self.center, *self.limits))

        def average(values: np.ndarray) -> np.ndarray:
            return mean_used(values, data.used, complete=data.complete)

        def covers(point: np.ndarray) -> np.ndarray:
            return np.asarray((lower <= point) & (point <= upper))

        with np.errstate(all="ignore"):
            center = average(x)
            pull = x - center
            half = np.sqrt(average(pull * pull)) * np.maximum(data.n, 1) ** -0.2
            rise = average(covers(center + half)) - average(covers(center - half))
            slope = np.where(half == 0, 0.0, rise / (2 * np.where(half == 0, 1.0, half)))
            share = np.where(np.isfinite(center), average(covers(center)), np.nan)
            psi = np.where(data.used, covers(center) - share + slope * pull, np.nan)
        trials = _effective_trials(share, total(np.where(data.used, psi * psi, 0.0)), data.n)
        return Influence(share, psi, data.n, data.n_failed, trials)


def _effective_trials(share: np.ndarray, squares: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Number of independent trials with the variance found: the denominator for Wilson."""
    binomial = share * (1 - share) * n
    known = (binomial > 0) & (squares > 0)
    return np.where(known, n * binomial / np.where(known, squares, 1.0), n)


def _quantiles(columns: Columns, levels: np.ndarray, df: Operand | None) -> np.ndarray:
    p = (1 + levels) / 2
    if df is None:
        return np.asarray(special.ndtri(p))
    return np.asarray(special.stdtrit(against(operand(columns, df), levels), p))


def _width(columns: Columns, lower: str, upper: str) -> np.ndarray:
    width = np.asarray(columns[upper] - columns[lower], dtype=float)
    refuse_where(
        lambda column: column < 0,
        width,
        what=f"intervals from {lower!r} to {upper!r} have negative width, so a mean says nothing",
        instead="Exchange the two columns, or return NaN where a method has no interval.",
    )
    return width
