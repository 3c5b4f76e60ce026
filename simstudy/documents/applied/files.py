"""Reading scores and tasks from a file, and writing answers to files."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from simstudy.atomic_files import write_bytes, write_json
from simstudy.documents.applied.accuracy import AccuracyCheck, check_scores
from simstudy.documents.applied.report import format_table
from simstudy.documents.applied.scores import NO_SCORE, Values, numbers_of, scores_of
from simstudy.documents.applied.scores import place_of as row_place
from simstudy.documents.applied.settings import AUTO, AccuracySettings, ThresholdSettings
from simstudy.documents.applied.thresholds import answered_table
from simstudy.errors import ConfigError, nearest
from simstudy.lazy import pd
from simstudy.read_table import read_table
from simstudy.remote.paths import Place, place_of
from simstudy.store.io_errors import translate_io_errors


class TableFile(NamedTuple):
    """A table file: its name, its hash, its content."""

    table: pd.DataFrame
    name: str
    sha256: str


def check_file(path: str, settings: AccuracySettings) -> tuple[AccuracyCheck, TableFile]:
    """Check the scores of a file: a column for each model, or one column with `model`.

    Raises
    ------
    SimstudyError
        In one line, where the file cannot be read or its scores cannot be compared.
    """
    file, paired = _read(path, [settings.model, settings.prompt]), settings.paired
    names = settings.reference, settings.candidate
    if settings.model is None:
        reference, candidate = (
            scores_of(name, _column(file.table, name, role, file.name), file.name)
            for name, role in zip(names, ("reference", "candidate"), strict=True)
        )
    else:
        reference, candidate, paired = _one_below_the_other(file, settings)
    question = dataclasses.replace(settings, paired=paired)
    return check_scores(reference, candidate, names, question), file


def answer_tasks(path: str, settings: ThresholdSettings) -> tuple[pd.DataFrame, TableFile]:
    """The threshold table of a file of tasks.

    Raises
    ------
    SimstudyError
        In one line, where the file cannot be read or a task does not say enough.
    """
    file = _read(path, ["task", "metric"])
    return answered_table(file.table, settings, file.name), file


def _read(path: str, labels: Sequence[str | None]) -> TableFile:
    """Read a file; labels stay text, and only blanks are missing."""
    texts = {name: str for name in labels if name is not None}
    table = read_table(path, dtype=texts, keep_default_na=False, na_values=[""])
    place = place_of(path)
    return TableFile(table, place.name, hashlib.sha256(place.read_bytes()).hexdigest())


def _column(table: pd.DataFrame, name: str, role: str, source: str) -> pd.Series[Any]:
    """Find the column that a setting names, or suggest the nearest."""
    if name in table:
        return table[name]
    names = map(str, table.columns)
    raise ConfigError(f"{role}={name}: {source} has no such column; {nearest(name, names)}")


# ---------------------------------------------------------------- scores one below the other
def _one_below_the_other(file: TableFile, settings: AccuracySettings) -> tuple[Values, Values, str]:
    """Scores of both models from one column, and whether they are paired by prompts.

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
    first, second = (_side(file, settings, role) for role in ("reference", "candidate"))
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


def _side(file: TableFile, settings: AccuracySettings, role: str) -> pd.Series[Any]:
    """The scores of one model, by prompt where they may pair."""
    table, source = file.table, file.name
    name, score = getattr(settings, role), settings.score or "score"
    models = _texts(_column(table, str(settings.model), "model", source))
    rows = table[models == name]
    if rows.empty:
        raise ConfigError(
            f"{role}={name}: no row of {source} has that {settings.model}; "
            f"{nearest(name, set(models))}"
        )
    scores = pd.Series(
        numbers_of(score, _column(rows, score, "score", source), source), index=rows.index
    )
    if scores.hasnans:
        place = row_place(scores.index[scores.isna()][0], source)
        raise ConfigError(f"{place}: {score} is blank, {NO_SCORE}")
    if settings.prompt is None or settings.paired == "false":
        return scores
    prompts = _texts(_column(rows, settings.prompt, "prompt", source))
    unclear = (prompts == "") | prompts.duplicated()
    if unclear.any():
        row = prompts.index[unclear][0]
        raise ConfigError(
            f"{row_place(row, source)}: the {settings.prompt} {prompts[row]!r} of {name} is blank "
            "or stands above already, so it is not known which scores pair. Name each prompt once, "
            "leave the row out, or say paired=false."
        )
    return scores.set_axis(prompts)


def _texts(labels: pd.Series[Any]) -> pd.Series[Any]:
    return labels.astype(object).where(labels.notna(), "").astype(str).str.strip()


# ---------------------------------------------------------------- answers as files
def write_check(check: AccuracyCheck, file: TableFile, settings: AccuracySettings) -> Place:
    """Write `answer.txt`, `.parquet` and `.json` into a folder, and return it.

    Raises
    ------
    StoreError
        Where the folder cannot be written to.
    """
    row = pd.DataFrame([{**check.record, "notes": "; ".join(check.notes)}])
    answer = {**_records(row)[0], "notes": check.notes, "is_regression": check.is_regression}
    folder = place_of(str(settings.out))
    with translate_io_errors(folder):
        _write_answer(folder, f"{check!r}\n", row, answer, file, settings)
    return folder


def write_table(table: pd.DataFrame, file: TableFile, settings: ThresholdSettings) -> Place:
    """Write `answer.txt`, `.csv`, `.parquet` and `.json` into a folder, and return it.

    Raises
    ------
    StoreError
        Where the folder cannot be written to.
    """
    folder = place_of(str(settings.out))
    with translate_io_errors(folder):
        write_bytes(folder / "answer.csv", table.to_csv(index=False).encode())
        answer = {"tasks": _records(table)}
        _write_answer(folder, f"{format_table(table)}\n", table, answer, file, settings)
    return folder


def _records(table: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """The rows of a table, with None for what there is not."""
    return table.astype(object).where(table.notna(), None).to_dict("records")


def _write_answer(
    folder: Place,
    text: str,
    table: pd.DataFrame,
    answer: Mapping[Any, Any],
    file: TableFile,
    settings: AccuracySettings | ThresholdSettings,
) -> None:
    """Write text and Parquet, and the JSON last as the mark of a complete answer."""
    from simstudy.output.environment import environment

    write_bytes(folder / "answer.txt", text.encode())
    write_bytes(folder / "answer.parquet", table.to_parquet(index=False))
    content = {
        "answer": answer,
        "file": {"name": file.name, "sha256": file.sha256},
        "settings": {name: value for name, value in vars(settings).items() if name != "out"},
        "made_with": environment(),
    }
    write_json(folder / "answer.json", content)
