"""Variance reduction: importance sampling and conditional expectations."""

from dataclasses import dataclass, replace

import numpy as np

from simstudy.array_types import Bool
from simstudy.errors import DesignError, StudyError
from simstudy.measures.columns import (
    Columns,
    Keep,
    check_none,
    mean_used,
    names_in,
    without_rounding,
)
from simstudy.measures.core import (
    INFLUENCE,
    Formula,
    Influence,
    Measure,
    MeasureContext,
    inherited,
    standard_error,
)
from simstudy.measures.intervals import StudentInterval, WilsonInterval
from simstudy.measures.proportions import flags
from simstudy.measures.warnings import effective_number, far_from_zero, of_both

# ---------------------------------------------------------------- importance sampling
MIN_CARRYING = 10.0  # effective replicates of an estimate; with fewer, its error is unreliable
# The spread of contributions is unreliable if its effective number is below MIN_SQUARES and UNEQUAL
# times below that of their mean. For exponential contributions that ratio is three.
MIN_SQUARES = 7.0
UNEQUAL = 4.0


def weighted_mean(column: str, *, weight: str, name: str | None = None) -> Measure:
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
    Measure
        A measure in the units of the column.

    Notes
    -----
    The mean of w y, which is unbiased; influences are w y - estimate. `n_effective` is the number
    of equal weights with the same relative error (Kish): (sum of a)^2 over the sum of a^2, with the
    contributions a = |w y|. `variance_reduction` compares with as many replicates drawn from the
    target distribution: the mean of w (y - estimate)^2 over n.

    A `warning` is made in three cases, in which the error is unreliable:

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


