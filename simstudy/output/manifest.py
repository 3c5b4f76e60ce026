"""The manifest of a result, published or not."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from simstudy.analysis.result import Result
from simstudy.analysis.summary import Warned
from simstudy.data.parts import data_parts
from simstudy.lazy import pd
from simstudy.output.formatting import frames_of, write_frames
from simstudy.output.protocol import read_protocol
from simstudy.places import Place, read_json, write_json
from simstudy.provenance.modules import experiment_libraries, library_version
from simstudy.provenance.scenario_id import short_hash
from simstudy.store import runs
from simstudy.store.compaction import folder_lock
from simstudy.store.files import REPLICATES, translate_io_errors
from simstudy.store.runs import counted_verdicts, read_verdicts
from simstudy.validation import file_name

DRAWN = "drawn"  # key of the start of the first block and the end of the last


def facts_of_blocks(result: Result) -> dict[str, Any]:
    """The manifest's facts about what was drawn, without any measure."""
    plan = result.plan
    sizes = dict(result.n_rep)
    units = plan.work_units.scenarios
    data = {part.name: part.sha256 for unit in units for part in data_parts(unit)}
    return {
        "study": plan.name,
        "seed": plan.seed,
        "config": {},
        "scenarios": len(plan.scenarios),
        "replicates_per_scenario": sizes if len({*sizes.values()}) > 1 else max(sizes.values()),
        "replicates": int(sum(sizes.values())),
        "failed_replicates": result.n_failed,
        runs.INPUTS: {"blocks": _blocks_of(result)},
        **_compared(result),
        **({"data": dict(sorted(data.items()))} if data else {}),
    }


def _blocks_of(result: Result) -> dict[str, list[str]]:
    """The keys of blocks by the hashes of their settings and code."""
    store = result.details.replicates.store
    return {} if store is None else store.origins(result.details.unit_sizes)


def _compared(result: Result) -> dict[str, Any]:
    """The other code and versions whose blocks count, and how many of them were compared."""
    if result.folder is None or result.details.replicates.store is None:
        return {}
    blocks = runs.study_folder(result.folder) / REPLICATES
    verdicts = read_verdicts(blocks, dict(result.plan.rules.rtol))
    current = result.details.provenance.only(result.details.unit_sizes)
    found = counted_verdicts(verdicts, current) if verdicts else []
    return {"compared": found} if found else {}


def facts_of_drawing(result: Result, previous: Mapping[str, Any]) -> dict[str, Any]:
    """The facts about drawing: seconds, dates, findings, warnings.

    A run that drew nothing keeps the facts of the previous manifest.
    """
    outcome, details = result.outcome, result.details
    always = ("wall_seconds", "blocks_computed")
    facts: dict[str, Any] = {
        "wall_seconds": round(outcome.seconds, 3),
        "blocks_computed": outcome.n_blocks,
        "core_seconds": round(sum(each.own + each.data for each in details.spent.values()), 3),
        DRAWN: list(details.times or ()),
        "notes": outcome.notes,
        "warnings": [Warned("run", "", text)._asdict() for text in outcome.warnings],
    }
    if not outcome.n_blocks and not details.repeat_command and "blocks_computed" in previous:
        facts |= {name: previous[name] for name in always if name in previous}
        facts["notes"] = outcome.notes or previous.get("notes")
        if not outcome.warnings:
            known = previous.get("warnings", ())
            facts["warnings"] = [each for each in known if each["kind"] == "run"]
    if len(result.warnings):
        n, first = int(result.warnings["replicates"].sum()), result.warnings["warning"].iloc[0]
        text = f"{n:,} warnings; most often: {first}"
        facts["warnings"].append(Warned("replicate", "warnings.parquet", text)._asdict())
    return {name: fact for name, fact in facts.items() if fact or name in always}


def protocol_facts(result: Result, folder: Place) -> dict[str, Any]:
    """The protocol in a folder, and deviations from it; empty if there is none."""
    planned = read_protocol(folder)
    if planned is None or result.details.repeat_command:
        return {}
    rows = [row._asdict() for row in planned.compared(result)]
    facts = {"hash": planned.hash, "written": planned.written, "places_left": planned.n_places}
    return {**facts, "deviations": planned.deviations(result), "compared": rows}


def clear_outputs(folder: Place) -> dict[str, Any]:
    """Delete the manifest and the files that it lists; returns its content."""
    previous = read_json(folder / runs.MANIFEST) or {}
    for name in (runs.MANIFEST, *runs.listed_files(previous, folder)):
        (folder / name).unlink(missing_ok=True)
    return previous


def digest_of_summary(summary: pd.DataFrame) -> str:
    """The hash of a summary, equal on two machines if all numbers are."""
    whole = hashlib.sha256()
    for name in summary.columns:
        values = summary[name]
        if pd.api.types.is_numeric_dtype(values):
            whole.update(np.ascontiguousarray(values.to_numpy(dtype=float)).tobytes())
        else:
            whole.update("\0".join(map(str, values)).encode())
    return whole.hexdigest()[:32]


