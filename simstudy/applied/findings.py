"""What scores say of a candidate: the numbers of a check."""

from dataclasses import dataclass, field, fields
from typing import Any

from simstudy.applied.rule import Rule

REGRESSION, NO_REGRESSION = "regression", "no regression shown"


@dataclass(frozen=True, repr=False)
class Findings:
    """What scores say of a candidate.

    Means, effects, margins and thresholds are in the units of the scores; an effect above 0 is
    "worse by". NaN stands for what there is not, such as a threshold that no candidate can miss.

    Parameters
    ----------
    verdict
        "regression", or "no regression shown", which is no proof that there is none: look at
        `detectable_effect`.
    p_value
        Chance of a candidate that looks as bad as this one, or worse, where nothing changed.
    threshold
        γ: a candidate whose mean is there, or worse, fails. In exact tests of answers, given how
        many answers were right, or how many changed.
    detectable_effect
        θ: how much worse a candidate must be to fail with probability 1 - beta.
    power, power_at
        Chance that a candidate fails that is worse by `power_at`: by `theta`, if it was given,
        else by the detectable effect.
    n_needed
        Scores of each model with which a candidate worse by `theta` passes at most at rate beta;
        of exact tests about so many, by the normal formula, where events are too many to sum over.
        None without theta, or any spread.
    level
        Chance that an unchanged candidate fails: alpha, or in exact tests what is reached of it,
        at the share of right answers, or of changes, that was found.
    alpha, beta, theta
        As asked.
    test, words
        The test's name as one asks for it, and in words with what it was given.
    paired
        Whether scores in the same place were taken as of one prompt.
    metric, lower_is_better
        What the scores are, and whether smaller ones are better.
    n_reference, n_candidate, reference_mean, candidate_mean
        Numbers and means of the scores.
    worse_by, standard_error
        How much worse the candidate is, negative where it is better, and the error of that.
    correlation
        Of the two scores of a prompt; NaN where they are not paired, or constant.
    notes
        What a reader should know besides.
    rule
        The test itself.
    """

    verdict: str
    p_value: float
    threshold: float
    detectable_effect: float
    power: float
    power_at: float
    n_needed: int | None
    level: float
    alpha: float
    beta: float
    theta: float | None
    test: str
    words: str
    paired: bool
    metric: str
    lower_is_better: bool
    n_reference: int
    n_candidate: int
    reference_mean: float
    candidate_mean: float
    worse_by: float
    standard_error: float
    correlation: float
    notes: tuple[str, ...]
    rule: Rule = field(compare=False)

    @property
    def is_regression(self) -> bool:
        """Whether the candidate is shown to be worse."""
        return self.verdict == REGRESSION

    @property
    def record(self) -> dict[str, Any]:
        """All of it but the scores, by name, in numbers and words."""
        names = (declared.name for declared in fields(self) if declared.name != "rule")
        return {name: getattr(self, name) for name in names}
