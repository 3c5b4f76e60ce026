"""The report of a study."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from simstudy.analysis.frames import IN_ALL, failure_rates
from simstudy.analysis.result import Result, doubts_of
from simstudy.analysis.summary import MEASURE
from simstudy.atomic_files import write_bytes
from simstudy.lazy import pd
from simstudy.output.at_a_glance import failures_of
from simstudy.output.formatting import format_run_time, format_size, number
from simstudy.output.manifest import REPORT, TABLES, figure_name
from simstudy.output.protocol import headings_of
from simstudy.output.report.claims import claim_rows, page
from simstudy.output.report.findings import answer_of, evidence_of, heading_of
from simstudy.provenance.modules import PACKAGE, experiment_files
from simstudy.remote import Place
from simstudy.store.runs import INPUTS
from simstudy.tables.cells import Grid, with_minus
from simstudy.tables.summary import Readings, as_words
from simstudy.tables.table import Table
from simstudy.validation import file_name

SHOWN_ROWS = 2000  # rows of a table on the page; its file has all rows
EXPERIMENTS = "experiments"  # folder of a project
WIDE = 10  # columns; wider tables are printed in landscape format
MENU_SIZES = range(2, 16)  # numbers of distinct values for which a column has a menu
COUNTS = {
    "n",
    "n_rep",
    "n_failed",
    "failed replicates",
    "common replicates",
    "replicates",
    "replicates drawn",
    "replicates_timed",
    "scenarios",
}
"""Columns of counts, formatted with thousands separators."""
HEADINGS = {"mcse": "MCSE", "n_rep": "replicates", "n_failed": "failed"}
"""Headings of columns of a summary that differ from their names."""
PARAMETER = re.compile(r"(?<=[(,])(\w+)=")  # such as mean in Gaussian(mean=0,variance=1)
SECTIONS = {
    "figures": "Figures",
    "claims": "Claims",
    "tables": "Tables",
    "design": "Design",
    "planned": "Planned and done",
    "warnings": "Warnings",
    "failures": "Failures",
    "summary": "All estimates",
    "times": "Run time",
    "again": "Run it again",
    "made": "Settings and versions",
}
"""Sections of a report, in order; those from the design on are folded."""
LEFT_OUT = {
    "captions", "alt_texts", "answer", "command", "question", "warnings", "protocol", "files",
    "config", "figures_not_drawn", "tables_not_made",
}  # fmt: skip
"""Entries of a manifest that the report shows in other sections."""


def write_report(
    result: Result,
    folder: Place,
    files: Sequence[Place],
    manifest: Mapping[str, Any],
    about: str,
    module_file: str | None = None,
    *,
    tables: Mapping[str, Table] = MappingProxyType({}),
) -> Place:
    """Write `report.html` to a folder.

    Parameters
    ----------
    folder
        Folder of the result's files.
    files
        Files written so far; figures among them are shown.
    manifest
        Content of the manifest that will be written.
    about
        Docstring of the experiment.
    module_file
        Source file of the experiment; None for a study that was run as a library.
    tables
        Tables by name.
    """
    name = result.plan.name
    root, warned = project_of(module_file), result.warnings
    headings, not_drawn = headings_of(about), manifest["figures_not_drawn"]
    not_made = {
        "figures": {title_of(name): why for name, why in not_drawn.items()},
        "tables": manifest.get("tables_not_made", {}),
    }
    shown = figures_to_show(files, manifest)
    content = {
        "figures": shown[1:],
        "claims": claim_rows(result.claims, name),
        "tables": _tables(tables, files),
        "design": headings.paragraphs or headings.parts,
        "planned": manifest.get("protocol"),
        "warnings": None if warned.empty else html_table(warned, "Warnings", heading="warning"),
        "failures": _failures(result),
        "summary": summary_of(result.summary, result.details.value_labels),
        "times": _run_times(result),
        "again": result.details.repeat_command or manifest.get("command") or _in_python(manifest),
        "made": _made(manifest),
    }
    there = [part for part in SECTIONS if content[part] or not_made.get(part)]
    written = page(
        "study.html", name=name, headings=headings, title=headings.question or as_words(name),
        heading=heading_of(result), answer=manifest.get("answer") or answer_of(result),
        evidence=evidence_of(result),
        best=next(iter(shown), None), manifest=manifest,
        size=format_size(result),
        n_failed=failures_of(result), doubts=doubts_of(result),
        n_warned=0 if warned.empty else int(warned["replicates"].sum()),
        level=f"{100 * result.details.level:g}%", run_time=format_run_time(result),
        given=bool(result.details.repeat_command),
        sources=sources_of(module_file, root) if module_file else {},
        sections={part: SECTIONS[part] for part in there}, not_made=not_made, **content,
    )  # fmt: skip
    write_bytes(folder / REPORT, written)
    return folder / REPORT


def project_of(module_file: str | None) -> Path | None:
    """The project folder of a file below `experiments/`; None otherwise."""
    above = Path(module_file).parents if module_file else ()
    return next((folder.parent for folder in above if folder.name == EXPERIMENTS), None)


def _made(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The settings and versions of a manifest, and its digest of the inputs."""
    shown = {name: value for name, value in manifest.items() if name not in LEFT_OUT}
    return shown | {INPUTS: manifest[INPUTS]["digest"]} if INPUTS in manifest else shown