def write_unpublished(result: Result) -> None:
    """Write the scenarios, the cells and a manifest to the folder of the blocks.

    The tables of replicates of other software, which no store holds, are written as well. Nothing
    is written if results were published there, or if all of it is there already.

    Raises
    ------
    StoreError
        If the disk cannot be written.
    """
    folder, outcome = result.folder, result.outcome
    if folder is None:
        return
    with translate_io_errors(folder), folder_lock(folder):
        previous, facts = read_json(folder / runs.MANIFEST) or {}, facts_of_blocks(result)
        drew_nothing = not (outcome.n_blocks or outcome.notes)  # the folder may be read only
        is_same = drew_nothing and facts.items() <= previous.items()
        is_published = bool(previous) and previous.get("published") is not False
        listed = runs.listed_files(previous, folder)
        if is_published or (is_same and listed == hashes_of(folder, (folder / n for n in listed))):
            return
        clear_outputs(folder)
        given = frames_of(result) if result.details.repeat_command else {}
        files = write_frames(result, folder, given)
        content = facts | environment(None, libraries_of(result, None))
        content |= facts_of_drawing(result, previous)
        content |= {"published": False, "files": hashes_of(folder, files)}
        write_json(folder / runs.MANIFEST, content)


GIT_SECONDS = 10.0  # timeout of a git command
LIBRARIES = ("simstudy", "numpy", "scipy", "numba", "pandas", "pyarrow", "plotnine")


def environment(
    file: str | Path | None = None, libraries: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """Date, versions, machine and repository, for the manifest.

    Parameters
    ----------
    file
        The study's file. Default: no repository is looked at.
    libraries
        Versions of further libraries, by name.

    Returns
    -------
    dict
        `made` (date and time), `python`, `machine`, `versions`, and in `git` the `commit` of the
        file's repository, and whether any Python or YAML file in it is `modified` or new.
    """
    return {
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "versions": library_versions() | dict(libraries),
        "git": [] if file is None else _git_state(Path(file).parent),
    }


def library_versions() -> dict[str, str]:
    """The versions of libraries that numbers or figures depend on."""
    known = {name: library_version(name) for name in LIBRARIES}
    return {name: version for name, version in known.items() if version != "unknown"}


def _git_state(folder: Path) -> list[dict[str, Any]]:
    """The commit (None before the first) and whether code differs from it; empty without git."""
    command = ["git", "-C", str(folder), "--no-optional-locks", "status", "--porcelain=v2"]
    command += ["--branch", "--", ":/*.py", ":/*.yaml"]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=GIT_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return []
    told = done.stdout.decode(errors="replace").splitlines()
    (commit,) = (line.split()[2] for line in told if line.startswith("# branch.oid"))
    is_modified = not all(line.startswith("#") for line in told)
    return [{"commit": None if commit == "(initial)" else commit, "modified": is_modified}]


REPORT, EXPLORER = "report.html", "explore.html"
FIGURES, TABLES = "figures", "tables"  # folders


def inputs_of(
    result: Result, folder: Place, config: Mapping[str, Any], module_file: str | None, sources: str
) -> dict[str, Any]:
    """All that outputs depend on: the names of the blocks, and one digest of everything.

    Results with the same digest of settings, blocks, code, data, versions and protocol have the
    same published files.
    """
    details, blocks = result.details, _blocks_of(result)
    store, sizes = details.replicates.store, details.unit_sizes
    content = {
        "config": dict(config),
        "provenance": details.provenance.to_json(sizes),
        "replicates": dict(sizes),
        "blocks": blocks,
        "generation": 0 if store is None else store.highest_generation,
        "sources": sources,
        "versions": library_versions() | libraries_of(result, module_file),
        "protocol": runs.file_hash(folder / runs.PROTOCOL),
    }
    digest = short_hash(json.dumps(content, sort_keys=True, default=str), 32)
    return {"digest": digest, "blocks": blocks}


def libraries_of(result: Result, module_file: str | None) -> dict[str, str]:
    """The versions of the libraries that numbers and figures of this study alone depend on."""
    few = result.details.provenance.only(result.details.unit_sizes)
    return experiment_libraries(module_file) | few.libraries


def is_current(
    result: Result, folder: Place, inputs: Mapping[str, Any], asked: Mapping[str, bool]
) -> bool:
    """Whether a folder holds this result with the requested outputs, undamaged.

    Parameters
    ----------
    inputs
        The `inputs_of` the result.
    asked
        Whether `figures`, `report` and `pdf` are requested.
    """
    manifest = read_json(folder / runs.MANIFEST) or {}  # a damaged one is written again
    if manifest.get(runs.INPUTS) != inputs or result.outcome.n_blocks:
        return False
    if manifest.get("tables_failed") or (asked["figures"] and manifest.get("figures_failed")):
        return False
    listed = runs.listed_files(manifest, folder)
    drawn = set(result.details.figures) - set(manifest.get("figures_not_drawn", {}))
    endings = ["png"] * asked["figures"] + ["pdf"] * (asked["figures"] and asked["pdf"])
    wanted = {f"{FIGURES}/{file_name(name)}.{ending}" for name in drawn for ending in endings}
    wanted |= {REPORT} if asked["report"] else set()
    of_all = {FIGURES: asked["figures"], REPORT: asked["report"]}  # every run makes the others
    wanted |= {name for name in listed if of_all.get(name.partition("/")[0], True)}
    return all(name in listed and runs.file_hash(folder / name) == listed[name] for name in wanted)


def hashes_of(folder: Place, files: Iterable[Place]) -> dict[str, str]:
    """The hashes of files, by name below a folder."""
    return {str(path.relative_to(folder)): runs.file_hash(path) for path in sorted(set(files))}
