"""The base of all measures: an estimate, and the influence of each replicate on it.

The Monte Carlo standard error of every measure is the spread of the influence values over the
square root of their number; a contrast of two measures on common data is the same with the
influence values subtracted first.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float, Int, Shaped
from simstudy.errors import StudyError
from simstudy.measures.columns import Columns, Keep, Sample, pick, sample, total
from simstudy.measures.intervals import StudentInterval
from simstudy.measures.warnings import doubts, of_both


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
    warning : array (*cells) or None
        Warnings for the reader of the estimate; None if there are none.
    parts : function or None
        Function that returns the parts of `psi`, float arrays (rep, *cells), whose skewness is
        doubted as well, since they cancel each other in it. A single part is doubted in contrasts.
    interval : StudentInterval or None
        Kind of interval, if it needs numbers of the sample; None for that of the measure.
    """

    estimate: Float[np.ndarray, " *cells"]
    psi: Float[np.ndarray, " rep *cells"]
    n_rep: Int[np.ndarray, " *cells"]
    n_failed: Int[np.ndarray, " *cells"]
    trials: Float[np.ndarray, " *cells"]
    n_given: Int[np.ndarray, " *cells"] | None = None
    plain: Float[np.ndarray, " *cells"] | None = None
    n_effective: Float[np.ndarray, " *cells"] | None = None
    warning: Shaped[np.ndarray, " *cells"] | None = None
    parts: Callable[[], Sequence[np.ndarray]] | None = None
    interval: StudentInterval | None = None

    @property
    def n_independent(self) -> Float[np.ndarray, " *cells"]:
        """Number of independent replicates behind the error: those in the condition.

        Weights do not change the number.
        """
        n = self.n_rep if self.n_given is None else self.n_given
        return np.asarray(np.minimum(np.asarray(n, float), np.asarray(self.trials, float)))

    @property
    def n_in_condition(self) -> Int[np.ndarray, " *cells"]:
        """Replicates in the condition, as a count."""
        if self.n_given is not None:
            return self.n_given
        return np.asarray(np.rint(np.nan_to_num(self.trials)), dtype=np.int64)


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
    warning : array (*cells) or None
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
    warning: Shaped[np.ndarray, " *cells"] | None = None

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
        parts = {name: part for name, part in self._asdict().items() if part is not None}
        return Estimates(**{name: function(part) for name, part in parts.items()})


