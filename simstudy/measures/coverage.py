"""Measures of intervals: coverage, side of misses, width, interval score.

Intervals are closed. Formulas: Morris, White & Crowther (2019), Statistics in Medicine 38,
2074-2102, Table 6.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from simstudy.errors import DesignError
from simstudy.measures.columns import (
    Columns,
    Keep,
    Operand,
    check_choice,
    check_none,
    check_se,
    mean_used,
    names_in,
    operand,
    total,
)
from simstudy.measures.core import (
    BINOMIAL,
    INFLUENCE,
    Estimates,
    Formula,
    Influence,
    Measure,
    root_mean,
)
from simstudy.measures.intervals import Interval, StudentInterval, WilsonInterval
from simstudy.measures.moments import NORMAL_IS_INDEPENDENT, Mcse, Means, MomentMeasure, only
from simstudy.measures.proportions import (
    against,
    critical_values,
    own_axis,
    probabilities,
    proportion,
)

LEVEL = 0.95  # default of intervals from a standard error

Side = Literal["below", "above"]


def coverage(
    lower: str | None = None,
    upper: str | None = None,
    truth: Operand | None = None,
    *,
    estimate: str | None = None,
    se: str | None = None,
    level: float | Sequence[float] = LEVEL,
    df: Operand | None = None,
    name: str = "coverage",
) -> MomentMeasure:
    """Share of intervals that hold the truth: `lower <= truth <= upper`.

    Either `coverage("lower", "upper", truth)` or `coverage(estimate="b", se="se", truth=0.0)`.

    Parameters
    ----------
    lower, upper
        Columns of limits. Crossed limits are refused.
    truth
        Column or number.
    estimate, se
        Columns of estimates and their standard errors, instead of limits. The interval is then
        the estimate plus and minus a quantile times the standard error.
    level
        Nominal coverage in (0, 1) of these intervals; several add an axis `level` to the result.
    df
        Degrees of freedom of Student's t, a column or a number; None for the normal.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure of a proportion, with Wilson's interval; with an axis `level` for several
        levels.

    Raises
    ------
    DesignError
        If both or none of the two pairs of columns are used, or there is no truth.

    References
    ----------
    Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102, Table 6.
    """
    of = _interval_of(name, lower, upper, estimate, se, level, df)
    if truth is None:
        raise DesignError(f"{name} has no truth= to look for. Give a column, or a number.")

    def covered(columns: Columns) -> np.ndarray:
        low, high = of.limits(columns)
        true = operand(columns, truth)
        true = true[..., None] if of.axes else true
        return np.asarray((low <= true) & (true <= high))

    event = "|θ̂ᵢ − θ| ≤ quantile · seᵢ" if se else "lowerᵢ ≤ θ ≤ upperᵢ"
    formula, reads = Formula(f"Σ1({event})/n", BINOMIAL), names_in(*of.reads, truth)
    made = proportion(name, reads, covered, axes=of.axes, by_cell=True, formula=formula)
    return replace(made, nominal=of.nominal)


class _Limits(NamedTuple):
    """Limits as a function of columns, the columns it reads, and its own axis of levels."""

    reads: tuple[str, ...]
    limits: Callable[[Columns], Interval]
    axes: dict[str, tuple[float, ...]]
    nominal: float | None


def _interval_of(
    name: str,
    lower: str | None,
    upper: str | None,
    estimate: str | None,
    se: str | None,
    level: float | Sequence[float],
    df: Operand | None,
) -> _Limits:
    """Limits by their columns, or by an estimate and its standard error."""
    if lower and upper and not (estimate or se):
        if np.ndim(level) or level != LEVEL:
            raise DesignError(f"{name}: level={level!r} is for estimate= and se=, not for limits.")

        def given(columns: Columns) -> Interval:
            width_of(columns, lower, upper)
            return Interval(columns[lower], columns[upper])

        return _Limits(names_in(lower, upper), given, {}, None)
    if not (estimate and se) or lower or upper:
        raise DesignError(
            f"{name}: lower={lower!r}, upper={upper!r}, se={se!r} do not name one interval. Give "
            "lower and upper, or an estimate and se=."
        )
    levels = probabilities(level, name="level", use="0.95")

    def around(columns: Columns) -> Interval:
        check_se(columns, se)
        center = against(columns[estimate], levels)
        half = critical_values(columns, (1 + levels) / 2, df) * against(columns[se], levels)
        return Interval(np.asarray(center - half), np.asarray(center + half))

    axes = own_axis("level", levels)
    nominal = None if axes else float(levels)
    return _Limits(names_in(estimate, se, df=df), around, axes, nominal)


def tail_miss(
    lower: str, upper: str, truth: Operand, *, side: Side, name: str | None = None
) -> MomentMeasure:
    """Share of intervals that lie wholly below, or wholly above, the truth.

    Coverage and the two sides sum to one.

    Parameters
    ----------
    lower, upper
        Columns of limits; crossed limits are refused.
    truth
        The true value: a column, or a number.
    side
        "below" for intervals below the truth, or "above".
    name
        Name of the measure in the summary. Default: `miss_below` or `miss_above`.

    Returns
    -------
    MomentMeasure
        A measure of a proportion, with Wilson's interval.

    Raises
    ------
    DesignError
        If `side` is neither "below" nor "above".
    """
    check_choice("side", side, Side)
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
        formula=Formula("Σ1(interval wholly on that side of θ)/n", BINOMIAL),
    )


def interval_width(lower: str, upper: str, *, name: str = "interval_width") -> MomentMeasure:
    """Mean of upper - lower.

    Parameters
    ----------
    lower, upper
        Columns of limits; crossed limits are refused.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure in the units of the limits.
    """
    return MomentMeasure(
        by_cell=True,
        name=name,
        formula=Formula("Σ(upperᵢ − lowerᵢ)/n", "sd(upperᵢ − lowerᵢ)/√n"),
        reads=(lower, upper),
        terms=lambda columns: (width_of(columns, lower, upper),),
        sizes=lambda columns: (np.abs(columns[lower]) + np.abs(columns[upper]),),
        value=only,
    )


def interval_score(
    lower: str, upper: str, truth: Operand, *, level: float = 0.95, name: str = "interval_score"
) -> MomentMeasure:
    """Mean of the width plus 2/(1 - level) times the distance by which an interval misses.

    Lower is better, and the true quantiles are best.

    Parameters
    ----------
    lower, upper
        Columns of limits; crossed limits are refused.
    truth
        The true value: a column, or a number.
    level
        Nominal coverage of the intervals, in (0, 1).
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure in the units of the limits.

    References
    ----------
    Gneiting & Raftery (2007), J. Am. Stat. Assoc. 102, 359-378, section 6.2.
    """
    probabilities(level, name="level", use="0.95")

    def score(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
        true = operand(columns, truth)
        below = np.maximum(columns[lower] - true, 0.0)
        above = np.maximum(true - columns[upper], 0.0)
        missed = below + above
        return width_of(columns, lower, upper) + 2 / (1 - level) * missed, missed > 0

    def sizes(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
        true = operand(columns, truth)
        missed = (columns[lower] > true) | (columns[upper] < true)
        size = np.abs(columns[lower]) + np.abs(columns[upper])
        return size + 2 / (1 - level) * missed * (size + np.abs(true)), missed

    return _IntervalScore(
        level=level,
        name=name,
        formula=Formula(
            "Σ(widthᵢ + 2/(1 − level) · distance by which it misses θ)/n", "sd of the summands/√n"
        ),
        reads=names_in(lower, upper, truth),
        terms=score,
        sizes=sizes,
        value=only,
        by_cell=True,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _IntervalScore(MomentMeasure):
    """The score of intervals; without a miss among them nothing is known of its size."""

    level: float

    def _influence(
        self, means: Means, n: np.ndarray, n_failed: np.ndarray, psi: np.ndarray
    ) -> Influence:
        influence = super()._influence(means, n, n_failed, psi)
        never = (means[1] == 0) & (n > 0)
        if not never.any():
            return influence
        texts = [
            f"no interval misses, and {(1 - self.level) * n_of:.2g} of {n_of:,} were to be "
            "expected: the upper limit is not known"
            for n_of in np.ravel(n)
        ]
        warning = np.where(never, np.reshape(np.array(texts, dtype=object), n.shape), "")
        return influence._replace(warning=warning, interval=_OpenAbove(open_above=never))


@dataclass(frozen=True)
class _OpenAbove(StudentInterval):
    """Student's interval, without an upper limit in some cells."""

    open_above: np.ndarray | None = None

    def limits(self, influence: Influence, mcse: np.ndarray, *, level: float) -> Interval:
        lower, upper = super().limits(influence, mcse, level=level)
        known = ~np.isnan(upper)
        return Interval(lower, np.where(known & np.asarray(self.open_above), np.inf, upper))


