"""Scores of a reference and a candidate: parsed, checked, and paired where they can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simstudy.documents.applied.settings import AUTO, AccuracySettings, is_lower_better
from simstudy.documents.applied.tables import Table, numbers_of, place_of, texts_of
from simstudy.documents.stats.accuracy import of_scores as rules
from simstudy.errors import ConfigError, DesignError, nearest
from simstudy.lazy import pd, special

MIN_SCORES = 2
# Probability that scores in no order lie sorted by accident, below which that is not believed.
BY_ACCIDENT = 1e-4
NEEDS_PAIRS = {
    **dict.fromkeys(rules.CHANGE_TESTS, True),
    **dict.fromkeys((*rules.COUNT_TESTS, "pooled_t"), False),
}  # tests that require the same prompts, or other ones; the rest compares both
PROMPTS = {True: "the same prompts", False: "different prompts"}
NO_SCORE = (
    "and a mean without it is of fewer prompts than it says. Write that prompt's score as a number "
    "alone, or leave its row out and say so."
)


def scores_of(name: str, cells: Any, source: str = "") -> rules.Values:
    """The scores of a column, without blank cells at its end.

    Raises
    ------
    DesignError
        If there is no score, a cell that is none, or a blank one among them.
    """
    numbers = numbers_of(name, cells, source, NO_SCORE, blanks=True)
    filled = np.flatnonzero(~np.isnan(numbers))
    if not len(filled):
        raise DesignError(
            f"{name} has no scores: every cell is blank. Give each prompt's score, or name another "
            "column."
        )
    return numbers_of(name, numbers[: filled[-1] + 1], source, NO_SCORE)


def read_scores(table: Table) -> tuple[rules.Scores, AccuracySettings]:
    """Read a column of each model, or one column with `model`.

    Returns
    -------
    tuple
        The scores, and the settings with what the file says of pairs.

    Raises
    ------
    SimstudyError
        In one line, if the scores cannot be compared.
    """
    settings: AccuracySettings = table.settings
    if settings.model is not None:
        reference, candidate, paired = _one_below_the_other(table, settings)
        settings = replace(settings, paired=paired)
    else:
        reference, candidate = (
            scores_of(getattr(settings, role), table.column(role), table.name)
            for role in ("reference", "candidate")
        )
    return checked_scores(reference, candidate, settings), settings


# ---------------------------------------------------------------- two columns of scores
def checked_scores(
    reference: rules.Values, candidate: rules.Values, settings: AccuracySettings
) -> rules.Scores:
    """Check that scores can be compared.

    If both have the same number of scores, they are paired, unless the settings say otherwise.
    This keeps the test's level even where rows are different prompts, as long as their order has
    nothing to do with the scores. Pairs of columns that were sorted are refused, unless the
    settings say that rows are prompts.

    Raises
    ------
    DesignError
        If there are too few, as many as cannot be paired, or they lie on two scales.
    """
    names, paired = (settings.reference, settings.candidate), pairing(settings)
    for scores, name in zip((reference, candidate), names, strict=True):
        if len(scores) < MIN_SCORES:
            raise DesignError(
                f"{name} has {len(scores)} score, which says nothing about how scores vary. Give "
                f"one for each prompt, at least {MIN_SCORES}."
            )
    if not settings.same_scale:
        _refuse_two_scales(reference, candidate, names)
    if paired and len(reference) != len(candidate):
        raise DesignError(
            f"{names[0]} has {len(reference):,} scores and {names[1]} {len(candidate):,}, so they "
            "are not of the same prompts, each in its row. Leave out the prompts that one of them "
            "lacks, or say paired=false."
        )
    pairs = len(reference) == len(candidate) if paired is None else paired
    are_sorted = _is_sorted(reference) and _is_sorted(candidate)
    if pairs and settings.paired != "true" and are_sorted and (reference != candidate).any():
        raise DesignError(
            f"{names[0]} and {names[1]} are both sorted, so a row may not be one prompt any more, "
            "and a paired test would find differences where there are none. Say paired=false, or "
            "paired=true if it is."
        )
    lower = settings.lower_is_better
    lower = is_lower_better(settings.metric) if lower is None else lower
    return rules.Scores(reference, candidate, pairs, lower)


def _refuse_two_scales(
    reference: rules.Values, candidate: rules.Values, names: Sequence[str]
) -> None:
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


def _is_sorted(scores: rules.Values) -> bool:
    """Whether values are sorted, and hardly by accident.

    Among n! / (n1! n2! ...) orders of scores with ties, two are sorted.
    """
    steps = np.diff(scores)
    if not ((steps >= 0).all() or (steps <= 0).all()):
        return False
    ties = np.unique(scores, return_counts=True)[1]
    log_orders = special.gammaln(len(scores) + 1) - special.gammaln(ties + 1).sum()
    return bool(np.log(2) - log_orders < np.log(BY_ACCIDENT))


# ---------------------------------------------------------------- scores one below the other
def _one_below_the_other(
    table: Table, settings: AccuracySettings
) -> tuple[rules.Values, rules.Values, str]:
    """Scores of both models from one column, and whether they are paired by prompts.

    Raises
    ------
    SimstudyError
        If a model has no rows, a prompt has two scores, or pairs are requested and there are
        none.
    """
    if settings.paired == "true" and settings.prompt is None:
        raise ConfigError(
            "paired=true with model=: rows of two models are paired by the prompt, which no column "
            "names. Name it with prompt=, or say paired=false."
        )
    first, second = (_side(table, settings, role) for role in ("reference", "candidate"))
    are_apart = settings.paired == AUTO and not first.index.isin(second.index).any()
    if settings.prompt is None or settings.paired == "false" or are_apart:
        return first.to_numpy(), second.to_numpy(), "false"
    lone = first.index.symmetric_difference(second.index, sort=False)
    if len(lone):
        models = (settings.reference, settings.candidate)
        other, model = models if lone[0] in second.index else models[::-1]
        raise ConfigError(
            f"{other} has no score for the prompt {lone[0]!r}, which {model} has, so they do not "
            "pair. Score it, leave its row out, or say paired=false."
        )
    return first.to_numpy(), second.loc[first.index].to_numpy(), "true"


def _side(table: Table, settings: AccuracySettings, role: str) -> pd.Series[Any]:
    """The scores of one model, by prompt where they may pair."""
    source, name = table.name, getattr(settings, role)
    models, score = texts_of(table.column("model")), settings.score or "score"
    rows = (models == name).to_numpy()
    if not rows.any():
        raise ConfigError(
            f"{role}={name}: no row of {source} has that {settings.model}; "
            f"{nearest(name, set(models))}"
        )
    cells = table.column("score", score).where(rows)
    scores: pd.Series[Any] = pd.Series(numbers_of(score, cells, source, NO_SCORE, blanks=True))[
        rows
    ]
    if scores.hasnans:
        place = place_of(scores.index[scores.isna()][0], source)
        raise ConfigError(f"{place}: {score} is blank, {NO_SCORE}")
    if settings.prompt is None or settings.paired == "false":
        return scores
    prompts = texts_of(table.column("prompt"))[rows]
    unclear = (prompts == "") | prompts.duplicated()
    if unclear.any():
        row = prompts.index[unclear][0]
        raise ConfigError(
            f"{place_of(row, source)}: the {settings.prompt} {prompts[row]!r} of {name} is blank "
            "or stands above already, so it is not known which scores pair. Name each prompt once, "
            "leave the row out, or say paired=false."
        )
    return scores.set_axis(prompts)


# ---------------------------------------------------------------- what the test wants
def pairing(settings: AccuracySettings) -> bool | None:
    """Whether the test wants paired scores; None if their number decides.

    The z test takes prompts for different ones unless it knows how their scores correlate.

    Raises
    ------
    DesignError
        If the test and what the settings say of the rows do not go together.
    """
    test, sigma, correlation = settings.test, settings.sigma, settings.correlation
    paired = {"true": True, "false": False}.get(settings.paired)
    if not is_z(settings):
        for name, needs in (("sigma", "test=auto"), ("correlation", "test=z and sigma=")):
            if (value := getattr(settings, name)) is not None:
                raise DesignError(
                    f"{name}={value:g} is used by the z test alone, and test={test} learns it "
                    f"from the scores. Leave it out, or say {needs}."
                )
        needed = NEEDS_PAIRS.get(test, paired)
        if paired not in (None, needed):
            raise DesignError(
                f"test={test} is of {PROMPTS[not paired]}, and paired={settings.paired} says that "
                f"rows are {PROMPTS[paired]}. Leave one of them out."
            )
        return needed
    if sigma is None:
        raise DesignError(
            "test=z takes the standard deviation of a score as known, and it was not given. Give "
            "sigma=, or use test=t, which estimates it."
        )
    if paired and correlation is None:
        raise DesignError(
            f"sigma={sigma:g} does not say how far two scores of one prompt differ. Give their "
            "correlation= as well, or leave out sigma and let the scores say it."
        )
    if paired is False and correlation:
        raise DesignError(
            f"correlation={correlation:g} with paired=false: scores of different prompts do not "
            "correlate. Leave one of them out."
        )
    return bool(correlation) if paired is None else paired


def is_z(settings: AccuracySettings) -> bool:
    """Whether the spread is taken as known."""
    return settings.test == "z" or (settings.test == AUTO and settings.sigma is not None)
