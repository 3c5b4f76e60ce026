"""A study's page: what was asked, what was found, and how to do it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from simstudy.analysis.result import Result
from simstudy.lazy import pd
from simstudy.output.headings import headings_of
from simstudy.output.origin import REPORT
from simstudy.output.report.claim_rows import claim_table
from simstudy.output.report.command import command_of, project_of
from simstudy.output.report.figures import shown_figures, title_of
from simstudy.output.report.html_tables import HtmlTable, html_table
from simstudy.output.report.index_page import write_index
from simstudy.output.report.made import provenance, settings
from simstudy.output.report.pages import page
from simstudy.output.report.run_times import run_times
from simstudy.output.report.sources import sources_of
from simstudy.output.report.stored_tables import StoredTable, stored_tables
from simstudy.output.report.summary import summary_of
from simstudy.output.wording import number, size_in_words
from simstudy.remote.paths import Place
from simstudy.tables.table import Table
from simstudy.whole_files import write_bytes

SECTIONS = {
    "planned": "Planned and done",
    "claims": "Claims of the document",
    "figures": "Figures",
    "tables": "Tables",
    "summary": "Summary",
    "warnings": "Warnings",
    "failures": "Failures",
    "times": "Run time",
    "again": "Run it again",
    "made": "How it was made",
}


def write_report(
    result: Result,
    files: Sequence[Place],
    manifest: Mapping[str, Any],
    about: str,
    module_file: str | None = None,
    *,
    tables: Mapping[str, Table] = MappingProxyType({}),
) -> Place:
    """Write `report.html` beside the result's files, and the index of the folder above.

    Parameters
    ----------
    files
        What was written so far, of which the figures are shown.
    manifest
        What it will say.
    about
        The experiment's docstring.
    module_file
        The experiment's source; None of a study that was run as a library.
    tables
        Those that were made, by name: others in the folder are shown as their files have them.
    """
    assert result.folder is not None
    name, target = result.plan.name, result.folder / REPORT
    stored = stored_tables(result.folder, tables)
    content = _content(result, files, manifest, module_file, stored)
    there = {part: title for part, title in SECTIONS.items() if content.get(part)}
    facts = _facts(result, manifest)
    headings = headings_of(about)
    written = page(
        "study.html", name=name, headings=headings, facts=facts, sections=there,
        noticed=manifest.get("noticed", []), **content,
    )  # fmt: skip
    write_bytes(target, written)
    write_index(result.folder.parent, {name: manifest})
    return target


def _content(
    result: Result,
    files: Sequence[Place],
    manifest: Mapping[str, Any],
    module_file: str | None,
    stored: Sequence[StoredTable],
) -> dict[str, Any]:
    """What each section shows; nothing, where it is left out."""
    root = project_of(module_file)
    not_drawn = {title_of(name): why for name, why in manifest["figures_not_drawn"].items()}
    drawn, not_made = shown_figures(files, manifest), manifest.get("tables_not_made", {})
    return {
        "planned": manifest.get("protocol"),
        "claims": None if result.claims.empty else claim_table(result.claims),
        "figures": (drawn, not_drawn) if drawn or not_drawn else None,
        "tables": (stored, not_made) if stored or not_made else None,
        "summary": summary_of(result.summary, result.readings),
        "level": f"{100 * result.level:g}%",
        "warnings": _warnings(result.warnings),
        "failures": _failures(result.failures),
        "times": run_times(result),
        "again": result.given or command_of(manifest, root, result.folder),
        "given": bool(result.given),
        "by_python": "experiment" not in manifest["config"],
        "sources": sources_of(result, module_file, root),
        "made": (settings(manifest), provenance(manifest)),
    }


def _facts(result: Result, manifest: Mapping[str, Any]) -> list[str]:
    """The size of it all, in a few words each."""
    error, n_failed = manifest.get("largest_mcse"), result.n_failed
    said = [size_in_words(result)]
    said += [f"largest Monte Carlo error {number(error)}"] * (error is not None)
    said += [f"{n_failed:,} replicates failed"] * (n_failed > 0)
    return [*said, "made by other software" if result.given else f"seed {manifest['seed']}"]


def _warnings(warnings: pd.DataFrame) -> HtmlTable | None:
    if warnings.empty:
        return None
    return html_table(warnings, "Warnings of replicates", heading="warning")


def _failures(failures: pd.DataFrame) -> HtmlTable | None:
    if failures.empty:
        return None
    counts = failures.groupby("error").agg(
        replicates=("address", "size"), first_address=("address", "first")
    )
    named = counts.reset_index().rename(columns={"first_address": "first address"})
    return html_table(named, "Failures of replicates", heading="error")
