"""Publication of a result as a folder of files."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simstudy.analysis.result import SUMMARY, Result
from simstudy.analysis.summary import factor_names, warned_measures
from simstudy.engine.workers import Workers
from simstudy.errors import FigureError, SimstudyError, StudyError, describe
from simstudy.output import manifest
from simstudy.output.explorer import write_explorer
from simstudy.output.findings import answer_of
from simstudy.output.formatting import frames_of, write_frames
from simstudy.output.groups import AVERAGES, estimates_of_groups
from simstudy.output.manifest import EXPLORER, FIGURES, TABLES
from simstudy.output.report import write_index, write_report
from simstudy.places import Place, forget_unfinished, place_of, read_json, write_json
from simstudy.provenance.modules import sources_digest
from simstudy.store.compaction import folder_lock
from simstudy.store.files import translate_io_errors
from simstudy.store.runs import INPUTS, MANIFEST, RUNS, listed_files
from simstudy.tables.summary import MAX_TABLE_ROWS, as_words
from simstudy.tables.table import Table

FIGURES_PER_WORKER = 2  # a process starts and imports the plotting libraries in their time
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
    """A published folder.

    Parameters
    ----------
    files
        Its files.
    manifest
        Content of its manifest, such as `figures_not_drawn` with reasons.
    is_new
        Whether the files were written now; they were up to date otherwise.
    """

    folder: Place
    files: list[Place] = field(default_factory=list)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    is_new: bool = True

    @property
    def failed(self) -> list[str]:
        """The figures and tables that raised an error now, and may succeed in another run."""
        names = [*self.manifest.get("figures_failed", []), *self.manifest.get("tables_failed", [])]
        return names if self.is_new else []


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
        raise SimstudyError("a result in memory needs a folder: publish(result, 'results/NAME')")
    with translate_io_errors(target):
        sources = sources or sources_digest(module_file)
        inputs = manifest.inputs_of(result, target, config or {}, module_file, sources)
        requested = {"figures": figures, "report": report, "pdf": pdf}
        if only_if_changed and manifest.is_current(result, target, inputs, requested):
            content = read_json(target / MANIFEST) or {}
            names = [MANIFEST, *listed_files(content, target)]
            return Published(target, [target / name for name in names], content, is_new=False)
    target.mkdir(parents=True, exist_ok=True)
    with translate_io_errors(target), folder_lock(target):
        start = time.perf_counter()
        for place in (target, target / FIGURES, target / TABLES):
            forget_unfinished(place)
        previous = manifest.clear_outputs(target)
        step("summary and claims")
        answer = answer_of(result)
        finish: Callable[[], list[Artefact]] = list
        if figures:
            finish = _begin_figures(result, target, pdf, Workers(n_jobs=n_jobs).count, step)
        frames = frames_of(result) | {"claims": result.claims}
        if result.details.replicates.store is not None and len(result.summary):
            frames |= {"groups": estimates_of_groups(result)}
        files = write_frames(result, target, frames)
        tables = write_tables(result, target)
        drawn = finish()
        files += [path for each in (*tables, *drawn) for path in each.files]
        content = {
            **manifest.facts_of_blocks(result),
            "question": about.strip().partition("\n")[0],
            "answer": answer,
            "config": config or {},
            INPUTS: inputs,
            "outputs": manifest.digest_of_summary(result.summary),
            **manifest.environment(module_file, manifest.libraries_of(result, module_file)),
            **manifest.facts_of_drawing(result, previous),
            AVERAGES: [each.name for each in result.details.measures if each.averages],
            "figures_not_drawn": {each.name: each.why_not for each in drawn if not each.files},
            "figures_failed": [each.name for each in drawn if each.failed],
            "tables_not_made": {each.name: each.why_not for each in tables if not each.files},
            "tables_failed": [each.name for each in tables if each.failed],
            "captions": {each.name: each.caption for each in drawn if each.files},
            "alt_texts": {each.name: each.description for each in drawn if each.description},
        }
        locations = [*factor_names(result.plan), *result.plan.axes]
        if in_doubt := warned_measures(result.summary, locations):
            doubts = [each._asdict() for each in in_doubt]
            content["warnings"] = [*content.get("warnings", []), *doubts]
        planned = manifest.protocol_facts(result, target)
        told = {"protocol": planned, "part": part, "command": command}
        content |= {name: value for name, value in told.items() if value}
        content["publish_seconds"] = round(time.perf_counter() - start, 3)
        if report:
            step("report")
            title = content["question"] or as_words(result.plan.name)
            files.append(write_explorer(result, target / EXPLORER, title, answer))
            shown = {each.name: each.table for each in tables if each.table}
            files.append(write_report(result, target, files, content, about, shown))
        content["files"] = manifest.hashes_of(target, files)
        write_json(target / MANIFEST, content)
        if report and target.parent.name != RUNS:
            write_index(target.parent)
    failed = [each for each in (*drawn, *tables) if each.failed]
    for each in [] if command else failed:  # a caller in Python reads no terminal
        warnings.warn(f"{each.name} was not made: {each.why_not}", stacklevel=2)
    return Published(target, [*files, target / MANIFEST], content)


def _begin_figures(
    result: Result, folder: Place, pdf: bool, n_jobs: int, step: Callable[[str], None]
) -> Callable[[], list[Artefact]]:
    """Begin to draw all figures in workers; the function returned waits for them, or draws here."""
    from joblib import Parallel, delayed

    names, started = list(result.details.figures), None
    n_workers = min(n_jobs, len(names) // FIGURES_PER_WORKER)
    if n_workers > 1 and isinstance(folder, Path):
        sent = result.summary_only()  # workers read replicates
        tasks = (delayed(_draw)(sent, folder, pdf, name) for name in names)
        with suppress(Exception):  # what cannot be sent to a worker is drawn here
            started = Parallel(n_workers, return_as="generator")(tasks)

    def finish() -> list[Artefact]:
        if started is not None:
            step(f"{len(names)} figures")
            try:
                return list(started)
            except Exception:  # a figure that only this process can make, or a worker was killed
                forget_unfinished(folder / FIGURES)
        drawn = []
        for at, name in enumerate(names, start=1):
            step(f"figure {at} of {len(names)}")
            drawn.append(_draw(result, folder, pdf, name))
        return drawn

    return finish


def _draw(result: Result, folder: Place, pdf: bool, name: str) -> Artefact:
    """Draw and save a figure."""
    from simstudy.figures import save_figure
    from simstudy.figures.captions import caption_of, describe_figure

    def draw(name: str) -> Artefact:
        figure = result.figure(name)
        files = list(filter(None, save_figure(figure, folder / FIGURES, name, pdf=pdf)))
        told = describe_figure(figure)
        return Artefact(name, files, caption=caption_of(figure), description=told)

    return _one(name, draw)


def write_tables(result: Result, folder: Place) -> list[Artefact]:
    """Write every table for which the run has data; the summary table only if it is short."""
    from simstudy.tables import save_table

    def write(name: str) -> Artefact:
        table, label = result.table(name), f"{result.plan.name}:{name}"
        files = save_table(table, folder / TABLES, name, label=label)
        return Artefact(name, [*files], table=table)

    taken = SUMMARY in map(str.casefold, result.details.tables)
    own = [SUMMARY] if not taken and 0 < len(result.summary) <= MAX_TABLE_ROWS else []
    return [_one(name, write) for name in (*result.details.tables, *own)]


def _one(name: str, make: Callable[[str], Artefact]) -> Artefact:
    """Make one output; its error does not stop the others."""
    try:
        return make(name)
    except (Exception, SystemExit) as error:
        is_about_data = type(error) in NO_DATA_ERRORS
        text = " ".join(str(error).split()) if is_about_data else describe(error)
        return Artefact(name, why_not=text, failed=not is_about_data)
