"""Scores of a reference and a candidate, in the units of their metric."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simstudy.array_types import Float

Values = Float[np.ndarray, " score"]
RIGHT = (1.0, 100.0)  # scores of right answers if wrong ones score 0


@dataclass(frozen=True)
class Scores:
    """Scores of two models, in the metric's own units.

    Parameters
    ----------
    reference, candidate
        One for each prompt that the model answered.
    paired
        Whether scores in the same place are of the same prompt.
    lower_is_better
        Whether a smaller score is the better one, as of a perplexity.
    """

    reference: Float[np.ndarray, " reference"]
    candidate: Float[np.ndarray, " candidate"]
    paired: bool
    lower_is_better: bool = False

    @property
    def sign(self) -> float:
        """1, or -1 where lower is better: times a score it is larger for the better."""
        return -1.0 if self.lower_is_better else 1.0

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of scores of the reference and the candidate."""
        return len(self.reference), len(self.candidate)

    @cached_property
    def reference_mean(self) -> float:
        return float(self.reference.mean())

    @cached_property
    def candidate_mean(self) -> float:
        return float(self.candidate.mean())

    @property
    def worse_by(self) -> float:
        """How much worse the candidate's mean is; negative where it is better."""
        return self.sign * (self.reference_mean - self.candidate_mean)

    @property
    def losses(self) -> Values:
        """How much worse the candidate is on each prompt, of paired scores."""
        return np.asarray(self.sign * (self.reference - self.candidate))

    @cached_property
    def correlation(self) -> float:
        """Correlation of paired scores; NaN if either is constant."""
        if self.reference.std() == 0 or self.candidate.std() == 0:
            return float("nan")
        return float(np.corrcoef(self.reference, self.candidate)[0, 1])

    @cached_property
    def unit(self) -> float:
        """Score of a right answer, 1 or 100, if the others score 0; 0 for other scores."""
        both = np.union1d(self.reference, self.candidate)
        return next((unit for unit in RIGHT if np.isin(both, (0.0, unit)).all()), 0.0)

    @property
    def is_right_or_wrong(self) -> bool:
        """Whether each answer is right or wrong, and nothing between."""
        return self.unit > 0

    @property
    def right(self) -> tuple[np.ndarray, np.ndarray]:
        """Which answers are the better ones, of the reference and the candidate."""
        best = 0.0 if self.lower_is_better else self.unit
        return self.reference == best, self.candidate == best

    @property
    def are_all_alike(self) -> bool:
        """Whether there is no spread to learn from: of differences in pairs, else of scores.

        Differences that are equal in decimals may differ by a rounding of the scores.
        """
        if not self.paired:
            return bool(np.ptp(self.reference) == 0 and np.ptp(self.candidate) == 0)
        rounding = np.spacing(np.abs([self.reference, self.candidate]).max())
        return bool(np.ptp(self.losses) <= rounding)
