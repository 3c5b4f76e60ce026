"""A file of replicates that other software made, summarised: `simstudy summarize FILE ...`."""

import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from simstudy.cli.endings import FAILED
from simstudy.errors import ConfigError
from simstudy.options import build, option

USAGE = "simstudy summarize FILE estimate=COLUMN [se=COLUMN method=COLUMN rep=COLUMN by=[COLUMN]]"
HELP = "measures, figures, tables and a report of replicates that other software made, in a file"
AS_WRITTEN = ("out", "name", "restart", "replace", "figures", "report")  # of the command alone
COLUMN = "column of "


@dataclass
class FileSettings:
    """Every key of `simstudy summarize FILE`: which column is what, and where results go."""

    estimate: str | None = option(f"{COLUMN}estimates; empty where a method failed")
    se: str | None = option(f"{COLUMN}standard errors")
    truth: str | None = option(
        "what is estimated: a number, a column, or {LEVEL:NUMBER,...} by the levels of by"
    )
    method: str | None = option("column that names the method")
    rep: str | None = option("column that numbers the data sets, on which methods are compared")
    by: list[str] | None = option("columns of the design's cells, [COLUMN,...]")
    lower: str | None = option(f"{COLUMN}lower limits of intervals")
    upper: str | None = option(f"{COLUMN}upper limits of intervals")
    p_value: str | None = option(f"{COLUMN}p-values")
    df: str | None = option("degrees of freedom of t intervals: a number or a column")
    level: float = option("nominal coverage of the intervals", default=0.95, above=0, below=1)
    reference: str | None = option("method that precision is relative to; the first")
    measures: list[str] | None = option("names of measures, [bias,coverage]; all usual ones")
    out: str = option("folder below which the results' own is made", default="results")
    name: str | None = option("of that folder and of the report; the file's")
    figures: bool = option("draw figures", default=True)
    report: bool = option("write report.html", default=True)
    replace: bool = option("replace results of other settings there", default=False)
    restart: bool = option("delete first what is there of another file", default=False)


def names_file(arguments: Sequence[str]) -> bool:
    """Whether what is to be summarised is a file, and not an experiment's blocks."""
    return any(_is_file(text) for text in arguments)


def _is_file(text: str) -> bool:
    """Whether a word is a file's name; one without an ending may be an experiment's."""
    path = Path(text)
    return path.is_file() or ("=" not in text and bool(path.suffix))


def summarize_file(arguments: Sequence[str]) -> int:
    """Print what a file's replicates come to, and write it all below `out`.

    Returns
    -------
    int
        The exit status: of failures among the replicates, or of figures that raised an error.

    Raises
    ------
    SimstudyError
        In a line, for anything that makes no sense.
    """
    file, settings = read_arguments(arguments)
    asked = _asked(settings)
    result = _read(file, settings, asked)
    result.given = f"simstudy summarize {shlex.join(arguments)}"
    return _publish(result, settings, {"file": file, **asked})


def read_arguments(arguments: Sequence[str]) -> tuple[str, FileSettings]:
    """The file, and what is asked of it."""
    files = [text for text in arguments if _is_file(text)]
    if len(files) != 1:
        raise ConfigError(f"summarize takes one file, and was given {' '.join(files)}: {USAGE}")
    given = [text for text in arguments if text not in files]
    return files[0], build(FileSettings, _values(given))


def _read(file: str, settings: FileSettings, asked: Mapping[str, Any]) -> Any:
    from simstudy.external.from_frame import from_file

    place = {"out": settings.out} | ({"name": settings.name} if settings.name else {})
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # printed at the end
        return from_file(file, **_arguments(asked), **place, restart=settings.restart)


def _publish(result: Any, settings: FileSettings, config: dict[str, Any]) -> int:
    """Write what there is to say, unless it stands there, and print it."""
    from simstudy.output.folder import publish
    from simstudy.output.formatting import seen_from_here, size_in_words
    from simstudy.output.terminal import print_closing
    from simstudy.output.up_to_date import is_current

    figures, report = settings.figures, settings.report
    if is_current(result, config, None, figures=figures, report=report):
        where = seen_from_here(result.folder)
        print(f"nothing to do: {where} holds {size_in_words(result)}, and its figures")
        return FAILED if result.n_failed else 0
    may_replace = settings.replace or settings.restart
    made = publish(result, config=config, figures=figures, report=report, replace=may_replace)
    print_closing(result, made)
    return FAILED if result.n_failed or made.failed else 0


def _asked(settings: FileSettings) -> dict[str, Any]:
    """What is asked of the file itself, without what nobody said."""
    said = {name: v for name, v in asdict(settings).items() if name not in AS_WRITTEN}
    if not said["estimate"]:
        raise ConfigError(f"estimate= is not given, so nothing can be summarised: {USAGE}")
    return {name: value for name, value in said.items() if value is not None}


def _arguments(asked: Mapping[str, Any]) -> dict[str, Any]:
    """As `from_file` takes them: numbers where a setting may be a number or a column."""
    read: dict[str, Any] = dict(asked)
    if "truth" in read:
        read["truth"] = _truth(read["truth"])
    if "df" in read:
        read["df"] = _number_or_name(read["df"])
    return read


def _number_or_name(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _truth(text: str) -> Any:
    """A number, a column, or numbers by level: `{a:0.5,b:1}`."""
    if not (text.startswith("{") and text.endswith("}")):
        return _number_or_name(text)
    pairs = [part.rpartition(":") for part in text[1:-1].split(",")]
    found = {level.strip(): _number_or_name(number.strip()) for level, _, number in pairs}
    for level, number in found.items():
        if not level or isinstance(number, str):
            raise ConfigError(
                f"truth={text} does not give each level a number: write {{LEVEL:NUMBER,...}}, as "
                "in truth={a:0.5,b:1}, or name a column"
            )
    return found


# ---------------------------------------------------------------- settings as typed
def _values(given: Sequence[str]) -> dict[str, Any]:
    """Values of settings, as their types have them; what is of another type stays text."""
    lists = {each.name for each in fields(FileSettings) if each.type == list[str] | None}
    values = dict[str, Any]()
    for text in given:
        name, _, value = text.partition("=")
        if name in values:
            raise ConfigError(f"{text}: {name} was given already; say each setting once")
        if not value:
            raise ConfigError(f"{text} is empty: leave {name} out, or say {name}=VALUE")
        values[name] = _items(value) if name in lists else _plain(name, value)
    return values


def _items(text: str) -> list[str]:
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    return [item.strip() for item in inner.split(",") if item.strip()]


def _plain(name: str, text: str) -> Any:
    kind = {each.name: each.type for each in fields(FileSettings)}.get(name)
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    return _number_or_name(text) if kind is float else text
