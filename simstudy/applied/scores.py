"""Scores of a reference and a candidate: checked, paired or not, and on one scale."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simstudy.errors import DesignError
from simstudy.lazy import special
from simstudy.shapes import Float

Values = Float[np.ndarray, " score"]

FEWEST = 2
LARGEST = 1e100  # score: its square, times as many as there are, is a double
RIGHT = (1.0, 100.0)  # what right answers score where wrong ones score 0
# Probability that scores in no order lie sorted by accident, below which that is not believed.
BY_ACCIDENT = 1e-4


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

    reference: Values
    candidate: Values
    paired: bool
    lower_is_better: bool = False

    @property
    def sign(self) -> float:
        """1, or -1 where lower is better: times a score it is larger for the better."""
        return -1.0 if self.lower_is_better else 1.0

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
        """Of the two scores of a prompt, where they are paired; NaN where either is constant."""
        if self.reference.std() == 0 or self.candidate.std() == 0:
            return float("nan")
        return float(np.corrcoef(self.reference, self.candidate)[0, 1])

    @cached_property
    def unit(self) -> float:
        """What a right answer scores, 1 or 100, where the others score 0; 0 for other scores."""
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


def checked_scores(
    reference: Values,
    candidate: Values,
    names: tuple[str, str],
    *,
    paired: bool | None,
    pairs_are_said: bool = False,
    lower_is_better: bool = False,
    same_scale: bool = False,
) -> Scores:
    """Scores that can be compared.

    Parameters
    ----------
    names
        What the reference and the candidate are called, for messages.
    paired
        None: where there are as many of each, which holds the test's level even where rows are
        different prompts, as long as their order has nothing to do with the scores.
    pairs_are_said
        Whether the user says that rows are prompts; else pairs of columns that were sorted are
        refused, whoever takes them for pairs.
    same_scale
        Whether one column of at most 1 beside one of up to 100 is meant.

    Raises
    ------
    DesignError
        Where there are too few, as many as cannot be paired, or they lie on two scales.
    """
    for scores, name in zip((reference, candidate), names, strict=True):
        _refuse_too_few(scores, name)
        _refuse_beyond_squares(scores, name)
    if not same_scale:
        _refuse_two_scales(reference, candidate, names)
    if paired and len(reference) != len(candidate):
        raise DesignError(
            f"{names[0]} has {len(reference):,} scores and {names[1]} {len(candidate):,}, so they "
            "are not of the same prompts, each in its row. Leave out the prompts that one of them "
            "lacks, or say paired=false."
        )
    pairs = len(reference) == len(candidate) if paired is None else paired
    if pairs and not pairs_are_said:
        _refuse_sorted(reference, candidate, names)
    return Scores(reference, candidate, pairs, lower_is_better)


def _refuse_too_few(scores: Values, name: str) -> None:
    if len(scores) < FEWEST:
        raise DesignError(
            f"{name} has {len(scores)} score, which says nothing about how scores vary. Give one "
            f"for each prompt, at least {FEWEST}."
        )


def _refuse_beyond_squares(scores: Values, name: str) -> None:
    """A variance is made of squares, which doubles have not of every size."""
    size = float(np.abs(scores).max())
    if size > LARGEST or 0 < size < 1 / LARGEST:
        raise DesignError(
            f"{name} has scores of the size {size:.3g}, whose squares are beyond what a number in "
            "a computer can be, so they have no variance. Give them in other units."
        )


def _refuse_two_scales(reference: Values, candidate: Values, names: Sequence[str]) -> None:
    """Proportions beside per cent: one in [0, 1], the other nearer to it once divided by 100.

    By its mean or by its largest score: where the models differ much the means say little, but
    right answers that score 1 here score 100 there.
    """
    pairs = ((reference, candidate), (candidate, reference))
    for (small, large), (first, second) in zip(pairs, (names, names[::-1]), strict=True):
        if _is_per_cent_of(small, large):
            raise DesignError(
                f"{first} lies between 0 and 1 and {second} goes to {large.max():g}: proportions "
                "beside per cent have no difference. Divide one by 100, or say same_scale=true."
            )


def _is_per_cent_of(small: Values, large: Values) -> bool:
    are_proportions = small.min() >= 0 and small.max() <= 1
    are_per_cent = large.min() >= 0 and 1 < large.max() <= 100
    is_far = large.mean() > 10 * small.mean() or large.max() > 10 * small.max()
    return bool(are_proportions and are_per_cent and is_far)


def _refuse_sorted(reference: Values, candidate: Values, names: Sequence[str]) -> None:
    if _is_sorted(reference) and _is_sorted(candidate) and (reference != candidate).any():
        raise DesignError(
            f"{names[0]} and {names[1]} are both sorted, so a row may not be one prompt any more, "
            "and a paired test would find differences where there are none. Say paired=false, or "
            "paired=true if it is."
        )


def _is_sorted(scores: Values) -> bool:
    """Whether they lie in order, up or down, and hardly by accident.

    Of n! / (n1! n2! ...) orders of scores with ties, two are sorted.
    """
    steps = np.diff(scores)
    if not ((steps >= 0).all() or (steps <= 0).all()):
        return False
    ties = np.unique(scores, return_counts=True)[1]
    log_orders = special.gammaln(len(scores) + 1) - special.gammaln(ties + 1).sum()
    return bool(np.log(2) - log_orders < np.log(BY_ACCIDENT))
