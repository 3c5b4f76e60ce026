"""Right and wrong answers to the same prompts: exact tests of what was lost and what was gained."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Final

import numpy as np

from simstudy.applied.answers import OfAnswers
from simstudy.applied.enough import (
    about_enough,
    enough_scores,
    most_counted,
    power_of_changes,
)
from simstudy.shapes import Int
from simstudy.stats.accuracy import paired

OF_CHANGES: Final[Mapping[str, str]] = {
    "mcnemar": "McNemar's exact test",
    "mcnemar_mid_p": "McNemar's test with the mid-p-value",
    "paired_z": "McNemar's z test",
}  # of right and wrong answers to the same prompts


class ChangedAnswers(OfAnswers):
    """A test of the answers that changed: losses were right and are wrong, gains the reverse.

    Candidates that are worse by an effect gain what this one gained, and lose the effect more; or,
    where they cannot lose so much, lose all that was right and gain the less.
    """

    @cached_property
    def _counts(self) -> tuple[int, int, int]:
        """Losses, gains, prompts."""
        reference, candidate = self.scores.right
        lost, gained = (reference & ~candidate).sum(), (candidate & ~reference).sum()
        return int(lost), int(gained), len(reference)

    @property
    def words(self) -> str:
        losses, gains, n = self._counts
        return f"{OF_CHANGES[self.test]} of {n:,} prompts, {losses:,} lost and {gains:,} gained"

    @cached_property
    def _critical(self) -> Int[np.ndarray, " gains"]:
        return paired.critical_losses(self.test, self._counts[2], self.alpha)

    @property
    def standard_error(self) -> float:
        losses, gains, n = self._counts
        return self.scores.unit * math.sqrt(_variance(losses / n, gains / n, n))

    def variance(self, effect: float) -> float:
        """With no effect, as many changes as were found, half of them losses."""
        losses, gains, n = self._counts
        return (losses + gains) / n**2 if effect == 0 else _variance(*self._shares(effect), n)

    def _shares(self, effect: float) -> tuple[float, float]:
        """Of prompts that a candidate loses and gains that is worse by an effect."""
        _, gains, n = self._counts
        gained = min(gains / n, max(self.largest_effect - effect, 0.0))
        return gained + effect, gained

    @cached_property
    def p_value(self) -> float:
        return float(paired.p_values(self.test, *self._counts))

    @property
    def fails(self) -> bool:
        losses, gains, _ = self._counts
        return losses >= int(self._critical[gains])

    @property
    def margin(self) -> float:
        """Given how many answers changed."""
        losses, gains, n = self._counts
        possible = np.arange(losses + gains + 1)
        failing = possible[possible >= self._critical[possible[::-1]]]
        if not len(failing):
            return math.nan
        return self.scores.unit * float(2 * failing[0] - losses - gains) / n

    @property
    def level(self) -> float:
        losses, gains, n = self._counts
        each = (losses + gains) / (2 * n)
        return float(paired.rejection_probability(self._critical, n, each, each))

    @property
    def largest_effect(self) -> float:
        """As many answers can be lost as were right."""
        return float(self.scores.right[0].mean())

    def power_of_share(self, effect: float) -> float:
        shares = self._shares(effect)
        return float(paired.rejection_probability(self._critical, self._counts[2], *shares))

    @property
    def most_sized(self) -> int:
        return most_counted(self._counts[1] / self._counts[2])

    def n_needed(self, theta: float, beta: float) -> int | None:
        effect = self.share(theta)
        shares = self._shares(effect)

        def power_of(size: int) -> float:
            return power_of_changes(self.test, size, self.alpha, *shares)

        sigma = math.sqrt(_variance(*shares, 1) / 2)
        about = about_enough(effect, self.alpha, beta, sigma)
        return enough_scores(power_of, 1 - beta, about, self.most_sized)


def _variance(p_loss: float, p_gain: float, n: int) -> float:
    return (p_loss + p_gain - (p_loss - p_gain) ** 2) / n
