"""A check of scores in a file: a column for each model, or one column with all scores."""

import dataclasses
from pathlib import Path
from typing import NamedTuple

from simstudy.applied.accuracy import AccuracyCheck, check_scores
from simstudy.applied.cells import numbers_of, refuse_two_notations, without_blank_end
from simstudy.applied.csv_text import TextTable, read_table
from simstudy.applied.long_form import read_long
from simstudy.applied.scores import Values
from simstudy.applied.settings import AccuracySettings
from simstudy.errors import ConfigError


class Answered(NamedTuple):
    """A check, and the file that it is of."""

    check: AccuracyCheck
    source: str
    sha256: str


def check_file(path: Path, settings: AccuracySettings) -> Answered:
    """The check of a file's scores.

    Raises
    ------
    SimstudyError
        In one line, where the file cannot be read or its scores cannot be compared.
    """
    _refuse_contradictions(settings)
    table = read_table(path)
    names = (settings.reference, settings.candidate)
    if settings.model is None:
        read = {settings.reference, settings.candidate} & set(table.columns)
        refuse_two_notations({name: table.columns[name] for name in sorted(read)}, table.place)
        reference = _side(table, settings.reference, "reference")
        candidate = _side(table, settings.candidate, "candidate")
        paired = settings.paired
    else:
        reference, candidate, paired = read_long(table, settings)
    question = dataclasses.replace(settings, paired=paired)
    return Answered(check_scores(reference, candidate, names, question), table.source, table.sha256)


def _side(table: TextTable, name: str, role: str) -> Values:
    numbers = numbers_of(name, table.column(name, role), table.place)
    return without_blank_end(name, numbers, table.place)


def _refuse_contradictions(settings: AccuracySettings) -> None:
    if settings.reference == settings.candidate:
        raise ConfigError(
            f"reference={settings.reference} and candidate={settings.candidate} are the same "
            "scores, which do not differ from themselves. Name the candidate's."
        )
    for name in ("score", "prompt"):
        value = getattr(settings, name)
        if settings.model is None and value is not None:
            raise ConfigError(
                f"{name}={value} is of a file with all scores in one column. Name with model= the "
                "column that says which model a score is of, or leave it out."
            )
