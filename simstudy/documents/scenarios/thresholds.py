"""A classifier's threshold, set on the scores of a few positive cases and then used for ever."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simstudy.array_types import Float
from simstudy.design import Columns
from simstudy.documents.dgps.scores import NormalScores, Scores
from simstudy.documents.stats.bootstrap.resamples import Resamples, draw_resamples
from simstudy.documents.stats.classifier.description import described
from simstudy.documents.stats.classifier.theory import exact_coverage, exact_mean_sensitivity
from simstudy.documents.stats.classifier.thresholds import FURTHER, METHODS, Target, thresholds
from simstudy.measures import empirical_se, mean, rejection_rate
from simstudy.provenance.streams import Streams

Block = Float[np.ndarray, "rep obs"]
ALL_METHODS = (*METHODS, *FURTHER)


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
        Law of the scores of positive cases.
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
        columns = self.set_on(x, streams)
        about = {} if self.n_boot else described(x, self.target, streams("figure 2"))
        return {**columns, **about}

    def set_on(self, x: Block, streams: Streams) -> Columns:
        """Set thresholds on test sets, and compute whether they are safe and what they keep.

        Parameters
        ----------
        x
            Positive scores, a test set in each row.
        streams
            Streams of random numbers.

        Returns
        -------
        dict
            Columns `(rep, method)`, by name.
        """
        found = thresholds(x, self.target, self.methods, resamples=self.resamples(streams, x))
        threshold = np.stack([found[method] for method in self.methods], axis=1)
        return {
            "threshold": threshold,
            "safe": threshold <= self.true_threshold,
            "sensitivity": self.scores.sensitivity(threshold),
        }

    def resamples(self, streams: Streams, x: Block) -> Resamples | None:
        """Draw bootstrap values of each test set.

        Parameters
        ----------
        streams
            Streams of random numbers.
        x
            Positive scores, a test set in each row.

        Returns
        -------
        Resamples | None
            The values; None for infinitely many.
        """
        if not self.n_boot:
            return None
        return draw_resamples(streams("bootstrap"), x, n_boot=self.n_boot, q=self.target.q)

    def exact(self) -> Columns:
        about = (self.n_obs, self.target)
        cover = [exact_coverage(self.scores, method, *about) for method in self.methods]
        kept = [exact_mean_sensitivity(self.scores, method, *about) for method in self.methods]
        return {"coverage": np.array(cover), "mean_sensitivity": np.array(kept)}


@dataclass(frozen=True)
class Bound(Threshold):
    """A threshold set on one test set, by every method there is; bootstraps exactly."""

    methods: ClassVar[tuple[str, ...]] = ALL_METHODS

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        columns = self.set_on(self.scores.draw(streams("data"), n_rep, self.n_obs), streams)
        return {name: columns[name] for name in ("safe", "sensitivity")}


BOUND_MEASURES = (rejection_rate("safe", name="coverage"), mean("sensitivity"))
MEASURES = (
    *BOUND_MEASURES,
    empirical_se("sensitivity", name="sd_sensitivity"),
    mean("threshold"),
    empirical_se("threshold", name="sd_threshold"),
)