VALUES = ("estimate", "n_rep", "n_failed", "n_given")
"""The parts of `Estimates` that need no influences."""


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
    interval
        Kind of interval. `StudentInterval(low, high)`: estimate plus and minus quantiles of
        Student's t times the MCSE, within the values that the measure can have.
        `WilsonInterval()`: for proportions. `ScaledInterval(low, high)`: Wilson's interval of the
        relative position between two ends.
    min_rep
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
    nominal
        The nominal value, such as the level of an interval; None if it is not known.
    warns
        Whether a run reports its warnings at the end.
    needs_independence
        Why its error requires independent replicates; empty if it does not.
    """

    name: str
    formula: Formula = field(default=OWN, repr=False)
    reads: tuple[str, ...]
    interval: StudentInterval = field(default=StudentInterval(), repr=False)
    min_rep: int = field(default=2, repr=False)
    axes: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False)
    ddof: int = field(default=1, repr=False)
    undefined: str = field(default="the estimate is not defined for these replicates", repr=False)
    by_cell: bool = field(default=False, repr=False)
    nominal: float | None = field(default=None, repr=False)
    warns: bool = field(default=False, repr=False)
    needs_independence: str = field(default="", repr=False)

    @abstractmethod
    def influence(self, columns: Columns, *, keep: Keep = None) -> Influence:
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
        return self.report(influence, standard_error(influence, ddof=self.ddof), level=level)

    def values(self, columns: Columns) -> dict[str, np.ndarray]:
        """Compute the estimate and the numbers of replicates, without an error.

        Parameters
        ----------
        columns
            Replicate columns of shape (rep, *axes), by name.

        Returns
        -------
        dict
            `estimate`, `n_rep`, `n_failed` and `n_given` of `Estimates`, each of shape (*cells).
        """
        found = self.estimate(columns)
        return {name: np.asarray(getattr(found, name)) for name in VALUES}

    def bind(self, context: MeasureContext) -> "Measure":
        """Return the measure as a study uses it, with the labels and the seed of the study.

        Parameters
        ----------
        context
            Axes, name and seed of the study.

        Returns
        -------
        Measure
            This measure, or a copy.
        """
        del context
        return self

    @property
    def averages(self) -> bool:
        """Whether the estimate is a mean over the replicates that it counts as `n_given`."""
        return False

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

    def sample(self, columns: Columns, *, keep: Keep = None) -> Sample:
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
        interval = influence.interval or self.interval
        mcse = np.where(influence.n_rep < self.min_rep, np.nan, mcse)
        reason = explain(influence, mcse, undefined=self.undefined, min_rep=self.min_rep)
        limits = interval.limits(influence, mcse, level=level)
        warning = of_both(influence.warning, doubts(influence, mcse, interval))
        mcse = interval.error(influence, mcse)
        counts = influence.n_rep, influence.n_failed, influence.n_in_condition
        found = Estimates(influence.estimate, mcse, *limits, *counts, reason, warning=warning)
        reduction = variance_reduction(influence.plain, mcse)
        return found._replace(variance_reduction=reduction, n_effective=influence.n_effective)


def inherited(measure: Measure) -> dict[str, Any]:
    """The fields that a measure around another one takes from it."""
    return {each.name: getattr(measure, each.name) for each in fields(Measure)}


def standard_error(influence: Influence, *, ddof: int = 1) -> Float[np.ndarray, " *cells"]:
    """Standard deviation of psi over the root of n; NaN if there are fewer than two trials."""
    psi, lost = influence.psi, np.asarray(False)
    if influence.n_failed.any():
        lost = np.isnan(psi)
        psi = np.where(lost, 0.0, psi)
    with np.errstate(all="ignore"):
        squares = total(psi * psi)
    of_infinite = lost.sum(axis=0) > influence.n_failed  # used, and without an influence
    undefined = ~np.isfinite(influence.estimate) | ~np.isfinite(squares) | of_infinite
    return root_mean(squares, influence.n_rep, influence.trials, undefined, ddof=ddof)


def root_mean(
    squares: np.ndarray, n: np.ndarray, trials: np.ndarray, undefined: np.ndarray, *, ddof: int
) -> np.ndarray:
    """Root of squares / (n - ddof) / n, without warnings; NaN if undefined or below two trials."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mcse = np.sqrt(squares / (n - ddof) / n)
    return np.where((np.asarray(trials) < 2) | undefined, np.nan, mcse)


