"""Scores of several models one below the other, with a column that names the model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simstudy.applied.cells import numbers_of, refuse_two_notations
from simstudy.applied.csv_text import TextTable
from simstudy.applied.scores import Values
from simstudy.applied.settings import AUTO, AccuracySettings
from simstudy.errors import ConfigError, nearest


class Side(NamedTuple):
    """A model's rows in the table, their scores, and the prompts where a column names them."""

    model: str
    rows: list[int]
    scores: Values
    prompts: list[str]


def read_long(table: TextTable, settings: AccuracySettings) -> tuple[Values, Values, str]:
    """Scores of reference and candidate, and whether they are paired: by the prompts' names.

    Raises
    ------
    SimstudyError
        Where a model has no rows, a prompt has two scores, or pairs are asked for and there are
        none.
    """
    if settings.paired == "true" and settings.prompt is None:
        raise ConfigError(
            "paired=true with model=: rows of two models are paired by the prompt, which no column "
            "names. Name it with prompt=, or say paired=false."
        )
    _refuse_two_notations(table, settings)
    sides = [_side(table, settings, role) for role in ("reference", "candidate")]
    if settings.prompt is None or settings.paired == "false":
        return sides[0].scores, sides[1].scores, "false"
    for side in sides:
        _refuse_blank_prompts(table, side, settings.prompt)
        _refuse_twice(table, side)
    if settings.paired == AUTO and not set(sides[0].prompts) & set(sides[1].prompts):
        return sides[0].scores, sides[1].scores, "false"
    return (*_in_pairs(*sides), "true")


def _refuse_two_notations(table: TextTable, settings: AccuracySettings) -> None:
    """In scores of both models, as one column; what stands of others is not read."""
    models = table.columns.get(str(settings.model), [])
    scores = table.columns.get(settings.score or "score", [])
    sides = settings.reference, settings.candidate
    read = [s if m in sides else "" for m, s in zip(models, scores, strict=False)]
    refuse_two_notations({settings.score or "score": read}, table.place)


def _side(table: TextTable, settings: AccuracySettings, role: str) -> Side:
    name, model = getattr(settings, role), str(settings.model)
    models = table.column(model, "model")
    rows = [row for row, cell in enumerate(models) if cell == name]
    if not rows:
        raise ConfigError(
            f"{role}={name}: no row of {table.source} has that {model}; "
            f"{nearest(name, set(models))}"
        )
    score = settings.score or "score"
    cells = table.column(score, "score")
    scores = numbers_of(score, [cells[row] for row in rows], lambda i: table.place(rows[i]))
    blank = next((row for row, value in zip(rows, scores, strict=True) if np.isnan(value)), None)
    if blank is not None:
        raise ConfigError(
            f"{table.place(blank)}: {score} is blank, and a mean without it is of fewer prompts "
            "than it says. Score that prompt, or leave its row out and say so."
        )
    prompts = table.column(settings.prompt, "prompt") if settings.prompt else []
    return Side(name, rows, scores, [prompts[row] for row in rows] if prompts else [])


def _refuse_blank_prompts(table: TextTable, side: Side, column: str) -> None:
    blank = next((row for row, p in zip(side.rows, side.prompts, strict=True) if not p), None)
    if blank is not None:
        raise ConfigError(
            f"{table.place(blank)}: {column} is blank, so it is not known with which score of the "
            f"other model this one of {side.model} pairs. Name the prompt, leave its row out, or "
            "say paired=false."
        )


def _refuse_twice(table: TextTable, side: Side) -> None:
    first: dict[str, int] = {}
    for row, prompt in zip(side.rows, side.prompts, strict=True):
        if prompt in first:
            raise ConfigError(
                f"{table.place(row)}: {side.model} has a second score for the prompt {prompt!r} "
                f"(the first is at {table.place(first[prompt])}), so it is not known which one "
                "pairs. Keep one, or say paired=false."
            )
        first[prompt] = row


def _in_pairs(reference: Side, candidate: Side) -> tuple[Values, Values]:
    for side, other in ((reference, candidate), (candidate, reference)):
        theirs = set(other.prompts)
        lone = next((prompt for prompt in side.prompts if prompt not in theirs), None)
        if lone is not None:
            raise ConfigError(
                f"{other.model} has no score for the prompt {lone!r}, which {side.model} has, "
                "so they do not pair. Score it, leave its row out, or say paired=false."
            )
    place = {prompt: i for i, prompt in enumerate(candidate.prompts)}
    return reference.scores, candidate.scores[[place[prompt] for prompt in reference.prompts]]
