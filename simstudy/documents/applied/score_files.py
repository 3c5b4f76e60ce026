"""Scores of two models from a file: a column for each, or one below the other."""

from __future__ import annotations

import dataclasses
from typing import Any

from simstudy.documents.applied.accuracy import AccuracyCheck, check_scores
from simstudy.documents.applied.scores import NO_SCORE, scores_of
from simstudy.documents.applied.settings import AUTO, AccuracySettings
from simstudy.documents.applied.tables import Table, numbers_of, place_of, texts_of
from simstudy.documents.stats.accuracy._of_scores import Values
from simstudy.errors import ConfigError, nearest
from simstudy.lazy import pd


def check_file(table: Table, settings: AccuracySettings) -> AccuracyCheck:
    """Check the scores of a file: a column for each model, or one column with `model`.

    Raises
    ------
    SimstudyError
        In one line, if its scores cannot be compared.
    """
    paired, names = settings.paired, (settings.reference, settings.candidate)
    if settings.model is None:
        reference, candidate = (
            scores_of(name, table.column(name, role), table.name)
            for name, role in zip(names, ("reference", "candidate"), strict=True)
        )
    else:
        reference, candidate, paired = _one_below_the_other(table, settings)
    question = dataclasses.replace(settings, paired=paired)
    return check_scores(reference, candidate, names, question, table.source)


# ---------------------------------------------------------------- scores one below the other
def _one_below_the_other(table: Table, settings: AccuracySettings) -> tuple[Values, Values, str]:
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
    source = table.name
    name, score = getattr(settings, role), settings.score or "score"
    models = texts_of(table.column(str(settings.model), "model"))
    rows = Table(table.frame[models == name], table.source)
    if rows.frame.empty:
        raise ConfigError(
            f"{role}={name}: no row of {source} has that {settings.model}; "
            f"{nearest(name, set(models))}"
        )
    scores = pd.Series(
        numbers_of(score, rows.column(score, "score"), source, NO_SCORE), index=rows.frame.index
    )
    if scores.hasnans:
        place = place_of(scores.index[scores.isna()][0], source)
        raise ConfigError(f"{place}: {score} is blank, {NO_SCORE}")
    if settings.prompt is None or settings.paired == "false":
        return scores
    prompts = texts_of(rows.column(settings.prompt, "prompt"))
    unclear = (prompts == "") | prompts.duplicated()
    if unclear.any():
        row = prompts.index[unclear][0]
        raise ConfigError(
            f"{place_of(row, source)}: the {settings.prompt} {prompts[row]!r} of {name} is blank "
            "or stands above already, so it is not known which scores pair. Name each prompt once, "
            "leave the row out, or say paired=false."
        )
    return scores.set_axis(prompts)
