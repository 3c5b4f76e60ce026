"""Publication of a result as a folder of files."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simstudy.analysis.result import SUMMARY, Result
from simstudy.atomic_files import forget_unfinished, read_json
from simstudy.engine.workers import Workers
from simstudy.errors import FigureError, SimstudyError, StudyError, describe
from simstudy.output.explorer import write_explorer
from simstudy.output.formatting import frames_of, write_frames
from simstudy.output.groups import AVERAGES, estimates_of_groups
from simstudy.output.manifest import (
    EXPLORER,
    FIGURES,
    REPORT,
    TABLES,
    clear_outputs,
    environment,
    facts_of,
    facts_of_drawing,
    hashes_of,
    inputs_of,
    is_current,
    protocol_facts,
    versions_of,
    warnings_of_estimates,
    write_manifest,
)
from simstudy.output.report import write_index, write_report
from simstudy.output.report.findings import answer_of
from simstudy.provenance.modules import sources_digest
from simstudy.remote import Place, place_of
from simstudy.store.compaction import folder_lock
from simstudy.store.files import translate_io_errors
from simstudy.store.runs import INPUTS, MANIFEST, RUNS, listed_files
from simstudy.tables.summary import as_words, is_short
from simstudy.tables.table import Table

FIGURES_PER_WORKER = 3  # a process starts and imports the plotting libraries in their time
WORKER_SECONDS = 1.0  # a process starts in this time
NO_DATA_ERRORS = (FigureError, StudyError, LookupError)  # the run lacks data for the output


@dataclass
class Artefact:
    """A figure or table.

    Parameters
    ----------
    files
        Files that were written.
    why_not
        Reason if there are none.
    failed
        Whether its code raised an error, so that another run may succeed.
    caption
        Title and caption of a figure.
    description
        Alternative text of a figure.
    table
        The table, if it is one.
    """

    name: str
    files: list[Place] = field(default_factory=list)
    why_not: str = ""
    failed: bool = False
    caption: str = ""
    description: str = ""
    table: Table | None = None


@dataclass
class Published:
    """Outputs that were written, and those that failed.

    Parameters
    ----------
    protocol
        Protocol of the folder and deviations from it; empty if there is none.
    answer
        Answer to the study's question.
    is_new
        Whether the files were written now; they were up to date otherwise.
    figure_seconds
        Time to draw the figures, in seconds.
    """

    folder: Place
    files: list[Place] = field(default_factory=list)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    answer: list[str] = field(default_factory=list)
    figures: list[Artefact] = field(default_factory=list)
    tables: list[Artefact] = field(default_factory=list)
    figure_seconds: float = 0.0
    is_new: bool = True

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


def _read_published(folder: Place) -> Published:
    """Read the outputs that a folder's manifest lists."""
    manifest = read_json(folder / MANIFEST) or {}
    files = [folder / MANIFEST, *(folder / name for name in listed_files(manifest, folder))]
    found = Published(folder, files, manifest.get("protocol", {}), manifest.get("answer", []))
    found.is_new = False
    for names, missing in (
        ("figures_not_drawn", found.figures),
        ("tables_not_made", found.tables),
    ):
        missing += [Artefact(name, why_not=why) for name, why in manifest.get(names, {}).items()]
    return found


