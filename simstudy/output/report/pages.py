"""The report of a study, its claims, and what all pages share."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from simstudy.analysis.frames import failure_rates
from simstudy.analysis.result import Result, doubts_of
from simstudy.analysis.summary import MEASURE
from simstudy.claims import verdict
from simstudy.claims.claim import format_allowed, format_intended, format_values, format_verdict
from simstudy.design.reprs import from_to
from simstudy.lazy import pd
from simstudy.output.findings import evidence_of, failures_of
from simstudy.output.formatting import counted, format_run_time, format_size, format_time, number
from simstudy.output.manifest import FIGURES, REPORT, TABLES
from simstudy.output.protocol import headings_of
from simstudy.places import Place, write_bytes
from simstudy.store.runs import INPUTS
from simstudy.tables.summary import as_words, factor_column, format_constants, is_constant
from simstudy.tables.table import Grid, Table, with_minus
from simstudy.validation import file_name

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("tables.js", "page.js")
SHOWN_ROWS = 2000  # rows of a table on the page; its file has all rows
WIDE = 10  # columns; wider tables are printed in landscape format
MENU_SIZES = range(2, 16)  # numbers of distinct values for which a column has a menu
HEADINGS = {"mcse": "MCSE", "n_rep": "replicates", "n_failed": "failed"}
"""Headings of columns of a summary that differ from their names."""
SECTIONS = {
    "figures": "Figures",
    "claims": "Claims",
    "tables": "Tables",
    "design": "Design",
    "planned": "Planned and done",
    "warnings": "Warnings",
    "failures": "Failures",
    "summary": "All estimates",
    "again": "Run it again",
    "made": "Settings and versions",
}
"""Sections of a report, in order; those from the design on are folded."""
LEFT_OUT = {
    "captions", "alt_texts", "answer", "command", "question", "warnings", "protocol", "files",
    "config", "figures_not_drawn", "tables_not_made",
}  # fmt: skip
"""Entries of a manifest that the report shows in other sections."""
MEANINGS = {
    verdict.REPRODUCED: "the simulation agrees with what is printed",
    verdict.IN_PRINT_ONLY: "the printed number is found again, but it is not what it is taken for",
    verdict.DIFFERS: "the simulation disagrees by more than chance and rounding explain",
    verdict.UNCHECKABLE: "the document leaves out what a check would need",
    verdict.TOO_FEW: "more replicates are needed to decide",
}
CSS = ("reproduced", "in-print", "differs", "uncheckable", "too-few", "too-few")
CLASSES = dict(zip(verdict.VERDICTS, CSS, strict=True))
"""CSS class of each verdict, which sets its colour and mark in both pages."""
NOTES = {"detail": "Detail", "missing": "Missing", "note": "Note"}


def write_report(
    result: Result,
    folder: Place,
    files: Sequence[Place],
    manifest: Mapping[str, Any],
    about: str,
    tables: Mapping[str, Table],
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
    tables
        Tables by name.
    """
    name, details, warned = result.plan.name, result.details, result.warnings
    headings = headings_of(about)
    not_drawn = {title_of(name): why for name, why in manifest["figures_not_drawn"].items()}
    not_made = {"figures": not_drawn, "tables": manifest.get("tables_not_made", {})}
    made = {entry: value for entry, value in manifest.items() if entry not in LEFT_OUT}
    in_python = f"study.run({max(result.n_rep.values())}, seed={manifest['seed']})"
    shown = figures_to_show(files, manifest)
    content = {
        "figures": shown[1:],
        "claims": claim_rows(result.claims),
        "tables": _tables(tables, files),
        "design": headings.paragraphs or headings.parts,
        "planned": manifest.get("protocol"),
        "warnings": None if warned.empty else html_table(warned, "Warnings", heading="warning"),
        "failures": _failures(result),
        "summary": summary_of(result.summary, details.value_labels),
        "again": details.repeat_command or manifest.get("command") or in_python,
        "made": made | {INPUTS: manifest[INPUTS]["digest"]},
    }
    there = [part for part in SECTIONS if content[part] or not_made.get(part)]
    written = page(
        "study.html", name=name, headings=headings, title=headings.question or as_words(name),
        heading="At a glance" if details.answer is None else "Answer", answer=manifest["answer"],
        evidence=evidence_of(result), best=next(iter(shown), None), manifest=manifest,
        size=format_size(result), n_failed=failures_of(result), doubts=doubts_of(result),
        n_warned=0 if warned.empty else int(warned["replicates"].sum()),
        level=f"{100 * details.level:g}%", run_time=format_run_time(result),
        given=bool(details.repeat_command),
        sections={part: SECTIONS[part] for part in there}, not_made=not_made, **content,
    )  # fmt: skip
    write_bytes(folder / REPORT, written)
    return folder / REPORT


