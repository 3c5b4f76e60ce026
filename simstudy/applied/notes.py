"""What a reader should know of a check besides its numbers."""

from collections.abc import Iterator

import numpy as np

from simstudy.applied.scores import Scores
from simstudy.applied.settings import AUTO, Question


def notes_on(scores: Scores, question: Question) -> tuple[str, ...]:
    """Sentences; few, and only where something was decided or looks odd."""
    return (*_on_pairs(scores, question), *_on_constant_scores(scores))


def _on_pairs(scores: Scores, question: Question) -> Iterator[str]:
    if question.paired != AUTO:
        return
    if scores.paired:
        yield "each row was taken for one prompt; if it is not, say paired=false"
    elif len(scores.reference) != len(scores.candidate):
        yield "there are not as many scores of each, so they were taken for different prompts"
    elif scores.correlation > 0:
        yield (
            f"rows were taken for different prompts; if each is one prompt (the scores correlate, "
            f"{scores.correlation:.2g}), a paired test finds smaller effects"
        )


def _on_constant_scores(scores: Scores) -> Iterator[str]:
    for side, values in (("reference", scores.reference), ("candidate", scores.candidate)):
        if np.ptp(values) == 0:
            yield f"every score of the {side} is {values[0]:g}: look whether the metric works"
