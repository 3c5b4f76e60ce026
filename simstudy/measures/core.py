"""What a measure is: an estimate, and the influence of each replicate on it.

The Monte Carlo standard error of every measure is the spread of the influence values over the
square root of their number; a contrast of two measures on common data is the same with the
influence values subtracted first.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from simstudy.measures import intervals
from simstudy.measures.columns import Columns, Sample, pick, sample, total
from simstudy.shapes import Bool, Float, Int, Shaped

Bounds = Literal["normal", "wilson"]


class Influence(NamedTuple):
    """An estimate in each cell, and what each replicate adds to its error.

    `psi` is NaN where a replicate was not used and has mean zero over the others. `trials` is the
    denominator of a proportion: `n_rep`, or for a conditional proportion the number of replicates
    in the condition. `n_rep` replicates were used, `n_failed` were not; together they are all.
    `n_given` is how many of them the estimate is a share or a mean of, where that is not `trials`:
    a share whose replicates are not independent has the trials of an independent one as uncertain.
    """

    estimate: Float[np.ndarray, " *cells"]
    psi: Float[np.ndarray, " rep *cells"]
    n_rep: Int[np.ndarray, " *cells"]
    n_failed: Int[np.ndarray, " *cells"]
    trials: Float[np.ndarray, " *cells"]
    n_given: Int[np.ndarray, " *cells"] | None = None


class Estimates(NamedTuple):
    """A measure in each cell with its Monte Carlo error.

    `n_given` is the number of replicates that the estimate is a share or a mean of: those in its
    condition, or all `n_rep` that were used where it has none. `reason` says why an estimate or its
    error is not a finite number; it is empty elsewhere.
    """

    estimate: Float[np.ndarray, " *cells"]
    mcse: Float[np.ndarray, " *cells"]
    lower: Float[np.ndarray, " *cells"]
    upper: Float[np.ndarray, " *cells"]
    n_rep: Int[np.ndarray, " *cells"]
    n_failed: Int[np.ndarray, " *cells"]
    n_given: Int[np.ndarray, " *cells"]
    reason: Shaped[np.ndarray, " *cells"]


class Setting(NamedTuple):
    """What a study knows and columns do not: names of places on its axes, and its seed."""

    axes: Mapping[str, Sequence[str]]
    study: str
    seed: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Measure(ABC):
    """A functional of replicate columns; picklable with cloudpickle.

    Parameters
    ----------
    name
        What the summary calls it.
    reads
        The columns it needs. A replicate with NaN in any of them is not used in that cell.
    bounds
        How `lower` and `upper` are made: "normal" (estimate plus and minus z MCSE) or "wilson"
        (for proportions).
    axes
        Axes of its own, appended to those of the columns: name and values, such as several
        significance levels at once.
    ddof
        Divisor of the variance of psi is n - ddof: 0 for proportions, which gives p(1 - p)/n.
    undefined
        Why the estimate may be NaN although replicates were used.
    by_cell
        Whether what it says of a cell comes, by arithmetic alone, from the replicates of that
        cell: then the cells of many scenarios are measured side by side, with the same bits.
    """

    name: str
    reads: tuple[str, ...]
    bounds: Bounds = field(default="normal", repr=False)
    axes: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False)
    ddof: int = field(default=1, repr=False)
    undefined: str = field(default="the estimate is not defined for these replicates", repr=False)
    by_cell: bool = field(default=False, repr=False)

    @abstractmethod
    def influence(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Influence:
        """Estimate and influence values; `keep` drops further replicates, as for pairs."""

    def estimate(self, columns: Columns, *, level: float = 0.95) -> Estimates:
        """The measure with its MCSE and an interval of coverage `level`, in (0, 1)."""
        influence = self.influence(columns)
        return self.report(influence, standard_error(influence, ddof=self.ddof), level=level)

    def within(self, _setting: Setting) -> "Measure":
        """The measure as a study takes it; another one where it was told names, or draws."""
        return self

    def used(self, columns: Columns) -> Bool[np.ndarray, " rep *axes"]:
        """Which replicates the measure can use, in each cell."""
        return self.sample(columns).used

    def sample(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Sample:
        """The columns it reads, aligned, with the replicates it can use."""
        return sample(pick(columns, self.reads, measure=self.name), keep)

    def report(self, influence: Influence, mcse: np.ndarray, *, level: float) -> Estimates:
        """Add the interval to estimate and MCSE, and the reason where there is no number."""
        limits = self.interval(influence, mcse, level=level)
        reason = explain(influence, mcse, undefined=self.undefined)
        if self.bounds == "wilson":
            mcse = never_certain(influence, mcse)
        n_rep, n_failed, n_given = influence.n_rep, influence.n_failed, whole_trials(influence)
        return Estimates(influence.estimate, mcse, *limits, n_rep, n_failed, n_given, reason)

    def interval(
        self, influence: Influence, mcse: np.ndarray, *, level: float
    ) -> intervals.Interval:
        """Lower and upper limit by `bounds`."""
        if self.bounds == "wilson":
            return intervals.wilson(influence.estimate, influence.trials, level=level)
        return intervals.normal(influence.estimate, mcse, level=level)


def standard_error(influence: Influence, *, ddof: int = 1) -> Float[np.ndarray, " *cells"]:
    """Standard deviation of psi over the root of n; NaN where fewer than two trials were made."""
    squares = _sum_of_squares(influence)
    undefined = ~np.isfinite(influence.estimate) | ~np.isfinite(squares)
    return root_mean(squares, influence.n_rep, influence.trials, undefined, ddof=ddof)


def _sum_of_squares(influence: Influence) -> np.ndarray:
    """Over used replicates; NaN where one of them has none, as infinite values do."""
    psi, lost = influence.psi, np.asarray(False)
    if influence.n_failed.any():
        lost = np.isnan(psi)
        psi = np.where(lost, 0.0, psi)
    with np.errstate(all="ignore"):
        squares = total(psi * psi)
    return np.where(lost.sum(axis=0) > influence.n_failed, np.nan, squares)


def root_mean(
    squares: np.ndarray, n: np.ndarray, trials: np.ndarray, undefined: np.ndarray, *, ddof: int
) -> np.ndarray:
    """Root of `squares` / (n - ddof) / n, in silence, NaN where that says nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mcse = np.sqrt(squares / (n - ddof) / n)
    return np.where((np.asarray(trials) < 2) | undefined, np.nan, mcse)


