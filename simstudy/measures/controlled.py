"""Control variates: a measure freed of what columns of known mean explain of its error."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simstudy.errors import DesignError, StudyError, in_one_line
from simstudy.measures.columns import (
    Columns,
    Operand,
    align,
    names_in,
    operand,
    pick,
    total,
)
from simstudy.measures.core import Influence, Measure, Setting, standard_error
from simstudy.measures.groups import grouped_sums, on_first_of_groups
from simstudy.measures.regression import Fit, regress
from simstudy.measures.stated_means import far_from_zero
from simstudy.shapes import Bool

WITHOUT = "replicates failed and left no controls: as the plain measure has it"
TOO_FEW = "fewer replicates than controls: as the plain measure has it"

Value = str | Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Control:
    """A column whose mean is known; made by `control`."""

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
    """
    if isinstance(value, str):
        return Control(name or value, value, mean, names_in(value, mean))
    if not callable(value):
        raise DesignError(
            f"control({in_one_line(repr(value))}) is neither a column's name nor a function, so it "
            "has no values. Give one of the two, as in control('age', mean=50)."
        )
    parameters = tuple(inspect.signature(value).parameters)
    said = name or str(getattr(value, "__name__", "control"))
    return Control(said, value, mean, tuple(dict.fromkeys((*parameters, *names_in(mean)))))


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
    has it, and its `remark` says so. An estimate is biased by a term of order 1/n, as every
    regression estimate is. It cannot be gathered block by block.

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
        kind="controlled",
        reads=tuple(reads),
        bounds=measure.bounds,
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
            f"{in_one_line(repr(measure))} is no measure, so it has no error to make smaller. "
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

    def within(self, setting: Setting) -> Measure:
        base = self.base.within(setting._replace(group_size=1))
        return replace(self, base=base, group_size=setting.group_size)

    def used(self, columns: Columns) -> Bool[np.ndarray, " rep *axes"]:
        return self.base.used(columns)

    def influence(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Influence:
        plain = self.base.influence(columns, keep=keep)
        used = ~np.isnan(plain.psi)
        values, whole = self._known(columns, used)
        remark = np.where(whole, "", WITHOUT)
        of_groups = [grouped_sums(value, self.group_size) / self.group_size for value in values]
        believed, said = self._believed(of_groups)
        fit = regress(self._over_all(plain, used), believed)
        freedom = len(fit.psi) - self.ddof - fit.n_controls
        too_few = (freedom < 1) & (fit.n_controls > 0)
        took_part = ~too_few & (fit.n_controls > 0)
        return plain._replace(
            estimate=plain.estimate - np.where(took_part, fit.shift, 0.0),
            psi=np.where(took_part, self._by_replicate(fit, plain, len(used)), plain.psi),
            plain=_squared_error(plain, ddof=self.base.ddof),
            remark=_joined(plain.remark, remark, np.where(too_few, TOO_FEW, ""), said),
        )

    def _by_replicate(self, fit: Fit, plain: Influence, n_all: int) -> np.ndarray:
        """Influences of those used, from those of groups: with what the regression costs in them.

        Scaled such that their spread over the root of the replicates used is the error.
        """
        n_obs = len(fit.psi)
        freedom = np.maximum(n_obs - self.ddof - fit.n_controls, 1)
        with np.errstate(all="ignore"):
            scale = self.group_size * plain.n_rep / n_all
            scale = scale * np.sqrt((n_obs - self.ddof) / freedom)
            return on_first_of_groups(fit.psi * scale, self.group_size)

    def _over_all(self, plain: Influence, used: np.ndarray) -> np.ndarray:
        """Influences over all replicates, or means of groups of them: 0 where one was not used."""
        with np.errstate(all="ignore"):
            psi = np.where(used, plain.psi, 0.0) * (len(used) / plain.n_rep)
        return grouped_sums(psi, self.group_size) / self.group_size

    def _known(self, columns: Columns, used: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Controls less their means, 0 in cells where not all replicates have them; and which do"""
        values = [self._centred(each, columns, used) for each in self.controls]
        there = [~np.isnan(value) for value in values]
        whole = np.asarray(np.logical_and.reduce([each.all(axis=0) for each in there]))
        return [np.where(whole, value, 0.0) for value in values], whole

    def _centred(self, own: Control, columns: Columns, used: np.ndarray) -> np.ndarray:
        """A control less its stated mean, in every cell of the measure."""
        picked = align(pick(columns, own.reads, measure=f"control {own.name!r}"))
        value = picked[own.value] if isinstance(own.value, str) else _called(own, picked)
        mean = operand(picked, own.mean)
        with np.errstate(all="ignore"):
            centred = np.asarray(value, float) - mean
        n_axes = used.ndim - len(self.axes)
        if centred.ndim <= n_axes:
            centred = centred.reshape(centred.shape + (1,) * (used.ndim - centred.ndim))
        try:
            centred = np.broadcast_to(centred, used.shape)
        except ValueError:
            raise StudyError(
                f"{self.name}: control {own.name!r} has the shape {centred.shape}, and the measure "
                f"has replicates and cells of {used.shape}, so the two do not go together. Return "
                "a value for each replicate, or for each replicate and cell."
            ) from None
        self._refuse_not_finite(own, centred, used)
        return centred

    def _refuse_not_finite(self, own: Control, centred: np.ndarray, used: np.ndarray) -> None:
        lost = used & ~np.isfinite(centred)
        if lost.any():
            what = "missing" if np.isnan(centred[lost][0]) else "infinite"
            raise StudyError(
                f"{self.name}: control {own.name!r} is {what} in replicates that the measure uses "
                f"({int(lost.sum())} in all), so its mean cannot be held against the one stated. "
                "Return a finite number there, or leave this control out."
            )

    def _believed(self, values: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
        """The controls without those whose mean is not what is stated, and what is said of them."""
        said, kept = np.asarray(""), []
        for own, value in zip(self.controls, values, strict=True):
            far = far_from_zero(value)
            kept.append(np.where(far == 0, value, 0.0))
            said = _joined(said, np.where(far == 0, "", _far_in_words(own, value, far)))
        return kept, said


def _called(own: Control, columns: Columns) -> np.ndarray:
    assert callable(own.value)
    names = inspect.signature(own.value).parameters
    found = own.value(**{name: columns[name] for name in names})
    try:
        values = np.asarray(found, float)
    except (TypeError, ValueError):
        values = np.asarray(np.nan)
    if not values.ndim:
        raise StudyError(
            f"control {own.name!r}: the function returned {in_one_line(repr(found))}, which is no "
            "array of numbers. Return one for each replicate."
        )
    return values


def _far_in_words(own: Control, value: np.ndarray, far: np.ndarray) -> np.ndarray:
    """For each cell, what is wrong with a stated mean."""
    each = zip(np.ravel(total(value) / len(value)), np.ravel(far), strict=True)
    said = [
        f"control {own.name!r} is left out: its mean is {by:+.3g} from the one stated, "
        f"{z:.0f} standard errors"
        for by, z in each
    ]
    return np.array(said, dtype=object).reshape(np.shape(far))


def _joined(*remarks: np.ndarray | None) -> np.ndarray:
    """Remarks of each cell, one after the other."""
    found: np.ndarray = np.asarray("", dtype=object)
    for remark in remarks:
        if remark is not None:
            further = np.asarray(remark, dtype=object)
            between = np.where((found != "") & (further != ""), "; ", "").astype(object)
            found = np.asarray(found + between + further, dtype=object)
    return found


def _squared_error(plain: Influence, *, ddof: int) -> np.ndarray:
    """Of the measure as it was, or of what it was itself made of."""
    if plain.plain is not None:
        return plain.plain
    return standard_error(plain, ddof=ddof) ** 2
