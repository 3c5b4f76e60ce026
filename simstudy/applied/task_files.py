"""A table of tasks in a file, with what follows for each of them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from simstudy.applied.csv_text import read_table
from simstudy.applied.settings import ThresholdSettings
from simstudy.applied.thresholds import answered_table
from simstudy.lazy import pd


class AnsweredTasks(NamedTuple):
    """The table, and the file that it is of."""

    table: pd.DataFrame
    source: str
    sha256: str


def answer_tasks(path: Path, settings: ThresholdSettings) -> AnsweredTasks:
    """The table of a file's tasks.

    Raises
    ------
    SimstudyError
        In one line, where the file cannot be read or a task does not say enough.
    """
    read = read_table(path)
    table = answered_table(read.columns, settings, read.place)
    return AnsweredTasks(table, read.source, read.sha256)
