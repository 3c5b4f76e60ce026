"""Association of two columns: their correlation."""

from dataclasses import dataclass

import numpy as np

from simstudy.array_types import Bool
from simstudy.measures.columns import Columns, names_in, total
from simstudy.measures.core import Formula, Influence
from simstudy.measures.estimation import sizes_of_powers
from simstudy.measures.intervals import END, ScaledInterval
from simstudy.measures.moments import Means, MomentMeasure, centred, ratio


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
