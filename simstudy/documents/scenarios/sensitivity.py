"""A trial that counts true positives, to show that a classifier's sensitivity exceeds a null."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simstudy.array_types import Int
from simstudy.design import Columns
from simstudy.documents.stats.classifier.trial import (
    RULES,
    critical_count,
    normal_sample_size,
    trial_power,
)
from simstudy.measures import rejection_rate
from simstudy.provenance.streams import Streams


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
        Type-II error requested, and nominal size.
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
        """Sensitivity under the null hypothesis."""
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


MEASURES = (
    rejection_rate("reject", name="power"),
    rejection_rate("reject_null", name="size"),
)
