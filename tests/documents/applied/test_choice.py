"""Which test answers, and what contradicts itself."""

import itertools

import numpy as np
import pytest

from simstudy.documents.applied.accuracy import OF_SIZE, choose_test
from simstudy.documents.applied.scores import pairing
from simstudy.documents.applied.settings import AccuracySettings
from simstudy.documents.stats.accuracy.of_scores import Scores
from simstudy.errors import DesignError
from tests.support import refused

BINARY = np.array([1.0, 0, 1, 1, 0, 1]), np.array([1.0, 1, 0, 1, 0, 0])
REAL = np.array([0.5, 0.25, 3, 4, 1, 2]), np.array([0.25, 0.75, 2, 3.5, 1.5, 0])
CONSTANT = np.full(6, 0.5), np.full(6, 0.5)


def asked(test="auto", **spread):
    return {"test": test, **spread}


def chosen(scores, test="auto", is_paired=True, **spread):
    return choose_test(Scores(*scores, is_paired), AccuracySettings(test=test, **spread))


@pytest.mark.parametrize(
    ("scores", "is_paired", "test", "spread", "name"),
    [
        (BINARY, True, "auto", {}, "mcnemar"),
        (BINARY, False, "auto", {}, "boschloo"),
        (BINARY, False, "auto", {"sigma": 0.5}, "z"),
        (BINARY, True, "t", {}, "t"),
        (REAL, True, "auto", {}, "t"),
        (REAL, False, "auto", {}, "t"),
        (REAL, False, "pooled_t", {}, "pooled_t"),
        (CONSTANT, True, "auto", {}, "none"),
        (CONSTANT, False, "t", {}, "none"),
        (CONSTANT, False, "z", {"sigma": 0.5}, "z"),
    ],
)
def test_the_test_fits_the_scores(scores, is_paired, test, spread, name):
    assert chosen(scores, test, is_paired, **spread).name == name


@pytest.mark.parametrize(("smaller", "larger"), [*itertools.pairwise(OF_SIZE)])
def test_many_scores_are_tested_by_what_is_quick(smaller, larger):
    most = np.tile([1.0, 0.0], OF_SIZE[smaller] // 4)
    assert chosen((most, most), is_paired=False).name == smaller
    assert chosen((np.append(most, 1.0), most), is_paired=False).name == larger


@pytest.mark.parametrize(
    ("question", "said", "pairs"),
    [
        (asked(), "auto", None),
        (asked(), "true", True),
        (asked("t"), "auto", None),
        (asked("fisher"), "auto", False),
        (asked("pooled_t"), "auto", False),
        (asked("mcnemar"), "auto", True),
        (asked(sigma=1.0), "auto", False),
        (asked(sigma=1.0, correlation=0.5), "auto", True),
        (asked(sigma=1.0, correlation=0.0), "true", True),
        (asked("z", sigma=1.0), "false", False),
    ],
)
def test_the_test_says_whether_scores_pair(question, said, pairs):
    assert pairing(AccuracySettings(paired=said, **question)) is pairs


@pytest.mark.parametrize(
    ("question", "said", "refusal"),
    [
        (asked("z"), "auto", "test=z takes the standard deviation of a score as known"),
        (asked("t", sigma=2.0), "auto", "sigma=2 is used by the z test alone, and test=t"),
        (asked(correlation=0.5), "auto", "correlation=0.5 is used by the z test alone"),
        (asked("fisher"), "true", "test=fisher is of different prompts, and paired=true says"),
        (asked("mcnemar"), "false", "test=mcnemar is of the same prompts, and paired=false says"),
        (asked(sigma=2.0), "true", "sigma=2 does not say how far two scores of one prompt differ"),
        (asked(sigma=2.0, correlation=0.5), "false", "correlation=0.5 with paired=false"),
    ],
)
def test_what_contradicts_itself_is_refused(question, said, refusal):
    with refused(refusal, DesignError):
        pairing(AccuracySettings(paired=said, **question))


@pytest.mark.parametrize(
    ("scores", "test", "is_paired", "refusal"),
    [
        (REAL, "fisher", False, "test=fisher is of right and wrong answers, and these scores are"),
        (REAL, "mcnemar", True, "0.5 is among them. Use test=t."),
        (
            (REAL[0], REAL[0] - 1), "auto", True,
            "every difference is the same (the candidate is 1 worse throughout)",
        ),
        (
            (CONSTANT[0], CONSTANT[1] + 1), "auto", False,
            "every score of each model is the same (the candidate is 1 better throughout)",
        ),
    ],
)  # fmt: skip
def test_scores_that_a_test_is_not_of_are_refused(scores, test, is_paired, refusal):
    with refused(refusal, DesignError):
        chosen(scores, test, is_paired)
