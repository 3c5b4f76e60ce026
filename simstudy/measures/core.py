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
from simstudy.measures.groups import few_groups, group_means
from simstudy.measures.remarks import FEW, NORMAL_ONLY, doubts, joined, of_both

Bounds = Literal["normal", "wilson", "scaled", "ratio"]
Span = tuple[float, float]
UNBOUNDED: Span = (-np.inf, np.inf)


class Formula(NamedTuple):
    """The formulas of a measure and of its Monte Carlo standard error, as text.

    In the notation of the literature (Morris, White & Crowther 2019, Statistics in Medicine 38,
    2074-2102; Siepe et al. 2024, Psychological Methods): n replicates used, θ̂ᵢ the estimate of
    replicate i and θ̄ the mean of the estimates, θ the truth (which may vary by replicate), 1(...)
    an indicator. The influence ψᵢ is what replicate i adds to the error of a measure: the
    derivative of the measure with respect to its weight. In a share within a condition, n counts
    the replicates that meet it.
    """

    estimate: str
    mcse: str


INFLUENCE = "sd(ψᵢ)/√n"
TOO_FEW = "fewer than two replicates: no Monte Carlo error"
BINOMIAL = "√(p(1 − p)/n)"
WITHIN = "√(p(1 − p)/n₁), with n₁ (a random number) in the condition"
NORMAL = "closed form for normal estimates (Morris et al. 2019)"
OWN = Formula("the study's own function of the columns", INFLUENCE)


class Influence(NamedTuple):
    """An estimate in each cell, and what each replicate adds to its error.

    `n_rep` and `n_failed` sum to the number of replicates of the cell.

    Attributes
    ----------
    estimate : float array (*cells)
        The measure.
    psi : float array (rep, *cells)
        Influence of each replicate, with mean zero; NaN if the replicate was not used.
    n_rep : int array (*cells)
        Replicates used.
    n_failed : int array (*cells)
        Replicates not used.
    trials : float array (*cells)
        Denominator of a proportion: `n_rep`, or the number of replicates in its condition.
    n_given : int array (*cells) or None
        Replicates that the estimate is a share or a mean of; None if that is `trials`.
    plain : float array (*cells) or None
        Squared error of the plain measure with as many independent replicates; None if this
        measure is the plain one.
    n_effective : float array (*cells) or None
        Effective number of replicates of a weighted estimate; None for other estimates.
    remark : array (*cells) or None
        Remarks for the reader of the estimate; None if there are none.
    at_end : float array (*cells) or None
        For bounds "scaled": independent trials behind an estimate at an end of its span. Default:
        `n_rep`.
    sides : pair of Share or None
        For bounds "ratio": numerator and denominator of the estimate.
    """

    estimate: Float[np.ndarray, " *cells"]
    psi: Float[np.ndarray, " rep *cells"]
    n_rep: Int[np.ndarray, " *cells"]
    n_failed: Int[np.ndarray, " *cells"]
    trials: Float[np.ndarray, " *cells"]
    n_given: Int[np.ndarray, " *cells"] | None = None
    plain: Float[np.ndarray, " *cells"] | None = None
    n_effective: Float[np.ndarray, " *cells"] | None = None
    remark: Shaped[np.ndarray, " *cells"] | None = None
    at_end: Float[np.ndarray, " *cells"] | None = None
    sides: "tuple[Share, Share] | None" = None


class Share(NamedTuple):
    """A share of replicates and its denominator, the number of trials."""

    value: Float[np.ndarray, " *cells"]
    trials: Float[np.ndarray, " *cells"]

    def interval(self, *, level: float) -> intervals.Interval:
        """Compute Wilson's interval."""
        return intervals.wilson(self.value, self.trials, level=level)

    @property
    def error(self) -> Float[np.ndarray, " *cells"]:
        """The Monte Carlo error after adding one success and one failure."""
        return np.asarray(intervals.cautious_binomial_error(self.value, self.trials))


