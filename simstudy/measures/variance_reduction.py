"""Variance reduction: control variates, importance sampling, conditional expectations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Bool
from simstudy.errors import DesignError, StudyError, in_one_line
from simstudy.measures.columns import (
    Columns,
    Operand,
    align,
    check_none,
    mean_used,
    names_in,
    operand,
    pick,
    total,
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
from simstudy.measures.moments import MomentMeasure, only
from simstudy.measures.proportions import flags
from simstudy.measures.warnings import effective_number, far_from_zero, joined, of_both

WITHOUT = "replicates failed and left no controls: as the plain measure has it"
TOO_FEW = "fewer than ten replicates more than controls: as the plain measure has it"
RESTS_ON_FEW = "what controls leave rests on few replicates: as the plain measure has it"
MIN_FREEDOM = 10  # residual degrees of freedom; with fewer, an interval is too short
MIN_EFFECTIVE = 5.0  # effective replicates behind a spread, or a fifth of all if that is fewer
ROUNDING_SHARE = 1e-20  # share of a sum of squares that may be rounding error
MIN_FOR_EXACT_FIT = 30.0  # effective replicates; with fewer, an exact fit may be chance


@dataclass(frozen=True)
class Control:
    """A column whose mean is known; made by `control`.

    Parameters
    ----------
    column
        Name of the column.
    mean
        Expectation: a number, or the name of a factor or column.
    """

    column: str
    mean: Operand


def control(column: str, *, mean: Operand) -> Control:
    """A column whose mean is known without simulation.

    Parameters
    ----------
    column
        Name of a column that was drawn, or of one in the study's `derived`.
    mean
        Expectation: a number, or the name of a factor or column. If it varies over replicates,
        the control is the difference of the two, which has mean 0.

    Returns
    -------
    Control
        The control, an argument for `controlled`.

    Raises
    ------
    DesignError
        If `column` is no name, or `mean` is neither a number nor a name.
    """
    if not isinstance(column, str):
        raise DesignError(
            f"control({in_one_line(repr(column))}) is not the name of a column. Give one, as in "
            "control('age', mean=50); Study(derived=...) makes columns of others."
        )
    names_in(mean)
    return Control(column, mean)


class Fit(NamedTuple):
    """The effect of controls: shift of the mean, influences, number of controls used.

    `residuals` are those of the influences, before the error of the regression itself is added.
    """

    shift: np.ndarray
    psi: np.ndarray
    residuals: np.ndarray
    n_controls: np.ndarray


def controlled(measure: Measure, *controls: Control, name: str | None = None) -> Measure:
    """A measure adjusted by regression on controls whose means are known.

    Parameters
    ----------
    measure
        Any measure with an influence for each replicate: all but `bootstrapped`.
    controls
        Controls made by `control`. A control that is constant, or collinear with those before it,
        is ignored. One whose sample mean is more than five standard errors from the
        stated mean is left out, with a `warning` in the summary.
    name
        Name of the measure in the summary. Default: that of the plain measure.

    Returns
    -------
    Measure
        The measure, in the units of the plain one.

    Raises
    ------
    DesignError
        If there are no controls, or the measure has no influence of each replicate.

    Notes
    -----
    Let y be the influences of the plain estimate, c the controls with means mu, n the number of
    replicates, b the slopes of y on c and S the sums of products of c about its average. The
    adjusted estimate is the regression at mu: the plain one minus b (average of c - mu). Its
    influences are r (1 - n (average of c - mu) S^-1 (c - average of c)), with residuals r; they
    include the error of the slopes and of the averages of c. The divisor of the variance is reduced
    by the number of controls. The interval of a share is Wilson's, with the number of independent
    trials that has this error.

    A stated mean is over all replicates. Replicates that the plain measure does not use therefore
    count with an influence of 0 if their controls are known. A cell keeps the plain estimate, with
    a `warning`, in these cases:

    - controls are missing or infinite in some replicates, so that their mean over the others is
      unknown;
    - there are not ten more replicates than controls;
    - the effective number of residuals, (sum of r^2)^2 over the sum of r^4, is below five (or a
      fifth of all, if that is fewer);
    - all residuals are 0, and the measure is a share or has an effective number of influences below
      30: a control may match a few events by chance.

    The estimate has a bias of order 1/n, as every regression estimate. The error of a measure that
    is not a mean is therefore never less than the plain error over the root of n.

    References
    ----------
    Lavenberg & Welch (1981), Management Science 27, 322-335. Nelson (1990), Operations Research
    38, 974-992.
    """
    _refuse_resampled(measure)
    if not controls or not all(isinstance(each, Control) for each in controls):
        raise DesignError(
            f"controlled({measure.name!r}) needs controls, not {in_one_line(repr(controls))}. "
            "Give at least one, as in control('x', mean=0.0)."
        )
    named = (name for each in controls for name in names_in(each.column, each.mean))
    formula = Formula(
        "its own, less what q controls explain of its error",
        "sd(ψᵢ less its regression on the controls)/√n, with q degrees of freedom fewer",
    )
    reads = tuple(dict.fromkeys((*measure.reads, *named)))
    own = {"name": name or measure.name, "formula": formula, "reads": reads}
    return _Controlled(**inherited(measure) | own, base=measure, controls=controls)


def _refuse_resampled(measure: object) -> None:
    if not isinstance(measure, Measure):
        raise DesignError(
            f"{in_one_line(repr(measure))} is not a measure, so it has no error to make smaller. "
            "Give one, as in controlled(mean('x'), control('y', mean=0.0))."
        )
    if measure.resamples:
        raise DesignError(
            f"controlled({measure.name!r}): a bootstrapped measure has no influence of each "
            "replicate, so it cannot be regressed on controls. Use a measure of means, "
            "quantiles or shares (MomentMeasure takes any smooth function of means)."
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Controlled(Measure):
    base: Measure
    controls: tuple[Control, ...]

    @property
    def warns(self) -> bool:
        return True

    @property
    def needs_independence(self) -> str:
        return "controls are fitted to single replicates, as if they were independent"

    def bind(self, context: MeasureContext) -> Measure:
        return replace(self, base=self.base.bind(context))

    def used(self, columns: Columns) -> Bool[np.ndarray, " rep *axes"]:
        return self.base.used(columns)

    def influence(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Influence:
        plain = self.base.influence(columns, keep=keep)
        used = ~np.isnan(plain.psi)
        values = [self._centred(each, columns, used.shape) for each in self.controls]
        whole = np.logical_and.reduce([np.isfinite(value).all(axis=0) for value in values])
        far = [far_from_zero(np.where(whole, value, 0.0)) for value in values]
        with np.errstate(all="ignore"):  # of all replicates: 0 for those not used
            psi = np.where(used, plain.psi, 0.0) * (len(used) / plain.n_rep)
        fit = regress(
            psi,
            [np.where(whole & (z == 0), value, 0.0) for value, z in zip(values, far, strict=True)],
        )
        why_not = np.where(fit.n_controls > 0, self._why_not(psi, fit), "").astype(object)
        takes_part = (why_not == "") & (fit.n_controls > 0)
        error2 = standard_error(plain, ddof=self.ddof) ** 2 if plain.plain is None else plain.plain
        each = zip(self.controls, values, far, strict=True)
        return plain._replace(
            estimate=plain.estimate - np.where(takes_part, fit.shift, 0.0),
            psi=np.where(takes_part, self._by_replicate(psi, fit, plain), plain.psi),
            plain=error2,
            warning=joined(
                plain.warning,
                np.where(whole, "", WITHOUT),
                why_not,
                *(_format_far(*of_one) for of_one in each),
            ),
        )

    def _centred(self, control: Control, columns: Columns, shape: tuple[int, ...]) -> np.ndarray:
        """A control minus its stated mean, on the axes of the study and then the measure's own."""
        named = names_in(control.column, control.mean)
        picked = align(pick(columns, named, measure=f"control {control.column!r}"))
        with np.errstate(all="ignore"):
            value = np.asarray(picked[control.column], float) - operand(picked, control.mean)
        if value.ndim <= len(shape) - len(self.axes):
            value = value.reshape(value.shape + (1,) * (len(shape) - value.ndim))
        return np.broadcast_to(value, shape)

    def _why_not(self, psi: np.ndarray, fit: Fit) -> np.ndarray:
        """Why the error after regression is unknown, by cell; empty if it is known."""
        too_few = len(psi) - 1 - fit.n_controls < MIN_FREEDOM
        nothing_left = total(fit.residuals**2) <= ROUNDING_SHARE * total(psi**2)
        by_accident = effective_number(psi**2) < MIN_FOR_EXACT_FIT
        by_accident = self.interval.is_proportion | by_accident
        rests_on_few = effective_number(fit.residuals**2) < min(MIN_EFFECTIVE, len(psi) / 5)
        hidden = np.where(nothing_left, by_accident, rests_on_few) & (total(psi**2) > 0)
        return np.where(too_few, TOO_FEW, np.where(hidden, RESTS_ON_FEW, ""))

    def _by_replicate(self, psi: np.ndarray, fit: Fit, plain: Influence) -> np.ndarray:
        """Influences of the used replicates, from those of all after regression.

        They are scaled so that their spread over the root of the number of used replicates is the
        error. If the measure is not a mean, and so has a bias, the error is at least the plain one
        over the root of n, since the bias may be as large.
        """
        n = len(psi)
        freedom = np.maximum(n - 1 - fit.n_controls, 1)
        with np.errstate(all="ignore"):
            after = np.asarray(fit.psi * (plain.n_rep / n * np.sqrt((n - self.ddof) / freedom)))
        if isinstance(self.base, MomentMeasure) and self.base.value is only:
            return after
        too_good = n * total(fit.residuals**2) < total(psi**2)
        return np.where(too_good, plain.psi / np.sqrt(n), after)


