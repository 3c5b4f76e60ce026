"""Order statistics of positive scores as thresholds: the Neyman-Pearson umbrella's, and others."""

from dataclasses import dataclass

import numpy as np

from simstudy.array_types import Int
from simstudy.design import Columns
from simstudy.documents.stats.classifier.umbrella import rank_table, umbrella_rank
from simstudy.errors import DesignError
from simstudy.measures import rejection_rate
from simstudy.provenance.streams import Streams

RANKS = ("umbrella", "1", "2", "3", "4")


@dataclass(frozen=True)
class Umbrella:
    """Order statistics of n uniform scores as thresholds for one sensitivity.

    Parameters
    ----------
    n_obs
        Positive cases, at least 4.
    sensitivity, confidence
        Target, and the probability with which it is to be kept.

    Raises
    ------
    DesignError
        If there are fewer than 4 positive cases.
    """

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
        table = rank_table(self.n_obs, self.sensitivity)
        return {
            "coverage": table.coverage[self.ranks],
            "exactly": table.probability[self.ranks],
        }


MEASURES = (
    rejection_rate("safe", name="coverage"),
    rejection_rate("exactly", name="exactly"),
)