def publish(
    result: Result,
    folder: str | os.PathLike[str] | Place | None = None,
    *,
    about: str = "",
    config: dict[str, Any] | None = None,
    module_file: str | None = None,
    sources: str | None = None,
    figures: bool = True,
    report: bool = True,
    pdf: bool = False,
    n_jobs: int | None = 1,
    command: str = "",
    part: Mapping[str, Any] | None = None,
    only_if_changed: bool = False,
    step: Callable[[str], None] = lambda _: None,
) -> Published:
    """Write a result's frames, tables, figures and report to a folder.

    The manifest is removed first and written last.

    Parameters
    ----------
    result
        Result of `Study.run` or `partial_result`.
    folder
        Folder of these outputs, such as `results/two_stage`, or a URL. Default: the folder of the
        run. Replicates stay where the run stored them.
    about
        Docstring of the experiment.
    config
        Settings of the run, for the manifest.
    module_file
        Source file of the experiment, to detect changes of its figures or claims.
    sources
        Digest of the sources when they were loaded. Default: computed now.
    figures, report
        Whether to draw figures, and whether to write the HTML report and the index of the parent
        folder.
    pdf
        Whether figures are also written as PDFs.
    n_jobs
        Number of processes that may draw figures; None for one per core.
    command
        Command as typed, for the manifest and the report.
    part
        Part and group of experiments that it belongs to, for the manifest.
    only_if_changed
        Whether files that are up to date are kept as they are.
    step
        Function that is called with the name of each step, such as "figure 3 of 4".

    Returns
    -------
    Published
        Outputs that were written, and those that failed.

    Raises
    ------
    SimstudyError
        If neither the result nor the call has a folder.
    StoreError
        If the files may not be replaced, or the disk cannot be written.

    Examples
    --------
    The study is that of the example of `Study`.

    >>> from simstudy import publish
    >>> result = study.run(n_rep=200, out="results")
    >>> published = publish(result)
    >>> (published.folder / "report.html").exists()
    True
    """
    target = result.folder if folder is None else place_of(folder)
    if target is None:
        raise SimstudyError(
            "this result lives in memory only: name a folder, publish(result, 'results/NAME')."
        )
    with translate_io_errors(target):
        sources = sources or sources_digest(module_file)
        inputs = inputs_of(result, target, config or {}, module_file, sources)
        requested = {"figures": figures, "report": report, "pdf": pdf}
        if only_if_changed and is_current(result, target, inputs, **requested):
            return _read_published(target)
    target.mkdir(parents=True, exist_ok=True)
    with translate_io_errors(target), folder_lock(target):
        start = time.perf_counter()
        for place in (target, target / FIGURES, target / TABLES):
            forget_unfinished(place)
        previous = clear_outputs(target)
        step("summary and claims")
        made = Published(target, [], protocol_facts(result, target), answer_of(result))
        drawing = None
        if figures:
            count, seconds = Workers(n_jobs=n_jobs).count, time.perf_counter() - start
            drawing = _Drawing(result, target, pdf, count, step, meanwhile=seconds)
        frames = frames_of(result) | {"claims": result.claims}
        if result.details.replicates.store is not None:
            frames |= {"groups": estimates_of_groups(result)}
        made.files += write_frames(result, target, frames)
        made.tables = write_tables(result, target)
        if drawing is not None:
            before = time.perf_counter()
            made.figures = drawing.finish()
            made.figure_seconds = time.perf_counter() - before
        made.files += [path for each in (*made.tables, *made.figures) for path in each.files]
        content = _manifest(result, made, module_file, previous)
        content |= {"config": config or {}, INPUTS: inputs}
        if "groups" in frames:
            content[AVERAGES] = [each.name for each in result.details.measures if each.averages]
        if in_doubt := warnings_of_estimates(result):
            content["warnings"] = [*content.get("warnings", []), *in_doubt]
        content["question"] = about.strip().partition("\n")[0]
        content["answer"] = made.answer
        content |= {"part": dict(part)} if part else {}
        content |= {"command": command} if command else {}
        content["publish_seconds"] = round(time.perf_counter() - start, 3)
        if report:
            step("report")
            title = content["question"] or as_words(result.plan.name)
            details, explorer = result.details, target / EXPLORER
            write_explorer(
                result.summary, explorer, title, answer=made.answer, labels=details.labels,
                value_labels=details.value_labels, report=f"./{REPORT}", result=result,
            )  # fmt: skip
            made.files.append(explorer)
            tables = {each.name: each.table for each in made.tables if each.table}
            page = write_report(
                result, target, made.files, content, about, module_file, tables=tables
            )
            made.files.append(page)
        content["files"] = hashes_of(target, made.files)
        write_manifest(target, content)
        made.files.append(target / MANIFEST)
        if report and target.parent.name != RUNS:
            write_index(target.parent)
    if not command:  # a caller in Python reads no terminal
        for each in (*made.figures, *made.tables):
            if each.failed:
                warnings.warn(f"{each.name} was not made: {each.why_not}", stacklevel=2)
    return made


