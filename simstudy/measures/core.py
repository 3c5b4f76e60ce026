"""The base of all measures: an estimate, and the influence of each replicate on it.

The Monte Carlo standard error of every measure is the spread of the influence values over the
square root of their number; a contrast of two measures on common data is the same with the
influence values subtracted first.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, Self

import numpy as np

from simstudy.array_types import Bool, Float, Int, Shaped
from simstudy.errors import StudyError
from simstudy.measures import intervals
from simstudy.measures.columns import Columns, Sample, pick, sample, total
from simstudy.measures.formulas import OWN, Formula
from simstudy.measures.groups import few_groups, grouped_sums, n_groups

Bounds = Literal["normal", "wilson"]


class Influence(NamedTuple):
    """An estimate in each cell, and what each replicate adds to its error.

    Replicates that were used and those that were not are together all replicates of the cell.

    Attributes
    ----------
    estimate : float array (*cells)
        The measure.
    psi : float array (rep, *cells)
        Influence of each replicate, of mean zero; NaN where the replicate was not used.
    n_rep : int array (*cells)
        Replicates used.
    n_failed : int array (*cells)
        Replicates not used.
    trials : float array (*cells)
        Denominator of a proportion: `n_rep`, or the number of replicates in its condition. For
        dependent replicates it is the number of independent trials with the same error.
    n_given : int array (*cells) or None
        Replicates that the estimate is a share or a mean of, where that is not `trials`.
    group_size
        So many replicates, one after the other, depend on each other; groups do not.
    plain : float array (*cells) or None
        Squared error of the plain measure with as many independent replicates; None where this
        measure is the plain one.
    n_effective : float array (*cells) or None
        Replicates that carry a weighted estimate; None for others.
    remark : array (*cells) or None
        What a reader of the estimate should know; None if nothing.
    """

    estimate: Float[np.ndarray, " *cells"]
    psi: Float[np.ndarray, " rep *cells"]
    n_rep: Int[np.ndarray, " *cells"]
    n_failed: Int[np.ndarray, " *cells"]
    trials: Float[np.ndarray, " *cells"]
    n_given: Int[np.ndarray, " *cells"] | None = None
    group_size: int = 1
    plain: Float[np.ndarray, " *cells"] | None = None
    n_effective: Float[np.ndarray, " *cells"] | None = None
    remark: Shaped[np.ndarray, " *cells"] | None = None


class Estimates(NamedTuple):
    """A measure in each cell with its Monte Carlo error.

    Attributes
    ----------
    estimate : float array (*cells)
        The measure, NaN where it is not defined.
    mcse : float array (*cells)
        Its Monte Carlo standard error, in the same units.
    lower, upper : float array (*cells)
        Limits of its interval.
    n_rep : int array (*cells)
        Replicates used.
    n_failed : int array (*cells)
        Replicates not used.
    n_given : int array (*cells)
        Replicates that the estimate is a share or a mean of: those in its condition, or all
        `n_rep`.
    reason : array (*cells)
        Why the estimate or its error is not a finite number; empty elsewhere.
    variance_reduction : float array (*cells) or None
        How many times as many independent replicates the plain measure needs for this error;
        None for plain measures.
    n_effective : float array (*cells) or None
        Replicates that carry a weighted estimate; None for others.
    remark : array (*cells) or None
        Doubts about the estimate; None if there are none.
    """

    estimate: Float[np.ndarray, " *cells"]
    mcse: Float[np.ndarray, " *cells"]
    lower: Float[np.ndarray, " *cells"]
    upper: Float[np.ndarray, " *cells"]
    n_rep: Int[np.ndarray, " *cells"]
    n_failed: Int[np.ndarray, " *cells"]
    n_given: Int[np.ndarray, " *cells"]
    reason: Shaped[np.ndarray, " *cells"]
    variance_reduction: Float[np.ndarray, " *cells"] | None = None
    n_effective: Float[np.ndarray, " *cells"] | None = None
    remark: Shaped[np.ndarray, " *cells"] | None = None

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> "Estimates":
        """Apply a function to each part that is not None.

        Parameters
        ----------
        function
            From an array over the cells to another array.

        Returns
        -------
        Estimates
            The results, under the same names.
        """
        there = {name: part for name, part in self._asdict().items() if part is not None}
        return Estimates(**{name: function(part) for name, part in there.items()})


class MeasureContext(NamedTuple):
    """What a study knows and columns do not.

    Attributes
    ----------
    axes
        Labels of each axis, by its name.
    study
        Name of the study.
    seed
        Seed of the run.
    group_size
        So many replicates, one after the other, depend on each other; groups do not.
    """

    axes: Mapping[str, Sequence[str]]
    study: str
    seed: int
    group_size: int = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Measure(ABC):
    """A functional of replicate columns; picklable with cloudpickle.

    Parameters
    ----------
    name
        What the summary calls it.
    formula
        Its formula and that of its MCSE, as text.
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
    group_size
        So many replicates, one after the other, may depend on each other; groups do not. A study
        says it of all its measures.
    """

    name: str
    formula: Formula = field(default=OWN, repr=False)
    reads: tuple[str, ...]
    bounds: Bounds = field(default="normal", repr=False)
    axes: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False)
    ddof: int = field(default=1, repr=False)
    undefined: str = field(default="the estimate is not defined for these replicates", repr=False)
    by_cell: bool = field(default=False, repr=False)
    group_size: int = field(default=1, repr=False)

    @abstractmethod
    def influence(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Influence:
        """Compute the estimate and the influence of each replicate on it.

        Parameters
        ----------
        columns
            Replicate columns of shape (rep, *axes), by name.
        keep : bool array (rep, *axes) or None
            Replicates that may be used in each cell; None for all.

        Returns
        -------
        Influence
            Estimate, influences and numbers of replicates, in each cell.
        """

    def estimate(self, columns: Columns, *, level: float = 0.95) -> Estimates:
        """Compute the measure with its MCSE and an interval.

        Parameters
        ----------
        columns
            Replicate columns of shape (rep, *axes), by name.
        level
            Coverage of the interval, in (0, 1).

        Returns
        -------
        Estimates
            The measure in each cell.
        """
        influence = self.in_groups(self.influence(columns))
        return self.report(influence, standard_error(influence, ddof=self.ddof), level=level)

    def bind(self, context: MeasureContext) -> "Measure":
        """Return the measure as a study uses it, with the labels and the seed of the study.

        Parameters
        ----------
        context
            What the study knows.

        Returns
        -------
        Measure
            This measure, or a copy.
        """
        return self.of_groups(context.group_size)

    def of_groups(self, size: int) -> Self:
        """Return the measure for replicates that depend on each other in groups of this size.

        Parameters
        ----------
        size
            Replicates in a group, one after the other; 1 if all are independent.

        Returns
        -------
        Self
            This measure, or a copy.

        Raises
        ------
        StudyError
            If the measure's error holds for independent replicates only, and `size` is above 1.
        """
        if size == self.group_size:
            return self
        if size > 1 and self.needs_independence:
            raise StudyError(
                f"{self.name}: {self.needs_independence}, and the study's replicates come in "
                f"groups of {size}. Take a measure with influences, or group_size=1."
            )
        return replace(self, group_size=size)

    @property
    def resamples(self) -> bool:
        """Whether `psi` has a row for each resample, and none for each replicate."""
        return False

    @property
    def remarks(self) -> bool:
        """Whether its estimates may come with a `remark`."""
        return False

    @property
    def needs_independence(self) -> str:
        """Why its error is of independent replicates only; empty where it is of others too."""
        return ""

    def in_groups(self, influence: Influence) -> Influence:
        """Mark influences as those of replicates in groups of `group_size`.

        Parameters
        ----------
        influence
            Influences of replicates.

        Returns
        -------
        Influence
            The same with the group size.
        """
        return influence._replace(group_size=self.group_size)

    def used(self, columns: Columns) -> Bool[np.ndarray, " rep *axes"]:
        """Find the replicates that the measure can use, in each cell.

        Parameters
        ----------
        columns
            Replicate columns of shape (rep, *axes), by name.

        Returns
        -------
        bool array (rep, *axes)
            True where none of the columns that it reads is NaN.
        """
        return self.sample(columns).used

    def sample(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Sample:
        """Align the columns it reads, and find the replicates it can use.

        Parameters
        ----------
        columns
            Replicate columns of shape (rep, *axes), by name.
        keep : bool array (rep, *axes) or None
            Replicates that may be used in each cell; None for all.

        Returns
        -------
        Sample
            The columns, and which replicates of which cell are used.
        """
        return sample(pick(columns, self.reads, measure=self.name), keep)

    def report(self, influence: Influence, mcse: np.ndarray, *, level: float) -> Estimates:
        """Add the interval to an estimate and its MCSE, and the reason where there is no number.

        Parameters
        ----------
        influence
            Estimate and influences.
        mcse
            Monte Carlo standard error of the estimate.
        level
            Coverage of the interval, in (0, 1).

        Returns
        -------
        Estimates
            The measure in each cell.
        """
        reason = explain(influence, mcse, undefined=self.undefined)
        counts = influence.n_rep, influence.n_failed, whole_trials(influence)
        plain = _plain_squares(influence, ddof=self.ddof)
        if plain is not None:
            influence = _with_trials_of(influence, mcse)
        limits = self.interval(influence, mcse, level=level)
        if self.bounds == "wilson":
            mcse = never_certain(influence, mcse)
        few = few_groups(influence.psi, influence.group_size)
        remark = influence.remark if few is None else joined(influence.remark, few)
        beside = variance_reduction(plain, mcse), influence.n_effective, remark
        return Estimates(influence.estimate, mcse, *limits, *counts, reason, *beside)

    def interval(
        self, influence: Influence, mcse: np.ndarray, *, level: float
    ) -> intervals.Interval:
        """Compute the limits as `bounds` says: normal, or Wilson's for a proportion.

        Parameters
        ----------
        influence
            Estimate and number of trials.
        mcse
            Monte Carlo standard error of the estimate.
        level
            Coverage of the interval, in (0, 1).

        Returns
        -------
        intervals.Interval
            Lower and upper limit in each cell.
        """
        normal = intervals.normal(influence.estimate, mcse, level=level)
        if self.bounds != "wilson":
            return normal
        if influence.plain is None:
            return intervals.wilson(influence.estimate, influence.trials, level=level)
        return wilson_within(influence.estimate, influence.trials, normal, level=level)


def standard_error(influence: Influence, *, ddof: int = 1) -> Float[np.ndarray, " *cells"]:
    """Standard deviation of psi over the root of n; NaN where fewer than two trials were made.

    Of replicates in groups, the same of the groups' sums (Liang & Zeger 1986, Biometrika 73, 13-22,
    with the number of groups in place of theirs).
    """
    squares = _sum_of_squares(influence)
    undefined = ~np.isfinite(influence.estimate) | ~np.isfinite(squares)
    n = influence.n_rep
    if influence.group_size > 1:
        groups = n_groups(influence.psi, influence.group_size)
        with np.errstate(all="ignore"):
            squares = squares * (n - ddof) * groups / (groups - ddof) / n
        undefined = undefined | (groups < 2)
    return root_mean(squares, n, influence.trials, undefined, ddof=ddof)


def _sum_of_squares(influence: Influence) -> np.ndarray:
    """Over used replicates; NaN where one of them has none, as infinite values do."""
    psi, lost = influence.psi, np.asarray(False)
    if influence.n_failed.any():
        lost = np.isnan(psi)
        psi = np.where(lost, 0.0, psi)
    with np.errstate(all="ignore"):
        psi = grouped_sums(psi, influence.group_size)
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


def _plain_squares(influence: Influence, *, ddof: int) -> np.ndarray | None:
    """Squared error of the plain measure of independent replicates; None where this is plain."""
    if influence.plain is not None or influence.group_size == 1:
        return influence.plain
    return standard_error(influence._replace(group_size=1), ddof=ddof) ** 2


def _with_trials_of(influence: Influence, mcse: np.ndarray) -> Influence:
    """As many trials, for a share's interval, as an independent share with this error has."""
    counts = influence.trials, influence.group_size
    trials = independent_trials(influence.estimate, mcse, *counts)
    plain = np.nan if influence.plain is None else influence.plain
    return influence._replace(trials=trials, plain=np.asarray(plain))


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
    if influence.group_size > 1:
        lone = n_groups(influence.psi, influence.group_size) < 2
        reason[lone] = "fewer than two groups of replicates: no Monte Carlo error"
    reason[np.asarray(influence.trials) == 0] = undefined
    reason[influence.n_rep == 0] = "no replicate could be used"
    return reason