def _tables(tables: Mapping[str, Table], files: Sequence[Place]) -> dict[str, dict[str, Any]]:
    """Every table of the study as it is published, with the names of its files."""
    shown = {}
    for name, table in tables.items():
        own = [p.name for p in files if p.stem == file_name(name) and p.parent.name == TABLES]
        about = {"title": table.grid.caption, "notes": table.grid.notes, "files": own}
        shown[title_of(name)] = {"table": html_grid(table.grid, f"Table {as_words(name)}"), **about}
    return shown


def summary_of(
    summary: pd.DataFrame, value_labels: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """The summary, and the factors that are equal in all rows.

    Where shares are of replicates that meet a condition, a column `n` has their number.

    Parameters
    ----------
    value_labels
        Labels for values, by factor.
    """
    frame = summary.copy()
    given = frame.pop("n_given").fillna(frame["n_rep"]) if "n_given" in frame else frame["n_rep"]
    has_conditions = bool((given != frame["n_rep"]).any())
    if has_conditions:  # a factor may be called n
        name = "n" if "n" not in frame else "n given"
        frame.insert(list(frame.columns).index("n_rep"), name, given.astype(int))
    if not frame["reason"].fillna("").astype(bool).any():
        frame = frame.drop(columns="reason")
    factors = frame.columns[: list(frame.columns).index(MEASURE)]
    same = [name for name in factors if len(frame) > 1 and is_constant(frame[name])]
    common = format_constants({name: frame[name].iloc[0] for name in same}, value_labels)
    rest = frame.drop(columns=same)
    table = html_table(rest, "Summary", heading=MEASURE, value_labels=value_labels)
    return {"table": table, "common": common, "has_conditions": has_conditions}


def _failures(result: Result) -> dict[str, Any] | None:
    """Rates of failures by scenario, method and kind of error, without factors of one level."""
    if result.failures.empty:
        return None
    found = failure_rates(result.plan, result.failures, result.n_rep)
    factors = [name for name in found.columns[:-5] if name != result.plan.methods_axis]
    found = found.drop(columns=[name for name in factors if is_constant(found[name])])
    labels = result.details.value_labels
    return html_table(found, "Failures of replicates", heading="first error", value_labels=labels)


def html_table(
    frame: pd.DataFrame,
    caption: str,
    *,
    heading: str | None = None,
    value_labels: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """Convert a data frame to a table for a page.

    Parameters
    ----------
    caption
        Caption, for screen readers.
    heading
        Column that names a row. Default: the first.
    value_labels
        Labels for values, by column.
    """
    shown = frame.head(SHOWN_ROWS)
    columns = {
        name: factor_column(list(shown[name]), value_labels.get(name, {}), HEADINGS.get(name, ""))
        for name in map(str, shown)
    }
    named_by = list(frame.columns).index(heading) if heading else 0
    return html_grid(Table(shown, caption, columns).grid, caption, named_by, len(frame))


def html_grid(grid: Grid, caption: str, named_by: int = 0, n_rows: int = 0) -> dict[str, Any]:
    """Convert the first rows of a table of text to a table for a page.

    Columns of few texts have a menu, and so have numbers before the column that names a row.

    Parameters
    ----------
    named_by
        Position of that column.
    n_rows
        Number of all rows, if these are not all.
    """
    rows = [list(map(with_minus, row)) for row in grid.rows]
    columns = []
    for at, (name, is_number) in enumerate(grid.headings):
        has_menu = (at < named_by or not is_number) and len({row[at] for row in rows}) in MENU_SIZES
        columns.append({"name": name, "is_number": is_number, "is_choice": has_menu})
    return {
        "caption": caption,
        "columns": columns,
        "rows": rows[:SHOWN_ROWS],
        "heading": named_by,
        "n_left_out": max(0, (n_rows or len(rows)) - SHOWN_ROWS),
        "is_wide": len(columns) >= WIDE,
    }


def title_of(name: str) -> str:
    """The title of a figure: "Figure 3A", or its name in words."""
    words = name.replace("_", " ")
    return f"Figure {words}" if words[:1].isdigit() else words[:1].upper() + words[1:]


def figures_to_show(files: Iterable[Place], manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The figures to show, in order, each with its picture as a data URI: SVG, or else PNG."""
    there = {path.name: path for path in files if path.parent.name == FIGURES}
    shown = []
    for name, caption in manifest["captions"].items():
        stem = file_name(name)
        svg, png = there.get(f"{stem}.svg"), there.get(f"{stem}.png")
        if png is not None:
            kind, path = ("png", png) if svg is None else ("svg+xml", svg)
            told = filter(None, [caption, manifest.get("alt_texts", {}).get(name)])
            picture = base64.b64encode(path.read_bytes()).decode()
            alt = " ".join(told) or f"{title_of(name)} of {manifest['study']}"
            content = {"source": f"data:image/{kind};base64,{picture}", "alt": alt}
            about = {"name": stem, "title": title_of(name), "has_pdf": f"{stem}.pdf" in there}
            shown.append(about | content)
    return shown


# Claims ---------------------------------------------------------------
def claim_rows(claims: pd.DataFrame) -> list[dict[Any, Any]]:
    """The claims of a study for a page, in the order of their table.

    Returns
    -------
    list of dict
        The columns of the table, with `published` and our number, `ours`, as text. `value` is our
        number, for sorting. `allowed` is the tolerance, or the criterion of a statement. `notes`
        are texts by label, such as `Note`.
    """
    return [_as_text(claim) for claim in claims.to_dict("records")]


def _as_text(claim: Mapping[Any, Any]) -> dict[Any, Any]:
    published, ours = format_values(claim)
    notes = {"Intended": format_intended(claim)}
    notes |= {label: claim[name] for name, label in NOTES.items()}
    unexpected = verdict.is_unexpected(claim["verdict"], claim["expected"])
    return {
        **claim,
        "published": published,
        "ours": ours,
        "value": float(claim["reproduced"]),
        "allowed": format_allowed(claim),
        "verdict_text": format_verdict(claim) + ", unexpected" * unexpected,
        "css_class": CLASSES.get(claim["verdict"], CLASSES[verdict.TOO_FEW]),
        "is_unexpected": unexpected,
        "notes": {label: text for label, text in notes.items() if text},
    }


# What all pages share -------------------------------------------------
def page(template: str, **content: Any) -> bytes:
    """Render a page; its content is escaped, so that it is never markup."""
    text = environment().get_template(template).render(content)
    return text.encode(errors="xmlcharrefreplace")  # lone surrogates


@cache
def environment() -> Environment:
    """The templates, with their common variables and filters."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    rules: dict[str, Any] = {"autoescape": True, "trim_blocks": True, "lstrip_blocks": True}
    made = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, **rules)
    script = "".join(map(template_text, SCRIPTS))
    style, index_style = (Markup(template_text(name)) for name in ("style.css", "index.css"))
    made.globals |= {"style": style, "index_style": index_style, "script": Markup(script)}
    made.globals |= {"script_hash": content_hash(script), "link": link, "from_to": from_to}
    made.globals |= {"classes": CLASSES, "meanings": MEANINGS}
    made.filters |= {"counted": counted, "time": format_time, "words": as_words}
    made.filters |= {"value": format_value, "counts": verdict.format_counts}
    return made


def template_text(name: str) -> str:
    """The text of a template."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def content_hash(script: str) -> str:
    """The hash of a script, for the content security policy of a page."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def link(*names: str) -> str:
    """A relative link to a file; it begins with a dot, so that no name is taken for a scheme."""
    quoted = (quote(name, errors="surrogateescape") for name in names)  # undecodable bytes
    return "/".join([".", *quoted])


def format_value(value: Any) -> str:
    """A value of a manifest in one line."""
    if isinstance(value, Mapping):
        texts = [f"{key} {format_value(inner)}" for key, inner in value.items()]
        return ", ".join(texts) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(format_value, value)) or "none"
    return number(value) if isinstance(value, float) else str(value)