def _manifest(
    result: Result,
    published: Published,
    module_file: str | None,
    previous: Mapping[str, Any],
) -> dict[str, Any]:
    """The manifest's entries about the result, figures and tables."""
    return {
        **facts_of(result),
        "figures_failed": [each.name for each in published.figures if each.failed],
        "tables_failed": [each.name for each in published.tables if each.failed],
        **environment(module_file, versions_of(result, module_file)),
        **facts_of_drawing(result, previous),
        **({"protocol": published.protocol} if published.protocol else {}),
        "figures_not_drawn": published.not_drawn,
        "captions": {each.name: each.caption for each in published.figures if each.files},
        "alt_texts": {e.name: e.description for e in published.figures if e.description},
        "tables_not_made": published.not_made,
    }


class _Drawing:
    """All figures of a result, drawn by workers while this process does other work, or here.

    Parameters
    ----------
    meanwhile
        Seconds that the summary took: if there is much to read, claims and groups take as long, so
        that workers pay for a few figures too.
    """

    def __init__(
        self,
        result: Result,
        folder: Place,
        pdf: bool,
        n_jobs: int,
        step: Callable[[str], None],
        meanwhile: float,
    ) -> None:
        from joblib import Parallel, delayed

        self._draw, self._step = _Draw(result, folder, pdf), step
        self._names = list(result.details.figures)
        self._started: Iterable[Artefact] | None = None
        n_figures, at_least = len(self._names), 2 if meanwhile > WORKER_SECONDS else 0
        n_workers = min(n_jobs, n_figures, max(n_figures // FIGURES_PER_WORKER, at_least))
        if n_workers > 1 and isinstance(folder, Path):
            tasks = map(delayed(self._draw), self._names)
            with suppress(Exception):  # what cannot be sent to a worker is drawn here
                self._started = Parallel(n_workers, return_as="generator")(tasks)

    def finish(self) -> list[Artefact]:
        """Wait for the workers, or draw here."""
        if self._started is not None:
            self._step(f"{len(self._names)} figures")
            try:
                return list(self._started)
            except Exception:  # a figure that only this process can make, or a worker was killed
                forget_unfinished(self._draw.folder / FIGURES)
        drawn = []
        for at, name in enumerate(self._names, start=1):
            self._step(f"figure {at} of {len(self._names)}")
            drawn.append(self._draw(name))
        return drawn


@dataclass
class _Draw:
    """Function that draws a figure by name; workers get the summary and read replicates."""

    result: Result
    folder: Place
    pdf: bool

    def __call__(self, name: str) -> Artefact:
        return _one(name, self._drawn)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Draw, (self.result.summary_only(), self.folder, self.pdf)

    def _drawn(self, name: str) -> Artefact:
        from simstudy.figures import save_figure
        from simstudy.figures.captions import caption_of, describe_figure

        figure = self.result.figure(name)
        saved = save_figure(figure, self.folder / FIGURES, name, pdf=self.pdf)
        files = [path for path in saved if path]
        told = describe_figure(figure)
        return Artefact(name, files, caption=caption_of(figure), description=told)


def write_tables(result: Result, folder: Place) -> list[Artefact]:
    """Write every table for which the run has data; the summary table only if it is short."""
    from simstudy.tables import save_table

    def write(name: str) -> Artefact:
        table, label = result.table(name), f"{result.plan.name}:{name}"
        files = save_table(table, folder / TABLES, name, label=label)
        return Artefact(name, [*files], table=table)

    taken = SUMMARY in map(str.casefold, result.details.tables)
    own = [SUMMARY] if not taken and is_short(result.summary) else []
    return [_one(name, write) for name in (*result.details.tables, *own)]


def _one(name: str, make: Callable[[str], Artefact]) -> Artefact:
    """Make one output; its error does not stop the others."""
    try:
        return make(name)
    except (Exception, SystemExit) as error:
        is_about_data = type(error) in NO_DATA_ERRORS
        text = " ".join(str(error).split()) if is_about_data else describe(error)
        return Artefact(name, why_not=text, failed=not is_about_data)