def _format_far(control: Control, value: np.ndarray, far: np.ndarray) -> np.ndarray:
    """Warnings on a stated mean that the sample contradicts, by cell; empty for the others."""
    with np.errstate(all="ignore"):
        each = zip(np.ravel(total(value) / len(value)), np.ravel(far), strict=True)
    lines = [
        f"control {control.column!r} is left out: its mean is {by:+.3g} from the one stated, "
        f"{z:.0f} standard errors"
        if z
        else ""
        for by, z in each
    ]
    return np.array(lines, dtype=object).reshape(np.shape(far))


COLLINEAR = 1e-10  # residual share of a control's sum of squares; below it, collinear
CONSTANT = 1e-20  # variance over squared mean of a control; below it, rounding error


class _Direction(NamedTuple):
    """The part of a control that is orthogonal to the controls before it."""

    values: np.ndarray  # centred
    mean: np.ndarray
    squares: np.ndarray  # sum of squared values; 1 if all are 0
    is_new: np.ndarray


def regress(psi: np.ndarray, controls: Sequence[np.ndarray]) -> Fit:
    """Regress influences on controls, by Gram-Schmidt, done twice.

    It uses sums over replicates and arithmetic by cell only, so that a cell has the same bits alone
    and among others.

    Parameters
    ----------
    psi, controls
        Finite arrays of shape (rep, *cells); `psi` has mean 0.
    """
    shift, n_controls = np.zeros(psi.shape[1:]), np.zeros(psi.shape[1:], dtype=int)
    weight, basis = np.ones(psi.shape), list[_Direction]()
    for control in controls:
        way = _new_direction(control, basis)
        basis.append(way)
        slope = total(way.values * psi) / way.squares
        psi = psi - slope * way.values
        shift, n_controls = shift + slope * way.mean, n_controls + way.is_new
        weight = weight - len(psi) * way.mean / way.squares * way.values
    return Fit(shift, psi * weight, psi, n_controls)


