"""A result as files: summary, claims, failures, tables, figures, manifest, report."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simstudy.analysis.result import SUMMARY, Result
from simstudy.atomic_files import forget_unfinished, read_json, write_json
from simstudy.errors import SimstudyError
from simstudy.identity.source_files import source_files
from simstudy.output.artefacts import NO_COLUMNS, Artefacts, draw_figures, write_tables
from simstudy.output.environment import environment
from simstudy.output.frames import frames_of, write_frames
from simstudy.output.manifest import cost_of_blocks, facts_of, noticed, protocol_facts
from simstudy.output.parallel_figures import FigureWorkers
from simstudy.output.report import write_report
from simstudy.output.up_to_date import (
    FIGURES,
    REPORT,
    TABLES,
    as_json,
    file_hash,
    hashes_of,
    origin_of,
    refuse_replacing,
    said_origin,
)
from simstudy.remote.paths import Place
from simstudy.store.disk import alone_in, trouble_in_words
from simstudy.store.manifest import MANIFEST, listed_files
from simstudy.tables.table import ENDINGS

NAMED_APART = ("blocks", "sources", "protocol")  # of what outputs are made from


@dataclass
class Published:
    """What was written, and what could not be.

    `protocol` says what was planned, where a protocol lies beside the results, and what was done
    otherwise.
    """

    folder: Place
    files: list[Place] = field(default_factory=list)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    figures: Artefacts = field(default_factory=Artefacts)
    tables: Artefacts = field(default_factory=Artefacts)

    @property
    def not_drawn(self) -> dict[str, str]:
        """Figures that are not there, and why."""
        return self.figures.not_made

    @property
    def failed(self) -> list[str]:
        """Figures and tables that another try may make."""
        return [*self.figures.failed, *self.tables.failed]


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
    """Write everything a result says into its folder; the manifest goes first and comes last.

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
    if result.folder is None:
        raise SimstudyError(
            "this result lives in memory only: give run(...) a folder, out='results'."
        )
    with trouble_in_words(result.folder), alone_in(result.folder):
        if not replace:
            refuse_replacing(
                result.folder, config or {}, result.plan, result.n_rep, design=result.design
            )
        made_from = origin_of(result, config or {}, module_file, sources)
        made = Published(result.folder)
        writing = _Writing(result, made, made_from, module_file, about, columns, workers, part)
        return writing.write(figures=figures, report=report)


@dataclass
class _Writing:
    """Outputs under way."""

    result: Result
    made: Published
    made_from: Mapping[str, Any]
    module_file: str | None
    about: str
    columns: Mapping[str, float]
    workers: FigureWorkers | None
    part: Mapping[str, Any] | None

    def write(self, *, figures: bool, report: bool) -> Published:
        """All of them, between the manifest that goes and the one that comes."""
        start = time.perf_counter()
        made, manifest = self.made, self.made.folder / MANIFEST
        for folder in (made.folder, made.folder / FIGURES, made.folder / TABLES):
            forget_unfinished(folder)
        previous = read_json(manifest) or {}
        kept = self._clear(previous, figures=figures, report=report)
        frames = frames_of(self.result) | {"claims": self.result.claims}
        made.files += write_frames(self.result, made.folder, frames)
        columns = self.columns if figures else previous.get("column_widths", {}) if kept else {}
        made.tables = write_tables(self.result, made.folder)
        if figures:
            made.figures = draw_figures(self.result, made.folder, self.columns, self.workers)
        elif kept:  # what was said of the figures that stay
            not_drawn = dict(previous.get("figures_not_drawn", {}))
            failed, captions = previous.get("figures_failed", []), previous.get("captions", {})
            made.figures = Artefacts([], not_drawn, [*failed], dict(captions))
        made.files += [*made.tables.files, *made.figures.files]
        content = self._manifest() | cost_of_blocks(self.result, previous)
        content |= noticed(self.result, previous) | protocol_facts(self.result)
        made.protocol = content.get("protocol", {})
        content |= {"figures_not_drawn": made.not_drawn, "captions": made.figures.captions}
        content |= {"column_widths": dict(columns)} if columns else {}
        content["tables_not_made"] = made.tables.not_made
        content["publish_seconds"] = round(time.perf_counter() - start, 3)
        if report:
            shown = [*made.files, *(made.folder / name for name in kept)]
            made.files.append(self._report(shown, content))
        content["files"] = kept | hashes_of(made.folder, made.files)
        write_json(manifest, content)
        made.files.append(manifest)
        return made

    def _report(self, shown: Sequence[Place], content: Mapping[str, Any]) -> Place:
        made = self.made.tables.tables
        return write_report(self.result, shown, content, self.about, self.module_file, tables=made)

    def _clear(self, previous: Mapping[str, Any], *, figures: bool, report: bool) -> dict[str, str]:
        """Take away the manifest, and outputs of earlier runs that this one will not write.

        Figures and report are left where they are of the same origin; gives these, with their
        hashes.
        """
        folder = self.made.folder
        (folder / MANIFEST).unlink(missing_ok=True)
        files = listed_files(previous) or dict.fromkeys(_usual_files(self.result), "")
        is_same = said_origin(previous) == as_json(self.made_from)
        rewritten = {REPORT: report or figures}
        rewritten |= {name: figures for name in files if name.startswith("figures/")}
        kept = {}
        for name, digest in files.items():
            may_stay = is_same and not rewritten.get(name, True)
            if may_stay and file_hash(folder / name) == digest:
                kept[name] = digest
            else:
                (folder / name).unlink(missing_ok=True)
        return kept

    def _manifest(self) -> dict[str, Any]:
        result = self.result
        return {
            **facts_of(result, self.made_from["blocks"]),
            "question": self.about.strip().partition("\n")[0],
            "config": self.made_from["config"],
            **({"part": dict(self.part)} if self.part else {}),
            "made_from": {n: said for n, said in self.made_from.items() if n in NAMED_APART},
            "figures_failed": self.made.figures.failed,
            "tables_failed": self.made.tables.failed,
            **environment(source_files(self.module_file), self.made_from["versions"]),
        }


def _usual_files(result: Result) -> list[str]:
    """What a run that left no manifest, since it was killed, may have written."""
    figures = [f"{FIGURES}/{name}.{kind}" for name in result.figures for kind in ("png", "svg")]
    named = (SUMMARY, *result.tables)
    return [*figures, *(f"{TABLES}/{name}.{kind}" for name in named for kind in ENDINGS), REPORT]
