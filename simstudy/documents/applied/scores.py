"""Scores of a reference and a candidate: parsed, checked, and paired where they can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from simstudy.array_types import Float
from simstudy.errors import DesignError
from simstudy.lazy import pd, special

Values = Float[np.ndarray, " score"]

FEWEST = 2
LARGEST = 1e100  # number: its square, times as many as there are, is a double
RIGHT = (1.0, 100.0)  # what right answers score where wrong ones score 0
# Probability that scores in no order lie sorted by accident, below which that is not believed.
BY_ACCIDENT = 1e-4
MOST_SHOWN = 40  # characters of a cell in a message
NO_SCORE = (
    "and a mean without it is of fewer prompts than it says. Write that prompt's score as a number "
    "alone, or leave its row out and say so."
)


# ---------------------------------------------------------------- cells as numbers
def numbers_of(
    name: str, cells: Any, source: str = "", advice: str = NO_SCORE
) -> Float[np.ndarray, " row"]:
    """A column as numbers, NaN where a cell is blank or missing.

    Parameters
    ----------
    cells
        A series, whose labels are the numbers of its rows from 0 on; or a sequence, or an array.
    source, advice
        For messages: the file that the rows are of, and what to do about a cell without a number.

    Raises
    ------
    DesignError
        Naming the first cell that is no finite number, by row and value.
    """
    if np.ndim(cells) != 1:
        raise DesignError(
            f"{name} has shape {np.shape(cells)}, so it is not known which scores belong to one "
            "prompt. Give one score per prompt, in one dimension."
        )
    column = pd.Series(cells)
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)
    blank = column.isna().to_numpy()
    if column.dtype.kind not in "biuf":
        blank = blank | (column.astype(str).str.strip() == "").to_numpy()
    if not (wrong := ~blank & ~(np.abs(numbers) <= LARGEST)).any():
        return numbers
    at = int(wrong.argmax())
    what = "not a number" if np.isnan(numbers[at]) else "not finite"
    raise DesignError(
        f"{place_of(column.index[at], source)}: {name} is {str(column.iloc[at])[:MOST_SHOWN]!r}, "
        f"which is {what}, {advice}"
    )


def place_of(row: int, source: str = "") -> str:
    """Format a row number: row 1 is the first below the names."""
    return f"{source}, row {row + 1}" if source else f"row {row + 1}"


def scores_of(name: str, cells: Any, source: str = "") -> Values:
    """The scores of a column, without blank cells at its end.

    Raises
    ------
    DesignError
        Where there is no score, a cell that is none, or a blank one among them.
    """
    numbers = numbers_of(name, cells, source)
    filled = np.flatnonzero(~np.isnan(numbers))
    if not len(filled):
        raise DesignError(
            f"{name} has no scores: every cell is blank. Give each prompt's score, or name another "
            "column."
        )
    scores = numbers[: filled[-1] + 1]
    if len(filled) < len(scores):
        row = int(np.isnan(scores).argmax())
        raise DesignError(f"{place_of(row, source)}: {name} is blank or missing, {NO_SCORE}")
    return scores


# ---------------------------------------------------------------- two columns of scores
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
    """Check that scores can be compared.

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
        if len(scores) < FEWEST:
            raise DesignError(
                f"{name} has {len(scores)} score, which says nothing about how scores vary. Give "
                f"one for each prompt, at least {FEWEST}."
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
    """Refuse proportions beside percentages.

    By its mean or by its largest score: where the models differ much the means say little, but
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

    Of n! / (n1! n2! ...) orders of scores with ties, two are sorted.
    """
    steps = np.diff(scores)
    if not ((steps >= 0).all() or (steps <= 0).all()):
        return False
    ties = np.unique(scores, return_counts=True)[1]
    log_orders = special.gammaln(len(scores) + 1) - special.gammaln(ties + 1).sum()
    return bool(np.log(2) - log_orders < np.log(BY_ACCIDENT))
