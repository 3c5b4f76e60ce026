"""Published methods applied to a user's own file: `simstudy apply accuracy scores.csv ...`."""

import re
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from simstudy.applied.settings import AccuracySettings, ThresholdSettings, threshold_settings
from simstudy.errors import ConfigError, nearest
from simstudy.options import build

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


class Method(NamedTuple):
    """What may be applied: its settings, what checks them and prints its answer, and its use."""

    settings: type[Any]
    checked: Callable[[Mapping[str, Any]], Any]
    answer: Callable[[str, Any], None]
    help: str
    example: str


def apply_to_file(arguments: Sequence[str]) -> None:
    """Print a method's answer for a file, and write it where `out=` says so.

    Raises
    ------
    SimstudyError
        In one line, for anything that makes no sense.
    """
    given = [text for text in arguments if "=" in text and not _is_file(text)]
    method, path = _method_and_file([text for text in arguments if text not in given])
    method.answer(path, method.checked(_values(given, method.settings)))


def _is_file(text: str) -> bool:
    """Whether what looks like a setting is the name of a file, and no setting of any method."""
    known = {field.name for method in METHODS.values() for field in fields(method.settings)}
    return text.partition("=")[0] not in known and Path(text).is_file()


def _method_and_file(words: Sequence[str]) -> tuple[Method, str]:
    if not words:
        raise ConfigError(f"apply takes a method and a file, as in {METHODS['accuracy'].example}")
    name, *files = words
    if name not in METHODS:
        raise ConfigError(f"{name} is no method to apply; {nearest(name, METHODS)}")
    method = METHODS[name]
    if len(files) != 1:
        raise ConfigError(
            f"apply {name} takes one file, and was given {' '.join(files) or 'none'}: "
            f"{method.example}"
        )
    return method, files[0]


def _values(given: Sequence[str], settings: type[Any]) -> dict[str, Any]:
    """Values of settings, as their types have them; what is of another type stays text."""
    hints, values = typing.get_type_hints(settings), dict[str, Any]()
    for text in given:
        name, _, value = text.partition("=")
        if name in values:
            raise ConfigError(f"{text}: {name} was given already; say each setting once")
        if not value:
            raise ConfigError(f"{text} is empty: leave {name} out, or say {name}=VALUE")
        values[name] = _value(value, hints.get(name, str))
    return values


def _value(text: str, hint: Any) -> Any:
    kinds = typing.get_args(hint) or (hint,)
    if bool in kinds:
        return {"true": True, "false": False}.get(text.lower(), text)
    is_number = int in kinds or float in kinds
    return float(text) if is_number and NUMBER.fullmatch(text) else text


# ---------------------------------------------------------------- the methods
def _accuracy(path: str, settings: AccuracySettings) -> None:
    from simstudy.applied.files import check_file, write_check

    check, file = check_file(path, settings)
    _say(str(check), write_check(check, file, settings) if settings.out else None)


def _thresholds(path: str, settings: ThresholdSettings) -> None:
    from simstudy.applied.files import answer_tasks, write_table
    from simstudy.applied.report import table_in_words

    table, file = answer_tasks(path, settings)
    _say(table_in_words(table), write_table(table, file, settings) if settings.out else None)


def _say(answer: str, written: Any) -> None:
    """The answer, and where its files are: last, so that a refusal is all that is said."""
    print(answer)
    if written is None:
        return
    if written.no_figure:
        print(f"no figure was drawn: {written.no_figure}")
    print(f"written to {written.folder}")


METHODS: Mapping[str, Method] = {
    "accuracy": Method(
        AccuracySettings,
        partial(build, AccuracySettings),
        _accuracy,
        "is a candidate less accurate than the reference? A file with the scores of both",
        "simstudy apply accuracy scores.csv reference=COLUMN candidate=COLUMN [SETTING=VALUE ...]",
    ),
    "thresholds": Method(
        ThresholdSettings,
        threshold_settings,
        _thresholds,
        "thresholds and sample sizes of many tasks: a file with a row for each",
        "simstudy apply thresholds tasks.csv [DEFAULT=VALUE ...]",
    ),
}
