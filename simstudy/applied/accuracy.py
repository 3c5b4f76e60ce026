"""Is a candidate worse than the reference? Scores in, a verdict with all it rests on out."""

from __future__ import annotations

from typing import Any

import numpy as np

from simstudy.applied.cells import numbers_of_any, without_blank_end
from simstudy.applied.choice import Asked, pairing, rule_for
from simstudy.applied.findings import NO_REGRESSION, REGRESSION, Findings
from simstudy.applied.metrics import is_lower_better
from simstudy.applied.notes import notes_on
from simstudy.applied.rule import Rule
from simstudy.applied.sampling_figure import sampling_figure
from simstudy.applied.scores import Scores, Values, checked_scores
from simstudy.applied.settings import AUTO, Question, plain_values
from simstudy.applied.wording import in_words
from simstudy.errors import DesignError, nearest
from simstudy.lazy import ggplot, pd
from simstudy.options import build


class AccuracyCheck(Findings):
    """What scores say of a candidate; printed, it reads as a short report."""

    def figure(self) -> ggplot:
        """Where the candidate's mean falls if nothing changed, and if it is worse by the effect.

        Raises
        ------
        FigureError
            Where there is no spread, and so nothing to draw.
        """
        return sampling_figure(self)

    def __repr__(self) -> str:
        return in_words(self)


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
        the test says otherwise.
    test
        "z" (known `sigma`), "t" (paired, or Welch's), "pooled_t"; for answers that are right or
        wrong, scored 0 and 1 or 0 and 100, "fisher", "fisher_mid_p", "boschloo", "barnard",
        "z_pooled" of different prompts and "mcnemar", "mcnemar_mid_p", "paired_z" of the same.
        "auto" is z where sigma is given, else Boschloo's or McNemar's for right and wrong answers,
        and t for other scores.
    alpha, beta
        Chances that an unchanged candidate fails, and that one that is worse by `theta` passes.
    theta
        How much worse matters, in the units of the scores.
    sigma, correlation
        Of one score its standard deviation, and of the two scores of a prompt, where known.
    metric
        What the scores are; the name says which way is better, unless `lower_is_better` does.
    same_scale
        Do not refuse scores of at most 1 beside others of up to 100.

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
    given = {
        "paired": AUTO if paired is None else str(paired).lower(), "test": test,
        "alpha": alpha, "beta": beta, "theta": theta, "sigma": sigma, "metric": metric,
        "correlation": correlation, "lower_is_better": lower_is_better, "same_scale": same_scale,
    }  # fmt: skip
    question = build(Question, plain_values(given))
    sides = {"reference": reference, "candidate": candidate}
    read = {side: _values(side, given, data) for side, given in sides.items()}
    names = tuple(str(given) if data is not None else side for side, given in sides.items())
    check = check_scores(read["reference"], read["candidate"], (names[0], names[1]), question)
    if check.paired and data is None:
        _refuse_other_order(reference, candidate)
    return check


def _has_labels(scores: Any) -> bool:
    """Whether it is a series of pandas; lists have an `index` too."""
    return hasattr(getattr(scores, "index", None), "isin")


def _refuse_other_order(reference: Any, candidate: Any) -> None:
    """Pairs are by position; labels that both have are to stand in the same places."""
    if not (_has_labels(reference) and _has_labels(candidate)):
        return
    if candidate.index.isin(reference.index).any() and not candidate.index.equals(reference.index):
        raise DesignError(
            "reference and candidate have labels in common, and not in the same places, so scores "
            "in the same place are not of one prompt. Give candidate.loc[reference.index], or "
            "paired=False; or .to_numpy() of both, if places are prompts and labels mean nothing."
        )


def _values(side: str, given: Any, data: pd.DataFrame | None) -> Values:
    values, name = (given, side) if data is None else (_column(side, given, data), str(given))

    def place(row: int) -> str:
        return f"row {row + 1}"

    return without_blank_end(name, numbers_of_any(name, values, place), place)


def _column(side: str, name: Any, data: pd.DataFrame) -> Any:
    """The one column of that name."""
    if not hasattr(data, "columns"):
        raise DesignError(
            f"data is a {type(data).__name__}, which has no columns to look for {name!r} in. Give "
            "a data frame, or the scores themselves as reference and candidate."
        )
    columns = list(data.columns)
    if columns.count(name) == 1:
        return np.asarray(data[name])
    said = "names several columns" if name in columns else nearest(str(name), map(str, columns))
    raise DesignError(f"{side}={name!r} is not one column of the data; {said}")


def check_scores(
    reference: Values, candidate: Values, names: tuple[str, str], question: Question
) -> AccuracyCheck:
    """As `accuracy_check`, of scores that have been read.

    Parameters
    ----------
    names
        What messages call the two.
    """
    asked = Asked(question.test, question.alpha, question.sigma, question.correlation)
    paired = {AUTO: None, "true": True, "false": False}[question.paired]
    lower = question.lower_is_better
    scores = checked_scores(
        reference, candidate, names,
        paired=pairing(asked, paired),
        pairs_are_said=paired is True,
        lower_is_better=is_lower_better(question.metric) if lower is None else lower,
        same_scale=question.same_scale,
    )  # fmt: skip
    return _answer(scores, rule_for(scores, asked), question)


def _answer(scores: Scores, rule: Rule, question: Question) -> AccuracyCheck:
    effect, theta = rule.detectable_effect(question.beta), question.theta
    power_at = effect if theta is None else theta
    return AccuracyCheck(
        verdict=REGRESSION if rule.fails else NO_REGRESSION,
        p_value=rule.p_value,
        threshold=scores.reference_mean - scores.sign * rule.margin,
        detectable_effect=effect,
        power=rule.power(power_at),
        power_at=power_at,
        n_needed=None if theta is None else rule.n_needed(theta, question.beta),
        level=rule.level,
        alpha=question.alpha,
        beta=question.beta,
        theta=theta,
        test=rule.name,
        words=rule.words,
        paired=scores.paired,
        metric=question.metric,
        lower_is_better=scores.lower_is_better,
        n_reference=len(scores.reference),
        n_candidate=len(scores.candidate),
        reference_mean=scores.reference_mean,
        candidate_mean=scores.candidate_mean,
        worse_by=scores.worse_by,
        standard_error=rule.standard_error,
        correlation=scores.correlation if scores.paired else float("nan"),
        notes=notes_on(scores, question),
        rule=rule,
    )
