"""Control variates: less Monte Carlo error by columns with known means."""

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
from simstudy.measures.core import Influence, Measure, MeasureContext, standard_error
from simstudy.measures.formulas import Formula
from simstudy.measures.groups import grouped_sums, on_first_of_groups
from simstudy.measures.moments import MomentMeasure, only
from simstudy.measures.remarks import joined
from simstudy.measures.variance_reduction.stated_means import far_from_zero

WITHOUT = "replicates failed and left no controls: as the plain measure has it"
TOO_FEW = "fewer than ten replicates (or groups) more than controls: as the plain measure has it"
RESTS_ON_FEW = "what controls leave rests on few replicates: as the plain measure has it"
FREEDOM = 10  # replicates more than controls, below which an interval is too short
FEW = 5.0  # replicates that a spread has to rest on, or a fifth of all if that is fewer
ALL = 1e-20  # of a sum of squares, that rounding leaves
MANY = 30.0  # of which it is no accident that controls explain all


Value = str | Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Control:
    """A column whose mean is known; made by `control`.

    Parameters
    ----------
    name
        What messages call it.
    value
        Name of a column, or a function of columns.
    mean
        Its expectation: a number, or the name of a factor or column.
    reads
        The columns that it needs.
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
        Name of a column, or a function whose parameters name columns and number factors. It is
        given arrays `(rep, *axes)` and returns one.
    mean
        Its expectation: a number, or the name of a factor or column. Where that varies over
        replicates, the difference of the two has mean 0 and is the control.
    name
        What messages call it; that of the column or of the function, if not given.

    Returns
    -------
    Control
        The control, to be given to `controlled`.

    Raises
    ------
    DesignError
        If `value` is neither a column's name nor a function, or `mean` is no number and no
        name.
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

    `residuals` are what they leave of the influences, before what the regression itself costs.
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
        Any measure in which each replicate has an influence: all but `bootstrapped`.
    controls
        Made by `control`. One that is constant, or collinear with those before it, takes part in
        nothing and costs nothing. One whose own mean is far from what is stated (five standard
        errors) is left out as well, and the summary's `remark` says so.
    name
        What the summary calls it; as the measure, if not given.

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
    With influences y of the plain estimate and controls c of means mu, n replicates of each, b the
    slopes of y on c and S the sums of products of c about its average, the estimate moves by
    -b (average of c - mu): it is the height of the regression at mu. Its influences are
    r (1 - n (average of c - mu) S^-1 (c - average of c)), where r are the residuals; so what the
    slopes and the controls' own averages cost is in the error, whose divisor is less by the number
    of controls. A share's interval is Wilson's with as many independent trials as have this error.

    Replicates that the plain measure does not use count, where their controls are known, with an
    influence of 0, since a stated mean is one over all replicates. Where a failure has taken the
    controls too, nobody knows their mean over the others: the cell is left as the plain measure
    has it, and its `remark` says so. So it is where there are not ten replicates (or groups) more
    than controls, and where the residuals rest on fewer than five, or on a fifth if that is fewer
    ((sum of r^2)^2 over the sum of r^4), or, of a share or of fewer than 30, are all 0: by accident
    a flag may match the few events that there are. An estimate is biased by a term of order 1/n, as
    every regression estimate is; so the error of a measure that is no mean is never less than its
    plain one over the root of n.

    References
    ----------
    Lavenberg & Welch (1981), Management Science 27, 322-335. Nelson (1990), Operations Research
    38, 974-992.
    """
    _refuse_resampled(measure)
    if not controls or not all(isinstance(each, Control) for each in controls):
        raise DesignError(
            f"controlled({measure.name!r}) was given {in_one_line(repr(controls))}, and takes off "
            "what controls explain: name at least one, as in control('x', mean=0.0)."
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
            "replicate, so nothing tells what a control explains of it. Use a measure of means, "
            "quantiles or shares (MomentMeasure takes any smooth function of means)."
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Controlled(Measure):
    base: Measure
    controls: tuple[Control, ...]

    @property
    def remarks(self) -> bool:
        return True

    def bind(self, context: MeasureContext) -> Measure:
        base = self.base.bind(context._replace(group_size=1))
        return replace(self, base=base, group_size=context.group_size)

    def used(self, columns: Columns) -> Bool[np.ndarray, " rep *axes"]:
        return self.base.used(columns)

    def influence(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Influence:
        plain = self.base.influence(columns, keep=keep)
        used = ~np.isnan(plain.psi)
        values, whole = self._known(columns, used)
        believed, said = self._believed(values)
        psi = self._over_all(plain, used)
        fit = regress(psi, believed)
        doubt = np.where(fit.n_controls > 0, self._doubt(psi, fit), "").astype(object)
        took_part = (doubt == "") & (fit.n_controls > 0)
        return plain._replace(
            estimate=plain.estimate - np.where(took_part, fit.shift, 0.0),
            psi=np.where(took_part, self._by_replicate(psi, fit, plain, len(used)), plain.psi),
            plain=_squared_error(plain, ddof=self.base.ddof),
            remark=joined(plain.remark, np.where(whole, "", WITHOUT), doubt, said),
        )

    def _doubt(self, psi: np.ndarray, fit: Fit) -> np.ndarray:
        """In cells, why an error after regression would not be known; empty where it is."""
        too_few = len(psi) - 1 - fit.n_controls < FREEDOM
        nothing_left = total(fit.residuals**2) <= ALL * total(psi**2)
        by_accident = (self.bounds == "wilson") | (rests_on(psi) < MANY)
        hidden = rests_on(fit.residuals) < _few(len(psi))
        hidden = np.where(nothing_left, by_accident, hidden) & (total(psi**2) > 0)
        return np.where(too_few, TOO_FEW, np.where(hidden, RESTS_ON_FEW, ""))

    def _by_replicate(
        self, psi: np.ndarray, fit: Fit, uncontrolled: Influence, n_all: int
    ) -> np.ndarray:
        """Influences of those used, from those of groups: with what the regression costs in them.

        Scaled such that their spread over the root of the replicates used is the error. That of
        what is no mean is at least its plain one over the root of n, as its bias may be.
        """
        n_obs = len(fit.psi)
        freedom = np.maximum(n_obs - 1 - fit.n_controls, 1)
        with np.errstate(all="ignore"):
            scale = self.group_size * uncontrolled.n_rep / n_all
            scale = scale * np.sqrt((n_obs - self.ddof) / freedom)
            found = on_first_of_groups(fit.psi * scale, self.group_size)
        if _is_mean(self.base):
            return found
        too_good = n_obs * total(fit.residuals**2) < total(psi**2)
        return np.where(too_good, uncontrolled.psi / np.sqrt(n_obs), found)

    def _over_all(self, uncontrolled: Influence, used: np.ndarray) -> np.ndarray:
        """Influences over all replicates, or means of groups of them: 0 where one was not used."""
        with np.errstate(all="ignore"):
            psi = np.where(used, uncontrolled.psi, 0.0) * (len(used) / uncontrolled.n_rep)
        return self._means_of_groups(psi, np.abs(psi))

    def _means_of_groups(self, values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Of values that were calculated from ones of these sizes."""
        sums = grouped_sums(values, self.group_size)
        return without_rounding(sums, sizes) / self.group_size

    def _known(self, columns: Columns, used: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Controls less their means, 0 in cells where not all replicates have them; and which do.

        Of replicates in groups, the groups' means.
        """
        values = [self._centred(each, columns, used) for each in self.controls]
        there = [~np.isnan(value) for value, _ in values]
        whole = np.asarray(np.logical_and.reduce([each.all(axis=0) for each in there]))
        known = [np.where(whole, each, 0.0) for each in values]
        return [self._means_of_groups(value, size) for value, size in known], whole

    def _centred(
        self, control: Control, columns: Columns, used: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """A control less its stated mean, in every cell of the measure; and the sizes of the two"""
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
        """With the axes of the study, and the measure's own after them."""
        n_axes = used.ndim - len(self.axes)
        if value.ndim <= n_axes:
            value = value.reshape(value.shape + (1,) * (used.ndim - value.ndim))
        try:
            return np.broadcast_to(value, used.shape)
        except ValueError:
            raise StudyError(
                f"{self.name}: control {control.name!r} has the shape {value.shape}, and the "
                f"measure has replicates and cells of {used.shape}, so the two do not go together. "
                "Return a value for each replicate, or for each replicate and cell."
            ) from None

    def _refuse_not_finite(self, control: Control, centred: np.ndarray, used: np.ndarray) -> None:
        lost = used & ~np.isfinite(centred)
        if lost.any():
            what = "missing" if np.isnan(centred[lost][0]) else "infinite"
            raise StudyError(
                f"{self.name}: control {control.name!r} is {what} in replicates that the measure "
                f"uses ({int(lost.sum())} in all), so its mean cannot be held against the one "
                "stated. Return a finite number there, or leave this control out."
            )

    def _believed(self, values: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
        """The controls without those whose mean is not what is stated, and what is said of them."""
        said, kept = np.asarray(""), []
        for own, value in zip(self.controls, values, strict=True):
            far = far_from_zero(value)
            kept.append(np.where(far == 0, value, 0.0))
            weak = np.where(far == 0, _format_few(own, value), _format_far(own, value, far))
            said = joined(said, weak)
        return kept, said


def _format_far(control: Control, value: np.ndarray, far: np.ndarray) -> np.ndarray:
    """Format what is wrong with a stated mean, by cell."""
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
    """The least number of values that a spread has to rest on."""
    return min(FEW, n / 5)


def _format_few(control: Control, value: np.ndarray) -> np.ndarray:
    """Format that a slope rests on few replicates, by cell; empty where it does not."""
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


COLLINEAR = 1e-10  # share of a control's sum of squares that the others may leave of it
CONSTANT = 1e-20  # of a control's squared mean that a sum of rounding errors may come to


class _Direction(NamedTuple):
    """The part of a control that is orthogonal to the controls before it."""

    values: np.ndarray  # about their mean
    mean: np.ndarray
    squares: np.ndarray  # their sum; 1 where there is nothing
    is_new: np.ndarray


def regress(psi: np.ndarray, controls: Sequence[np.ndarray]) -> Fit:
    """Regress influences on centred controls, by Gram-Schmidt, done twice.

    Only sums over replicates and arithmetic by cell, so that a cell has the same bits alone and
    beside others.

    Parameters
    ----------
    psi, controls
        Of shape (rep, *cells), finite; `psi` has mean 0.
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


ROUNDING = 1e-13  # relative to what was added up: hundreds of times the last digit of a double


def rests_on(values: Float[np.ndarray, " rep *cells"]) -> Float[np.ndarray, " *cells"]:
    """Effective number of values behind a spread: (sum of squares)^2 / sum of fourth powers.

    Parameters
    ----------
    values
        Of mean 0. Where all are 0, so is the number.
    """
    largest = np.abs(values).max(axis=0)
    squares = (values / np.where(largest > 0, largest, 1.0)) ** 2
    fourth = total(squares * squares)
    return np.asarray(total(squares) ** 2 / np.where(fourth > 0, fourth, 1.0))


def without_rounding(
    sums: Float[np.ndarray, " group *cells"], sizes: Float[np.ndarray, " rep *cells"]
) -> Float[np.ndarray, " group *cells"]:
    """Set sums to 0 in cells where they are no larger than rounding error.

    Parameters
    ----------
    sizes
        Of what was added and subtracted.
    """
    with np.errstate(all="ignore"):
        is_rounding = total(sums * sums) <= ROUNDING**2 * total(sizes * sizes)
    return np.where(is_rounding, 0.0, sums)
