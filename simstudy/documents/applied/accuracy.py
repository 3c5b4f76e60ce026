"""Test whether a candidate is less accurate than its reference."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np

from simstudy.documents.applied.answers import Answer, curves
from simstudy.documents.applied.scores import is_z, read_scores
from simstudy.documents.applied.settings import AUTO, AccuracySettings
from simstudy.documents.applied.tables import Table
from simstudy.documents.stats.accuracy import of_scores as rules
from simstudy.errors import DesignError
from simstudy.lazy import ggplot, pd
from simstudy.options import build

REGRESSION, NO_REGRESSION = "regression", "no regression shown"
# Scores, reference and candidate together, up to which a test answers in a few seconds.
OF_SIZE: Final = {"boschloo": 2_000, "fisher": 20_000, "z_pooled": math.inf}
BOSCHLOO_LIMIT = 10_000  # scores in all: beyond, its tables of results are too large


@dataclass(frozen=True, repr=False)
class AccuracyCheck(Answer):
    """The result of an accuracy check; prints as a short report.

    Means, effects, margins and thresholds are in the units of the scores; an effect above 0 is
    "worse by". NaN marks what does not exist, such as a threshold that no candidate can miss.

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
        The values of the settings.
    test, words
        The test's name as one asks for it, and in words with what it was given.
    paired
        Whether scores in the same place were taken as of one prompt.
    metric, lower_is_better
        Name of the metric, and whether smaller ones are better.
    n_reference, n_candidate, reference_mean, candidate_mean
        Numbers and means of the scores.
    worse_by, standard_error
        How much worse the candidate is, negative where it is better, and the error of that.
    correlation
        Correlation of the two scores of a prompt; NaN where they are not paired, or constant.
    largest_effect
        The largest effect that such scores can have; infinite for scores without limits.
    rule
        The test itself.
    """

    method: ClassVar[str] = "accuracy"

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
    largest_effect: float
    rule: rules.Rule = field(compare=False)

    @property
    def is_regression(self) -> bool:
        """Whether the candidate is shown to be worse."""
        return self.verdict == REGRESSION

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers and words by name; None for what there is not.

        Returns
        -------
        dict
            Values by name of the field.
        """
        return {**super().to_dict(), "is_regression": self.is_regression}

    def figure(self) -> ggplot | None:
        """Draw the power against the effect; None if these scores have no spread.

        Returns
        -------
        ggplot
            The figure; None where there is none.
        """
        top = self.detectable_effect or self.rule.margin
        if not top > 0:
            return None
        effects = np.linspace(0, min(2 * top, self.largest_effect), 60)
        powers = [self.rule.power(float(effect)) for effect in effects]
        frame = pd.DataFrame({"worse by": effects, "power": powers, "test": self.test})
        return curves(
            frame, "worse by", "power", "test", dashed=1 - self.beta,
            title=f"Power of the check of {self.metric}",
            x=f"true loss of the candidate, in units of {self.metric}",
            y="probability that it fails (dashed: 1 - beta)",
        )  # fmt: skip


def accuracy_check(
    reference: Any,
    candidate: Any,
    *,
    data: pd.DataFrame | None = None,
    paired: bool | None = None,
    test: str = AUTO,
    alpha: float = 0.05,
    beta: float = 0.2,
    theta: float | None = None,
    sigma: float | None = None,
    correlation: float | None = None,
    metric: str = "score",
    lower_is_better: bool | None = None,
    same_scale: bool = False,
) -> AccuracyCheck:
    """Test whether a candidate's scores are worse than the reference's.

    Parameters
    ----------
    reference, candidate
        Scores, one for each prompt; with `data`, names of its columns, of which the shorter may
        end in missing values.
    data
        A frame with both columns.
    paired
        Whether the same place is the same prompt; None: where there are as many of each, unless
        the test decides otherwise.
    test
        "z" (known `sigma`), "t" (paired, or Welch's), "pooled_t"; for answers that are right or
        wrong, scored 0 and 1 or 0 and 100, "fisher", "fisher_mid_p", "boschloo",
        "z_pooled" of different prompts and "mcnemar", "mcnemar_mid_p", "paired_z" of the same.
        "auto" is z if sigma is known, else Boschloo's or McNemar's for right and wrong answers,
        and t for other scores.
    alpha, beta
        Chances that an unchanged candidate fails, and that one that is worse by `theta` passes.
    theta
        How much worse matters, in the units of the scores.
    sigma, correlation
        Standard deviation of one score, and correlation of a prompt's two scores, if known.
    metric
        Name of the metric; the name says which way is better, unless `lower_is_better` does.
    lower_is_better
        Whether lower scores are better; None where the name of the metric says so.
    same_scale
        Do not refuse scores of at most 1 next to others of up to 100.

    Returns
    -------
    AccuracyCheck
        Printed, it reads as a short report.

    Raises
    ------
    ConfigError
        For an option outside its range.
    DesignError
        For scores that cannot be compared, or options that contradict each other.
    """
    names = ("reference", "candidate") if data is None else (str(reference), str(candidate))
    settings = build(AccuracySettings, {
        "reference": names[0], "candidate": names[1],
        "paired": AUTO if paired is None else str(paired).lower(), "test": test,
        "alpha": alpha, "beta": beta, "theta": theta, "sigma": sigma, "metric": metric,
        "correlation": correlation, "lower_is_better": lower_is_better, "same_scale": same_scale,
    })  # fmt: skip
    if data is not None:
        reference, candidate = data[reference], data[candidate]
    check = check_table(Table(dict(zip(names, (reference, candidate), strict=True)), settings))
    if check.paired:
        _refuse_other_order(reference, candidate)
    return check


