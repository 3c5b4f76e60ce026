"""Publishes a result as a folder of files."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from simstudy.analysis.lookup import SUMMARY
from simstudy.analysis.result import Result
from simstudy.atomic_files import forget_unfinished, write_json
from simstudy.errors import FigureError, SimstudyError, StudyError, describe
from simstudy.output.alt_text import alt_text_of
from simstudy.output.environment import environment
from simstudy.output.frames import frames_of, write_frames
from simstudy.output.manifest import clear_outputs, facts_of, facts_of_drawing, protocol_facts
from simstudy.output.parallel_figures import ENDED, FigureWorkers
from simstudy.output.report import write_index, write_report
from simstudy.output.up_to_date import (
    FIGURES,
    TABLES,
    code_digest,
    hashes_of,
    origin_of,
    refuse_replacing,
)
from simstudy.provenance.modules import source_files
from simstudy.remote.paths import Place
from simstudy.store.compaction import folder_lock
from simstudy.store.io_errors import translate_io_errors
from simstudy.store.manifest import MANIFEST
from simstudy.tables.summary import is_short
from simstudy.tables.table import Table

NO_COLUMNS: Mapping[str, Any] = MappingProxyType({})
NAMED_APART = ("blocks", "sources", "protocol")  # of what outputs are made from
NOT_IN_THE_DATA = (FigureError, StudyError, LookupError)  # what a run has no data for, it says


@dataclass
class Artefact:
    """A figure or table.

    Parameters
    ----------
    files
        Those that were written.
    why_not
        Why there are none.
    failed
        Whether its own code raised, so that another try may make it.
    caption, alt_text
        What a figure says of itself, and what it shows, for readers who cannot see it.
    table
        The table itself.
    """

    name: str
    files: list[Place] = field(default_factory=list)
    why_not: str = ""
    failed: bool = False
    caption: str = ""
    alt_text: str = ""
    table: Table | None = None


@dataclass
class Published:
    """What was written, and what failed.

    `protocol` says what was planned, where a protocol lies beside the results, and what was done
    otherwise.
    """

    folder: Place
    files: list[Place] = field(default_factory=list)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    figures: list[Artefact] = field(default_factory=list)
    tables: list[Artefact] = field(default_factory=list)

    @property
    def not_drawn(self) -> dict[str, str]:
        """Figures that are missing, with reasons."""
        return {each.name: each.why_not for each in self.figures if not each.files}

    @property
    def not_made(self) -> dict[str, str]:
        """Tables that are missing, with reasons."""
        return {each.name: each.why_not for each in self.tables if not each.files}

    @property
    def failed(self) -> list[str]:
        """Figures and tables that may succeed in another run."""
        return [each.name for each in (*self.figures, *self.tables) if each.failed]


def publish(
    result: Result,
    *,
    about: str = "",
    config: dict[str, Any] | None = None,
    module_file: str | None = None,
    sources: str | None = None,
    figures: bool = True,
    report: bool = True,
    replace: bool = False,
    columns: Mapping[str, float] = NO_COLUMNS,
    workers: FigureWorkers | None = None,
    part: Mapping[str, Any] | None = None,
) -> Published:
    """Publish a result to its folder; the manifest is removed first and written last.

    Parameters
    ----------
    about
        The experiment's docstring.
    config
        The settings that made it, for the manifest.
    module_file
        The experiment's source, so that a change of its figures or claims is noticed.
    sources
        Digest of the sources as they were when they were loaded, for a run that took long.
    replace
        Whether what other settings published there, or a longer run, may be replaced.
    columns
        Widths in inches, by name, at which figures are drawn as PDFs and tables are laid out too.
    workers
        Processes that may draw the figures side by side; without them this process draws all.
    part
        To which part of which group of experiments it belongs, for the manifest.

    Raises
    ------
    StoreError
        Where it may not be, or the disk cannot be written.
    """
    folder = result.folder
    if folder is None:
        raise SimstudyError(
            "this result lives in memory only: give run(...) a folder, out='results'."
        )
    with translate_io_errors(folder), folder_lock(folder):
        settings = config or {}
        if not replace:
            refuse_replacing(
                folder, settings, result.plan, result.n_rep, design=result.details.design
            )
        made_from = origin_of(result, settings, module_file, sources)
        start = time.perf_counter()
        for place in (folder, folder / FIGURES, folder / TABLES):
            forget_unfinished(place)
        previous = clear_outputs(folder)
        made = Published(folder)
        frames = frames_of(result)
        frames |= {"claims": result.claims}
        made.files += write_frames(result, folder, frames)
        made.tables = write_tables(result, folder)
        if figures:
            made.figures = _draw_figures(result, folder, columns, workers)
        made.files += [path for each in (*made.tables, *made.figures) for path in each.files]
        content = _manifest(result, made, made_from, module_file, previous)
        content["question"] = about.strip().partition("\n")[0]
        content |= {"part": dict(part)} if part else {}
        content |= {"column_widths": dict(columns)} if columns and figures else {}
        content["publish_seconds"] = round(time.perf_counter() - start, 3)
        if report:
            tables = {each.name: each.table for each in made.tables if each.table}
            page = write_report(result, made.files, content, about, module_file, tables=tables)
            made.files.append(page)
        content["files"] = hashes_of(folder, made.files)
        write_json(folder / MANIFEST, content)
        made.files.append(folder / MANIFEST)
        if report:
            write_index(folder.parent)
    return made


def _manifest(
    result: Result,
    published: Published,
    inputs: Mapping[str, Any],
    module_file: str | None,
    previous: Mapping[str, Any],
) -> dict[str, Any]:
    """The manifest's entries about the result, figures and tables."""
    planned = protocol_facts(result)
    published.protocol = planned.get("protocol", {})
    return {
        **facts_of(result, inputs["blocks"]),
        "code": code_digest(module_file),
        "config": inputs["config"],
        "made_from": {name: value for name, value in inputs.items() if name in NAMED_APART},
        "figures_failed": [each.name for each in published.figures if each.failed],
        "tables_failed": [each.name for each in published.tables if each.failed],
        **environment(source_files(module_file), inputs["versions"]),
        **facts_of_drawing(result, previous),
        **planned,
        "figures_not_drawn": published.not_drawn,
        "captions": {each.name: each.caption for each in published.figures if each.files},
        "alt_texts": {each.name: each.alt_text for each in published.figures if each.files},
        "tables_not_made": published.not_made,
    }


