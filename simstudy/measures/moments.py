"""Measures that are smooth functions of means, with influence by differentiation.

With terms t (several numbers per replicate), their means m and a value f(m, n), the influence of
replicate i is the gradient of f at m times (t_i - m). The gradient is a complex-step derivative,
exact to rounding, so a measure is written as its terms and its value and nothing else. Means and
co-moments of the terms can be gathered block by block, without keeping replicates.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float, Int
from simstudy.errors import DesignError, StudyError, in_one_line
from simstudy.measures.columns import (
    Columns,
    Operand,
    Sample,
    align,
    mean_used,
    pick,
    sample,
    total,
)
from simstudy.measures.core import Estimates, Influence, Measure, root_mean

STEP = 1e-100  # of the complex-step derivative: its square vanishes beside any mean
NORMAL_IS_INDEPENDENT = "mcse='normal' is a formula for independent replicates"
LIMIT = 1e4  # distance of a centre from the mean, in sd, that leaves half of the 16 digits

Means = tuple[np.ndarray, ...]
Terms = Callable[[Columns], tuple[np.ndarray, ...]]
Value = Callable[[Means, np.ndarray], np.ndarray]
NormalMcse = Callable[[Means, np.ndarray, np.ndarray], np.ndarray]


Number = float | np.ndarray  # real or complex


def centred(name: str) -> str:
    """Return the key under which `terms` finds that column less a constant of the cell.

    Parameters
    ----------
    name
        Name of the column.

    Returns
    -------
    str
        The key.
    """
    return f"{name} (centred)"


def ratio(numerator: Number, denominator: Number) -> np.ndarray:
    """Divide, with NaN (and no warning) where the denominator is zero.

    Parameters
    ----------
    numerator, denominator
        Numbers or arrays that broadcast, real or complex.

    Returns
    -------
    np.ndarray
        The quotient.
    """
    zero = np.real(denominator) == 0
    with np.errstate(all="ignore"):
        return np.where(zero, np.nan, numerator / np.where(zero, 1.0, denominator))


def variance_of(mean: Number, mean_square: Number, n: Number) -> np.ndarray:
    """Compute the variance with divisor n - 1 from the first two moments.

    Parameters
    ----------
    mean, mean_square
        Means of the values and of their squares, over n replicates.
    n
        Number of replicates.

    Returns
    -------
    np.ndarray
        The variance; NaN for a single replicate.
    """
    return (mean_square - mean * mean) * ratio(n, n - 1.0)


def gradient(value: Value, means: Means, n: np.ndarray) -> list[np.ndarray]:
    """Derivative of `value` by each mean: Im f(m + ih)/h (Squire & Trapp 1998)."""
    slopes = []
    for k in range(len(means)):
        step = [np.asarray(mean + 1j * STEP * (j == k)) for j, mean in enumerate(means)]
        with np.errstate(all="ignore"):
            slopes.append(np.asarray(np.imag(value(tuple(step), n)) / STEP))
    return slopes


def only(means: Means, _n: np.ndarray) -> np.ndarray:
    """The mean of the only term."""
    return means[0]


def share(means: Means, _n: np.ndarray) -> np.ndarray:
    """The first mean over the second: a mean within a condition, NaN where that is empty."""
    return np.asarray(ratio(means[0], means[1]))


class Moments(NamedTuple):
    """Moments of a block of replicates; `+` merges two blocks.

    Sums of products are about the means and merged as in Chan, Golub & LeVeque (1983), so that
    a mean far above the spread costs no digits.

    Attributes
    ----------
    n : int array (*cells)
        Replicates used.
    n_failed : int array (*cells)
        Replicates not used.
    mean : float array (term, *cells)
        Means of the terms.
    comoment : float array (term, term, *cells)
        Sums of products of the terms about their means.
    centre
        The constants subtracted from the centred columns; they must be the same in all blocks.
    """

    n: Int[np.ndarray, " *cells"]
    n_failed: Int[np.ndarray, " *cells"]
    mean: Float[np.ndarray, " term *cells"]
    comoment: Float[np.ndarray, " term term *cells"]
    centre: tuple[np.ndarray, ...]

    def __add__(self, other: "Moments") -> "Moments":  # type: ignore[override]
        """Merge; refused where the blocks were centred differently."""
        _refuse_other_centres(self.centre, other.centre)
        n, n_failed = np.asarray(self.n + other.n), np.asarray(self.n_failed + other.n_failed)
        weight = other.n / np.maximum(n, 1)
        step = other.mean - self.mean
        between = step[:, None] * step[None, :] * (self.n * weight)
        comoment = self.comoment + other.comoment + between
        return Moments(n, n_failed, self.mean + step * weight, comoment, self.centre)


def _refuse_other_centres(ours: tuple[np.ndarray, ...], theirs: tuple[np.ndarray, ...]) -> None:
    for a, b in zip(ours, theirs, strict=True):
        if not np.array_equal(a, b, equal_nan=True):
            raise StudyError(
                f"blocks were centred on different values ({_first(a):g} and {_first(b):g}), so "
                "their squares cannot be added. Give `moments` the same `centre` for all blocks."
            )


def _first(values: np.ndarray) -> float:
    return float(np.ravel(values)[0])


def _all_replicates(_means: Means, n: np.ndarray) -> np.ndarray:
    return n


@dataclass(frozen=True, eq=False, kw_only=True)
class MomentMeasure(Measure):
    """A measure that is a smooth function of means of per-replicate terms.

    Parameters
    ----------
    terms
        From aligned columns, the terms of each replicate: arrays of (rep, *axes).
    value
        From the means of the terms and the number of replicates, the estimate: made of + - * /
        and np.sqrt only, so that it also takes complex numbers. Use `ratio` where a denominator
        may be zero.
    trials
        Same arguments: the denominator of a proportion. Default: all used replicates.
    centred_columns
        Columns handed to `terms` a second time, less a constant, as `columns[centred(name)]`:
        for values that do not depend on that constant, as a variance does not, it is chosen such
        that no digits are lost. In memory it is the mean.
    around
        For each such column, the constant used by `moments`: a number or a constant of the
        scenario. Default 0.
    derive
        Makes the columns that the measure works on from those it reads.
    normal_mcse
        A closed-form MCSE from means, covariance of the terms (term, term, *cells) and n, instead
        of the spread of psi.
    """

    terms: Terms = field(repr=False)
    value: Value = field(repr=False)
    trials: Value = field(default=_all_replicates, repr=False)
    centred_columns: tuple[str, ...] = field(default=(), repr=False)
    around: Mapping[str, Operand] = field(default_factory=dict, repr=False)
    derive: Callable[[Columns], Columns] | None = field(default=None, repr=False)
    normal_mcse: NormalMcse | None = field(default=None, repr=False)

    def sample(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Sample:
        picked: Columns = pick(columns, self.reads, measure=self.name)
        if self.derive is not None:
            picked = self.derive(align(picked))
        return sample(picked, keep)

    def influence(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Influence:
        data = self.sample(columns, keep=keep)
        used, n = self._widen(data)
        terms = self._terms(data, _own_centres(data, self.centred_columns))
        means = tuple(mean_used(term, used, complete=data.complete) for term in terms)
        psi = np.zeros(used.shape[:1] + n.shape)
        with np.errstate(all="ignore"):
            for term, mean, slope in zip(terms, means, gradient(self.value, means, n), strict=True):
                pull = term - mean
                psi += np.multiply(pull, slope, out=pull if pull.shape == psi.shape else None)
        if not data.complete:
            psi = np.where(used, psi, np.nan)
        return self._influence(means, n, len(used) - n, psi)

    def estimate(self, columns: Columns, *, level: float = 0.95) -> Estimates:
        if self.normal_mcse is None:
            return super().estimate(columns, level=level)
        return self.from_moments(self._moments(self.sample(columns), None), level=level)

    @property
    def needs_independence(self) -> str:
        return "" if self.normal_mcse is None else NORMAL_IS_INDEPENDENT

    def centre(self, columns: Columns) -> dict[str, np.ndarray]:
        """Compute means of the centred columns of a first block, for the `centre` of all `moments`.

        Parameters
        ----------
        columns
            Replicate columns of shape (rep, *axes), by name.

        Returns
        -------
        dict[str, np.ndarray]
            The mean of each centred column, in each cell.
        """
        data = self.sample(columns)
        return dict(
            zip(self.centred_columns, _own_centres(data, self.centred_columns), strict=True)
        )

    def moments(self, columns: Columns, *, centre: Columns | None = None) -> Moments:
        """Compute the moments of a block of replicates; blocks merge with `+`.

        Parameters
        ----------
        columns
            Replicate columns of shape (rep, *axes), by name.
        centre
            Constants to subtract from the centred columns in place of `around`: near the mean, and
            the same for all blocks.

        Returns
        -------
        Moments
            Means and co-moments of the terms, in each cell.
        """
        data = self.sample(columns)
        return self._moments(data, centre or self._constants(columns, data))

    def from_moments(self, moments: Moments, *, level: float = 0.95) -> Estimates:
        """Compute the measure from merged moments: as `estimate` of all replicates, up to rounding.

        Parameters
        ----------
        moments
            Moments of all blocks.
        level
            Coverage of the interval, in (0, 1).

        Returns
        -------
        Estimates
            The measure in each cell.
        """
        self._refuse_cancellation(moments)
        terms = len(moments.mean) - len(self.centred_columns)
        means = tuple(np.where(moments.n > 0, mean, np.nan) for mean in moments.mean[:terms])
        comoment = moments.comoment[:terms, :terms]
        psi = np.empty((0, *np.shape(moments.n)))
        influence = self._influence(means, moments.n, moments.n_failed, psi)
        mcse = self._mcse(influence, means, comoment)
        return self.report(influence, mcse, level=level)

    def _mcse(self, influence: Influence, means: Means, comoment: np.ndarray) -> np.ndarray:
        n, undefined = influence.n_rep, ~np.isfinite(influence.estimate)
        if self.normal_mcse is None:
            slopes = np.stack(gradient(self.value, means, n))
            with np.errstate(all="ignore"):
                squares = np.einsum("i...,ij...,j...->...", slopes, comoment, slopes)
            squares = np.maximum(squares, 0.0)
            return root_mean(squares, n, influence.trials, undefined, ddof=self.ddof)
        with np.errstate(all="ignore"):
            mcse = self.normal_mcse(means, comoment / (n - 1.0), n)
        return np.where((n < 2) | undefined, np.nan, mcse)

    def _influence(
        self, means: Means, n: np.ndarray, n_failed: np.ndarray, psi: np.ndarray
    ) -> Influence:
        with np.errstate(all="ignore"):
            estimate = np.broadcast_to(np.asarray(self.value(means, n), float), n.shape).copy()
            trials = np.broadcast_to(np.asarray(self.trials(means, n), float), n.shape).copy()
        return Influence(estimate, psi, n, np.broadcast_to(n_failed, n.shape), trials)

    def _widen(self, data: Sample) -> tuple[np.ndarray, np.ndarray]:
        """The used replicates with the measure's own axes, and their number in each cell."""
        if not self.axes:
            return data.used, data.n
        own = tuple(len(values) for values in self.axes.values())
        used = data.used.reshape(data.used.shape + (1,) * len(own))
        return used, np.broadcast_to(data.n.reshape(used.shape[1:]), data.n.shape + own)

    def _terms(self, data: Sample, centres: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        extra = {
            centred(name): data.columns[name] - centre
            for name, centre in zip(self.centred_columns, centres, strict=True)
        }
        with np.errstate(all="ignore"):
            return tuple(np.asarray(term, float) for term in self.terms({**data.columns, **extra}))

    def _moments(self, data: Sample, constants: Columns | None) -> Moments:
        names = self.centred_columns
        centres = _own_centres(data, names)
        if constants is not None:
            centres = tuple(np.asarray(constants[name], float) for name in names)
        used, n = self._widen(data)
        offsets = tuple(data.columns[name] - c for name, c in zip(names, centres, strict=True))
        own = (1,) * len(self.axes)
        wide = tuple(offset.reshape(offset.shape + own) for offset in offsets)
        terms = self._terms(data, centres) + wide
        mean, comoment = _mean_and_comoment(terms, used, n)
        return Moments(n, np.asarray(len(used) - n), mean, comoment, centres)

    def _constants(self, columns: Columns, data: Sample) -> dict[str, np.ndarray]:
        return {
            name: _constant(self.around.get(name, 0.0), columns, data)
            for name in self.centred_columns
        }

    def _refuse_cancellation(self, moments: Moments) -> None:
        first = len(moments.mean) - len(self.centred_columns)
        for k, name in enumerate(self.centred_columns, start=first):
            offset = np.abs(moments.mean[k])
            spread = np.sqrt(moments.comoment[k, k] / np.maximum(moments.n - 1, 1))
            lost = (moments.n > 1) & (offset > LIMIT * spread)
            if lost.any():
                raise StudyError(
                    f"{self.name}: column {name!r} was centred {_first(offset[lost]):.3g} from "
                    f"its mean, with a standard deviation of {_first(spread[lost]):.3g}, so the "
                    "squares leave too few digits for a variance. Give `around` a value near the "
                    "mean, or pass to every `moments` the `centre` of the first block."
                )


def _own_centres(data: Sample, names: tuple[str, ...]) -> tuple[np.ndarray, ...]:
    return tuple(_mean_twice(data.columns[name], data) for name in names)


def _mean_twice(values: np.ndarray, data: Sample) -> np.ndarray:
    """Mean, corrected by the mean of what is left: a constant column has spread 0 exactly."""
    mean = mean_used(values, data.used, complete=data.complete)
    with np.errstate(invalid="ignore"):
        rest = mean_used(values - mean, data.used, complete=data.complete)
        return np.asarray(mean + rest)


def _constant(around: Operand, columns: Columns, data: Sample) -> np.ndarray:
    """The value to centre on; 0 where the column named for it varies over replicates."""
    if not isinstance(around, str):
        return np.asarray(float(around))
    column = np.asarray(pick(columns, (around,), measure="around")[around], float)
    if column.ndim == 0:
        return column
    varies = len(column) > 1 or len(data.used) == 1
    return np.asarray(0.0) if varies else column.reshape(column.shape[1:])


def _mean_and_comoment(
    terms: tuple[np.ndarray, ...], used: np.ndarray, n: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    complete = bool(used.all())
    means = [mean_used(term, used, complete=complete) for term in terms]
    mean = np.empty((len(terms), *n.shape))
    for k, of_term in enumerate(means):
        mean[k] = np.where(n > 0, of_term, 0.0)
    with np.errstate(invalid="ignore"):
        rest = [
            term - m if complete and term.shape == used.shape else np.where(used, term - m, 0.0)
            for term, m in zip(terms, mean, strict=True)
        ]
    comoment = np.empty((len(terms), len(terms), *n.shape))
    for i, left in enumerate(rest):
        for j in range(i + 1):
            comoment[i, j] = comoment[j, i] = total(left * rest[j])
    return mean, comoment


Mcse = Literal["influence", "normal"]


def check_mcse_method(mcse: str) -> None:
    """Refuse what is neither of the two."""
    if mcse not in ("influence", "normal"):
        raise DesignError(
            f"mcse={in_one_line(repr(mcse))} is not a way to compute a Monte Carlo error. Use "
            "'influence', which assumes no distribution, or 'normal' for the formulas of Morris "
            "et al. (2019)."
        )
