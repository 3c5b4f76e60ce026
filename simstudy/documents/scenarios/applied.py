"""A trial of a classifier whose threshold was set on its own test set."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from simstudy.design import Columns
from simstudy.documents.scenarios.thresholds import Threshold
from simstudy.documents.stats.classifier_trial import critical_count, refuse_no_null, upper_tail
from simstudy.documents.stats.threshold_theory import expected_over_sensitivity
from simstudy.documents.stats.thresholds import METHODS, thresholds
from simstudy.measures import mean, rejection_rate
from simstudy.provenance.streams import Streams

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


MEASURES = (
    rejection_rate("reject", name="power"),
    mean("power_given_threshold"),
    mean("trial_sensitivity"),
    rejection_rate("enough", name="assurance"),
)
