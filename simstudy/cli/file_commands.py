"""`simstudy summarize FILE`: measures of replicates that other software wrote."""

import shlex
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from simstudy.cli.exit_status import FAILED
from simstudy.cli.settings import parse_words
from simstudy.errors import ConfigError
from simstudy.options import build, option

# ---------------------------------------------------------------- summarize
USAGE = "simstudy summarize FILE ... estimate=COLUMN [se=COLUMN method=COLUMN by=[COLUMN]]"
HELP = "measures, figures, tables and a report of replicates that other software made, in a file"
OUTPUT_SETTINGS = ("out", "name", "figures", "report")
COLUMN = "column of "
WIDE = ("estimate", "se", "lower", "upper", "p_value")  # each may list one column per method


@dataclass
class FileSettings:
    """The settings of `simstudy summarize FILE`."""

    estimate: str | None = option(
        f"{COLUMN}estimates, empty where a method failed; [COLUMN,...] where each method has one"
    )
    se: str | None = option(f"{COLUMN}standard errors, or one for each method")
    truth: str | None = option(
        "what is estimated: a number, a column, or {LEVEL:NUMBER,...} by levels of a column of by, "
        "or by method"
    )
    method: str | None = option("column that names the method; [COLUMN,...] that do so together")
    rep: str | None = option("column that numbers the data sets, where rows are not in their order")
    by: list[str] | None = option("columns of the design's cells, [COLUMN,...]")
    lower: str | None = option(f"{COLUMN}lower limits of intervals")
    upper: str | None = option(f"{COLUMN}upper limits of intervals")
    p_value: str | None = option(f"{COLUMN}p-values")
    df: str | None = option("degrees of freedom of t intervals: a number or a column")
    level: float = option("nominal coverage of the intervals", default=0.95, above=0, below=1)
    null: float = option("value that tests by intervals reject", default=0.0)
    converged: str | None = option(f"{COLUMN}truth values: a method failed where it is false")
    reference: str | None = option("method that precision is relative to; the first")
    measures: list[str] | None = option("names of measures, [bias,coverage]; all usual ones")
    out: str = option("folder below which the results' own is made", default="results")
    name: str | None = option("of that folder and of the report; the file's")
    figures: bool = option("draw figures", default=True)
    report: bool = option("write report.html", default=True)


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
    from simstudy.external.from_frame import from_file

    files, settings = read_arguments(arguments)
    given = {name: v for name, v in asdict(settings).items() if name not in OUTPUT_SETTINGS}
    columns = {name: value for name, value in given.items() if value is not None}
    if not columns.get("estimate"):
        raise ConfigError(f"estimate= is not given, so nothing can be summarised: {USAGE}")
    numbers: dict[str, Any] = {
        name: _columns(columns[name]) for name in (*WIDE, "method") if name in columns
    }
    if settings.truth is not None:
        numbers["truth"] = _truth(settings.truth)
    if settings.df is not None:
        numbers["df"] = _number_or_text(settings.df)
    place = {"out": settings.out} | ({"name": settings.name} if settings.name else {})
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # printed at the end
        paths = files if len(files) > 1 else files[0]
        result = from_file(paths, **columns | numbers, **place)
    result.details.given = f"simstudy summarize {shlex.join(arguments)}"
    columns = {name: value for name, value in columns.items() if (name, value) != ("null", 0.0)}
    # fewer measures are another result
    config = {"file": " ".join(files), "measures": "all", **columns}
    return _publish(result, settings, config)


def read_arguments(arguments: Sequence[str]) -> tuple[list[str], FileSettings]:
    """Parse the names of files, or of a folder, and the settings."""
    files = [text for text in arguments if _is_file(text)]
    given = [text for text in arguments if text not in files]
    return files, build(FileSettings, parse_words(given))


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
    published = publish(result, config=config, figures=figures, report=report)
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
        return _number_or_text(text)
    pairs = [part.rpartition(":") for part in text[1:-1].split(",")]
    found = {level.strip(): _number_or_text(number.strip()) for level, _, number in pairs}
    if any(not level or isinstance(number, str) for level, number in found.items()):
        raise ConfigError(
            f"truth={text} does not give each level a number: write {{LEVEL:NUMBER,...}}, as in "
            "truth={a:0.5,b:1}, or name a column"
        )
    return found


def _number_or_text(text: str) -> float | str:
    """A number, if the text is one."""
    try:
        return float(text)
    except ValueError:
        return text
