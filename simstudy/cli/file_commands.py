"""`simstudy summarize FILE`: measures of replicates that other software wrote."""

import inspect
import shlex
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simstudy.cli.settings import parse_words
from simstudy.errors import ConfigError, nearest

USAGE = "simstudy summarize FILE ... estimate=COLUMN [se=COLUMN method=COLUMN by=[COLUMN]]"
NUMBERS = ("truth", "df", "level", "null")
"""Settings that may be numbers; all others are names, or lists of names."""
SWITCHES = ("figures", "report")


def names_file(arguments: Sequence[str]) -> bool:
    """Whether the arguments of `summarize` name a file."""
    return any(map(_is_file, arguments))


def _is_file(text: str) -> bool:
    """Whether a word is the name of a file, or of a folder as in `jobs/`."""
    path = Path(text)
    if path.is_file() or (path.is_dir() and "/" in text):
        return True
    return "=" not in text and bool(path.suffix)


def summarize_file(arguments: Sequence[str]) -> int:
    """Summarize the replicates in a file, and publish below `out`.

    Returns
    -------
    int
        The exit status: of failures among the replicates, or of figures that raised an error.

    Raises
    ------
    SimstudyError
        In a line, for anything that makes no sense.
    """
    from simstudy.cli.runs import publish_and_print
    from simstudy.external.from_frame import from_file

    files, settings = read_arguments(arguments)
    if not settings.get("estimate"):
        raise ConfigError(f"estimate= is not given, so nothing can be summarised: {USAGE}")
    outputs = {name: settings.pop(name, True) for name in ("figures", "report")}
    place = {"out": "results"}
    place |= {name: settings.pop(name) for name in ("out", "name") if name in settings}
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # printed at the end
        paths = files if len(files) > 1 else files[0]
        result = from_file(paths, **settings, **place)
    result.details.given = f"simstudy summarize {shlex.join(arguments)}"
    config = {"file": " ".join(files), "measures": "all", **settings}
    return publish_and_print(result, result.folder, config=config, **outputs)


def read_arguments(arguments: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Parse the names of files, or of a folder, and the arguments of `from_frame`.

    Raises
    ------
    ConfigError
        For an unknown setting, or one that is no number or switch and should be one.
    """
    from simstudy.external.from_frame import from_frame

    files = [text for text in arguments if _is_file(text)]
    given = parse_words([text for text in arguments if text not in files])
    known = [*list(inspect.signature(from_frame).parameters)[1:], "figures", "report"]
    for name in given:
        if name not in known:
            raise ConfigError(f"{name} is not a setting; {nearest(name, known)}")
    return files, {name: _value(name, text) for name, text in given.items()}


def _value(name: str, text: str) -> Any:
    """The value of a setting: a name, a list of names, a number, numbers by level, or a switch."""
    from simstudy.cli.composition import parse_overrides

    if text[0] not in "[{" and name not in (*NUMBERS, *SWITCHES):
        return text
    (parsed,) = parse_overrides([f"{name}={text}"])
    value = parsed.value()
    if isinstance(value, list):
        return list(map(str, value))
    if name in SWITCHES and not isinstance(value, bool):
        raise ConfigError(f"{name}={text} is not allowed: it must be true or false")
    if isinstance(value, dict) and not all(isinstance(n, int | float) for n in value.values()):
        raise ConfigError(
            f"{name}={text} does not give each level a number: write {{LEVEL:NUMBER,...}}, as in "
            "truth={a:0.5,b:1}, or name a column"
        )
    return value
