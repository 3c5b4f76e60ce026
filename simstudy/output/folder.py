"""A result as files: summary, claims, failures, figures, manifest, report."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simstudy.analysis.result import Result
from simstudy.analysis.summary import factor_names
from simstudy.data.parts import data_parts
from simstudy.errors import FigureError, SimstudyError, StudyError, describe
from simstudy.identity.source_files import source_files
from simstudy.lazy.pandas import pd
from simstudy.output.environment import environment
from simstudy.output.origin import (
    CELLS,
    REPORT,
    as_json,
    figure_files,
    file_hash,
    origin_of,
    said_origin,
)
from simstudy.output.replacing import design_of, refuse_replacing
from simstudy.output.report import write_report
from simstudy.plan import Plan, factors_of
from simstudy.store.disk import alone_in, trouble_in_words
from simstudy.store.manifest import MANIFEST, listed_files
from simstudy.whole_files import read_json, write_bytes, write_json

NOT_IN_THE_DATA = (FigureError, StudyError, LookupError)  # what a run has no data for, it says
COSTS = ("wall_seconds", "blocks_computed", "seconds_per_replicate")  # in a manifest, of drawing


@dataclass
class Published:
    """What was written, and what could not be drawn."""

    folder: Path
    files: list[Path] = field(default_factory=list)
    not_drawn: dict[str, str] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)  # figures that another try may draw


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
        writing = _Writing(result, Published(result.folder), made_from, module_file, about)
        return writing.write(figures=figures, report=report)


@dataclass
class _Writing:
    """Outputs under way."""

    result: Result
    made: Published
    made_from: Mapping[str, Any]
    module_file: str | None
    about: str

    def write(self, *, figures: bool, report: bool) -> Published:
        """All of them, between the manifest that goes and the one that comes."""
        start = time.perf_counter()
        made, manifest = self.made, self.made.folder / MANIFEST
        previous = read_json(manifest) or {}
        kept = self._clear(previous, figures=figures, report=report)
        _write_frames(self.result, made)
        if figures:
            _draw_figures(self.result, made)
        elif kept:  # what was said of the figures that stay
            made.not_drawn = dict(previous.get("figures_not_drawn", {}))
            made.failed = list(previous.get("figures_failed", []))
        content = self._manifest() | _cost_of_blocks(self.result, previous)
        content["figures_not_drawn"] = made.not_drawn
        content["publish_seconds"] = round(time.perf_counter() - start, 3)
        if report:
            shown = [*made.files, *(made.folder / name for name in kept)]
            made.files.append(write_report(self.result, shown, content, self.about))
        content["files"] = kept | _hashes(made.folder, made.files)
        write_json(manifest, content)
        made.files.append(manifest)
        return made

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
        result, plan = self.result, self.result.plan
        mcse = result.summary["mcse"]
        return {
            "study": plan.name,
            "seed": plan.seed,
            "config": self.made_from["config"],
            "scenarios": len(plan.scenarios),
            "replicates_per_scenario": replicates_asked(result),
            "replicates": int(sum(result.n_rep.values())),
            "failed_replicates": result.n_failed,
            "largest_mcse": float(mcse.max()) if mcse.notna().any() else None,
            "digest": digest(result),
            "made_from": {name: self.made_from[name] for name in ("blocks", "sources")},
            **_data_of(plan),
            "design": design_of(result.design or plan.drawn.keys),
            "figures_failed": self.made.failed,
            **environment(source_files(self.module_file), self.made_from["versions"]),
        }


def _data_of(plan: Plan) -> dict[str, Any]:
    """The data that scenarios and methods hold, by name, with the hash of their content."""
    parts = {part.name: part.sha256 for drawn in plan.drawn.scenarios for part in data_parts(drawn)}
    return {"data": dict(sorted(parts.items()))} if parts else {}


def _usual_files(result: Result) -> list[str]:
    """What a run that left no manifest, since it was killed, may have written."""
    return [*(file for name in result.figures for file in figure_files(name)), REPORT]


def _hashes(folder: Path, files: Sequence[Path]) -> dict[str, str]:
    return {str(path.relative_to(folder)): file_hash(path) for path in sorted(set(files))}


# ---------------------------------------------------------------- tables and figures
def _write_frames(result: Result, made: Published) -> None:
    frames = {"summary": result.summary, "claims": result.claims}
    if len(result.failures):
        frames["failures"] = result.failures
        if result.plan.axes:
            frames["summary_all_methods"] = result.summary_all_methods
    for name in {"failures", "summary_all_methods"} - set(frames):
        (made.folder / f"{name}.parquet").unlink(missing_ok=True)
    for name, frame in frames.items():
        buffer = BytesIO()
        frame.to_parquet(buffer, index=False)
        _write_file(made, f"{name}.parquet", buffer.getvalue())
    drawn = result.plan.drawn
    _write_table(made, "scenarios.parquet", scenario_table(drawn))
    if drawn.axes:
        _write_table(made, CELLS, cell_table(drawn))


def _write_table(made: Published, name: str, table: pa.Table) -> None:
    buffer = BytesIO()
    pq.write_table(table, buffer)
    _write_file(made, name, buffer.getvalue())


def scenario_table(plan: Plan) -> pa.Table:
    """The factors of every scenario, beside its key."""
    rows = [{"scenario": key, **factors_of(scenario)} for key, scenario in plan.keys.items()]
    names = ["scenario", *factor_names(plan)]
    return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})


def cell_table(plan: Plan) -> pa.Table:
    """The axes' labels of every cell, beside its place in the lists of the blocks' files.

    Places count from 1, as R and SQL count.
    """
    labels = list(plan.cells())
    columns = zip(*labels, strict=True)
    return pa.table(
        {"cell": range(1, len(labels) + 1)} | dict(zip(plan.axes, map(list, columns), strict=True))
    )


def _write_file(made: Published, name: str, content: bytes) -> None:
    write_bytes(made.folder / name, content)
    made.files.append(made.folder / name)


def _draw_figures(result: Result, made: Published) -> None:
    """Every figure that this run has the data for."""
    from simstudy.figures import save_figure

    for name in result.figures:
        try:
            saved = save_figure(result.figure(name), made.folder / "figures", name)
        except (Exception, SystemExit) as error:  # one must not cost the others, nor the manifest
            is_about_data = type(error) in NOT_IN_THE_DATA
            said = " ".join(str(error).split()) if is_about_data else describe(error)
            made.not_drawn[name] = said
            made.failed += [] if is_about_data else [name]
        else:
            made.files += [saved.png, saved.svg]


# ---------------------------------------------------------------- what a manifest says
def _cost_of_blocks(result: Result, previous: Mapping[str, Any]) -> dict[str, Any]:
    """Seconds and blocks of the run that last drew anything."""
    outcome = result.outcome
    if not outcome.n_blocks and "blocks_computed" in previous:
        return {name: previous[name] for name in COSTS if name in previous}
    costs = {"wall_seconds": round(outcome.seconds, 3), "blocks_computed": outcome.n_blocks}
    known = {**previous.get("seconds_per_replicate", {}), **result.seconds_by_method}
    names = [method.name for method in result.plan.methods if method.name in known]
    by_method = {name: known[name] for name in names}
    return costs | ({"seconds_per_replicate": by_method} if by_method else {})


def replicates_asked(result: Result) -> int | dict[str, int]:
    """One number where every scenario has the same, else by scenario."""
    numbers = set(result.n_rep.values())
    return numbers.pop() if len(numbers) == 1 else dict(result.n_rep)


def digest(result: Result) -> str:
    """Hash of the summary: equal on two machines where every number is, to the last bit."""
    frame = result.summary
    whole = hashlib.sha256()
    for name in frame.columns:
        values = frame[name]
        if pd.api.types.is_numeric_dtype(values):
            whole.update(np.ascontiguousarray(values.to_numpy(dtype=float)).tobytes())
        else:
            whole.update("\0".join(map(str, values)).encode())
    return whole.hexdigest()[:32]
