"""Rare events by importance sampling."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simstudy.errors import DesignError, in_one_line
from simstudy.measures.columns import Columns, check_none, names_in
from simstudy.measures.core import Influence
from simstudy.measures.formulas import Formula
from simstudy.measures.moments import Means, MomentMeasure, only, ratio, share
from simstudy.measures.proportions import flags
from simstudy.measures.variance_reduction.stated_means import far_by_powers

TOO_FEW = 10.0  # replicates that carry an estimate, below which its error says little
LARGEST = 1e70  # of weights, whose fourth powers are doubles too
TOO_FEW_HEAVY = 25.0  # weights that the spread of all rests on, or a tenth of all if that is fewer
TOO_FEW_SQUARES = 7.0  # contributions that the spread rests on, if these are as unequal as:
UNEQUAL = 4.0  # times fewer carry the spread than the mean; of an exponential law, three


class _Terms(NamedTuple):
    """The terms whose means are taken, for a replicate with weight w and value y."""

    value: np.ndarray  # w y
    weight: np.ndarray  # w
    squared_weight: np.ndarray
    fourth_weight: np.ndarray
    size: np.ndarray  # |w y|
    squared_size: np.ndarray
    fourth_size: np.ndarray
    square: np.ndarray  # w y^2
    off: np.ndarray  # w - 1, and its powers
    off_2: np.ndarray
    off_3: np.ndarray
    off_4: np.ndarray


def weighted_mean(
    column: str, *, weight: str, normalised: bool = False, name: str | None = None
) -> MomentMeasure:
    """Mean of a column under another distribution than the one it was drawn from.

    Parameters
    ----------
    column
        Any numeric column y.
    weight
        Column of likelihood ratios w: the density of the law that is asked about over that of the
        law which drew, at what was drawn. A negative weight is refused. Where a condition of known
        probability is asked about, its law has the density within it over that probability.
    normalised
        False: the mean of w y, which is unbiased. True: that over the mean of w, for weights known
        but for a factor; its bias is of order 1/n, and the heaviest weights decide about its error,
        wherever y is 0.
    name
        What the summary calls it.

    Returns
    -------
    MomentMeasure
        A measure in the units of the column.

    Raises
    ------
    DesignError
        If `normalised` is not True or False.

    Notes
    -----
    Influences are w y - estimate, and w (y - estimate) over the mean of w. `n_effective` is the
    number of equal weights with the same relative error (Kish): (sum of a)^2 over the sum of a^2,
    with a = |w y|, the contributions to the estimate; of a normalised one also with a = w, if that
    is fewer. `variance_reduction` compares with as many replicates drawn under the law asked about:
    the mean of w (y - estimate)^2 over n.

    A `remark` stands where fewer than ten replicates carry the estimate, since its error is then no
    better known than itself; where the spread of a rests on still fewer, (sum of a^2)^2 over the
    sum of a^4: on seven and on a quarter of `n_effective`, of a normalised one with a = w on 25, or
    on a tenth of all if that is fewer; and where the mean of likelihood ratios is five standard
    errors from 1. Nothing can tell of a region that was never drawn and is not rare under the law
    asked about.

    References
    ----------
    Kahn & Marshall (1953), Operations Research 1, 263-278. Kong, Liu & Wong (1994), Journal of the
    American Statistical Association 89, 278-288.
    """
    return _weighted(column, weight, name or f"mean_{column}", normalised=normalised)


def weighted_proportion(
    event: str, *, weight: str, normalised: bool = False, name: str | None = None
) -> MomentMeasure:
    """Share of replicates with an event under another distribution than the one drawn from.

    Its interval is Wilson's with as many independent trials as have its error, and the normal one
    where the estimate is above 1.

    Parameters
    ----------
    event
        Column of True and False, or 1 and 0.
    weight, normalised, name
        As of `weighted_mean`, with its notes and sources.

    Returns
    -------
    MomentMeasure
        A measure of a proportion, with Wilson's interval.

    Raises
    ------
    DesignError
        If `normalised` is not True or False.
    """
    return _weighted(event, weight, name or event, normalised=normalised, is_share=True)


def _weighted(
    column: str, weight: str, name: str, *, normalised: bool, is_share: bool = False
) -> MomentMeasure:
    if not isinstance(normalised, bool):
        raise DesignError(
            f"normalised={in_one_line(repr(normalised))}: say True, to divide by the mean weight, "
            "or False, for likelihood ratios as they are."
        )

    def terms(columns: Columns) -> tuple[np.ndarray, ...]:
        y = flags(columns, column) if is_share else columns[column]
        return _terms(np.asarray(y, float), _weights(columns, weight))

    return _Weighted(
        name=name,
        formula=_formula("1(event)" if is_share else "xᵢ"),
        reads=names_in(column, weight),
        terms=terms,
        value=share if normalised else only,
        bounds="wilson" if is_share else "normal",
        ddof=0 if is_share else 1,
        by_cell=True,
        undefined="all weights are 0" if normalised else "no replicate could be used",
        weight=weight,
        normalised=normalised,
    )


def _formula(value: str) -> Formula:
    return Formula(
        f"Σwᵢ{value}/n, or Σwᵢ{value}/Σwᵢ if normalised",
        f"sd(wᵢ{value})/√n, or sd(wᵢ({value} − estimate))/√n over the mean weight",
    )


def _weights(columns: Columns, name: str) -> np.ndarray:
    check_none(
        lambda values: values < 0,
        columns[name],
        name=f"column {name!r} has negative weights, and a likelihood ratio is none",
        instead="Return ratios of densities, not their logs, and 0 where the numerator is 0.",
    )
    check_none(
        lambda values: values > LARGEST,
        columns[name],
        name=f"column {name!r} has weights so large that no double holds their fourth powers",
        instead="Divide densities that are known but for a factor by one that suits all of them.",
    )
    return np.asarray(columns[name], float)


def _terms(y: np.ndarray, w: np.ndarray) -> _Terms:
    with np.errstate(all="ignore"):
        wy, off = w * y, w - 1
        sizes = np.abs(wy), wy**2, wy**4
        return _Terms(wy, w, w**2, w**4, *sizes, wy * y, off, off**2, off**3, off**4)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Weighted(MomentMeasure):
    weight: str
    normalised: bool

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
            carried = self._n_effective(of, n)
        remark = self._remark(of, n, carried)
        return found._replace(plain=plain, n_effective=carried, remark=remark)

    def _plain_square(self, of: _Terms, estimate: np.ndarray) -> np.ndarray:
        """Variance of one value under the law asked about."""
        if self.bounds == "wilson":
            return np.asarray(estimate * (1 - estimate))
        each = of.square - 2 * estimate * of.value + estimate**2 * of.weight
        return ratio(each, of.weight) if self.normalised else np.asarray(each)

    def _n_effective(self, of: _Terms, n: np.ndarray) -> np.ndarray:
        """Replicates that carry the estimate; 0 where none does."""
        carried = n * np.nan_to_num(ratio(of.size**2, of.squared_size))
        if not self.normalised:
            return np.asarray(carried)
        carry_all = n * np.nan_to_num(ratio(of.weight**2, of.squared_weight))
        return np.asarray(np.minimum(carried, carry_all))

    def _n_heavy(self, of: _Terms, n: np.ndarray, carried: np.ndarray) -> np.ndarray:
        """Replicates that the spread rests on: weights that are divided by, or contributions.

        Contributions that are about as large as each other may be few: `carried` counts them.
        """
        if self.normalised:
            return np.asarray(n * np.nan_to_num(ratio(of.squared_weight**2, of.fourth_weight)))
        is_known = np.isfinite(of.fourth_size) & (of.fourth_size > 0)
        heavy = n * np.nan_to_num(ratio(of.squared_size**2, of.fourth_size))
        is_few = is_known & (heavy < TOO_FEW_SQUARES) & (heavy < carried / UNEQUAL)
        return np.where(is_few, heavy, np.inf)

    def _remark(self, of: _Terms, n: np.ndarray, carried: np.ndarray) -> np.ndarray:
        far = far_by_powers(n, of.off, of.off_2, of.off_3, of.off_4)
        far = np.where(self.normalised, 0.0, far)
        cells = np.broadcast_arrays(n, carried, self._n_heavy(of, n, carried), of.weight, far)
        each = zip(*map(np.ravel, cells), strict=True)
        lines = [self._remark_of(*numbers) for numbers in each]
        return np.array(lines, dtype=object).reshape(np.shape(cells[0]))

    def _remark_of(self, n: int, carried: float, heavy: float, mean: float, far: float) -> str:
        lines = []
        if n and carried < TOO_FEW:
            lines.append(
                f"{carried:.2g} of {n:,} replicates carry it, so its error is not known: draw more "
                "of them where the event is, or with weights that are less unequal"
            )
        elif n and heavy < min(TOO_FEW_HEAVY, n / 10):
            lines.append(
                f"{heavy:.2g} of {n:,} {'weights' if self.normalised else 'weighted values'} make "
                "up their spread, so its error is not known: draw a share of the replicates under "
                "the law asked about"
            )
        if far:
            lines.append(
                f"{self.weight!r} has mean {mean:.3g}, {far:.0f} standard errors from the 1 of "
                "likelihood ratios: it is wrong, or most of the law asked about was hardly drawn"
            )
        return "; ".join(lines)
