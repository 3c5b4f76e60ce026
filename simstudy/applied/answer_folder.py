"""An answer as files: text, JSON and Parquet, with a figure, and what it was made from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any, NamedTuple

from simstudy.applied.score_files import Answered
from simstudy.applied.task_files import AnsweredTasks
from simstudy.errors import ConfigError, FigureError
from simstudy.lazy import pd
from simstudy.remote.paths import Place, place_of
from simstudy.whole_files import write_bytes, write_json

FIGURE = "sampling"


class Written(NamedTuple):
    """Where files were written, and why a figure was not; empty where it was, or there is none."""

    folder: Place
    no_figure: str = ""


def write_check(answered: Answered, settings: Any) -> Written:
    """Write `answer.txt`, `.parquet` and `.json`, and the figure as PNG and SVG.

    Raises
    ------
    ConfigError
        Where the folder cannot be written to.
    """
    check, folder = answered.check, place_of(settings.out)
    record = {**check.record, "notes": "; ".join(check.notes)}

    def write() -> Written:
        why = _write_figure(check.figure, folder)
        _write_text(folder, f"{check!r}\n")
        _write_parquet(folder, pd.DataFrame([record]))
        answer = {**check.record, "is_regression": check.is_regression}
        _write_json(folder, answer, answered, settings)
        return Written(folder, why)

    return _written(write, folder)


def write_table(answered: AnsweredTasks, settings: Any, text: str) -> Written:
    """Write `answer.txt`, `.csv`, `.parquet` and `.json`.

    Raises
    ------
    ConfigError
        Where the folder cannot be written to.
    """
    folder = place_of(settings.out)

    def write() -> Written:
        _write_text(folder, f"{text}\n")
        write_bytes(folder / "answer.csv", answered.table.to_csv(index=False).encode())
        _write_parquet(folder, answered.table)
        tasks = answered.table.astype(object).where(answered.table.notna(), None)
        _write_json(folder, {"tasks": tasks.to_dict("records")}, answered, settings)
        return Written(folder)

    return _written(write, folder)


def _written(write: Callable[[], Written], folder: Place) -> Written:
    try:
        return write()
    except FileExistsError:
        raise ConfigError(
            f"out={folder} is a file, so no answer can be written into it. Name a folder, which is "
            "made where there is none."
        ) from None
    except OSError as error:
        raise ConfigError(
            f"cannot write an answer to {folder}: {error.strerror}. Name with out= a folder that "
            "you may write to."
        ) from None


def _write_figure(draw: Callable[[], Any], folder: Place) -> str:
    """Why there is no figure, and then none of an earlier answer either; else empty."""
    from simstudy.figures.save import save_figure

    try:
        save_figure(draw(), folder, FIGURE)
    except FigureError as error:
        for ending in ("png", "svg"):
            (folder / f"{FIGURE}.{ending}").unlink(missing_ok=True)
        return str(error)
    return ""


def _write_text(folder: Place, text: str) -> None:
    write_bytes(folder / "answer.txt", text.encode())


def _write_parquet(folder: Place, table: pd.DataFrame) -> None:
    content = BytesIO()
    table.to_parquet(content, index=False)
    write_bytes(folder / "answer.parquet", content.getvalue())


def _write_json(
    folder: Place, answer: Mapping[str, Any], answered: Answered | AnsweredTasks, settings: Any
) -> None:
    """Last: where it is, all is."""
    from simstudy.output.environment import environment

    content = {
        "answer": answer,
        "file": {"name": answered.source, "sha256": answered.sha256},
        "settings": {name: value for name, value in vars(settings).items() if name != "out"},
        "made_with": environment(),
    }
    write_json(folder / "answer.json", _without_nan(content))


def _without_nan(value: Any) -> Any:
    """JSON knows no NaN: null."""
    if isinstance(value, Mapping):
        return {name: _without_nan(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(member) for member in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