def never_certain(influence: Influence, mcse: np.ndarray) -> Float[np.ndarray, " *cells"]:
    """The error of a share, which is not 0 where no replicate, or every one, had the event.

    It is then as if one replicate more had gone either way; its interval is no point either.
    """
    share, n = np.asarray(influence.estimate, float), np.asarray(influence.trials, float)
    at_end = np.isfinite(mcse) & ((share == 0) | (share == 1))
    with np.errstate(all="ignore"):
        cautious = intervals.cautious_binomial_error(share, n)
    return np.asarray(np.where(at_end, cautious, mcse))


def whole_trials(influence: Influence) -> Int[np.ndarray, " *cells"]:
    """Replicates in the condition, as a count."""
    if influence.n_given is not None:
        return influence.n_given
    return np.asarray(np.rint(np.nan_to_num(influence.trials)), dtype=np.int64)


def explain(
    influence: Influence, mcse: np.ndarray, *, undefined: str
) -> Shaped[np.ndarray, " *cells"]:
    """Why an estimate or its MCSE is not a finite number, cell by cell."""
    estimate, few = influence.estimate, np.asarray(influence.trials) < 2
    reason = np.full(np.shape(estimate), "", dtype=object)
    reason[~np.isfinite(mcse)] = "a replicate is infinite"
    reason[np.isnan(estimate)] = f"{undefined} (or a replicate is infinite)"
    reason[few & ~np.isfinite(mcse)] = "fewer than two replicates: no Monte Carlo error"
    reason[np.asarray(influence.trials) == 0] = undefined
    reason[influence.n_rep == 0] = "no replicate could be used"
    return reason