def _refuse_other_order(reference: Any, candidate: Any) -> None:
    """Refuse paired columns whose labels are in different orders."""
    if not (isinstance(reference, pd.Series) and isinstance(candidate, pd.Series)):
        return
    if candidate.index.isin(reference.index).any() and not candidate.index.equals(reference.index):
        raise DesignError(
            "reference and candidate have labels in common, and not in the same places, so scores "
            "in the same place are not of one prompt. Give candidate.loc[reference.index], or "
            "paired=False; or .to_numpy() of both, if places are prompts and labels mean nothing."
        )


def check_table(table: Table) -> AccuracyCheck:
    """Run `accuracy_check` on the scores of a table."""
    scores, settings = read_scores(table)
    rule, theta = choose_test(scores, settings), settings.theta
    effect = rule.detectable_effect(settings.beta)
    power_at = effect if theta is None else theta
    return AccuracyCheck(
        verdict=REGRESSION if rule.fails else NO_REGRESSION, p_value=rule.p_value,
        threshold=scores.reference_mean - scores.sign * rule.margin,
        detectable_effect=effect, power=rule.power(power_at), power_at=power_at,
        n_needed=None if theta is None else rule.n_needed(theta, settings.beta),
        level=rule.level, alpha=settings.alpha, beta=settings.beta, theta=theta, test=rule.name,
        words=rule.words, paired=scores.paired, metric=settings.metric,
        lower_is_better=scores.lower_is_better, n_reference=len(scores.reference),
        n_candidate=len(scores.candidate), reference_mean=scores.reference_mean,
        candidate_mean=scores.candidate_mean, worse_by=scores.worse_by,
        standard_error=rule.standard_error,
        correlation=scores.correlation if scores.paired else float("nan"),
        largest_effect=scores.reference_mean if scores.is_right_or_wrong else math.inf,
        rule=rule, source=table.source, settings=vars(settings),
        notes=tuple(_notes(scores, settings)),
    )  # fmt: skip


def _notes(scores: rules.Scores, settings: AccuracySettings) -> Iterator[str]:
    """Notes for the reader: choices that were made, and oddities."""
    if settings.paired == AUTO and scores.paired:
        yield "each row was taken for one prompt; if it is not, say paired=false"
    elif settings.paired == AUTO and len(scores.reference) != len(scores.candidate):
        yield "there are not as many scores of each, so they were taken for different prompts"
    elif settings.paired == AUTO and scores.correlation > 0:
        yield (
            f"rows were taken for different prompts; if each is one prompt (the scores correlate, "
            f"{scores.correlation:.2g}), a paired test finds smaller effects"
        )
    for side, values in (("reference", scores.reference), ("candidate", scores.candidate)):
        if np.ptp(values) == 0:
            yield f"every score of the {side} is {values[0]:g}: look whether the metric works"


# ---------------------------------------------------------------- which test answers
def choose_test(scores: rules.Scores, settings: AccuracySettings) -> rules.Rule:
    """The test requested, or the one that fits the scores; with the scores.

    Raises
    ------
    DesignError
        If the test is not of such scores, or they leave it no spread to compare with.
    """
    test, alpha = settings.test, settings.alpha
    if is_z(settings) and settings.sigma is not None:
        return rules.known_sigma(scores, alpha, settings.sigma, settings.correlation or 0.0)
    is_of_answers = test in (*rules.COUNT_TESTS, *rules.CHANGE_TESTS)
    if not is_of_answers and (test != AUTO or not scores.is_right_or_wrong):
        return _test_of_means(scores, settings)
    if not scores.is_right_or_wrong:
        both = np.concatenate([scores.reference, scores.candidate])
        between = both[~np.isin(both, (0.0, *rules.RIGHT))][:1].sum()
        raise DesignError(
            f"test={test} is of right and wrong answers, and these scores are not all 0 or 1 "
            f"(or 0 or 100): {between:g} is among them. Use test=t."
        )
    if scores.paired:
        return rules.changed_answers(scores, alpha, "mcnemar" if test == AUTO else test)
    if test == AUTO:
        test = next(name for name, most in OF_SIZE.items() if sum(scores.sizes) <= most)
    if test == "boschloo" and sum(scores.sizes) > BOSCHLOO_LIMIT:
        raise DesignError(
            f"{sum(scores.sizes):,} scores are too many for test=boschloo, which compares whole "
            "regions of results at all probabilities. Use fisher_mid_p or z_pooled, which hardly "
            "differ from it there."
        )
    return rules.two_proportions(scores, alpha, test)


def _test_of_means(scores: rules.Scores, settings: AccuracySettings) -> rules.Rule:
    if not scores.are_all_alike:
        of_two = rules.pooled_t if settings.test == "pooled_t" else rules.welch
        return (rules.paired_t if scores.paired else of_two)(scores, settings.alpha)
    if scores.worse_by == 0:
        return rules.UNCHANGED
    what = "every difference" if scores.paired else "every score of each model"
    raise DesignError(
        f"{what} is the same (the candidate is {abs(scores.worse_by):g} "
        f"{'worse' if scores.worse_by > 0 else 'better'} throughout), so there is no spread to "
        "test against. Look whether the scores are what they should be, or give sigma=."
    )