class Estimates(NamedTuple):
    """A measure in each cell with its Monte Carlo error.

    Attributes
    ----------
    estimate : float array (*cells)
        The measure; NaN if it is not defined.
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
        Effective number of replicates of a weighted estimate; None for other estimates.
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
    """Facts about the study that a measure may need and columns do not contain.

    Attributes
    ----------
    axes
        Labels of each axis, by its name.
    study
        Name of the study.
    seed
        Seed of the run.
    group_size
        Consecutive replicates in a group. Replicates of a group may depend on each other;
        groups are independent.
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
        Name of the measure in the summary.
    formula
        Its formula and that of its MCSE, as text.
    reads
        The columns it needs. A replicate with NaN in any of them is not used in that cell.
    bounds
        How `lower` and `upper` are computed: "normal" (estimate plus and minus quantiles of
        Student's t times the MCSE), "wilson" (for proportions), "scaled" (Wilson's interval of the
        relative position in `span`, with the number of trials that has this MCSE) or "ratio" (from
        Wilson's intervals of the two shares).
    span
        Least and greatest value that the measure can have; limits stay within.
    fewest
        Least number of replicates for an MCSE, at least 2.
    axes
        Names and values of axes that are appended to those of the columns, such as several
        significance levels at once.
    ddof
        The divisor of the variance of psi is n - ddof: 0 for proportions, which gives p(1 - p)/n.
    undefined
        Why the estimate may be NaN although replicates were used.
    by_cell
        Whether the results of a cell follow, by arithmetic alone, from the replicates of that
        cell. The cells of many scenarios are then measured in one call, with the same bits.
    group_size
        Consecutive replicates in a group. Replicates of a group may depend on each other; groups
        are independent. A study sets it for all its measures.
    """

    name: str
    formula: Formula = field(default=OWN, repr=False)
    reads: tuple[str, ...]
    bounds: Bounds = field(default="normal", repr=False)
    span: Span = field(default=UNBOUNDED, repr=False)
    fewest: int = field(default=2, repr=False)
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
        influence = self.influence(columns)
        groups = self.over_groups(influence)
        found = self.report(groups, standard_error(groups, ddof=self.ddof), level=level)
        counts = influence.n_rep, influence.n_failed, whole_trials(influence)
        found = found._replace(**dict(zip(("n_rep", "n_failed", "n_given"), counts, strict=True)))
        if self.group_size == 1:
            return found
        of_groups = TOO_FEW.replace("replicates", f"groups of {self.group_size} replicates")
        return found._replace(reason=np.where(found.reason == TOO_FEW, of_groups, found.reason))

    def bind(self, context: MeasureContext) -> "Measure":
        """Return the measure as a study uses it, with the labels and the seed of the study.

        Parameters
        ----------
        context
            Axes, name, seed and group size of the study.

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
        """Whether `psi` has a row for each resample instead of each replicate."""
        return False

    @property
    def remarks(self) -> bool:
        """Whether its estimates may come with a `remark`."""
        return False

    @property
    def averages(self) -> bool:
        """Whether the estimate is a mean over the replicates that it counts as `n_given`."""
        return False

    @property
    def needs_independence(self) -> str:
        """Why its error requires independent replicates; empty if it does not."""
        return ""

    def over_groups(self, influence: Influence) -> Influence:
        """Average influences over groups of `group_size` replicates, which count as replicates.

        Parameters
        ----------
        influence
            Influences of replicates.

        Returns
        -------
        Influence
            Influences of groups; the same if replicates are independent.
        """
        size = self.group_size
        if size == 1:
            return influence
        n_lost = np.isnan(influence.psi).sum(axis=0)
        psi, n_groups = group_means(influence.psi, influence.n_rep, size)
        psi = np.where(
            n_lost > influence.n_failed, np.nan, psi
        )  # infinite values have no influence
        plain, remark = influence.plain, influence.remark
        if plain is None:
            plain = standard_error(influence, ddof=self.ddof) ** 2
        if self.counts_events:
            remark = of_both(remark, few_groups(n_groups))

        def of_groups(trials: np.ndarray) -> np.ndarray:
            return np.asarray(np.maximum(trials / size, np.minimum(trials, 1.0)))

        at_end = influence.at_end
        return influence._replace(
            psi=psi,
            n_rep=n_groups,
            n_failed=len(psi) - n_groups,
            trials=of_groups(influence.trials),
            n_given=None,
            plain=plain,
            remark=remark,
            at_end=None if at_end is None else of_groups(at_end),
            sides=None,
        )

    def outside(self, columns: Columns) -> Bool[np.ndarray, " rep *axes"]:
        """Find the replicates that do not count, since they do not meet a condition.

        Parameters
        ----------
        columns
            Replicate columns of shape (rep, *axes), by name.

        Returns
        -------
        bool array (rep, *axes)
            False for a measure of all replicates.
        """
        return np.zeros_like(self.used(columns))

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
        """Add the interval to an estimate and its MCSE, and the reason if there is no number.

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
        mcse = np.where(influence.n_rep < self.fewest, np.nan, mcse)
        reason = explain(influence, mcse, undefined=self.undefined, fewest=self.fewest)
        counts = influence.n_rep, influence.n_failed, whole_trials(influence)
        plain = influence.plain
        if plain is not None and self.bounds == "wilson":
            influence = _with_trials_of(influence, mcse)
        lower, upper = within(self.interval(influence, mcse, level=level), self.span)
        remark = self.doubts(influence, mcse)
        mcse = self.never_certain(influence, mcse)
        if influence.remark is not None:
            remark = joined(influence.remark, remark)
        extra = variance_reduction(plain, mcse), influence.n_effective, remark
        return Estimates(influence.estimate, mcse, lower, upper, *counts, reason, *extra)

    def doubts(
        self, influence: Influence, mcse: np.ndarray
    ) -> Shaped[np.ndarray, " *cells"] | None:
        """Find cells in which an interval may be too short, and say why.

        Parameters
        ----------
        influence
            Estimate and influences.
        mcse
            Monte Carlo standard error of the estimate.

        Returns
        -------
        array (*cells) or None
            Remarks; None if there are none.
        """
        if not self.counts_events:
            return doubts(np.asarray(independent_replicates(influence)), mcse, influence.psi)
        if self.bounds != "scaled":
            return None
        return np.where(influence.n_rep < FEW, NORMAL_ONLY, "")

    def interval(
        self, influence: Influence, mcse: np.ndarray, *, level: float
    ) -> intervals.Interval:
        """Compute the limits by the method that `bounds` names.

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
        if self.bounds == "scaled":
            return self._scaled(influence, mcse, level)
        if self.bounds == "ratio" and influence.sides is not None:
            return ratio_of_shares(*influence.sides, level=level)
        freedom = independent_replicates(influence) - 1
        normal = intervals.student(influence.estimate, mcse, freedom, level=level)
        if self.bounds != "wilson":
            return normal
        if influence.plain is None:
            return intervals.wilson(influence.estimate, influence.trials, level=level)
        return wilson_within(influence.estimate, influence.trials, normal, level=level)

    def never_certain(self, influence: Influence, mcse: np.ndarray) -> Float[np.ndarray, " *cells"]:
        """Replace an error of 0 that may be due to chance by that of one more replicate.

        This applies to measures of events, whose influence vanishes in a sample in which all
        replicates are alike. Errors of other measures stay.

        Parameters
        ----------
        influence
            Estimate and number of trials.
        mcse
            Monte Carlo standard error of the estimate.

        Returns
        -------
        float array (*cells)
            The error; 0 only for measures that do not count events.
        """
        cautious = self.error_of_one_more(influence)
        if cautious is None:
            return mcse
        alike = mcse == 0 if self.bounds != "wilson" else np.asarray(False)
        if self.bounds != "ratio":
            alike = alike | self._at_an_end(influence)
        return np.where(alike & np.isfinite(mcse), cautious, mcse)

    def error_of_one_more(self, influence: Influence) -> Float[np.ndarray, " *cells"] | None:
        """Compute the error after one more replicate with the other outcome.

        Parameters
        ----------
        influence
            Estimate and number of trials.

        Returns
        -------
        float array (*cells) or None
            The error; None for a measure that does not count events.
        """
        with np.errstate(all="ignore"):
            if self.bounds == "ratio" and influence.sides is not None:
                above, below = influence.sides
                error = np.hypot(above.error, influence.estimate * below.error)
                return np.asarray(error / below.value)
            if self.bounds not in ("wilson", "scaled"):
                return None
            low, high = self.ends
            trials = influence.trials if influence.at_end is None else influence.at_end
            share = np.clip((influence.estimate - low) / (high - low), 0.0, 1.0)
            error = intervals.cautious_binomial_error(share, np.asarray(trials, float))
        return np.asarray((high - low) * error)

    @property
    def counts_events(self) -> bool:
        """Whether it is made of shares, so that the effect of one replicate is bounded."""
        return self.bounds != "normal"

    @property
    def ends(self) -> Span:
        """Least and greatest value that the measure can have."""
        return (0.0, 1.0) if self.bounds == "wilson" and self.span == UNBOUNDED else self.span

    def one_event(self, influence: Influence) -> Float[np.ndarray, " *cells"]:
        """Compute how far one event moves the estimate: 1/n for a share of n replicates.

        Parameters
        ----------
        influence
            Estimate and number of trials.

        Returns
        -------
        float array (*cells)
            The distance.
        """
        with np.errstate(all="ignore"):
            if self.bounds == "ratio" and influence.sides is not None:
                above, below = influence.sides
                below_moves = influence.estimate / below.trials
                return np.asarray(np.hypot(1 / above.trials, below_moves) / below.value)
            low, high = self.ends
            trials = influence.trials if influence.at_end is None else influence.at_end
            return np.asarray((high - low) / np.asarray(trials, float))

    def _at_an_end(self, influence: Influence) -> Bool[np.ndarray, " *cells"]:
        """Whether the estimate is at an end of its span; up to rounding for bounds "scaled"."""
        low, high = self.ends
        room = (high - low) * (END if self.bounds == "scaled" else 0.0)
        found = np.asarray(influence.estimate, float)
        return np.asarray((found <= low + room) & (found >= low)) | np.asarray(
            (found >= high - room) & (found <= high + room)
        )

    def _scaled(self, influence: Influence, mcse: np.ndarray, level: float) -> intervals.Interval:
        """Wilson's interval of the position between the ends, with trials that have this error."""
        low, high = self.ends
        share = np.clip((np.asarray(influence.estimate, float) - low) / (high - low), 0.0, 1.0)
        fewest = influence.n_rep if influence.at_end is None else influence.at_end
        at_end = self._at_an_end(influence)
        with np.errstate(all="ignore"):
            trials = share * (1 - share) * ((high - low) / mcse) ** 2
        trials = np.where(at_end | ~(np.isfinite(trials) & (trials > 0)), fewest, trials)
        share, freedom = (
            np.where(at_end, np.rint(share), share),
            independent_replicates(influence) - 2,
        )
        found = intervals.wilson(share, trials, level=level, df=freedom)
        lower, upper = (np.where(np.isnan(mcse), np.nan, low + (high - low) * end) for end in found)
        return intervals.Interval(lower, upper)


END = 1e-12  # relative to the span: a smaller distance from an end is rounding


def within(limits: intervals.Interval, span: Span) -> intervals.Interval:
    """Limits, cut to the values that a measure can have."""
    if span == UNBOUNDED:
        return limits
    return intervals.Interval(*(np.asarray(np.clip(limit, *span)) for limit in limits))


def ratio_of_shares(above: Share, below: Share, *, level: float) -> intervals.Interval:
    """Limits of a ratio of two independent shares, from Wilson's interval of each."""
    of_each = above.interval(level=level), below.interval(level=level)
    return intervals.of_ratio(above.value, below.value, *of_each)


def independent_replicates(influence: Influence) -> Float[np.ndarray, " *cells"]:
    """Number of independent replicates behind an error.

    Only replicates in the condition count. Weights do not change the number.
    """
    n = influence.n_rep if influence.n_given is None else influence.n_given
    return np.asarray(np.minimum(np.asarray(n, float), np.asarray(influence.trials, float)))


def standard_error(influence: Influence, *, ddof: int = 1) -> Float[np.ndarray, " *cells"]:
    """Standard deviation of psi over the root of n; NaN if there are fewer than two trials."""
    squares = _sum_of_squares(influence)
    undefined = ~np.isfinite(influence.estimate) | ~np.isfinite(squares)
    return root_mean(squares, influence.n_rep, influence.trials, undefined, ddof=ddof)


def _sum_of_squares(influence: Influence) -> np.ndarray:
    """Sum of squared influences of used replicates; NaN if one of them has no influence.

    Infinite values have none.
    """
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
    """Root of squares / (n - ddof) / n, without warnings; NaN if undefined or below two trials."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mcse = np.sqrt(squares / (n - ddof) / n)
    return np.where((np.asarray(trials) < 2) | undefined, np.nan, mcse)


def _with_trials_of(influence: Influence, mcse: np.ndarray) -> Influence:
    """Set the trials to those of a share of independent replicates with this error."""
    trials = independent_trials(influence.estimate, mcse, influence.trials)
    plain = np.nan if influence.plain is None else influence.plain
    return influence._replace(trials=trials, plain=np.asarray(plain))


def whole_trials(influence: Influence) -> Int[np.ndarray, " *cells"]:
    """Replicates in the condition, as a count."""
    if influence.n_given is not None:
        return influence.n_given
    return np.asarray(np.rint(np.nan_to_num(influence.trials)), dtype=np.int64)


def explain(
    influence: Influence, mcse: np.ndarray, *, undefined: str, fewest: int = 2
) -> Shaped[np.ndarray, " *cells"]:
    """Why an estimate or its MCSE is not a finite number, cell by cell."""
    estimate, few = influence.estimate, np.asarray(influence.trials) < 2
    reason = np.full(np.shape(estimate), "", dtype=object)
    reason[~np.isfinite(mcse)] = "a replicate is infinite"
    reason[np.isnan(estimate)] = f"{undefined} (or a replicate is infinite)"
    reason[few & ~np.isfinite(mcse)] = TOO_FEW
    if fewest > 2:
        reason[~few & (influence.n_rep < fewest)] = (
            f"fewer than {fewest} replicates say nothing of its Monte Carlo error"
        )
    reason[np.asarray(influence.trials) == 0] = undefined
    reason[influence.n_rep == 0] = "no replicate could be used"
    return reason


ALL_BUT_ROUNDING = 1e20  # a larger ratio of two variances means that one is rounding error


def variance_reduction(
    plain: Float[np.ndarray, " *cells"] | None, mcse: Float[np.ndarray, " *cells"]
) -> Float[np.ndarray, " *cells"] | None:
    """Squared error of the plain measure over that of this one; NaN if either is undefined.

    Infinite if the error left is rounding; None if there is no plain measure.
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
) -> Float[np.ndarray, " *cells"]:
    """Trials of a share of independent replicates with this error: share (1 - share)/mcse^2.

    If the error is 0, as for a share of 0, these are `trials`.
    """
    with np.errstate(all="ignore"):
        found = np.asarray(share * (1 - share) / (mcse * mcse))
    return np.where(np.isfinite(found) & (found > 0), found, trials)


def wilson_within(
    share: Float[np.ndarray, " *cells"],
    trials: Float[np.ndarray, " *cells"],
    normal: intervals.Interval,
    *,
    level: float,
) -> intervals.Interval:
    """Wilson's interval for a share in [0, 1]; the normal one for an adjusted share outside."""
    inside = (share >= 0) & (share <= 1)
    wilson = intervals.wilson(np.where(inside, share, np.nan), trials, level=level)
    lower, upper = (np.where(inside, w, n) for w, n in zip(wilson, normal, strict=True))
    return intervals.Interval(lower, upper)
