"""Control variates: columns with known means, which reduce the Monte Carlo error."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float
from simstudy.errors import DesignError, in_one_line
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
    return _Controlled(
        name=name or measure.name,
        formula=Formula(
            "its own, less what q controls explain of its error",
            "sd(ψᵢ less its regression on the controls)/√n, with q degrees of freedom fewer",
        ),
        reads=tuple(dict.fromkeys((*measure.reads, *named))),
        bounds=measure.bounds,
        span=measure.span,
        fewest=measure.fewest,
        axes=measure.axes,
        ddof=measure.ddof,
        undefined=measure.undefined,
        by_cell=measure.by_cell,
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
        values, whole = self._known(columns, used.shape)
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
            psi = np.where(used, uncontrolled.psi, 0.0)
            return np.asarray(psi * (len(used) / uncontrolled.n_rep))

    def _known(
        self, columns: Columns, shape: tuple[int, ...]
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """Controls minus their stated means, and which cells have them in all replicates.

        In other cells the controls are 0.
        """
        values = [self._centred(each, columns, shape) for each in self.controls]
        finite = [np.isfinite(value).all(axis=0) for value in values]
        whole = np.asarray(np.logical_and.reduce(finite))
        return [np.where(whole, value, 0.0) for value in values], whole

    def _centred(self, control: Control, columns: Columns, shape: tuple[int, ...]) -> np.ndarray:
        """A control minus its stated mean, on the axes of the study and then the measure's own."""
        named = names_in(control.column, control.mean)
        picked = align(pick(columns, named, measure=f"control {control.column!r}"))
        with np.errstate(all="ignore"):
            value = np.asarray(picked[control.column], float) - operand(picked, control.mean)
        if value.ndim <= len(shape) - len(self.axes):
            value = value.reshape(value.shape + (1,) * (len(shape) - value.ndim))
        return np.broadcast_to(value, shape)

    def _believed(self, values: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
        """Controls, 0 in cells where the sample mean contradicts the stated one; and remarks."""
        remarks, kept = np.asarray(""), []
        for own, value in zip(self.controls, values, strict=True):
            far = far_from_zero(value)
            kept.append(np.where(far == 0, value, 0.0))
            remarks = joined(remarks, _format_far(own, value, far))
        return kept, remarks


def _format_far(control: Control, value: np.ndarray, far: np.ndarray) -> np.ndarray:
    """Remarks on stated means that the sample contradicts, by cell; empty for the others."""
    each = zip(np.ravel(total(value) / len(value)), np.ravel(far), strict=True)
    lines = [
        f"control {control.column!r} is left out: its mean is {by:+.3g} from the one stated, "
        f"{z:.0f} standard errors"
        if z
        else ""
        for by, z in each
    ]
    return np.array(lines, dtype=object).reshape(np.shape(far))


def _is_mean(measure: Measure) -> bool:
    """Whether it is a mean of one value per replicate, and so has no bias."""
    return isinstance(measure, MomentMeasure) and measure.value is only


def _few(n: int) -> float:
    """The least effective number of values behind a spread."""
    return min(MIN_EFFECTIVE, n / 5)


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
