"""Which threshold, set on a few positive cases, keeps a classifier's sensitivity?

A threshold is set on the scores of n positive cases and then used for ever. It is safe where it
does not exceed t*, the largest threshold with the target sensitivity.

Aims         How often is the threshold safe when the empirical quantile is used as it is, when a
             bootstrap bounds it, and when an order statistic does; and what does safety cost?
Data         Independent normal scores of positive cases (mean 1, sd 1).
Estimands    t*, the 5% quantile of the scores, and the true sensitivity of each threshold.
Methods      The empirical quantile; percentile, basic, normal and BCa bootstrap, BCa with each of
             three conventions for bootstrap values equal to the estimate; the Neyman-Pearson
             umbrella; the normal tolerance bound. Bootstraps with infinitely many resamples and
             with 1000, on the same data.
Performance  Coverage (share of safe thresholds), mean true sensitivity, and the spread of both;
             one MCSE of a coverage of 80% is 2.5 points at the published 250 replicates.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from experiments.classifier_threshold.claims import CLAIMS
from experiments.classifier_threshold.figures import figure_1, figure_2, figure_4, figure_coverage
from experiments.classifier_threshold.test_sets import described
from simstudy.design import Columns, grid
from simstudy.dgps.scores import NormalScores, Scores
from simstudy.identity.streams import Streams
from simstudy.measures import empirical_se, mean, rejection_rate
from simstudy.options import option, published
from simstudy.shapes import Float
from simstudy.stats.bootstrap.resamples import Resamples, draw_resamples
from simstudy.stats.classifier.theory import exact_coverage, exact_mean_sensitivity
from simstudy.stats.classifier.thresholds import METHODS, Target, thresholds
from simstudy.study import Study

Block = Float[np.ndarray, "rep obs"]


@published(__file__)
@dataclass
class Config:
    """What the study sweeps."""

    n_obs: list[int] = option("positive cases in the test set", at_least=2)
    sensitivity: list[float] = option("target to keep", above=0, below=1)
    confidence: list[float] = option("with which to keep it", above=0, below=1)
    n_boot: list[int] = option(
        "resamples of each bootstrap; 0 for infinitely many, exactly", at_least=0
    )
    n_rep: int = option("published replicates in each scenario", at_least=1)


@dataclass(frozen=True)
class Threshold:
    """A threshold set on one test set, by every method.

    Parameters
    ----------
    n_obs
        Positive cases in the test set.
    sensitivity, confidence
        Target, and the probability with which it is to be kept.
    n_boot
        Resamples of each bootstrap; 0 for infinitely many, exactly.
    scores
        What the scores of positive cases are.
    """

    methods: ClassVar[tuple[str, ...]] = METHODS

    n_obs: int = 50
    sensitivity: float = 0.95
    confidence: float = 0.8
    n_boot: int = 0
    scores: Scores = NormalScores()

    @property
    def target(self) -> Target:
        return Target(self.sensitivity, self.confidence)

    @property
    def true_threshold(self) -> float:
        return float(self.scores.threshold(self.sensitivity))

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        x = self.scores.draw(streams("data"), n_rep, self.n_obs)
        columns = self.set_on(x, streams)
        about = {} if self.n_boot else described(x, self.target, streams("figure 2"))
        return {**columns, **about}

    def set_on(self, x: Block, streams: Streams) -> Columns:
        """Thresholds set on test sets, whether they are safe, and what sensitivity they keep."""
        found = thresholds(x, self.target, self.methods, resamples=self.resamples(streams, x))
        threshold = np.stack([found[method] for method in self.methods], axis=1)
        return {
            "threshold": threshold,
            "safe": threshold <= self.true_threshold,
            "sensitivity": self.scores.sensitivity(threshold),
        }

    def resamples(self, streams: Streams, x: Block) -> Resamples | None:
        """Bootstrap values of each test set, or None for infinitely many."""
        if not self.n_boot:
            return None
        return draw_resamples(streams("bootstrap"), x, n_boot=self.n_boot, q=self.target.q)

    def exact(self) -> Columns:
        about = (self.n_obs, self.target)
        cover = [exact_coverage(self.scores, method, *about) for method in self.methods]
        kept = [exact_mean_sensitivity(self.scores, method, *about) for method in self.methods]
        return {"coverage": np.array(cover), "mean_sensitivity": np.array(kept)}


def study(config: Config) -> Study:
    swept = ("n_obs", "sensitivity", "confidence", "n_boot")
    return Study(
        name="classifier_threshold",
        scenarios=grid(Threshold, **{name: getattr(config, name) for name in swept}),
        measures=(
            rejection_rate("safe", name="coverage"),
            mean("sensitivity"),
            empirical_se("sensitivity", name="sd_sensitivity"),
            mean("threshold"),
            empirical_se("threshold", name="sd_threshold"),
        ),
        axes={"method": METHODS},
        block_size=1000,
        n_rep=config.n_rep,
        figures={"1": figure_1, "coverage_table": figure_coverage, "2": figure_2, "4": figure_4},
        claims=CLAIMS,
        common=("confidence", "n_boot"),
    )
