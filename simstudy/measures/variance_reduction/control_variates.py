"""Control variates: columns with known means, which reduce the Monte Carlo error."""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float
from simstudy.errors import DesignError, StudyError, in_one_line
from simstudy.measures.columns import (
    Columns,
    Operand,
    align,
    mean_used,
    names_in,
    operand,
    pick,
    total,
)
from simstudy.measures.core import Formula, Influence, Measure, MeasureContext, standard_error
from simstudy.measures.moments import MomentMeasure, only
from simstudy.measures.remarks import far_from_zero, joined

WITHOUT = "replicates failed and left no controls: as the plain measure has it"
TOO_FEW = "fewer than ten replicates (or groups) more than controls: as the plain measure has it"
RESTS_ON_FEW = "what controls leave rests on few replicates: as the plain measure has it"
MIN_FREEDOM = 10  # residual degrees of freedom; with fewer, an interval is too short
MIN_EFFECTIVE = 5.0  # effective replicates behind a spread, or a fifth of all if that is fewer
ROUNDING_SHARE = 1e-20  # share of a sum of squares that may be rounding error
MIN_FOR_EXACT_FIT = 30.0  # effective replicates; with fewer, an exact fit may be chance


Value = str | Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Control:
    """A column whose mean is known; made by `control`.

    Parameters
    ----------
    name
        Name in messages.
    value
        Name of a column, or a function of columns.
    mean
        Expectation: a number, or the name of a factor or column.
    reads
        Columns that are needed.
    """

    name: str
    value: Value
    mean: Operand
    reads: tuple[str, ...]


def control(value: Value, *, mean: Operand, name: str | None = None) -> Control:
    """A quantity whose mean is known without simulation.

    Parameters
    ----------
    value
        Name of a column, or a function whose parameters are names of columns and numeric factors.
        It receives arrays of shape (rep, *axes) and returns one.
    mean
        Expectation: a number, or the name of a factor or column. If it varies over replicates,
        the control is the difference of the two, which has mean 0.
    name
        Name in messages. Default: the name of the column or of the function.

    Returns
    -------
    Control
        The control, an argument for `controlled`.

    Raises
    ------
    DesignError
        If `value` is neither a column's name nor a function, or `mean` is neither a finite number
        nor a name.
    """
    _refuse_no_mean(mean)
    if isinstance(value, str):
        return Control(name or value, value, mean, names_in(value, mean))
    if not callable(value):
        raise DesignError(
            f"control({in_one_line(repr(value))}) is neither a column's name nor a function, so it "
            "has no values. Give one of the two, as in control('age', mean=50)."
        )
    parameters = tuple(inspect.signature(value).parameters)
    label = name or str(getattr(value, "__name__", "control"))
    return Control(label, value, mean, tuple(dict.fromkeys((*parameters, *names_in(mean)))))


def _refuse_no_mean(mean: Operand) -> None:
    names_in(mean)
    if not isinstance(mean, str) and not math.isfinite(mean):
        raise DesignError(
            f"control(mean={mean}) is not a mean that could be known. Give a finite number, or the "
            "name of a factor or column."
        )