def width_of(columns: Columns, lower: str, upper: str) -> np.ndarray:
    """Upper minus lower limits; crossed limits are refused."""
    with np.errstate(invalid="ignore"):  # infinite limits on one side have no distance
        width = np.asarray(np.subtract(columns[upper], columns[lower], dtype=float))
    check_none(
        lambda column: column < 0,
        width,
        name=f"intervals from {lower!r} to {upper!r} have negative width, so they hold nothing",
        instead="Exchange the two columns, or return NaN where a method has no interval.",
    )
    return width


def bias_eliminated_coverage(
    estimate: str,
    lower: str | None = None,
    upper: str | None = None,
    *,
    se: str | None = None,
    level: float | Sequence[float] = 0.95,
    df: Operand | None = None,
    name: str = "bias_eliminated_coverage",
    mcse: Mcse = "influence",
) -> Measure:
    """Coverage of the mean estimate instead of the truth.

    Either `bias_eliminated_coverage("b", "lower", "upper")` or
    `bias_eliminated_coverage("b", se="se")`.

    The mean is estimated, so the influence of a replicate has a second part: its influence on the
    mean times the slope of coverage in the point to be covered. The slope is a difference quotient
    over plus and minus sd n^(-1/5). It vanishes for symmetric intervals; the binomial formula of
    Morris et al. ignores it.

    Parameters
    ----------
    estimate
        Column of estimates, whose mean is to be covered.
    lower, upper
        Columns of the limits of their intervals; crossed limits are refused.
    se
        Column of standard errors, instead of limits: the interval is then the estimate plus and
        minus a quantile times the standard error, which may not be negative.
    level
        Nominal coverage in (0, 1) of intervals by `se`; several of them add an axis "level" to
        the result.
    df
        Degrees of freedom of Student's t for `se`, a column or a number; None for the normal.
    name
        Name of the measure in the summary.
    mcse
        "influence" has both parts; "normal" is the binomial sqrt(p (1 - p)/n) of Morris et al.

    Returns
    -------
    Measure
        A measure of a proportion, with Wilson's interval; with an axis `level` for several
        levels.

    Raises
    ------
    DesignError
        If neither both limits nor `se` are given, or all are; or if `mcse` is neither "influence"
        nor "normal".

    References
    ----------
    Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102, Table 6.
    """
    check_choice("mcse", mcse, Mcse)
    of = _interval_of(name, lower, upper, estimate if se else None, se, level, df)
    return _BiasEliminatedCoverage(
        name=name,
        formula=Formula("Σ1(lowerᵢ ≤ θ̄ ≤ upperᵢ)/n", BINOMIAL if mcse == "normal" else INFLUENCE),
        reads=tuple(dict.fromkeys((estimate, *of.reads))),
        interval=WilsonInterval(),
        ddof=0,
        axes=of.axes,
        limits=of.limits,
        center=estimate,
        binomial=mcse == "normal",
        needs_independence=NORMAL_IS_INDEPENDENT if mcse == "normal" else "",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _BiasEliminatedCoverage(Measure):
    limits: Callable[[Columns], Interval] = field(repr=False)
    center: str
    binomial: bool

    def estimate(self, columns: Columns, *, level: float = 0.95) -> Estimates:
        if not self.binomial:
            return super().estimate(columns, level=level)
        found = self.influence(columns)
        share, n = found.estimate, found.n_rep
        found = found._replace(trials=n.astype(float))
        mcse = root_mean(n * share * (1 - share), n, n, ~np.isfinite(share), ddof=0)
        return self.report(found, mcse, level=level)

    def influence(self, columns: Columns, *, keep: Keep = None) -> Influence:
        data = self.sample(columns, keep=keep)
        lower, upper = self.limits(data.columns)
        x, used, n = (self._widen(part) for part in (data.columns[self.center], data.used, data.n))

        def average(values: np.ndarray) -> np.ndarray:
            return mean_used(values, used, complete=data.complete)

        def covers(point: np.ndarray) -> np.ndarray:
            return np.asarray((lower <= point) & (point <= upper))

        with np.errstate(all="ignore"):
            center = average(x)
            pull = x - center
            half = np.sqrt(average(pull * pull)) * np.maximum(n, 1) ** -0.2
            rise = average(covers(center + half)) - average(covers(center - half))
            slope = np.where(half == 0, 0.0, rise / (2 * np.where(half == 0, 1.0, half)))
            share = np.where(np.isfinite(center), average(covers(center)), np.nan)
            psi = np.where(used, covers(center) - share + slope * pull, np.nan)
        n = np.broadcast_to(n, share.shape)
        trials = effective_trials(share, total(np.where(used, psi * psi, 0.0)), n)
        return Influence(share, psi, n, np.asarray(len(used) - n), trials, n_given=n)

    def _widen(self, values: np.ndarray) -> np.ndarray:
        """Append an axis of size 1 for each axis of the measure itself."""
        return values.reshape(values.shape + (1,) * len(self.axes))


def effective_trials(share: np.ndarray, squares: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Number of independent trials with the estimated variance: the denominator for Wilson."""
    binomial = share * (1 - share) * n
    known = (binomial > 0) & (squares > 0)
    return np.where(known, n * binomial / np.where(known, squares, 1.0), n)
