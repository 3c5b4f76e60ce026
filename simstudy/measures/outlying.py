"""Replicates that lie far out: counted and shown, and never taken out of any other measure."""

import numbers
from dataclasses import dataclass

import numpy as np

from simstudy.errors import DesignError, in_one_line
from simstudy.measures.bias_eliminated import effective_trials
from simstudy.measures.columns import Columns, Sample, mean_used, total
from simstudy.measures.core import Influence, Measure
from simstudy.measures.quantiles import quantile_at, sparsity
from simstudy.shapes import Bool

NORMAL_MAD = 1.4826  # standard deviations of a normal in its median absolute deviation


def outlier_rate(column: str, *, beyond: float = 10.0, name: str | None = None) -> Measure:
    """Share of replicates further from the median than `beyond` robust standard deviations.

    A robust standard deviation is 1.4826 times the median distance from the median (MAD), that of
    normal values. `share x n_rep` replicates are counted; all of them stay in every other
    measure, and a run says at its end where there are any. Infinite values count. It cannot be
    gathered block by block.

    Parameters
    ----------
    column
        Any numeric column, such as estimates or their standard errors.
    beyond
        Robust standard deviations, above 0.

    Notes
    -----
    Median and MAD are estimated: a replicate also pulls on them, and they on the share. With
    s = 1.4826 MAD, its influence is 1{far out} - share, plus the slope of the share in the median
    times the influence on the median, plus its slope in s times that on s. Slopes are differences
    over plus and minus s n^(-1/3). The influence on the MAD is that on the median of the distances,
    plus the slope of this in their centre times the influence on the median. Far out, where next
    to nothing lies, the slopes are 0, and what is left is the binomial sqrt(p (1 - p)/n).

    References
    ----------
    Hampel (1974), J. Am. Stat. Assoc. 69, 383-393, for the influence of median and MAD. White
    (2010), The Stata Journal 10, 369-385, for a limit of 10.
    """
    is_number = isinstance(beyond, numbers.Real) and not isinstance(beyond, bool)
    if not is_number or not 0 < beyond < np.inf:
        raise DesignError(
            f"beyond={in_one_line(repr(beyond))} is no distance in robust standard deviations, so "
            "nothing lies beyond it. Give a number above 0, such as 10."
        )
    return OutlierRate(
        name=name or f"outlier_rate_{column}",
        kind="outlier_rate",
        reads=(column,),
        bounds="wilson",
        ddof=0,
        by_cell=True,
        beyond=float(beyond),
        undefined=f"half of {column} or more are equal, so the MAD is 0",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class OutlierRate(Measure):
    """The share of replicates that lie far out; what the end of a run looks for."""

    beyond: float

    def influence(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Influence:
        data = self.sample(columns, keep=keep)
        x = np.where(data.used, np.asarray(data.columns[self.reads[0]], float), np.nan)
        with np.errstate(all="ignore"):
            share, psi = self._share_and_psi(x, data)
        trials = effective_trials(share, total(np.where(data.used, psi * psi, 0.0)), data.n)
        return Influence(share, psi, data.n, data.n_failed, trials, n_given=data.n)

    def _share_and_psi(self, x: np.ndarray, data: Sample) -> tuple[np.ndarray, np.ndarray]:
        median, of_median = _median(x, data)
        mad, of_mad = _mad(x, median, of_median, data)
        spread, of_spread = NORMAL_MAD * mad, NORMAL_MAD * of_mad
        step = spread * np.cbrt(1 / np.maximum(data.n, 1))

        def far(center: np.ndarray, scale: np.ndarray) -> np.ndarray:
            return np.asarray(np.abs(x - center) > self.beyond * scale)

        def share_of(center: np.ndarray, scale: np.ndarray) -> np.ndarray:
            return mean_used(far(center, scale), data.used, complete=data.complete)

        by_center = _slope(share_of(median + step, spread), share_of(median - step, spread), step)
        by_spread = _slope(share_of(median, spread + step), share_of(median, spread - step), step)
        share = np.where(mad > 0, share_of(median, spread), np.nan)
        psi = (
            far(median, spread) - share + _pull(by_center, of_median) + _pull(by_spread, of_spread)
        )
        return share, np.where(data.used, psi, np.nan)


def _median(x: np.ndarray, data: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Of each cell's values, and the influence of each value on it, with mean zero."""
    ordered = np.sort(x, axis=0)
    median = quantile_at(ordered, data.n, 0.5)
    below = np.asarray(x <= median, float)
    share = mean_used(below, data.used, complete=data.complete)
    return median, sparsity(ordered, data.n, 0.5) * (share - below)


def _mad(
    x: np.ndarray, median: np.ndarray, of_median: np.ndarray, data: Sample
) -> tuple[np.ndarray, np.ndarray]:
    """Median distance from the median, and the influence of each value on it."""
    mad, of_mad = _median(np.abs(x - median), data)
    step = mad * np.cbrt(1 / np.maximum(data.n, 1))
    further, nearer = (_median(np.abs(x - median - by), data)[0] for by in (step, -step))
    return mad, of_mad + _pull(_slope(further, nearer, step), of_median)


def _slope(above: np.ndarray, below: np.ndarray, step: np.ndarray) -> np.ndarray:
    """A difference over plus and minus a step; 0 where the step is."""
    return np.where(step > 0, (above - below) / (2 * np.where(step > 0, step, 1.0)), 0.0)


def _pull(slope: np.ndarray, influence: np.ndarray) -> np.ndarray:
    """Their product; 0 where the slope is, also beside infinite values."""
    return np.where(slope == 0, 0.0, slope * influence)
