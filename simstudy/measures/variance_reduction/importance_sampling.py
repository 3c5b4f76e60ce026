"""Rare events by importance sampling."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simstudy.measures.columns import Columns, check_none, names_in
from simstudy.measures.core import Formula, Influence
from simstudy.measures.moments import Means, MomentMeasure, only, ratio
from simstudy.measures.proportions import flags
from simstudy.measures.remarks import far_by_powers

MIN_EFFECTIVE = 10.0  # effective replicates of an estimate; with fewer, its error is unreliable
MAX_WEIGHT = 1e70  # fourth powers of larger weights overflow
# The spread of contributions is unreliable if its effective number is below MIN_SQUARES and UNEQUAL
# times below that of their mean. For exponential contributions that ratio is three.
MIN_SQUARES = 7.0
UNEQUAL = 4.0


class _Terms(NamedTuple):
    """The terms whose means are taken, for a replicate with weight w and value y."""

    value: np.ndarray  # w y
    weight: np.ndarray  # w
    size: np.ndarray  # |w y|
    squared_size: np.ndarray
    fourth_size: np.ndarray
    square: np.ndarray  # w y^2
    off: np.ndarray  # w - 1, and its powers
    off_2: np.ndarray
    off_3: np.ndarray
    off_4: np.ndarray


def weighted_mean(column: str, *, weight: str, name: str | None = None) -> MomentMeasure:
    """Mean of a column under another distribution than the one it was drawn from.

    Parameters
    ----------
    column
        Any numeric column y.
    weight
        Column of likelihood ratios w: the density of the target distribution over that of the
        sampling distribution, at the drawn values. A negative weight is refused. If the target is
        conditional on an event of known probability, its density is the one within the event over
        that probability.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure in the units of the column.

    Notes
    -----
    The mean of w y, which is unbiased; influences are w y - estimate. `n_effective` is the number
    of equal weights with the same relative error (Kish): (sum of a)^2 over the sum of a^2, with the
    contributions a = |w y|. `variance_reduction` compares with as many replicates drawn from the
    target distribution: the mean of w (y - estimate)^2 over n.

    A `remark` is made in three cases, in which the error is unreliable:

    - `n_effective` is below ten;
    - the effective number behind the spread, (sum of a^2)^2 over the sum of a^4, is below seven and
      below a quarter of `n_effective`;
    - the mean of likelihood ratios is more than five standard errors from 1.

    A region that was never drawn although it is not rare in the target distribution cannot be
    detected.

    References
    ----------
    Kahn & Marshall (1953), Operations Research 1, 263-278. Kong, Liu & Wong (1994), Journal of the
    American Statistical Association 89, 278-288.
    """
    return _weighted(column, weight, name or f"mean_{column}")


def weighted_proportion(event: str, *, weight: str, name: str | None = None) -> MomentMeasure:
    """Share of replicates with an event under another distribution than the one drawn from.

    The interval is Wilson's with the number of independent trials that has its error, or the normal
    one if the estimate is above 1.

    Parameters
    ----------
    event
        Column of True and False, or 1 and 0.
    weight, name
        See `weighted_mean`, which also has notes and sources.

    Returns
    -------
    MomentMeasure
        A measure of a proportion, with Wilson's interval.
    """
    return _weighted(event, weight, name or event, is_share=True)


def _weighted(column: str, weight: str, name: str, *, is_share: bool = False) -> MomentMeasure:
    def terms(columns: Columns) -> tuple[np.ndarray, ...]:
        y = flags(columns, column) if is_share else columns[column]
        return _terms(np.asarray(y, float), _weights(columns, weight))

    value = "1(event)" if is_share else "xᵢ"
    return _Weighted(
        name=name,
        formula=Formula(f"Σwᵢ{value}/n", f"sd(wᵢ{value})/√n"),
        reads=names_in(column, weight),
        terms=terms,
        value=only,
        bounds="wilson" if is_share else "normal",
        ddof=0 if is_share else 1,
        by_cell=True,
        undefined="no replicate could be used",
        weight=weight,
    )


def _weights(columns: Columns, name: str) -> np.ndarray:
    check_none(
        lambda values: values < 0,
        columns[name],
        name=f"column {name!r} has negative weights, which likelihood ratios cannot be",
        instead="Return ratios of densities, not their logs, and 0 where the numerator is 0.",
    )
    check_none(
        lambda values: values > MAX_WEIGHT,
        columns[name],
        name=f"column {name!r} has weights so large that their fourth powers overflow",
        instead="Divide all weights by a constant, if densities are known only up to a factor.",
    )
    return np.asarray(columns[name], float)


def _terms(y: np.ndarray, w: np.ndarray) -> _Terms:
    with np.errstate(all="ignore"):
        wy, off = w * y, w - 1
        sizes = np.abs(wy), wy**2, wy**4
        return _Terms(wy, w, *sizes, wy * y, off, off**2, off**3, off**4)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Weighted(MomentMeasure):
    weight: str

    @property
    def remarks(self) -> bool:
        return True

    def _influence(
        self, means: Means, n: np.ndarray, n_failed: np.ndarray, psi: np.ndarray
    ) -> Influence:
        found = super()._influence(means, n, n_failed, psi)
        of = _Terms(*means)
        with np.errstate(all="ignore"):
            plain = self._plain_square(of, found.estimate) / (n - self.ddof)
            carried = _n_effective(of.size, of.squared_size, n)
        remark = self._remark(of, n, carried)
        return found._replace(plain=plain, n_effective=carried, remark=remark)

    def _plain_square(self, of: _Terms, estimate: np.ndarray) -> np.ndarray:
        """Variance of one value under the target distribution."""
        if self.bounds == "wilson":
            return np.asarray(estimate * (1 - estimate))
        return np.asarray(of.square - 2 * estimate * of.value + estimate**2 * of.weight)

    def _remark(self, of: _Terms, n: np.ndarray, carried: np.ndarray) -> np.ndarray:
        far = far_by_powers(n, of.off, of.off_2, of.off_3, of.off_4)
        cells = np.broadcast_arrays(n, carried, _n_heavy(of, n, carried), of.weight, far)
        each = zip(*map(np.ravel, cells), strict=True)
        lines = [self._remark_of(*numbers) for numbers in each]
        return np.array(lines, dtype=object).reshape(np.shape(cells[0]))

    def _remark_of(self, n: int, carried: float, heavy: float, mean: float, far: float) -> str:
        lines = []
        if n and carried < MIN_EFFECTIVE:
            lines.append(
                f"{carried:.2g} of {n:,} replicates carry it, so its error is not known: draw more "
                "of them where the event is, or with weights that are less unequal"
            )
        elif n and np.isfinite(heavy):
            lines.append(
                f"{heavy:.2g} of {n:,} weighted values make up their spread, so its error is not "
                "known: draw a share of the replicates under the law asked about"
            )
        if far:
            lines.append(
                f"{self.weight!r} has mean {mean:.3g}, {far:.0f} standard errors from the 1 of "
                "likelihood ratios: it is wrong, or most of the law asked about was hardly drawn"
            )
        return "; ".join(lines)


def _n_effective(size: np.ndarray, squared: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Effective number of n contributions, by means of their sizes and squares; 0 if all are 0."""
    return np.asarray(n * np.nan_to_num(ratio(size**2, squared)))


def _n_heavy(of: _Terms, n: np.ndarray, carried: np.ndarray) -> np.ndarray:
    """Effective number of contributions behind the spread, where too few; infinite otherwise.

    A small number of contributions of similar size (compare `carried`) is reliable.
    """
    is_known = np.isfinite(of.fourth_size) & (of.fourth_size > 0)
    heavy = _n_effective(of.squared_size, of.fourth_size, n)
    is_few = is_known & (heavy < MIN_SQUARES) & (heavy < carried / UNEQUAL)
    return np.where(is_few, heavy, np.inf)
