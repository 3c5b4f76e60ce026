"""How many positive cases does a trial need to show a classifier's sensitivity?

With true sensitivity k the trial is to reject the null that it is at most l = k - margin. The
document takes the sample size from two normal approximations and the test from one of them.

Aims         What sizes does the formula give, which power and size does the trial then really have,
             and where is the least n that reaches the power?
Data         True positives among n positive cases, binomial.
Estimands    Power at k and size at l.
Methods      The document's score test; the exact binomial test; the mid-p test; each at the n of
             the normal approximation, and at sizes around one of them.
Performance  Power and size beside their exact binomial values; one MCSE of a power of 80% is 0.6
             points at the published 5000 replicates.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from experiments.classifier_sample_size.claims import CLAIMS
from experiments.classifier_sample_size.figures import figure_5, figure_6, figure_sawtooth
from simstudy.design import Columns, grid
from simstudy.identity.streams import Streams
from simstudy.measures import rejection_rate
from simstudy.options import option, published
from simstudy.shapes import Int
from simstudy.stats.classifier.trial import (
    RULES,
    critical_count,
    normal_sample_size,
    trial_power,
)
from simstudy.study import Study


@published(__file__)
@dataclass
class Config:
    """What the study sweeps."""

    sensitivity: list[float] = option("true sensitivity k", above=0, below=1)
    margin: list[float] = option("from the null up to k", above=0, below=1)
    beta: list[float] = option("type-II error asked for", above=0, below=0.5)
    alpha: list[float] = option("nominal size", above=0, below=0.5)
    around: list[int] = option("further sizes for the last design of the grid", at_least=1)
    n_rep: int = option("published replicates in each scenario", at_least=1)


@lru_cache(maxsize=1024)
def critical_counts(n_obs: int, null: float, alpha: float) -> tuple[int, ...]:
    """The fewest true positives that reject, by each rule; every block of a scenario asks."""
    return tuple(int(critical_count(n_obs, null, alpha, rule=rule)) for rule in RULES)


@dataclass(frozen=True)
class Trial:
    """A trial that is to show a sensitivity above a null.

    Parameters
    ----------
    sensitivity
        True one, k.
    margin
        From the null l up to k.
    beta, alpha
        Type-II error asked for, and nominal size.
    n_obs
        Positive cases; 0 takes the normal approximation's number, rounded up.
    """

    sensitivity: float = 0.95
    margin: float = 0.05
    beta: float = 0.2
    alpha: float = 0.05
    n_obs: int = 0

    def __post_init__(self) -> None:
        _ = self.n_trial  # refuses a margin that leaves no null

    @property
    def null(self) -> float:
        return float(np.round(self.sensitivity - self.margin, 12))

    @property
    def n_trial(self) -> int:
        """Positive cases in the trial."""
        about = (self.sensitivity, self.margin, 1 - self.beta, self.alpha)
        return self.n_obs or int(np.ceil(normal_sample_size(*about)))

    @property
    def critical(self) -> Int[np.ndarray, " rule"]:
        """The fewest true positives that reject, by rule."""
        return np.array(critical_counts(self.n_trial, self.null, self.alpha))

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        n, critical = self.n_trial, self.critical
        found = streams("data").binomial(n, self.sensitivity, size=(n_rep, 1))
        under_null = streams("null").binomial(n, self.null, size=(n_rep, 1))
        return {"reject": found >= critical, "reject_null": under_null >= critical}

    def exact(self) -> Columns:
        about = (self.n_trial, self.sensitivity, self.null, self.alpha)
        known = [trial_power(*about, rule=rule) for rule in RULES]
        return {
            "power": np.array([float(rule.power) for rule in known]),
            "size": np.array([float(rule.size) for rule in known]),
        }


def study(config: Config) -> Study:
    about = {name: getattr(config, name) for name in ("sensitivity", "beta", "margin", "alpha")}
    designs = grid(Trial, **about)
    last = {name: getattr(designs[-1], name) for name in about}
    sizes = grid(Trial, **last, n_obs=config.around)
    return Study(
        name="classifier_sample_size",
        scenarios=designs + sizes,
        measures=[
            rejection_rate("reject", name="power"),
            rejection_rate("reject_null", name="size"),
        ],
        axes={"rule": RULES},
        block_size=5000,
        n_rep=config.n_rep,
        figures={"5": figure_5, "6": figure_6, "sawtooth": figure_sawtooth},
        claims=CLAIMS,
    )