def _in_python(manifest: Mapping[str, Any]) -> str:
    """The Python call that repeats a study that was not run by a command."""
    asked = manifest["replicates_per_scenario"]
    n_rep = max(asked.values()) if isinstance(asked, Mapping) else asked
    return f"study.run({n_rep}, seed={manifest['seed']})"


def _tables(tables: Mapping[str, Table], files: Sequence[Place]) -> dict[str, dict[str, Any]]:
    """Every table of the study as it is published, with the names of its files."""
    found = {}
    for name, table in tables.items():
        grid, stem = table.grid, file_name(name)
        found[title_of(name)] = {
            "table": table_of_grid(grid, f"Table {as_words(name)}"),
            "title": grid.caption,
            "notes": grid.notes,
            "files": [p.name for p in files if p.stem == stem and p.parent.name == TABLES],
        }
    return found


class Summary(NamedTuple):
    """A table of the summary, and the factors that are equal in all rows."""

    table: HtmlTable
    common: dict[str, str]
    has_conditions: bool  # some estimates are shares of fewer replicates than were used


def summary_of(summary: pd.DataFrame, value_labels: Readings = MappingProxyType({})) -> Summary:
    """The summary, with constant factors separated.

    Parameters
    ----------
    value_labels
        Labels for values, by factor.
    """
    frame = with_n(summary)
    if not frame["reason"].fillna("").astype(bool).any():
        frame = frame.drop(columns="reason")
    factors = list(frame.columns)[: list(frame.columns).index(MEASURE)]
    texts = frame[factors].map(cell_text)
    same = [name for name in factors if len(frame) > 1 and texts[name].nunique() == 1]
    values = {name: read_as(frame[name].iloc[0], value_labels.get(name, {})) for name in same}
    table = html_table(
        frame.drop(columns=same),
        "Summary",
        heading=MEASURE,
        choices=[*factors, MEASURE],
        value_labels=value_labels,
    )
    common = {as_words(name): value for name, value in values.items()}
    return Summary(table, common, "n" in frame)


def with_n(summary: pd.DataFrame) -> pd.DataFrame:
    """The summary with `n`, the replicates behind each estimate, if that differs from `n_rep`.

    For a share within a condition it is the number that meet the condition (`n_given`).
    """
    if "n_given" not in summary:
        return summary
    given = summary["n_given"].fillna(summary["n_rep"])
    rest = summary.drop(columns="n_given")
    if (given == summary["n_rep"]).all():
        return rest
    name = "n" if "n" not in rest else "n given"  # a factor may be called n
    rest.insert(list(rest.columns).index("n_rep"), name, given)
    return rest


def _failures(result: Result) -> HtmlTable | None:
    """Rates of failures by scenario, method and kind of error, without factors of one level."""
    failures = result.failures
    if failures.empty:
        return None
    found = failure_rates(result.plan, failures, result.n_rep)
    factors = list(found.columns)[:-5]
    same = [name for name in factors if found[name].astype(str).nunique() == 1]
    found = found.drop(columns=[name for name in same if name != result.plan.methods_axis])
    return html_table(
        found, "Failures of replicates", heading="first error",
        value_labels=result.details.value_labels,
    )  # fmt: skip


def _run_times(result: Result) -> HtmlTable | None:
    """Seconds by scenario and method, the slowest first; None if nothing was timed."""
    if result.seconds.empty:
        return None
    ordered = result.seconds.sort_values(IN_ALL, ascending=False, kind="stable")
    axis = [result.plan.methods_axis] if result.plan.methods else []
    return html_table(ordered, "Run time", choices=axis, value_labels=result.details.value_labels)


class Column(NamedTuple):
    """A column of a table.

    Parameters
    ----------
    is_number
        Whether it holds numbers, which are right-aligned.
    is_choice
        Whether it has few values, so that a menu can filter by them.
    """

    name: str
    is_number: bool
    is_choice: bool


class HtmlTable(NamedTuple):
    """A table for a page.

    Parameters
    ----------
    caption
        Caption, for screen readers.
    heading
        Position of the column that names a row.
    n_left_out
        Rows that are not shown.
    """

    caption: str
    columns: list[Column]
    rows: list[tuple[str, ...]]
    heading: int = 0
    n_left_out: int = 0

    @property
    def is_wide(self) -> bool:
        """Whether the table needs landscape format in print."""
        return len(self.columns) >= WIDE