def joined(*remarks: np.ndarray | None) -> Shaped[np.ndarray, " *cells"]:
    """Remarks of each cell, one after the other; each once."""
    found: np.ndarray = np.asarray("", dtype=object)
    for remark in remarks:
        if remark is not None:
            further = np.asarray(remark, dtype=object)
            further = np.where(found == further, "", further)
            between = np.where((found != "") & (further != ""), "; ", "").astype(object)
            found = np.asarray(found + between + further, dtype=object)
    return found


def of_both(
    first: np.ndarray | None, second: np.ndarray | None
) -> Shaped[np.ndarray, " *cells"] | None:
    """Remarks on either side of a contrast; None where there are none at all."""
    found = joined(first, second)
    return found if (found != "").any() else None


ALL_BUT_ROUNDING = 1e20  # ratio of two variances, of which the smaller one is rounding


def variance_reduction(
    plain: Float[np.ndarray, " *cells"] | None, mcse: Float[np.ndarray, " *cells"]
) -> Float[np.ndarray, " *cells"] | None:
    """How many times the squared error of the plain measure is this one's; NaN where it has none.

    Infinite where what is left is rounding; None where no plain measure is told of.
    """
    if plain is None:
        return None
    known = np.isfinite(mcse) & (plain > 0)
    with np.errstate(all="ignore"):
        found = np.where(known, plain / (mcse * mcse), np.nan)
    return np.where(found > ALL_BUT_ROUNDING, np.inf, found)


def independent_trials(
    share: Float[np.ndarray, " *cells"],
    mcse: Float[np.ndarray, " *cells"],
    trials: Float[np.ndarray, " *cells"],
    group_size: int,
) -> Float[np.ndarray, " *cells"]:
    """Trials of an independent share with this error: share (1 - share) over its square.

    Where there is no error, as of a share of 0, every group of the trials counts as one.
    """
    with np.errstate(all="ignore"):
        found = np.asarray(share * (1 - share) / (mcse * mcse))
    fewest = np.maximum(trials / group_size, np.minimum(trials, 1.0))
    return np.where(np.isfinite(found) & (found > 0), found, fewest)


def wilson_within(
    share: Float[np.ndarray, " *cells"],
    trials: Float[np.ndarray, " *cells"],
    normal: intervals.Interval,
    *,
    level: float,
) -> intervals.Interval:
    """Wilson's interval of what is a share; of an adjusted one that is none, the normal one."""
    inside = (share >= 0) & (share <= 1)
    wilson = intervals.wilson(np.where(inside, share, np.nan), trials, level=level)
    lower, upper = (np.where(inside, w, n) for w, n in zip(wilson, normal, strict=True))
    return intervals.Interval(lower, upper)
