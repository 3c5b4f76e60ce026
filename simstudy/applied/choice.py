"""Which test answers: the one that was asked for, else the one that fits the scores."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from simstudy.applied.changed_answers import OF_CHANGES, ChangedAnswers
from simstudy.applied.known_sigma import KnownSigma
from simstudy.applied.rule import Rule
from simstudy.applied.scores import Scores
from simstudy.applied.student import PairedT, PooledT, Welch
from simstudy.applied.two_proportions import OF_COUNTS, TwoProportions
from simstudy.applied.unchanged import Unchanged
from simstudy.errors import DesignError

AUTO: Final = "auto"
# Scores, reference and candidate together, up to which a test answers in a few seconds.
OF_SIZE: Final = {"boschloo": 2_000, "fisher": 20_000, "z_pooled": math.inf}
TEST_NAMES: Final = ("z", "t", "pooled_t", *OF_COUNTS, *OF_CHANGES)


@dataclass(frozen=True)
class Asked:
    """How scores are to be compared.

    Parameters
    ----------
    test
        A name of `TEST_NAMES`, or "auto".
    alpha
        Level.
    sigma, correlation
        Standard deviation of a score, and correlation of the two of a prompt, where they are known.
    """

    test: str = AUTO
    alpha: float = 0.05
    sigma: float | None = None
    correlation: float | None = None

    @property
    def is_z(self) -> bool:
        """Whether the spread is taken as known."""
        return self.test == "z" or (self.test == AUTO and self.sigma is not None)


def pairing(asked: Asked, paired: bool | None) -> bool | None:
    """Whether scores are to be paired, as the test wants it; None where their number decides.

    The z test takes prompts for different ones unless it is told how their scores correlate.

    Raises
    ------
    DesignError
        Where the test and what was said of the rows do not go together.
    """
    if asked.is_z:
        return _pairing_of_z(asked, paired)
    _refuse_known_spread(asked)
    wants = True if asked.test in OF_CHANGES else None
    wants = False if asked.test in OF_COUNTS or asked.test == "pooled_t" else wants
    if None not in (wants, paired) and wants != paired:
        raise DesignError(
            f"test={asked.test} is of {_prompts(bool(wants))}, and paired={str(paired).lower()} "
            f"says that rows are {_prompts(bool(paired))}. Leave one of them out."
        )
    return paired if wants is None else wants


def _prompts(same: bool) -> str:
    return "the same prompts" if same else "different prompts"


def _pairing_of_z(asked: Asked, paired: bool | None) -> bool:
    if asked.sigma is None:
        raise DesignError(
            "test=z takes the standard deviation of a score as known, and it was not given. Give "
            "sigma=, or use test=t, which estimates it."
        )
    if paired and asked.correlation is None:
        raise DesignError(
            f"sigma={asked.sigma:g} does not say how far two scores of one prompt differ. Give "
            "their correlation= as well, or leave out sigma and let the scores say it."
        )
    if paired is False and asked.correlation:
        raise DesignError(
            f"correlation={asked.correlation:g} with paired=false: scores of different prompts do "
            "not correlate. Leave one of them out."
        )
    return bool(asked.correlation) if paired is None else paired


def _refuse_known_spread(asked: Asked) -> None:
    for name, value in (("sigma", asked.sigma), ("correlation", asked.correlation)):
        if value is not None:
            needs = "test=auto" if name == "sigma" else "test=z and sigma="
            raise DesignError(
                f"{name}={value:g} is used by the z test alone, and test={asked.test} learns it "
                f"from the scores. Leave it out, or say {needs}."
            )


def rule_for(scores: Scores, asked: Asked) -> Rule:
    """The test, with the scores that it is given.

    Raises
    ------
    DesignError
        Where the test is not of such scores, or they leave it no spread to compare with.
    """
    if asked.is_z and asked.sigma is not None:
        return KnownSigma(scores, asked.alpha, asked.sigma, asked.correlation or 0.0)
    of_counts = {**OF_COUNTS, **OF_CHANGES}
    if asked.test in of_counts and not scores.is_right_or_wrong:
        raise DesignError(
            f"test={asked.test} is of right and wrong answers, and these scores are not all 0 or 1 "
            f"(or 0 or 100): {_first_between(scores):g} is among them. Use test=t."
        )
    if asked.test in of_counts or (asked.test == AUTO and scores.is_right_or_wrong):
        return _of_answers(scores, asked)
    return _of_means(scores, asked)


def _first_between(scores: Scores) -> float:
    both = np.concatenate([scores.reference, scores.candidate])
    return float(both[~np.isin(both, (0.0, 1.0, 100.0))][:1].sum())


def _of_answers(scores: Scores, asked: Asked) -> Rule:
    if scores.paired:
        return ChangedAnswers(scores, asked.alpha, _or(asked.test, "mcnemar"))
    n_scores = len(scores.reference) + len(scores.candidate)
    fitting = next(test for test, most in OF_SIZE.items() if n_scores <= most)
    return TwoProportions(scores, asked.alpha, _or(asked.test, fitting))


def _or(test: str, fitting: str) -> str:
    return fitting if test == AUTO else test


def _of_means(scores: Scores, asked: Asked) -> Rule:
    if not scores.are_all_alike:
        if scores.paired:
            return PairedT(scores, asked.alpha)
        return (PooledT if asked.test == "pooled_t" else Welch)(scores, asked.alpha)
    if scores.worse_by == 0:
        return Unchanged(scores)
    what = "every difference" if scores.paired else "every score of each model"
    raise DesignError(
        f"{what} is the same (the candidate is {abs(scores.worse_by):g} "
        f"{'worse' if scores.worse_by > 0 else 'better'} throughout), so there is no spread to "
        "test against. Look whether the scores are what they should be, or give sigma=."
    )