def call_control(control: Control, columns: Columns) -> np.ndarray:
    """Evaluate a control's function on columns."""
    assert callable(control.value)
    names = inspect.signature(control.value).parameters
    found = control.value(**{name: columns[name] for name in names})
    try:
        values = np.asarray(found, float)
    except (TypeError, ValueError):
        values = np.asarray(np.nan)
    if not values.ndim:
        raise StudyError(
            f"control {control.name!r}: the function returned {in_one_line(repr(found))}, which is "
            "not an array of numbers. Return one for each replicate."
        )
    return values


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
        is ignored at no cost. One whose sample mean is more than five standard errors from the
        stated mean is left out, with a `remark` in the summary.
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
    a `remark`, in these cases:

    - controls are missing in some replicates, so that their mean over the others is unknown;
    - there are not ten more replicates (or groups) than controls;
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
    reads = dict.fromkeys((*measure.reads, *(name for each in controls for name in each.reads)))
    return _Controlled(
        name=name or measure.name,
        formula=Formula(
            "its own, less what q controls explain of its error",
            "sd(ψᵢ less its regression on the controls)/√n, with q degrees of freedom fewer",
        ),
        reads=tuple(reads),
        bounds=measure.bounds,
        span=measure.span,
        fewest=measure.fewest,
        axes=measure.axes,
        ddof=measure.ddof,
        undefined=measure.undefined,
        by_cell=measure.by_cell and all(isinstance(each.value, str) for each in controls),
        base=measure,
        controls=controls,
    )


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
    def remarks(self) -> bool:
        return True

    @property
    def needs_independence(self) -> str:
        return "controls are fitted to single replicates, as if they were independent"

    def bind(self, context: MeasureContext) -> Measure:
        return replace(self.of_groups(context.group_size), base=self.base.bind(context))

    def used(self, columns: Columns) -> Bool[np.ndarray, " rep *axes"]:
        return self.base.used(columns)

    def influence(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Influence:
        plain = self.base.influence(columns, keep=keep)
        used = ~np.isnan(plain.psi)
        values, whole = self._known(columns, used)
        believed, remarks = self._believed(values)
        psi = self._over_all(plain, used)
        fit = regress(psi, believed)
        doubt = np.where(fit.n_controls > 0, self._doubt(psi, fit), "").astype(object)
        took_part = (doubt == "") & (fit.n_controls > 0)
        return plain._replace(
            estimate=plain.estimate - np.where(took_part, fit.shift, 0.0),
            psi=np.where(took_part, self._by_replicate(psi, fit, plain, len(used)), plain.psi),
            plain=_squared_error(plain, ddof=self.base.ddof),
            remark=joined(plain.remark, np.where(whole, "", WITHOUT), doubt, remarks),
        )

    def _doubt(self, psi: np.ndarray, fit: Fit) -> np.ndarray:
        """Why the error after regression is unknown, by cell; empty if it is known."""
        too_few = len(psi) - 1 - fit.n_controls < MIN_FREEDOM
        nothing_left = total(fit.residuals**2) <= ROUNDING_SHARE * total(psi**2)
        by_accident = (self.bounds == "wilson") | (rests_on(psi) < MIN_FOR_EXACT_FIT)
        hidden = rests_on(fit.residuals) < _few(len(psi))
        hidden = np.where(nothing_left, by_accident, hidden) & (total(psi**2) > 0)
        return np.where(too_few, TOO_FEW, np.where(hidden, RESTS_ON_FEW, ""))

    def _by_replicate(
        self, psi: np.ndarray, fit: Fit, uncontrolled: Influence, n_all: int
    ) -> np.ndarray:
        """Influences of the used replicates, from those of all after regression.

        They are scaled so that their spread over the root of the number of used replicates is the
        error. If the measure is not a mean, the error is at least the plain one over the root of n,
        since the bias may be as large.
        """
        n_obs = len(fit.psi)
        freedom = np.maximum(n_obs - 1 - fit.n_controls, 1)
        with np.errstate(all="ignore"):
            scale = uncontrolled.n_rep / n_all * np.sqrt((n_obs - self.ddof) / freedom)
            found = np.asarray(fit.psi * scale)
        if _is_mean(self.base):
            return found
        too_good = n_obs * total(fit.residuals**2) < total(psi**2)
        return np.where(too_good, uncontrolled.psi / np.sqrt(n_obs), found)

    def _over_all(self, uncontrolled: Influence, used: np.ndarray) -> np.ndarray:
        """Influences of all replicates; 0 for those not used."""
        with np.errstate(all="ignore"):
            return np.asarray(
                np.where(used, uncontrolled.psi, 0.0) * (len(used) / uncontrolled.n_rep)
            )

    def _known(self, columns: Columns, used: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Controls minus their stated means, and which cells have them in all replicates.

        In other cells the controls are 0.
        """
        values = [self._centred(each, columns, used) for each in self.controls]
        there = [~np.isnan(value) for value, _ in values]
        whole = np.asarray(np.logical_and.reduce([each.all(axis=0) for each in there]))
        known = [np.where(whole, each, 0.0) for each in values]
        return [without_rounding(value, size) for value, size in known], whole

    def _centred(
        self, control: Control, columns: Columns, used: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """A control minus its stated mean, in every cell, and the absolute sizes of the terms."""
        picked = align(pick(columns, control.reads, measure=f"control {control.name!r}"))
        value = (
            picked[control.value]
            if isinstance(control.value, str)
            else call_control(control, picked)
        )
        mean = operand(picked, control.mean)
        with np.errstate(all="ignore"):
            centred = np.asarray(value, float) - mean
            sizes = np.abs(centred) + np.abs(mean)
        centred, sizes = (self._in_cells(control, each, used) for each in (centred, sizes))
        self._refuse_not_finite(control, centred, used)
        return centred, sizes

    def _in_cells(self, control: Control, value: np.ndarray, used: np.ndarray) -> np.ndarray:
        """Broadcast to the axes of the study, followed by the measure's own."""
        n_axes = used.ndim - len(self.axes)
        if value.ndim <= n_axes:
            value = value.reshape(value.shape + (1,) * (used.ndim - value.ndim))
        try:
            return np.broadcast_to(value, used.shape)
        except ValueError:
            raise StudyError(
                f"{self.name}: control {control.name!r} has the shape {value.shape}, which does "
                f"not fit the measure's replicates and cells, {used.shape}. "
                "Return a value for each replicate, or for each replicate and cell."
            ) from None

    def _refuse_not_finite(self, control: Control, centred: np.ndarray, used: np.ndarray) -> None:
        lost = used & ~np.isfinite(centred)
        if lost.any():
            what = "missing" if np.isnan(centred[lost][0]) else "infinite"
            raise StudyError(
                f"{self.name}: control {control.name!r} is {what} in replicates that the measure "
                f"uses ({int(lost.sum())} in all), so its mean cannot be compared with the "
                "stated one. Return a finite number there, or leave this control out."
            )

    def _believed(self, values: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
        """Controls, 0 in cells where the sample mean contradicts the stated one; and remarks."""
        remarks, kept = np.asarray(""), []
        for own, value in zip(self.controls, values, strict=True):
            far = far_from_zero(value)
            kept.append(np.where(far == 0, value, 0.0))
            weak = np.where(far == 0, _format_few(own, value), _format_far(own, value, far))
            remarks = joined(remarks, weak)
        return kept, remarks


def _format_far(control: Control, value: np.ndarray, far: np.ndarray) -> np.ndarray:
    """Remarks on stated means that the sample contradicts, by cell."""
    each = zip(np.ravel(total(value) / len(value)), np.ravel(far), strict=True)
    lines = [
        f"control {control.name!r} is left out: its mean is {by:+.3g} from the one stated, "
        f"{z:.0f} standard errors"
        for by, z in each
    ]
    return np.array(lines, dtype=object).reshape(np.shape(far))


def _is_mean(measure: Measure) -> bool:
    """Whether it is a mean of one value per replicate, and so has no bias."""
    return isinstance(measure, MomentMeasure) and measure.value is only


def _few(n: int) -> float:
    """The least effective number of values behind a spread."""
    return min(MIN_EFFECTIVE, n / 5)


def _format_few(control: Control, value: np.ndarray) -> np.ndarray:
    """Remarks on slopes that rest on few replicates, by cell; empty for the others."""
    carried = np.asarray(rests_on(value - total(value) / len(value)))
    lines = [
        f"control {control.name!r}: {number:.2g} of {len(value):,} values make up its spread, so "
        "its slope is not known"
        if 0 < number < _few(len(value))
        else ""
        for number in np.ravel(carried)
    ]
    return np.array(lines, dtype=object).reshape(np.shape(carried))


def _squared_error(uncontrolled: Influence, *, ddof: int) -> np.ndarray:
    """Squared error of the measure without controls."""
    if uncontrolled.plain is not None:
        return uncontrolled.plain
    return standard_error(uncontrolled, ddof=ddof) ** 2


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


ROUNDING = 1e-13  # relative to the summands: hundreds of times the precision of a double


def rests_on(values: Float[np.ndarray, " rep *cells"]) -> Float[np.ndarray, " *cells"]:
    """Effective number of values behind a spread: (sum of squares)^2 / sum of fourth powers.

    Parameters
    ----------
    values
        Values with mean 0. If all are 0, so is the number.
    """
    largest = np.abs(values).max(axis=0)
    squares = (values / np.where(largest > 0, largest, 1.0)) ** 2
    fourth = total(squares * squares)
    return np.asarray(total(squares) ** 2 / np.where(fourth > 0, fourth, 1.0))


def without_rounding(
    values: Float[np.ndarray, " rep *cells"], sizes: Float[np.ndarray, " rep *cells"]
) -> Float[np.ndarray, " rep *cells"]:
    """Set values to 0 in cells where they are no larger than rounding error.

    Parameters
    ----------
    sizes
        Absolute sizes of the terms that were added and subtracted.
    """
    with np.errstate(all="ignore"):
        is_rounding = total(values * values) <= ROUNDING**2 * total(sizes * sizes)
    return np.where(is_rounding, 0.0, values)
