"""Does a trial planned for a classifier reject as often as planned, its threshold being estimated?

A threshold is set on 50 positive cases; a trial with as many as the sample-size formula asks for
then tests the null that the sensitivity is at most 90%.

Aims         How often does the trial reject, how sensitive is it, and how much of that is due to
             the threshold?
Data         Independent normal scores of positive cases (mean 1, sd 1), in test set and trial.
Estimands    Probability of rejecting, over test sets and trials; mean sensitivity in the trial.
Methods      Every threshold of `classifier_threshold`, and the true threshold t*; the score test.
Performance  Power, mean sensitivity, and the share of test sets whose threshold gives the trial the
             required power; one MCSE of a power of 80% is 0.13 points at the published
             100,000 replicates.
"""

from typing import Any

import numpy as np

from experiments.classifier_trial.claims import CLAIMS
from experiments.classifier_trial.figures import figure_given_threshold, figure_power
from experiments.classifier_trial.tables import table_of_applied
from simstudy.analysis.result import Result
from simstudy.design import grid
from simstudy.documents.scenarios.thresholds import (
    APPLIED_MEASURES,
    TRIAL_METHODS,
    AppliedTrial,
    Trial,
)
from simstudy.options import option, published
from simstudy.study import Rules, Study
from simstudy.tables import in_words


@published(__file__)
class Config:
    """Settings of the study."""

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


def answer(result: Result) -> str:
    """The power of the planned trial, by the rule for its threshold."""
    rows = result.select(measure="power").drop_duplicates("method").set_index("method")
    others = rows.drop("true")["estimate"]

    def power(method: Any) -> str:
        return in_words(rows.loc[method], percent=True, decimals=1)

    return (
        f"Planned for 80%, it rejects in {power('true')} of cases with the true threshold. With an "
        f"estimated one it is between {power(others.idxmin())} ({others.idxmin()}) and "
        f"{power(others.idxmax())} ({others.idxmax()}), by the rule that sets it."
    )


def study(config: Config) -> Study:
    margin = float(np.round(config.sensitivity - config.null_sensitivity, 12))
    trial = Trial(config.sensitivity, margin, 1 - config.power, config.alpha)
    asked = ("sensitivity", "confidence", "null_sensitivity", "alpha", "power", "n_boot")
    factors = {name: getattr(config, name) for name in asked}
    return Study(
        name="classifier_trial",
        scenarios=grid(AppliedTrial, n_obs=config.n_test, n_trial=trial.n_trial, **factors),
        measures=APPLIED_MEASURES,
        axes={"method": TRIAL_METHODS},
        block_size=500,
        n_rep=config.n_rep,
        figures={"power": figure_power, "power_given_threshold": figure_given_threshold},
        tables={"applied": table_of_applied},
        labels={"n_boot": {0: "∞"}, "n_obs": "positive cases", "n_trial": "cases of the trial"},
        answer=answer,
        claims=CLAIMS,
        rules=Rules(common_random_numbers=("n_boot",)),
    )
