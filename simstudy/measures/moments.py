"""Measures that are smooth functions of means, with influence by differentiation.

With terms t (several numbers per replicate), their means m and a value f(m, n), the influence of
replicate i is the gradient of f at m times (t_i - m). The gradient is a complex-step derivative,
exact to rounding, so a measure needs only its terms and its value.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from simstudy.measures.columns import (
    Columns,
    Keep,
    Sample,
    align,
    mean_used,
    pick,
    sample,
    total,
    without_rounding,
)
from simstudy.measures.core import VALUES, Estimates, Influence, Measure

NEARLY_ROUNDING = 1e-6  # influences above this share of the means are no rounding
STEP = 1e-100  # complex step: its square is 0 relative to any mean
NORMAL_IS_INDEPENDENT = "mcse='normal' is a formula for independent replicates"

Means = tuple[np.ndarray, ...]
Terms = Callable[[Columns], tuple[np.ndarray, ...]]
Value = Callable[[Means, np.ndarray], np.ndarray]
NormalMcse = Callable[[Means, np.ndarray, np.ndarray], np.ndarray]


Number = float | np.ndarray  # real or complex


def centred(name: str) -> str:
    """Return the key under which `terms` finds a column centred in each cell.

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
    """Divide; NaN (without a warning) if the denominator is zero.

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
    """The first mean over the second: a mean within a condition; NaN if the condition is empty."""
    return np.asarray(ratio(means[0], means[1]))


@dataclass(frozen=True, eq=False, kw_only=True)
class MomentMeasure(Measure):
    """A measure that is a smooth function of means of per-replicate terms.

    Parameters
    ----------
    terms
        Function of aligned columns that returns the terms of each replicate: arrays of shape
        (rep, *axes).
    value
        Function of the means of the terms and the number of replicates that returns the estimate.
        It uses + - * / and np.sqrt only, so that it also takes complex numbers. Use `ratio` if a
        denominator may be zero.
    trials
        Function of the same arguments that returns the denominator of a proportion. Default: all
        used replicates.
    centred_columns
        Columns that `terms` also finds centred at their mean, as `columns[centred(name)]`: for
        estimates that do not depend on a shift, such as a variance, no digits are lost then.
    sizes
        Function of the same columns as `terms` that returns, for each term, the sum of the absolute
        numbers it is computed from, times its slope in them. An influence that is below the
        rounding of these is 0. Default: the absolute terms.
    doubted
        Indices of terms whose parts of the influences are doubted, since they cancel each other.
    derive
        Function that computes the columns of the measure from those it reads.
    normal_mcse
        A closed-form MCSE from means, covariance of the terms (term, term, *cells) and n, instead
        of the spread of psi.
    """

    terms: Terms = field(repr=False)
    value: Value = field(repr=False)
    trials: Value = field(default=lambda _means, n: n, repr=False)
    centred_columns: tuple[str, ...] = field(default=(), repr=False)
    sizes: Terms | None = field(default=None, repr=False)
    doubted: tuple[int, ...] = field(default=(), repr=False)
    derive: Callable[[Columns], Columns] | None = field(default=None, repr=False)
    normal_mcse: NormalMcse | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.normal_mcse is not None:
            object.__setattr__(self, "needs_independence", NORMAL_IS_INDEPENDENT)

    def sample(self, columns: Columns, *, keep: Keep = None) -> Sample:
        picked: Columns = pick(columns, self.reads, measure=self.name)
        if self.derive is not None:
            picked = self.derive(align(picked))
        return sample(picked, keep)

    def influence(self, columns: Columns, *, keep: Keep = None) -> Influence:
        data = self.sample(columns, keep=keep)
        used, n = self._widen(data)
        given, terms, means = self._terms_and_means(data, used)
        psi = np.zeros(used.shape[:1] + n.shape)
        slopes = gradient(self.value, means, n)
        with np.errstate(all="ignore"):
            for term, mean, slope in zip(terms, means, slopes, strict=True):
                pull = term - mean
                psi += np.multiply(pull, slope, out=pull if pull.shape == psi.shape else None)
        if not data.complete:
            psi = np.where(used, psi, np.nan)
        psi = self._without_rounding(psi, given, terms, means, slopes)
        influence = self._influence(means, n, len(used) - n, psi)

        def parts() -> list[np.ndarray]:
            with np.errstate(all="ignore"):
                pulls = (slopes[k] * (terms[k] - means[k]) for k in self.doubted)
                return [np.where(used, pull, np.nan) for pull in pulls]

        return influence._replace(parts=parts) if self.doubted else influence

    def estimate(self, columns: Columns, *, level: float = 0.95) -> Estimates:
        if self.normal_mcse is None:
            return super().estimate(columns, level=level)
        found = self.influence(columns)
        return self.report(found, self._closed_form(columns, found), level=level)

    def values(self, columns: Columns) -> dict[str, np.ndarray]:
        data = self.sample(columns)
        used, n = self._widen(data)
        _, _, means = self._terms_and_means(data, used)
        found = self._influence(means, n, len(used) - n, np.empty((0, *n.shape)))
        numbers = found.estimate, found.n_rep, found.n_failed, found.n_in_condition
        return dict(zip(VALUES, numbers, strict=True))

    def _terms_and_means(
        self, data: Sample, used: np.ndarray
    ) -> tuple[Columns, tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
        """The columns with centred ones, the terms, and their means in each cell."""
        centred_ones = {
            centred(name): data.columns[name] - _mean_twice(data.columns[name], data)
            for name in self.centred_columns
        }
        given = {**data.columns, **centred_ones}
        terms = self._arrays(self.terms, given)
        means = tuple(mean_used(term, used, complete=data.complete) for term in terms)
        return given, terms, means

    def _closed_form(self, columns: Columns, influence: Influence) -> np.ndarray:
        """The MCSE by `normal_mcse`, from means and covariance of the terms."""
        assert self.normal_mcse is not None
        data = self.sample(columns)
        used, n = self._widen(data)
        _, terms, means = self._terms_and_means(data, used)
        with np.errstate(all="ignore"):
            rest = [
                np.where(used, term - mean, 0.0) for term, mean in zip(terms, means, strict=True)
            ]
            covariance = np.array([[total(a * b) / (n - 1.0) for b in rest] for a in rest])
            mcse = self.normal_mcse(means, covariance, n)
        return np.where((n < 2) | ~np.isfinite(influence.estimate), np.nan, mcse)

    @property
    def averages(self) -> bool:
        return self.value in (only, share)

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

    def _without_rounding(
        self,
        psi: np.ndarray,
        columns: Columns,
        terms: Means,
        means: Means,
        slopes: list[np.ndarray],
    ) -> np.ndarray:
        """Influences without those that are rounding.

        What they are computed from is costly, and taken only in cells whose largest influence is
        next to nothing beside the largest values of the columns.
        """
        weights = [np.abs(slope) for slope in slopes]
        largest = {name: _largest(column) for name, column in columns.items()}
        with np.errstate(all="ignore"):
            bound = self._size(largest, (0.0,) * len(means), means, weights)
            may_be = np.asarray(_largest(psi) <= NEARLY_ROUNDING * bound)
            if not may_be.any():
                return psi
            size = np.broadcast_to(self._size(columns, terms, means, weights), psi.shape)
        return np.where(may_be, without_rounding(psi, size), psi)

    def _size(
        self, columns: Columns, terms: Sequence[Any], means: Means, weights: list[np.ndarray]
    ) -> np.ndarray:
        """The sum of the absolute numbers that an influence is computed from."""
        sizes = (0.0,) * len(means) if self.sizes is None else self._arrays(self.sizes, columns)
        each = zip(weights, sizes, terms, means, strict=True)
        return np.asarray(sum(w * (size + np.abs(t) + np.abs(mean)) for w, size, t, mean in each))

    def _arrays(self, terms: Terms, columns: Columns) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            return tuple(np.asarray(term, float) for term in terms(columns))


def _largest(column: np.ndarray) -> np.ndarray:
    """The largest absolute value of each cell, with an axis of size 1 for replicates."""
    if not column.ndim or not len(column):
        return np.asarray(np.abs(column))
    low, high = (each.reduce(column, axis=0, keepdims=True) for each in (np.fmin, np.fmax))
    return np.asarray(np.fmax(np.abs(np.asarray(low, float)), np.abs(np.asarray(high, float))))


def _mean_twice(values: np.ndarray, data: Sample) -> np.ndarray:
    """Mean, corrected by the mean of the residuals: a constant column has spread 0 exactly."""
    mean = mean_used(values, data.used, complete=data.complete)
    with np.errstate(invalid="ignore"):
        rest = mean_used(values - mean, data.used, complete=data.complete)
        return np.asarray(mean + rest)


Mcse = Literal["influence", "normal"]
