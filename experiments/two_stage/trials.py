"""The trials of `two_stage`: its grid, further trials, and Monte Carlo margins of their laws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from simstudy.analysis.result import Result
from simstudy.array_types import Float
from simstudy.claims import FALSE_ALARM
from simstudy.documents.scenarios.two_stage import TwoStage
from simstudy.lazy import special

SIZE = 0.005  # half a point: a type-I error of 5%, as printed, is not 5.6%
PROBABILITY = 0.05  # visible distance from the diagonal of a P-P plot
BESIDE = (300, 500)  # second stages of the grid that also have other first stages


def other_sizes(trials: Sequence[TwoStage], n1: Sequence[int]) -> list[TwoStage]:
    """Trials with the same ratios n2/n1 as some of these, and other sizes."""
    return [
        TwoStage(trial.k, size, trial.n2 * size // trial.n1, trial.alpha, draws=trial.draws)
        for size in n1
        for trial in _like_the_first(trials)
        if trial.n2 in BESIDE and trial.n2 * size % trial.n1 == 0
    ]


def large_first_stages(trials: Sequence[TwoStage], n1: Sequence[int]) -> list[TwoStage]:
    """Trials with a very large first stage, for which only means can be drawn."""
    return [
        TwoStage(trial.k, size, trial.n2, trial.alpha, draws="sufficient")
        for size in n1
        for trial in _like_the_first(trials)
        if trial.n2 == BESIDE[0]
    ]


def _like_the_first(trials: Sequence[TwoStage]) -> list[TwoStage]:
    """The trials that differ from the first only by k and n2."""
    first = trials[0]
    return [trial for trial in trials if (trial.n1, trial.alpha) == (first.n1, first.alpha)]


def grid_of(result: Result) -> list[TwoStage]:
    """The trials with the size of the first stage that the document's grid has."""
    trials: Sequence[TwoStage] = result.plan.scenarios
    return [trial for trial in trials if trial.n1 == trials[0].n1]


def reach(n: Iterable[int]) -> Float[np.ndarray, " cell"]:
    """The Monte Carlo margin of Kolmogorov's distance, by the number of draws of each cell.

    The distance changes by no more than the empirical distribution, whose largest deviation has
    Kolmogorov's distribution. The false alarm rate is that of all cells together.
    """
    sizes = np.array(list(n))
    return np.asarray(special.kolmogi(FALSE_ALARM / len(sizes)) / np.sqrt(sizes))