def _new_direction(control: np.ndarray, basis: Sequence[_Direction]) -> _Direction:
    average = mean_used(control, np.ones(control.shape, dtype=bool), complete=True)
    rest, mean = control - average, average
    at_first = total(rest * rest)
    for way in (*basis, *basis):
        slope = total(way.values * rest) / way.squares
        rest, mean = rest - slope * way.values, mean - slope * way.mean
    squares = total(rest * rest)
    is_new = (squares > COLLINEAR * at_first) & (at_first > CONSTANT * len(rest) * average**2)
    rest, mean = np.where(is_new, rest, 0.0), np.where(is_new, mean, 0.0)
    return _Direction(rest, mean, np.where(is_new, squares, 1.0), is_new)


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
        column=column,
        weight=weight,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Weighted(Measure):
    column: str
    weight: str

    @property
    def warns(self) -> bool:
        return True

    def influence(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Influence:
        data = self.sample(columns, keep=keep)
        is_share, used, n = self.interval.is_proportion, data.used, data.n
        y = flags(data.columns, self.column) if is_share else data.columns[self.column]
        w = _weights(data.columns, self.weight)

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


def _weights(columns: Columns, name: str) -> np.ndarray:
    check_none(
        lambda values: values < 0,
        columns[name],
        name=f"column {name!r} has negative weights, which likelihood ratios cannot be",
        instead="Return ratios of densities, not their logs, and 0 where the numerator is 0.",
    )
    return np.asarray(columns[name], float)


# ---------------------------------------------------------------- conditional expectations
def conditional(measure: Measure, *, raw: Measure, name: str | None = None) -> Measure:
    """A measure of conditional expectations, checked against the measure of the raw column.

    If p is the conditional expectation of a column y, given part of the data, then p has the same
    expectation as y and a smaller variance (Rao and Blackwell). The same is true within a condition
    that is known from the same part of the data.

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
    for given in (measure, raw):
        _refuse_no_influence(given)
    if tuple(measure.axes) != tuple(raw.axes):
        raise DesignError(
            f"conditional({measure.name!r}, raw={raw.name!r}): the axes {list(measure.axes)} "
            f"and {list(raw.axes)} differ, so the two cannot be compared. "
            "Give two measures with the same cells."
        )
    formula = Formula("its own, of conditional expectations given part of the data", INFLUENCE)
    own = {
        "name": name or raw.name,
        "formula": formula,
        "reads": tuple(dict.fromkeys((*measure.reads, *raw.reads))),
        "interval": _within_range_of(raw.interval, measure.interval),
        "by_cell": measure.by_cell and raw.by_cell,
    }
    return _Conditional(**inherited(measure) | own, smooth=measure, raw=raw)


def _within_range_of(raw: StudentInterval, own: StudentInterval) -> StudentInterval:
    """The measure's own kind of interval, within the range of the raw measure if it has none."""
    return StudentInterval(raw.low, raw.high) if own == StudentInterval() else own


def _refuse_no_influence(value: object) -> None:
    if not isinstance(value, Measure) or value.resamples:
        label = value.name if isinstance(value, Measure) else in_one_line(repr(value))
        raise DesignError(
            f"conditional: {label} has no influence of each replicate, so it cannot be compared "
            "with another measure. Give measures of means, quantiles or shares."
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Conditional(Measure):
    smooth: Measure
    raw: Measure

    @property
    def warns(self) -> bool:
        return True

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

    def influence(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Influence:
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
