"""Does a trial planned for a classifier reject as often as planned, its threshold being estimated?

A threshold is set on 50 positive cases; a trial with as many as the sample-size formula asks for
then tests the null that the sensitivity is at most 90%.

Aims         How often does the trial reject, how sensitive is it, and how much of that is due to
             the threshold?
Data         Independent normal scores of positive cases (mean 1, sd 1), in test set and trial.
Estimands    Probability of rejecting, over test sets and trials; mean sensitivity in the trial.
Methods      Every threshold of `classifier_threshold`, and the true threshold t*; the score test.
Performance  Power, mean sensitivity, and the share of test sets whose threshold gives the trial the
             power that was asked for; one MCSE of a power of 80% is 1.3 points at the published
             1000 replicates.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from experiments.classifier_threshold.study import Threshold
from experiments.classifier_trial.claims import CLAIMS
from experiments.classifier_trial.figures import (
    TRIAL_METHODS,
    figure_given_threshold,
    figure_power,
)
from simstudy.design import Columns, grid
from simstudy.identity.streams import Streams
from simstudy.measures import mean, rejection_rate
from simstudy.options import option, published
from simstudy.stats.classifier.theory import exact_mean_sensitivity, expected_over_sensitivity
from simstudy.stats.classifier.thresholds import METHODS, thresholds
from simstudy.stats.classifier.trial import (
    critical_count,
    normal_sample_size,
    power_at_sensitivities,
)
from simstudy.study import Study


@published(__file__)
@dataclass
class Config:
    """What the study sweeps."""

    n_test: int = option("positive cases in the test set", at_least=2)
    sensitivity: float = option("target of the threshold", above=0, below=1)
    confidence: float = option("with which to keep it", above=0, below=1)
    null_sensitivity: float = option("sensitivity that the trial is to exceed", above=0, below=1)
    alpha: float = option("nominal size", above=0, below=0.5)
    power: float = option("asked of the trial", above=0.5, below=1)
    n_boot: list[int] = option(
        "resamples of each bootstrap; 0 for infinitely many, exactly", at_least=0
    )
    n_rep: int = option("published replicates in each scenario", at_least=1)


@dataclass(frozen=True)
class AppliedTrial(Threshold):
    """A threshold set on one test set, and the trial that uses it.

    Parameters
    ----------
    null_sensitivity, alpha
        Sensitivity that the trial is to exceed, and nominal size.
    power
        What was asked of the trial.
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


def study(config: Config) -> Study:
    margin = float(np.round(config.sensitivity - config.null_sensitivity, 12))
    size = normal_sample_size(config.sensitivity, margin, config.power, config.alpha)
    asked = ("sensitivity", "confidence", "null_sensitivity", "alpha", "power", "n_boot")
    factors = {name: getattr(config, name) for name in asked}
    return Study(
        name="classifier_trial",
        scenarios=grid(AppliedTrial, n_obs=config.n_test, n_trial=int(np.ceil(size)), **factors),
        measures=[
            rejection_rate("reject", name="power"),
            mean("power_given_threshold"),
            mean("trial_sensitivity"),
            rejection_rate("enough", name="assurance"),
        ],
        axes={"method": TRIAL_METHODS},
        block_size=500,
        n_rep=config.n_rep,
        figures={"power": figure_power, "power_given_threshold": figure_given_threshold},
        claims=CLAIMS,
        common=("n_boot",),
    )
