"""Commands on a user's own file: `simstudy apply METHOD FILE` and `simstudy summarize FILE`."""

import shlex
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from simstudy.cli.exit_status import FAILED
from simstudy.cli.settings import parse_values
from simstudy.documents.applied.settings import (
    AccuracySettings,
    ThresholdSettings,
    threshold_settings,
)
from simstudy.errors import ConfigError, nearest
from simstudy.option_types import number_meant
from simstudy.options import build, option


# ---------------------------------------------------------------- apply
class Method(NamedTuple):
    """A method of `simstudy apply`: settings, function and usage."""

    settings: type[Any]
    build: Callable[[Mapping[str, Any]], Any]
    answer: Callable[[str, Any], None]
    help: str
    example: str


def apply_to_file(arguments: Sequence[str]) -> None:
    """Print a method's answer for a file, and write it to `out=`.

    Raises
    ------
    SimstudyError
        In one line, for anything that makes no sense.
    """
    given = [text for text in arguments if "=" in text and not _is_file(text)]
    words = [text for text in arguments if text not in given]
    if not words:
        raise ConfigError(f"apply takes a method and a file, as in {METHODS['accuracy'].example}")
    name, *files = words
    if name not in METHODS:
        raise ConfigError(f"no such method to apply: {name!r}; {nearest(name, METHODS)}")
    method = METHODS[name]
    if len(files) != 1:
        raise ConfigError(
            f"apply {name} takes one file, and was given {' '.join(files) or 'none'}: "
            f"{method.example}"
        )
    method.answer(files[0], method.build(parse_values(method.settings, given)))


def _accuracy(path: str, settings: AccuracySettings) -> None:
    from simstudy.documents.applied.files import check_file, write_check

    check, file = check_file(path, settings)
    _print_answer(str(check), write_check(check, file, settings) if settings.out else None)


def _thresholds(path: str, settings: ThresholdSettings) -> None:
    from simstudy.documents.applied.files import answer_tasks, write_table
    from simstudy.documents.applied.report import format_table

    table, file = answer_tasks(path, settings)
    _print_answer(format_table(table), write_table(table, file, settings) if settings.out else None)


def _print_answer(answer: str, folder: Any) -> None:
    """Print the answer, then the folder with its files."""
    print(answer)
    if folder is not None:
        print(f"written to {folder}")


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


# ---------------------------------------------------------------- summarize
USAGE = "simstudy summarize FILE estimate=COLUMN [se=COLUMN method=COLUMN rep=COLUMN by=[COLUMN]]"
HELP = "measures, figures, tables and a report of replicates that other software made, in a file"
OF_THE_OUTPUT = ("out", "name", "restart", "replace", "figures", "report")
COLUMN = "column of "
WIDE = ("estimate", "se", "lower", "upper", "p_value")  # of which each method may have one


@dataclass
class FileSettings:
    """The settings of `simstudy summarize FILE`."""

    estimate: str | None = option(
        f"{COLUMN}estimates, empty where a method failed; [COLUMN,...] where each method has one"
    )
    se: str | None = option(f"{COLUMN}standard errors, or one for each method")
    truth: str | None = option(
        "what is estimated: a number, a column, or {LEVEL:NUMBER,...} by the levels of by"
    )
    method: str | None = option("column that names the method")
    rep: str | None = option("column that numbers the data sets, where rows are not in their order")
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
    """Whether `summarize` is given a file rather than an experiment."""
    return any(map(_is_file, arguments))


def _is_file(text: str) -> bool:
    """Whether a word is a file name."""
    path = Path(text)
    return path.is_file() or ("=" not in text and bool(path.suffix))


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
    from simstudy.external.from_frame import from_file

    file, settings = read_arguments(arguments)
    given = {name: v for name, v in asdict(settings).items() if name not in OF_THE_OUTPUT}
    columns = {name: value for name, value in given.items() if value is not None}
    if not columns.get("estimate"):
        raise ConfigError(f"estimate= is not given, so nothing can be summarised: {USAGE}")
    numbers: dict[str, Any] = {name: _columns(columns[name]) for name in WIDE if name in columns}
    if settings.truth is not None:
        numbers["truth"] = _truth(settings.truth)
    if settings.df is not None:
        numbers["df"] = number_meant(settings.df)
    place = {"out": settings.out} | ({"name": settings.name} if settings.name else {})
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # printed at the end
        result = from_file(file, **columns | numbers, **place, restart=settings.restart)
    result.details.given = f"simstudy summarize {shlex.join(arguments)}"
    config = {"file": file, "measures": "all", **columns}  # fewer measures are another result
    return _publish(result, settings, config)


def read_arguments(arguments: Sequence[str]) -> tuple[str, FileSettings]:
    """Parse the file name and the settings."""
    files = [text for text in arguments if _is_file(text)]
    if len(files) != 1:
        raise ConfigError(f"summarize takes one file, and was given {' '.join(files)}: {USAGE}")
    given = [text for text in arguments if text not in files]
    return files[0], build(FileSettings, parse_values(FileSettings, given))


def _publish(result: Any, settings: FileSettings, config: dict[str, Any]) -> int:
    """Write the outputs, unless they are up to date, and print the result."""
    from simstudy.output.folder import publish
    from simstudy.output.formatting import format_size, relative_to_cwd
    from simstudy.output.terminal import print_closing
    from simstudy.output.up_to_date import is_current

    figures, report = settings.figures, settings.report
    if is_current(result, config, None, figures=figures, report=report):
        where = relative_to_cwd(result.folder)
        print(f"nothing to do: {where} holds {format_size(result)}, and its figures")
        return FAILED if result.n_failed else 0
    may_replace = settings.replace or settings.restart
    published = publish(result, config=config, figures=figures, report=report, replace=may_replace)
    print_closing(result, published)
    return FAILED if result.n_failed or published.failed else 0


def _columns(text: str) -> str | list[str]:
    """One column, or the columns of a wide table: `[b_cc,b_mi]`."""
    if text.startswith("[") and text.endswith("]"):
        return [name.strip() for name in text[1:-1].split(",")]
    return text


def _truth(text: str) -> Any:
    """The truth: a number, a column, or numbers by level: `{a:0.5,b:1}`."""
    if not (text.startswith("{") and text.endswith("}")):
        return number_meant(text)
    pairs = [part.rpartition(":") for part in text[1:-1].split(",")]
    found = {level.strip(): number_meant(number.strip()) for level, _, number in pairs}
    if any(not level or isinstance(number, str) for level, number in found.items()):
        raise ConfigError(
            f"truth={text} does not give each level a number: write {{LEVEL:NUMBER,...}}, as in "
            "truth={a:0.5,b:1}, or name a column"
        )
    return found
