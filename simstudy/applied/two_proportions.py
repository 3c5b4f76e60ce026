"""Right and wrong answers to different prompts: exact tests of two counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Final

import numpy as np

from simstudy.applied.answers import OfAnswers
from simstudy.applied.enough import (
    MOST,
    about_enough,
    enough_scores,
    most_counted,
    power_of_counts,
)
from simstudy.shapes import Int
from simstudy.stats.accuracy import two_binomials

OF_COUNTS: Final[Mapping[str, str]] = {
    "fisher": "Fisher's exact test",
    "fisher_mid_p": "Fisher's test with the mid-p-value",
    "boschloo": "Boschloo's exact test",
    "barnard": "Barnard's exact test",
    "z_pooled": "the pooled z test",
}  # of right and wrong answers to different prompts
SIZED_BY = {"boschloo": "fisher"}  # fails whatever that fails, so it needs no more scores


class TwoProportions(OfAnswers):
    """A test of two counts of right answers, whose common share is unknown."""

    @cached_property
    def _counts(self) -> tuple[int, int, int, int]:
        """Right answers of reference and candidate, and answers of each."""
        reference, candidate = self.scores.right
        return int(reference.sum()), int(candidate.sum()), len(reference), len(candidate)

    @property
    def words(self) -> str:
        x, y, n, m = self._counts
        return f"{OF_COUNTS[self.test]}, {x:,} of {n:,} right against {y:,} of {m:,}"

    @property
    def _share(self) -> float:
        """Of right answers, of the reference."""
        x, _, n, _ = self._counts
        return x / n

    @cached_property
    def _critical(self) -> Int[np.ndarray, " reference"]:
        _, _, n, m = self._counts
        return two_binomials.critical_counts(self.test, n, m, self.alpha)

    @property
    def standard_error(self) -> float:
        x, y, n, m = self._counts
        return self.scores.unit * math.sqrt(_variance(x / n, n) + _variance(y / m, m))

    def variance(self, effect: float) -> float:
        _, _, n, m = self._counts
        return _variance(self._share, n) + _variance(self._share - effect, m)

    @cached_property
    def p_value(self) -> float:
        return float(two_binomials.p_values(self.test, *self._counts))

    @property
    def _largest_failing(self) -> int:
        return int(self._critical[self._counts[0]])

    @property
    def fails(self) -> bool:
        return self._counts[1] <= self._largest_failing

    @property
    def margin(self) -> float:
        x, _, n, m = self._counts
        failing = self._largest_failing
        return self.scores.unit * (x / n - failing / m) if failing >= 0 else math.nan

    @property
    def level(self) -> float:
        x, y, n, m = self._counts
        share = (x + y) / (n + m)
        return float(two_binomials.rejection_probability(self._critical, n, m, share, share))

    @property
    def largest_effect(self) -> float:
        return self._share

    def power_of_share(self, effect: float) -> float:
        _, _, n, m = self._counts
        shares = self._share, max(self._share - effect, 0.0)
        return float(two_binomials.rejection_probability(self._critical, n, m, *shares))

    @property
    def most_sized(self) -> int:
        of_test = two_binomials.MOST_TRIALS // 2 if self.test == "barnard" else MOST
        return min(most_counted(self._share), of_test)

    def n_needed(self, theta: float, beta: float) -> int | None:
        effect = self.share(theta)
        shares = self._share, max(self._share - effect, 0.0)
        test = SIZED_BY.get(self.test, self.test)

        def power_of(n: int) -> float:
            if test != "barnard":
                return power_of_counts(test, n, self.alpha, *shares)
            critical = two_binomials.critical_counts(test, n, n, self.alpha)
            return float(two_binomials.rejection_probability(critical, n, n, *shares))

        sigma = math.sqrt(sum(_variance(share, 1) for share in shares) / 2)
        about = about_enough(effect, self.alpha, beta, sigma)
        return enough_scores(power_of, 1 - beta, about, self.most_sized)


def _variance(share: float, n: int) -> float:
    return share * (1 - share) / n
