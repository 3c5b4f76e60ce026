"""Scores of a reference and a candidate: parsed, checked, and paired where they can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simstudy.documents.applied.tables import complete_numbers, numbers_of
from simstudy.documents.stats.accuracy._of_scores import Scores, Values
from simstudy.errors import DesignError
from simstudy.lazy import special

MIN_SCORES = 2
# Probability that scores in no order lie sorted by accident, below which that is not believed.
BY_ACCIDENT = 1e-4
NO_SCORE = (
    "and a mean without it is of fewer prompts than it says. Write that prompt's score as a number "
    "alone, or leave its row out and say so."
)


def scores_of(name: str, cells: Any, source: str = "") -> Values:
    """The scores of a column, without blank cells at its end.

    Raises
    ------
    DesignError
        If there is no score, a cell that is none, or a blank one among them.
    """
    numbers = numbers_of(name, cells, source, NO_SCORE)
    filled = np.flatnonzero(~np.isnan(numbers))
    if not len(filled):
        raise DesignError(
            f"{name} has no scores: every cell is blank. Give each prompt's score, or name another "
            "column."
        )
    return complete_numbers(name, numbers[: filled[-1] + 1], source, NO_SCORE)


# ---------------------------------------------------------------- two columns of scores
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
    """Check that scores can be compared.

    Parameters
    ----------
    names
        Names of the reference and the candidate, for messages.
    paired
        None: where there are as many of each, which holds the test's level even where rows are
        different prompts, as long as their order has nothing to do with the scores.
    pairs_are_said
        Whether the user says that rows are prompts; else pairs of columns that were sorted are
        refused, if they are taken as pairs.
    same_scale
        Whether one column of at most 1 next to one of up to 100 is meant.

    Raises
    ------
    DesignError
        If there are too few, as many as cannot be paired, or they lie on two scales.
    """
    for scores, name in zip((reference, candidate), names, strict=True):
        if len(scores) < MIN_SCORES:
            raise DesignError(
                f"{name} has {len(scores)} score, which says nothing about how scores vary. Give "
                f"one for each prompt, at least {MIN_SCORES}."
            )
    if not same_scale:
        _refuse_two_scales(reference, candidate, names)
    if paired and len(reference) != len(candidate):
        raise DesignError(
            f"{names[0]} has {len(reference):,} scores and {names[1]} {len(candidate):,}, so they "
            "are not of the same prompts, each in its row. Leave out the prompts that one of them "
            "lacks, or say paired=false."
        )
    pairs = len(reference) == len(candidate) if paired is None else paired
    are_sorted = _is_sorted(reference) and _is_sorted(candidate)
    if pairs and not pairs_are_said and are_sorted and (reference != candidate).any():
        raise DesignError(
            f"{names[0]} and {names[1]} are both sorted, so a row may not be one prompt any more, "
            "and a paired test would find differences where there are none. Say paired=false, or "
            "paired=true if it is."
        )
    return Scores(reference, candidate, pairs, lower_is_better)


def _refuse_two_scales(reference: Values, candidate: Values, names: Sequence[str]) -> None:
    """Refuse proportions mixed with percentages.

    Compares the means or the largest scores: where the models differ much the means say little, but
    right answers that score 1 here score 100 there.
    """
    pairs = ((reference, candidate), (candidate, reference))
    for (small, large), (first, second) in zip(pairs, (names, names[::-1]), strict=True):
        are_proportions = small.min() >= 0 and small.max() <= 1
        are_per_cent = large.min() >= 0 and 1 < large.max() <= 100
        is_far = large.mean() > 10 * small.mean() or large.max() > 10 * small.max()
        if are_proportions and are_per_cent and is_far:
            raise DesignError(
                f"{first} lies between 0 and 1 and {second} goes to {large.max():g}: proportions "
                "beside per cent have no difference. Divide one by 100, or say same_scale=true."
            )


def _is_sorted(scores: Values) -> bool:
    """Whether values are sorted, and hardly by accident.

    Among n! / (n1! n2! ...) orders of scores with ties, two are sorted.
    """
    steps = np.diff(scores)
    if not ((steps >= 0).all() or (steps <= 0).all()):
        return False
    ties = np.unique(scores, return_counts=True)[1]
    log_orders = special.gammaln(len(scores) + 1) - special.gammaln(ties + 1).sum()
    return bool(np.log(2) - log_orders < np.log(BY_ACCIDENT))