def explain(
    influence: Influence, mcse: np.ndarray, *, undefined: str, min_rep: int = 2
) -> Shaped[np.ndarray, " *cells"]:
    """Why an estimate or its MCSE is not a finite number, cell by cell."""
    estimate, few = influence.estimate, np.asarray(influence.trials) < 2
    reason = np.full(np.shape(estimate), "", dtype=object)
    reason[~np.isfinite(mcse)] = "a replicate is infinite"
    reason[np.isnan(estimate)] = f"{undefined} (or a replicate is infinite)"
    reason[few & ~np.isfinite(mcse)] = TOO_FEW
    if min_rep > 2:
        reason[~few & (influence.n_rep < min_rep)] = (
            f"fewer than {min_rep} replicates say nothing of its Monte Carlo error"
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


# ---------------------------------------------------------------- groups of replicates
FEW_GROUPS = 20  # fewer groups get a warning: a normal interval is then too short


def bind(measure: Measure, context: MeasureContext) -> Measure:
    """The measure as a study uses it: with labels and seed, and the error of groups.

    Raises
    ------
    StudyError
        If the measure's error holds for independent replicates only, and these are not.
    """
    bound, size = measure.bind(context), context.group_size
    if size == 1:
        return bound
    if bound.needs_independence:
        raise StudyError(
            f"{bound.name}: {bound.needs_independence}, and the study's replicates come in "
            f"groups of {size}. Take a measure with influences, or group_size=1."
        )
    kind = bound.interval if bound.interval.is_proportion else StudentInterval()
    return _InGroups(**inherited(bound) | {"interval": kind}, base=bound, size=size)


@dataclass(frozen=True, eq=False, kw_only=True)
class _InGroups(Measure):
    """A measure whose influences are averaged over groups, which count as replicates."""

    base: Measure
    size: int

    @property
    def averages(self) -> bool:
        return self.base.averages

    def used(self, columns: Columns) -> Bool[np.ndarray, " rep *axes"]:
        return self.base.used(columns)

    def influence(self, columns: Columns, *, keep: Keep = None) -> Influence:
        alone = self.base.influence(columns, keep=keep)
        plain = standard_error(alone, ddof=self.ddof) ** 2 if alone.plain is None else alone.plain
        n_lost = np.isnan(alone.psi).sum(axis=0)
        psi, n_groups = group_means(alone.psi, alone.n_rep, self.size)
        is_share = self.interval.is_proportion
        return alone._replace(
            psi=np.where(n_lost > alone.n_failed, np.nan, psi),  # infinite: no influence
            n_rep=n_groups,
            n_failed=len(psi) - n_groups,
            trials=np.maximum(alone.trials / self.size, np.minimum(alone.trials, 1.0)),
            n_given=None,
            plain=plain,
            warning=of_both(alone.warning, few_groups(n_groups) if is_share else None),
            interval=None,
        )

    def estimate(self, columns: Columns, *, level: float = 0.95) -> Estimates:
        alone = self.base.estimate(columns, level=level)
        groups = super().estimate(columns, level=level)
        of_groups = TOO_FEW.replace("replicates", f"groups of {self.size} replicates")
        reason = np.where(groups.reason == TOO_FEW, of_groups, groups.reason)
        reason = np.where(alone.reason == "", reason, alone.reason)
        counts = {name: getattr(alone, name) for name in ("n_rep", "n_failed", "n_given")}
        return groups._replace(**counts, reason=reason)


def group_means(
    psi: Float[np.ndarray, " rep *cells"], n_rep: Int[np.ndarray, " *cells"], size: int
) -> tuple[Float[np.ndarray, " group *cells"], Int[np.ndarray, " *cells"]]:
    """Average the influences of consecutive groups of replicates.

    The influence of a group is such that the groups' mean is the error of the estimate, as it is
    of replicates (Liang & Zeger 1986, Biometrika 73, 13-22). The last group may be smaller.

    Parameters
    ----------
    psi
        Influences of replicates; NaN if a replicate was not used.
    n_rep
        Replicates used.

    Returns
    -------
    tuple
        Influences of groups, NaN for a group without used replicates; and the number of groups
        with used ones.
    """
    pad = [(0, -len(psi) % size), *[(0, 0)] * (psi.ndim - 1)]
    used = np.pad(~np.isnan(psi), pad)
    values = np.where(used, np.pad(psi, pad), 0.0)
    sums, is_used = values[::size], used[::size]
    for member in range(1, size):
        sums, is_used = sums + values[member::size], is_used | used[member::size]
    n_groups = np.asarray(is_used.sum(axis=0))
    with np.errstate(all="ignore"):
        return np.where(is_used, sums * (n_groups / n_rep), np.nan), n_groups


def few_groups(n_groups: Int[np.ndarray, " *cells"]) -> Shaped[np.ndarray, " *cells"] | None:
    """Warnings on cells whose error rests on few groups; None if there are none."""
    few = (n_groups >= 2) & (n_groups < FEW_GROUPS)
    words = "groups are few to know an error by: its interval is too short"
    lines = [f"{n} {words}" for n in n_groups.flat]
    return np.where(few, np.reshape(lines, few.shape), "") if few.any() else None