# ---------------------------------------------------------------- figures and tables
def _draw_figures(
    result: Result, folder: Place, columns: Mapping[str, float], workers: FigureWorkers | None
) -> list[Artefact]:
    """Draw all figures for which the run has data, also as PDFs for journals."""
    draw, names = _Draw(result, folder, columns), list(result.details.figures)
    if workers is None or not isinstance(folder, Path):
        return list(map(draw, names))
    drawn = zip(names, workers.map(draw, names), strict=True)
    return [each or Artefact(name, why_not=ENDED, failed=True) for name, each in drawn]


@dataclass
class _Draw:
    """Draws a figure by name; workers receive the summary and read replicates."""

    result: Result
    folder: Place
    columns: Mapping[str, float]

    def __call__(self, name: str) -> Artefact:
        return _one(name, self._drawn)

    def __reduce__(self) -> tuple[Any, ...]:
        light = Result(replace(self.result.details))  # without frames that may be large
        light.summary = self.result.summary
        return _Draw, (light, self.folder, dict(self.columns))

    def _drawn(self, name: str) -> Artefact:
        from simstudy.figures import save_figure, save_pdfs
        from simstudy.figures.captions import caption_of

        figure, folder = self.result.figure(name), self.folder / FIGURES
        saved = save_figure(figure, folder, name)
        again = partial(self.result.figure, name)
        pdfs = save_pdfs(again, folder, name, columns=self.columns) if self.columns else {}
        files, caption = [*saved, *pdfs.values()], caption_of(figure)
        return Artefact(name, files, caption=caption, alt_text=alt_text_of(figure))


def write_tables(result: Result, folder: Place) -> list[Artefact]:
    """Write every table for which the run has data; that of the summary only if short."""
    from simstudy.tables import save_table

    def write(name: str) -> Artefact:
        table, label = result.table(name), f"{result.plan.name}:{name}"
        files = save_table(table, folder / TABLES, name, label=label)
        return Artefact(name, [*files], table=table)

    own = [SUMMARY] if SUMMARY not in result.details.tables and is_short(result.summary) else []
    return [_one(name, write) for name in (*result.details.tables, *own)]


def _one(name: str, make: Callable[[str], Artefact]) -> Artefact:
    """Make one output; its error does not stop the others."""
    try:
        return make(name)
    except (Exception, SystemExit) as error:
        is_about_data = type(error) in NOT_IN_THE_DATA
        text = " ".join(str(error).split()) if is_about_data else describe(error)
        return Artefact(name, why_not=text, failed=not is_about_data)