def weighted_proportion(event: str, *, weight: str, name: str | None = None) -> Measure:
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
    Measure
        A measure of a proportion, with Wilson's interval.
    """
    return _weighted(event, weight, name or event, is_share=True)


def _weighted(column: str, weight: str, name: str, *, is_share: bool = False) -> Measure:
    value = "1(event)" if is_share else "xᵢ"
    return _Weighted(
        name=name,
        formula=Formula(f"Σwᵢ{value}/n", f"sd(wᵢ{value})/√n"),
        reads=names_in(column, weight),
        interval=WilsonInterval() if is_share else StudentInterval(),
        ddof=0 if is_share else 1,
        by_cell=True,
        undefined="no replicate could be used",
        warns=True,
        column=column,
        weight=weight,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Weighted(Measure):
    column: str
    weight: str

    def influence(self, columns: Columns, *, keep: Keep = None) -> Influence:
        data = self.sample(columns, keep=keep)
        is_share, used, n = self.interval.is_proportion, data.used, data.n
        y = flags(data.columns, self.column) if is_share else data.columns[self.column]
        check_none(
            lambda values: values < 0,
            data.columns[self.weight],
            name=f"column {self.weight!r} has negative weights, which likelihood ratios cannot be",
            instead="Return ratios of densities, not their logs, and 0 where the numerator is 0.",
        )
        w = np.asarray(data.columns[self.weight], float)

        def average(values: np.ndarray) -> np.ndarray:
            return mean_used(values, used, complete=data.complete)

        with np.errstate(all="ignore"):
            wy = w * y
            estimate = average(wy)
            off = np.where(used, w - 1, 0.0)
            sizes = np.where(used, np.abs(wy), 0.0)
            plain = estimate * (1 - estimate)
            if not is_share:
                plain = average(wy * y) - 2 * estimate * average(wy) + estimate**2 * average(w)
            carried = effective_number(sizes)
            warning = self._warning(n, carried, sizes, average(w), far_from_zero(off, n))
            psi = np.where(used, wy - estimate, np.nan)
            return Influence(
                estimate=estimate,
                psi=without_rounding(psi, sizes + np.abs(estimate)),
                n_rep=n,
                n_failed=data.n_failed,
                trials=n.astype(float),
                plain=np.asarray(plain / (n - self.ddof)),
                n_effective=carried,
                warning=warning,
            )

    def _warning(
        self, n: np.ndarray, carried: np.ndarray, sizes: np.ndarray, *of_weight: np.ndarray
    ) -> np.ndarray:
        heavy = effective_number(sizes**2)
        cells = np.broadcast_arrays(n, carried, heavy, *of_weight)
        lines = [self._warning_of(*numbers) for numbers in zip(*map(np.ravel, cells), strict=True)]
        return np.array(lines, dtype=object).reshape(np.shape(cells[0]))

    def _warning_of(self, n: int, carried: float, heavy: float, mean: float, far: float) -> str:
        """The warning on a cell; `heavy` is the effective number of values behind the spread.

        A small number of contributions of similar size (compare `carried`) is reliable.
        """
        lines = []
        if n and carried < MIN_CARRYING:
            lines.append(
                f"{carried:.2g} of {n:,} replicates carry it, so its error is not known: draw more "
                "of them where the event is, or with weights that are less unequal"
            )
        elif n and heavy < MIN_SQUARES and heavy < carried / UNEQUAL:
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


# ---------------------------------------------------------------- conditional expectations
def conditional(measure: Measure, *, raw: Measure, name: str | None = None) -> Measure:
    """A measure of conditional expectations, checked against the measure of the raw column.

    If p is the conditional expectation of a column y, given part of the data, then p has the same
    expectation as y and a smaller variance (Rao and Blackwell). The same is true within a condition
    that is known from the same part of the data.

    It also takes any other column with the same expectation, such as y less a fixed multiple of a
    control variate whose mean is 0.

    Parameters
    ----------
    measure
        Measure to report, such as `mean("p_reject", given="null_is_false")`.
    raw
        Measure of the raw column, such as `power("reject", given="null_is_false")`, with the same
        cells. Limits stay within its range, and `variance_reduction` compares with it.
    name
        Name of the measure in the summary. Default: that of the raw measure.

    Returns
    -------
    Measure
        The measure, in the units of `raw`.

    Raises
    ------
    DesignError
        If the two measures have different axes, or one of them has no influences of single
        replicates.

    Notes
    -----
    Both measures use the replicates that both can use. If the two differ by more than five standard
    errors of their paired difference, one of them is wrong, and the summary has a `warning`. The
    interval is that of `measure`: Student's for a mean of conditional probabilities.

    References
    ----------
    Blackwell (1947), Annals of Mathematical Statistics 18, 105-110.
    """
    for each in (measure, raw):
        if each.needs_independence:
            raise DesignError(
                f"conditional: {each.name} has no error by the influence of each replicate, so it "
                "cannot be compared with another measure. Give measures of means, quantiles or "
                "shares, without mcse='normal'."
            )
    if tuple(measure.axes) != tuple(raw.axes):
        raise DesignError(
            f"conditional({measure.name!r}, raw={raw.name!r}): the axes {list(measure.axes)} "
            f"and {list(raw.axes)} differ, so the two cannot be compared. "
            "Give two measures with the same cells."
        )
    formula = Formula("its own, of conditional expectations given part of the data", INFLUENCE)
    interval = measure.interval
    if interval == StudentInterval():
        interval = StudentInterval(raw.interval.low, raw.interval.high)
    own = {
        "name": name or raw.name,
        "formula": formula,
        "reads": tuple(dict.fromkeys((*measure.reads, *raw.reads))),
        "interval": interval,
        "by_cell": measure.by_cell and raw.by_cell,
        "warns": True,
    }
    return _Conditional(**inherited(measure) | own, smooth=measure, raw=raw)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Conditional(Measure):
    smooth: Measure
    raw: Measure

    def bind(self, context: MeasureContext) -> Measure:
        smooth, raw = self.smooth.bind(context), self.raw.bind(context)
        return replace(self, smooth=smooth, raw=raw)

    def used(self, columns: Columns) -> Bool[np.ndarray, " rep *axes"]:
        used, also = self.smooth.used(columns), self.raw.used(columns)
        if used.shape != also.shape:
            raise StudyError(
                f"{self.name}: {self.smooth.name} has replicates and cells of {used.shape}, and "
                f"{self.raw.name} of {also.shape}, so the two cannot be compared. Return both "
                "columns with the same axes."
            )
        return np.asarray(used & also)

    def influence(self, columns: Columns, *, keep: Keep = None) -> Influence:
        both = self.used(columns) if keep is None else self.used(columns) & keep
        smooth, raw = (each.influence(columns, keep=both) for each in (self.smooth, self.raw))
        plain = standard_error(raw, ddof=self.raw.ddof) ** 2
        warning = self._disagreement(smooth, raw)
        return smooth._replace(plain=plain, warning=of_both(smooth.warning, warning))

    def _disagreement(self, smooth: Influence, raw: Influence) -> np.ndarray:
        """Warnings on cells in which the two measures differ by more than chance."""
        apart = smooth.estimate - raw.estimate
        with np.errstate(all="ignore"):
            each = np.where(np.isnan(smooth.psi), 0.0, smooth.psi - raw.psi + apart)
        far = far_from_zero(each)
        lines = [
            f"it is {by:+.3g} from {self.raw.name} of the raw column, {z:.0f} standard errors of "
            "the difference: one of the two is wrong"
            if z
            else ""
            for by, z in zip(np.ravel(apart), np.ravel(far), strict=True)
        ]
        return np.array(lines, dtype=object).reshape(np.shape(far))