def html_table(
    frame: pd.DataFrame,
    caption: str,
    *,
    heading: str | None = None,
    choices: Collection[str] = (),
    value_labels: Readings = MappingProxyType({}),
) -> HtmlTable:
    """Convert the first rows of a data frame to a table.

    Parameters
    ----------
    heading
        Column that names a row. Default: the first.
    choices
        Columns of numbers that get a menu; columns of texts always may.
    value_labels
        Labels for values, by column.
    """
    columns, texts = [], []
    for at, name in enumerate(frame.columns):  # names may be repeated
        values, words = frame.iloc[:SHOWN_ROWS, at], value_labels.get(name, {})
        is_number = _is_number(values)
        as_count = is_number and name in COUNTS
        texts.append([_count(v) if as_count else read_as(v, words) for v in values.tolist()])
        is_choice = (name in choices or not is_number) and _has_few(texts[-1])
        columns.append(Column(HEADINGS.get(name) or as_words(name), is_number, is_choice))
    at = list(frame.columns).index(heading) if heading else 0
    rows = list(zip(*texts, strict=True))
    return HtmlTable(caption, columns, rows, at, max(0, len(frame) - SHOWN_ROWS))


def table_of_grid(grid: Grid, caption: str) -> HtmlTable:
    """Convert a table for publication, rounded as in its other formats."""
    rows = [tuple(map(with_minus, row)) for row in grid.rows]
    columns = [
        Column(heading.text, heading.is_number, not heading.is_number and _has_few(texts))
        for heading, *texts in zip(grid.headings, *rows, strict=True)
    ]
    return HtmlTable(caption, columns, rows[:SHOWN_ROWS], n_left_out=len(rows[SHOWN_ROWS:]))


def _has_few(texts: Iterable[str]) -> bool:
    """Whether a column has few values, for a menu."""
    return len(set(texts)) in MENU_SIZES


def _is_number(values: pd.Series) -> bool:
    types = pd.api.types
    return types.is_numeric_dtype(values) and not types.is_bool_dtype(values)


def _count(value: Any) -> str:
    return "–" if pd.isna(value) else f"{int(value):,}"


def read_as(value: Any, words: Mapping[Any, str]) -> str:
    """The label of a value, or its text."""
    is_named = isinstance(value, str | Real) and value in words
    return str(words[value]) if is_named else cell_text(value)


def cell_text(value: Any) -> str:
    """Format a cell: four digits, a dash for missing values, names in words."""
    if value is None or value is pd.NA or value is pd.NaT:
        return "–"
    if isinstance(value, float):
        return number(value)
    words = PARAMETER.sub(r"\1 = ", as_words(value))
    return words.replace(",", ", ") if words != str(value) and "(" in words else words


def sources_of(module_file: str, root: Path | None) -> dict[str, str]:
    """The source texts by file name, the experiment's own first.

    Parameters
    ----------
    module_file
        Source file of the experiment.
    root
        Folder that names are relative to. Default: the folder of the experiment.
    """
    paths = [path for path in experiment_files(module_file) if not path.is_relative_to(PACKAGE)]
    paths.sort(key=lambda path: str(path) != module_file)  # stable for the others
    top = root or Path(module_file).parent
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in paths}
    return {
        path.relative_to(top).as_posix() if path.is_relative_to(top) else path.name: text
        for path, text in texts.items()
        if len(text.strip().splitlines()) > 1  # not an empty __init__.py
    }


class ShownFigure(NamedTuple):
    """A figure of a report.

    Parameters
    ----------
    alt
        Description for readers who do not see it.
    source
        Picture with its caption as a data URI: an SVG, or a PNG if there is no SVG.
    has_pdf
        Whether there is a PDF of it.
    """

    name: str
    title: str
    alt: str
    source: str
    has_pdf: bool


def title_of(name: str) -> str:
    """The title of a figure: "Figure 3A", or its name in words."""
    words = name.replace("_", " ")
    return f"Figure {words}" if words[:1].isdigit() else words[:1].upper() + words[1:]


def figures_to_show(files: Iterable[Place], manifest: Mapping[str, Any]) -> list[ShownFigure]:
    """The figures to show, in order, with captions."""
    files, shown = list(files), []
    for path in files:
        if path.suffix == ".png":
            name, svg = figure_name(path.stem, manifest), path.with_suffix(".svg")
            kind, shown_file = ("svg+xml", svg) if svg in files else ("png", path)
            source = _data_uri(kind, shown_file.read_bytes())
            has_pdf = path.with_suffix(".pdf") in files
            title = title_of(name)
            told = [manifest.get(texts, {}).get(name) for texts in ("captions", "alt_texts")]
            alt = " ".join(filter(None, told)) or f"{title} of {manifest.get('study')}"
            shown.append(ShownFigure(path.stem, title, alt, source, has_pdf))
    return shown


def _data_uri(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
