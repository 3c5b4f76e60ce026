"""The manifest of a result, published or not."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from simstudy.analysis.result import Result
from simstudy.atomic_files import read_json, write_json
from simstudy.data.parts import data_parts
from simstudy.design.plan import Plan
from simstudy.lazy import pd
from simstudy.output.environment import program
from simstudy.output.frames import frames_of, write_frames
from simstudy.output.protocol import read_protocol
from simstudy.output.up_to_date import hashes_of, is_unpublished
from simstudy.provenance.scenario_id import short_hash
from simstudy.remote.paths import Place
from simstudy.store.compaction import folder_lock
from simstudy.store.files import translate_io_errors
from simstudy.store.runs import MANIFEST, ORIGINS, listed_files

DRAWN = "drawn"  # key of the start of the first block and the end of the last


def facts_of(result: Result) -> dict[str, Any]:
    """The manifest's facts about a result: size and numbers."""
    plan, mcse = result.plan, result.summary["mcse"]
    return {
        "study": plan.name,
        "question": "",
        "seed": plan.seed,
        "config": {},
        "scenarios": len(plan.scenarios),
        "replicates_per_scenario": replicates_asked(result),
        "replicates": int(sum(result.n_rep.values())),
        "failed_replicates": result.n_failed,
        "largest_mcse": float(mcse.max()) if mcse.notna().any() else None,
        "digest": digest(result),
        "made_from": {},
        ORIGINS: result.details.provenance.origins(result.details.drawn_sizes),
        **_data_of(plan),
        "design": short_hash(",".join(sorted(result.details.design or plan.work_units.keys))),
    }


def _data_of(plan: Plan) -> dict[str, Any]:
    """The data of scenarios and methods, by name, with content hashes."""
    parts = {
        part.name: part.sha256 for drawn in plan.work_units.scenarios for part in data_parts(drawn)
    }
    return {"data": dict(sorted(parts.items()))} if parts else {}


def facts_of_drawing(result: Result, previous: Mapping[str, Any]) -> dict[str, Any]:
    """The facts about drawing: seconds, dates, findings, warnings.

    A run that drew nothing keeps the facts of the previous manifest.
    """
    outcome, in_all = (
        result.outcome,
        sum(each.own + each.data for each in result.details.spent.values()),
    )
    known = {**previous.get("seconds_per_replicate", {}), **result.details.seconds_by_method}
    names = [method.name for method in result.plan.methods if method.name in known]
    last_run = {
        "wall_seconds": round(outcome.seconds, 3),
        "blocks_computed": outcome.n_blocks,
        "seconds_per_replicate": {name: known[name] for name in names},
    }
    noticed = outcome.noticed
    drew_nothing = not outcome.n_blocks and not result.details.given
    if drew_nothing and "blocks_computed" in previous:
        last_run = {name: previous[name] for name in last_run if name in previous}
        noticed = noticed or previous.get("noticed", [])
    facts = last_run | {
        "core_seconds": round(in_all, 3),
        DRAWN: list(result.details.times or ()),
        "noticed": noticed,
        "warnings": int(result.warnings["replicates"].sum()),
    }
    optional = ("seconds_per_replicate", "noticed", "core_seconds", DRAWN, "warnings")
    return {name: text for name, text in facts.items() if text or name not in optional}


def protocol_facts(result: Result, folder: Place) -> dict[str, Any]:
    """The protocol in a folder, and deviations from it; empty if there is none."""
    planned = read_protocol(folder)
    if planned is None or result.details.given:
        return {}
    rows = [row._asdict() for row in planned.compared(result)]
    facts = {"hash": planned.hash, "written": planned.written, "places_left": planned.n_places}
    return {**facts, "deviations": planned.deviations(result), "compared": rows}


def clear_outputs(folder: Place) -> dict[str, Any]:
    """Delete the manifest and the files that it lists; returns its content."""
    previous = read_json(folder / MANIFEST) or {}
    for name in (MANIFEST, *listed_files(previous, folder)):
        (folder / name).unlink(missing_ok=True)
    return previous


def replicates_asked(result: Result) -> int | dict[str, int]:
    """The number of replicates, or the numbers by scenario if they differ."""
    numbers = set(result.n_rep.values())
    return numbers.pop() if len(numbers) == 1 else dict(result.n_rep)


def digest(result: Result) -> str:
    """The hash of the summary, equal on two machines if all numbers are."""
    frame = result.summary
    whole = hashlib.sha256()
    for name in frame.columns:
        values = frame[name]
        if pd.api.types.is_numeric_dtype(values):
            whole.update(np.ascontiguousarray(values.to_numpy(dtype=float)).tobytes())
        else:
            whole.update("\0".join(map(str, values)).encode())
    return whole.hexdigest()[:32]


# ---------------------------------------------------------------- unpublished runs
def explain_folder(result: Result) -> None:
    """Write scenarios, cells, summary, failures and a manifest to the folder of the blocks.

    Nothing is written if results were published there, or if the summary cannot be computed: the
    error is raised when the summary is used.

    Raises
    ------
    StoreError
        If the disk cannot be written.
    """
    folder = result.folder
    if folder is None or not _has_summary(result):
        return
    with translate_io_errors(folder), folder_lock(folder):
        previous = read_json(folder / MANIFEST)
        if previous is None or is_unpublished(previous):
            _write(folder, previous or {}, result)


def _has_summary(result: Result) -> bool:
    try:
        return result.summary is not None
    except (Exception, SystemExit):  # a measure may be user code
        return False


def _write(folder: Place, previous: Mapping[str, Any], result: Result) -> None:
    """Write all files between removing and writing the manifest."""
    clear_outputs(folder)
    files = write_frames(result, folder, frames_of(result))
    owner = result.details.provenance
    libraries = owner.only(result.details.drawn_sizes).libraries
    content = facts_of(result) | program(libraries)
    content |= facts_of_drawing(result, previous)
    content |= {"published": False, "files": hashes_of(folder, files)}
    write_json(folder / MANIFEST, content)
