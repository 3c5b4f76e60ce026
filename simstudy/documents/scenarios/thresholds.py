"""A classifier's threshold, set on the scores of a few positive cases, and the trial of it.

The threshold is set once and then used for ever: by order statistics (the Neyman-Pearson umbrella's
and others), by bootstraps, or by tolerance bounds. The trial counts true positives, to show that
the sensitivity exceeds a null.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.design import Columns
from simstudy.documents.dgps.scores import NormalScores, Scores
from simstudy.documents.stats.classifier_trial import (
    RULES,
    critical_count,
    normal_sample_size,
    refuse_no_null,
    trial_power,
    upper_tail,
)
from simstudy.documents.stats.quantile_bootstrap import Resamples, resample
from simstudy.documents.stats.threshold_theory import (
    exact_coverage,
    exact_mean_sensitivity,
    expected_over_sensitivity,
)
from simstudy.documents.stats.thresholds import FURTHER, METHODS, Target, described, thresholds
from simstudy.documents.stats.umbrella import rank_table, umbrella_rank
from simstudy.errors import DesignError
from simstudy.measures import empirical_se, mean, rejection_rate
from simstudy.provenance.streams import Streams

Block = Float[np.ndarray, "rep obs"]


@dataclass(frozen=True)
class Threshold:
    """A threshold set on one test set of positive scores, by every method.

    The target is a sensitivity, to be kept with the confidence. `n_boot` resamples of each
    bootstrap; 0 for infinitely many, exactly.
    """

    methods: ClassVar[tuple[str, ...]] = METHODS

    n_obs: int = 50
    sensitivity: float = 0.95
    confidence: float = 0.8
    n_boot: int = 0
    scores: Scores = NormalScores()

    @property
    def target(self) -> Target:
        """Target of the threshold."""
        return Target(self.sensitivity, self.confidence)

    @property
    def true_threshold(self) -> float:
        """The true threshold, in score units."""
        return float(self.scores.threshold(self.sensitivity))

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        x = self.scores.draw(streams("data"), n_rep, self.n_obs)
        resamples = self.resamples(streams, x)
        columns = self.set_on(x, resamples)
        if self.n_boot:
            return columns
        return columns | described(x, self.target, resamples, streams("figure 2"))

    def set_on(self, x: Block, resamples: Resamples) -> dict[str, np.ndarray]:
        """Columns (rep, method): thresholds on test sets, are they safe, what do they keep?"""
        found = thresholds(x, self.target, self.methods, resamples=resamples)
        threshold = np.stack([found[method] for method in self.methods], axis=1)
        return {
            "threshold": threshold,
            "safe": threshold <= self.true_threshold,
            "sensitivity": self.scores.sensitivity(threshold),
        }

    def resamples(self, streams: Streams, x: Block) -> Resamples:
        """Bootstrap values of each test set."""
        rng = streams("bootstrap") if self.n_boot else None
        return resample(np.sort(x, axis=1), self.target.q, self.n_boot, rng)

    def exact(self) -> Columns:
        about = (self.n_obs, self.target)
        cover = [exact_coverage(self.scores, method, *about) for method in self.methods]
        kept = [exact_mean_sensitivity(self.scores, method, *about) for method in self.methods]
        return {"coverage": np.array(cover), "mean_sensitivity": np.array(kept)}


@dataclass(frozen=True)
class Bound(Threshold):
    """A threshold set on one test set, by every method there is; bootstraps exactly."""

    methods: ClassVar[tuple[str, ...]] = (*METHODS, *FURTHER)

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        x = self.scores.draw(streams("data"), n_rep, self.n_obs)
        columns = self.set_on(x, self.resamples(streams, x))
        return {name: columns[name] for name in ("safe", "sensitivity")}


BOUND_MEASURES = (rejection_rate("safe", name="coverage"), mean("sensitivity"))
MEASURES = (
    *BOUND_MEASURES,
    empirical_se("sensitivity", name="sd_sensitivity"),
    mean("threshold"),
    empirical_se("threshold", name="sd_threshold"),
)


# ---------------------------------------------------------------- order statistics
RANKS = ("umbrella", "1", "2", "3", "4")


@dataclass(frozen=True)
class Umbrella:
    """Order statistics of n >= 4 uniform scores as thresholds for one sensitivity."""

    n_obs: int
    sensitivity: float = 0.95
    confidence: float = 0.8

    def __post_init__(self) -> None:
        if self.n_obs < int(RANKS[-1]):
            raise DesignError(
                f"n_obs={self.n_obs} scores have no {RANKS[-1]}th smallest, so the last of the "
                f"ranks compared would be no threshold. Use n_obs >= {RANKS[-1]}."
            )

    @property
    def ranks(self) -> Int[np.ndarray, " rank"]:
        """The rank on each position of the axis; 0 is the threshold −∞."""
        best = umbrella_rank(self.n_obs, self.sensitivity, self.confidence)
        return np.array([int(best), *(int(rank) for rank in RANKS[1:])])

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        scores = streams("data").random((n_rep, self.n_obs))
        n_below = (scores < 1 - self.sensitivity).sum(axis=1)[:, None]
        return {"safe": n_below >= self.ranks, "exactly": n_below == self.ranks}

    def exact(self) -> Columns:
        table, ranks = rank_table(self.n_obs, self.sensitivity), self.ranks
        return {"coverage": table.coverage[ranks], "exactly": table.probability[ranks]}


RANK_MEASURES = (
    rejection_rate("safe", name="coverage"),
    rejection_rate("exactly", name="exactly"),
)


# ---------------------------------------------------------------- the trial
@lru_cache(maxsize=1024)
def critical_counts(n_obs: int, null: float, alpha: float) -> tuple[int, ...]:
    """The fewest true positives that reject, by each rule; every block of a scenario asks."""
    return tuple(int(critical_count(n_obs, null, alpha, rule=rule)) for rule in RULES)


@dataclass(frozen=True)
class Trial:
    """A trial that is to show a sensitivity above a null, `margin` below it.

    `beta` is the target type-II error, `alpha` the nominal size. `n_obs` positive cases; 0 takes
    the normal approximation's number, rounded up.
    """

    sensitivity: float = 0.95
    margin: float = 0.05
    beta: float = 0.2
    alpha: float = 0.05
    n_obs: int = 0

    def __post_init__(self) -> None:
        refuse_no_null(self.sensitivity, self.margin)

    @property
    def null(self) -> float:
        """Sensitivity under the null hypothesis."""
        return float(np.round(self.sensitivity - self.margin, 12))

    @property
    def n_trial(self) -> int:
        """Positive cases in the trial."""
        about = (self.sensitivity, self.margin, 1 - self.beta, self.alpha)
        return self.n_obs or int(np.ceil(normal_sample_size(*about)))

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        n = self.n_trial
        critical = np.array(critical_counts(n, self.null, self.alpha))
        found = streams("data").binomial(n, self.sensitivity, size=(n_rep, 1))
        under_null = streams("null").binomial(n, self.null, size=(n_rep, 1))
        return {"reject": found >= critical, "reject_null": under_null >= critical}

    def exact(self) -> Columns:
        about = (self.n_trial, self.sensitivity, self.null, self.alpha)
        known = [trial_power(*about, rule=rule) for rule in RULES]
        return {
            "power": np.array([rule.power for rule in known]),
            "size": np.array([rule.size for rule in known]),
        }


TRIAL_MEASURES = (
    rejection_rate("reject", name="power"),
    rejection_rate("reject_null", name="size"),
)


# ---------------------------------------------------------------- the applied example
TRIAL_METHODS = ("true", *METHODS)


@dataclass(frozen=True)
class AppliedTrial(Threshold):
    """A threshold set on one test set, and the trial that uses it, of the score rule.

    It is to exceed the null sensitivity, with the nominal size `alpha` and the target `power`.
    """

    null_sensitivity: float = 0.9
    alpha: float = 0.05
    power: float = 0.8
    n_trial: int = 184

    def __post_init__(self) -> None:
        refuse_no_null(self.sensitivity, self.sensitivity - self.null_sensitivity)

    @property
    def critical(self) -> int:
        """The fewest true positives that reject."""
        return int(critical_count(self.n_trial, self.null_sensitivity, self.alpha, rule="score"))

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        x = self.scores.draw(streams("data"), n_rep, self.n_obs)
        found = thresholds(x, self.target, resamples=self.resamples(streams, x))
        found = {"true": np.full(n_rep, self.true_threshold)} | found
        trial = self.scores.draw(streams("trial"), n_rep, self.n_trial)
        n_true = np.stack(
            [(trial >= found[method][:, None]).sum(axis=1) for method in TRIAL_METHODS], axis=1
        )
        sensitivity = np.stack([self.scores.sensitivity(found[m]) for m in TRIAL_METHODS], axis=1)
        power = upper_tail(self.critical, self.n_trial, sensitivity)
        return {
            "reject": n_true >= self.critical,
            "trial_sensitivity": n_true / self.n_trial,
            "power_given_threshold": power,
            "enough": power >= self.power,
        }

    def exact(self) -> Columns:
        about = (self.n_obs, self.target)
        rejects = partial(upper_tail, self.critical, self.n_trial)
        power, kept = (
            [expected_over_sensitivity(self.scores, m, *about, of) for m in METHODS]
            for of in (rejects, lambda sensitivity: sensitivity)
        )
        return {
            "power": np.array([float(rejects(self.sensitivity)), *power]),
            "mean_power_given_threshold": np.array([np.nan, *power]),  # no spread for `true`
            "mean_trial_sensitivity": np.array([self.sensitivity, *kept]),
        }


APPLIED_MEASURES = (
    rejection_rate("reject", name="power"),
    mean("power_given_threshold"),
    mean("trial_sensitivity"),
    rejection_rate("enough", name="assurance"),
)
