"""A trial of a classifier whose threshold was set on its own test set."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from simstudy.design import Columns
from simstudy.documents.scenarios.thresholds import Threshold
from simstudy.documents.stats.classifier.theory import (
    exact_mean_sensitivity,
    expected_over_sensitivity,
)
from simstudy.documents.stats.classifier.thresholds import METHODS, thresholds
from simstudy.documents.stats.classifier.trial import critical_count, power_at_sensitivities
from simstudy.measures import mean, rejection_rate
from simstudy.provenance.streams import Streams

TRIAL_METHODS = ("true", *METHODS)


@dataclass(frozen=True)
class AppliedTrial(Threshold):
    """A threshold set on one test set, and the trial that uses it.

    Parameters
    ----------
    null_sensitivity, alpha
        Sensitivity that the trial is to exceed, and nominal size.
    power
        Settings of the trial.
    n_trial
        Positive cases in the trial.
    """

    null_sensitivity: float = 0.9
    alpha: float = 0.05
    power: float = 0.8
    n_trial: int = 184

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
        power = power_at_sensitivities(self.critical, self.n_trial, sensitivity)
        return {
            "reject": n_true >= self.critical,
            "trial_sensitivity": n_true / self.n_trial,
            "power_given_threshold": power,
            "enough": power >= self.power,
        }

    def exact(self) -> Columns:
        about = (self.n_obs, self.target)
        rejects = partial(power_at_sensitivities, self.critical, self.n_trial)
        power = [expected_over_sensitivity(self.scores, m, *about, rejects) for m in METHODS]
        kept = [exact_mean_sensitivity(self.scores, m, *about) for m in METHODS]
        power = [float(rejects(self.sensitivity)), *power]
        return {
            "power": np.array(power),
            "mean_power_given_threshold": np.array([np.nan, *power[1:]]),  # no spread for `true`
            "mean_trial_sensitivity": np.array([self.sensitivity, *kept]),
        }


MEASURES = (
    rejection_rate("reject", name="power"),
    mean("power_given_threshold"),
    mean("trial_sensitivity"),
    rejection_rate("enough", name="assurance"),
)
