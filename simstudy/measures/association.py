"""Association of two columns: correlation, and AUC for a binary column."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simstudy.array_types import Bool
from simstudy.measures.columns import Columns, names_in, total
from simstudy.measures.core import INFLUENCE, Formula, Influence, Measure
from simstudy.measures.estimation import sizes_of_powers
from simstudy.measures.intervals import END, Interval, ScaledInterval
from simstudy.measures.moments import Means, MomentMeasure, centred, ratio
from simstudy.measures.proportions import flags


def correlation(first: str, second: str, *, name: str = "correlation") -> MomentMeasure:
    """Pearson's correlation of two columns over replicates; NaN if one of them is constant.

    With z and w the standardised values, a replicate has the influence z w - r (z^2 + w^2)/2 on it,
    whatever the distribution; for normal values its spread is 1 - r^2.

    Parameters
    ----------
    first, second
        Columns, such as the estimates of two methods, or estimates and their truths.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure in [-1, 1].

    References
    ----------
    Devlin, Gnanadesikan & Kettenring (1975), Biometrika 62, 531-545.
    """
    reads = names_in(first, second)

    def terms(columns: Columns) -> tuple[np.ndarray, ...]:
        x, y = columns[centred(first)], columns[centred(second)]
        return x, y, x * x, y * y, x * y

    def sizes(columns: Columns) -> tuple[np.ndarray, ...]:
        (x, xx), (y, yy) = (sizes_of_powers(columns, name) for name in reads)
        of_product = np.abs(columns[centred(first)]) * y + np.abs(columns[centred(second)]) * x
        return x, y, xx, yy, of_product

    return _Correlation(
        by_cell=True,
        interval=ScaledInterval(-1.0, 1.0),
        min_rep=3,
        name=name,
        formula=Formula("Σzᵢwᵢ/n of the two columns, standardised", "sd(zᵢwᵢ − r(zᵢ² + wᵢ²)/2)/√n"),
        reads=reads,
        terms=terms,
        sizes=sizes,
        doubted=(2, 3),
        value=_correlation,
        centred_columns=reads,
        undefined="one of the two columns has no spread",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Correlation(MomentMeasure):
    """Correlation; near 1 or -1 its number of trials is that of two binary columns.

    The number is n times 4 p (1 - p), from the kurtosis.
    """

    def influence(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Influence:
        found = super().influence(columns, keep=keep)
        if not (np.abs(found.estimate) > 1 - END).any():
            return found
        data = self.sample(columns, keep=keep)
        with np.errstate(all="ignore"):
            x = np.where(data.used, data.columns[self.reads[0]], 0.0)
            x = np.where(data.used, x - total(x) / data.n, 0.0)
            kurtosis = data.n * total(x**4) / total(x**2) ** 2
        trials = np.asarray(np.fmax(4 * data.n / (kurtosis + 3), 1.0))
        return found._replace(interval=ScaledInterval(-1.0, 1.0, trials))


def _correlation(means: Means, _n: np.ndarray) -> np.ndarray:
    x, y, xx, yy, xy = means
    spreads = np.sqrt((xx - x * x) * (yy - y * y))
    return ratio(xy - x * y, spreads)


def area_under_curve(score: str, *, effect: str, name: str = "area_under_curve") -> Measure:
    """Probability that a replicate with an effect has a higher score than one without; ties half.

    The area under the receiver operating characteristic. It is a U-statistic: the influence of a
    replicate with an effect is n/n1 times (the share of replicates without an effect that it
    exceeds, less the area), and correspondingly for a replicate without an effect.

    Parameters
    ----------
    score
        Any numeric column that is higher if there seems to be an effect (for p-values: 1 - p).
    effect
        Column of True and False, or 1 and 0. The area is NaN if all replicates have the same.
    name
        Name of the measure in the summary.

    Returns
    -------
    Measure
        A measure of a probability, in [0, 1].

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44, 837-845.
    """
    return _Area(
        name=name,
        formula=Formula(
            "share of pairs, one with and one without an effect, in which the score is higher with "
            "it; ties half",
            INFLUENCE,
        ),
        reads=names_in(score, effect),
        score=score,
        effect=effect,
        interval=_AreaInterval(0.0, 1.0),
        undefined=f"all replicates have the same {effect}",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Area(Measure):
    score: str
    effect: str

    def influence(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Influence:
        data = self.sample(columns, keep=keep)
        score, effect, used = (
            np.broadcast_to(part, data.used.shape).reshape(len(data.used), -1)
            for part in (data.columns[self.score], flags(data.columns, self.effect), data.used)
        )
        cells = [*zip(effect.T, used.T, strict=True)]
        parts = [_area_and_pulls(*cell) for cell in zip(score.T, effect.T, used.T, strict=True)]
        area = np.reshape([area for area, _ in parts], data.n.shape)
        psi = np.reshape(np.transpose([pulls for _, pulls in parts]), data.used.shape)
        fewer = [min((used & (e == which)).sum() for which in (0, 1)) for e, used in cells]
        interval = _AreaInterval(0.0, 1.0, np.reshape(np.maximum(fewer, 1.0), data.n.shape))
        n = data.n.astype(float)
        return Influence(area, psi, data.n, data.n_failed, n, interval=interval)


class _AreaInterval(ScaledInterval):
    """Interval of an area, which needs no warning: it covers for any score.

    With at most twice as many trials as replicates of the rarer kind.

    This is the number of trials for an area near 1 (Hanley & McNeil 1982, Radiology 143, 29-36). If
    few pairs are in the wrong order, the estimated error suggests too many.
    """

    counts_events: ClassVar[bool] = True

    def limits(self, influence: Influence, mcse: np.ndarray, *, level: float) -> Interval:
        share = influence.estimate
        least = np.sqrt(share * (1 - share) / (2 * self._trials(influence)))
        return super().limits(influence, np.maximum(mcse, least), level=level)


def _area_and_pulls(
    score: np.ndarray, effect: np.ndarray, used: np.ndarray
) -> tuple[float, np.ndarray]:
    """The area of one cell, and the influence of each replicate on it; NaN if not used."""
    pulls = np.full(len(score), np.nan)
    has, has_not = used & (effect == 1), used & (effect == 0)
    if not (has.any() and has_not.any()):
        return np.nan, pulls
    below, above = (
        _share_below(score[has], score[has_not]),
        _share_below(score[has_not], score[has]),
    )
    area, n = float(total(below) / len(below)), len(below) + len(above)
    pulls[has] = n / len(below) * (below - area)
    pulls[has_not] = n / len(above) * (1 - above - area)
    return area, pulls


def _share_below(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The share of `others` that are smaller than each value; ties count half."""
    ordered = np.sort(others)
    smaller, not_larger = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return np.asarray((smaller + not_larger) / (2 * len(ordered)))
