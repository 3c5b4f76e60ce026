"""Decides whether outputs are up to date, and whether they may be replaced."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from simstudy.atomic_files import read_json
from simstudy.errors import StoreError, first_few
from simstudy.output.environment import library_versions
from simstudy.provenance.fingerprint import fingerprint, without_changes_by_runs
from simstudy.provenance.modules import experiment_libraries, module_at, sources_digest
from simstudy.provenance.scenario_id import short_hash
from simstudy.remote.paths import Place, name_below
from simstudy.store.manifest import MANIFEST, PROTOCOL, listed_files
from simstudy.store.study_folder import WAYS_ON, check_study

if TYPE_CHECKING:
    from simstudy.analysis.result import Result
    from simstudy.design.plan import Plan

REPORT = "report.html"
FIGURES, TABLES = "figures", "tables"  # folders
CELLS = "cells.parquet"  # of a study with axes
SCENARIOS = "scenarios.parquet"
FORMER = "keep"  # a setting in older manifests, which changes no number
TRIES = "tries"  # folder of runs with other settings than the published ones


def origin_of(
    result: Result,
    config: Mapping[str, Any],
    module_file: str | None,
    sources: str | None = None,
    folder: Place | None = None,
) -> dict[str, Any]:
    """What outputs are made from: blocks, settings, code and libraries.

    Two results with the same origin are published as the same files.
    """
    target = folder or result.folder
    planned = "" if target is None else hash_of_protocol(target)
    return {
        "config": dict(config),
        "blocks": result.details.store.provenance.digest(result.details.drawn_sizes),
        "sources": sources or sources_digest(module_file),
        "versions": _versions(result, module_file),
        **({"protocol": planned} if planned else {}),
    }


def code_digest(module_file: str | None) -> str:
    """The digest of the code of an experiment.

    It is the code that `study` of the experiment's module reaches: the project's own, and that
    part of simstudy which fingerprints of scenarios follow. Versions of libraries do not count.
    Bytecode differs between versions of Python, so the digest begins with that.

    Parameters
    ----------
    module_file
        The experiment's source.

    Returns
    -------
    str
        Such as "3.11 0123456789abcdef"; empty for a study that no experiment declares.
    """
    study = getattr(sys.modules.get(module_at(module_file or "")), "study", None)
    if study is None:
        return ""
    found = without_changes_by_runs(fingerprint([study]))
    code = {name: text for name, text in found.items() if text.startswith("#")}
    return f"{found['python']} {short_hash(json.dumps(code, sort_keys=True))}"


def hash_of_protocol(folder: Place) -> str:
    """The hash of the protocol beside the results, if there is one.

    Raises
    ------
    StoreError
        Where its record has been edited or damaged.
    """
    if not (folder / PROTOCOL).exists():
        return ""
    from simstudy.output.protocol import read_protocol

    planned = read_protocol(folder)
    return planned.hash if planned else ""


def _versions(result: Result, module_file: str | None) -> dict[str, str]:
    """The versions of libraries behind numbers and figures."""
    few = result.details.store.provenance.only(result.details.drawn_sizes)
    named = library_versions() | experiment_libraries(module_file) | few.libraries
    return dict(sorted(named.items()))


def is_current(
    result: Result,
    config: dict[str, Any],
    module_file: str | None,
    *,
    figures: bool,
    report: bool,
    sources: str | None = None,
    pdf: bool = False,
) -> bool:
    """Whether the folder holds this result, up to date and undamaged."""
    folder = result.folder
    manifest = read_json(folder / MANIFEST) if folder else None
    if folder is None or manifest is None or result.outcome.n_blocks:
        return False
    if said_origin(manifest) != as_json(origin_of(result, config, module_file, sources)):
        return False
    if manifest.get("tables_failed") or (figures and manifest.get("figures_failed")):
        return False
    listed = listed_files(manifest)
    settings_now = {FIGURES: figures, REPORT: report}  # all else is made by every run
    wanted = {name for name in listed if settings_now.get(name.partition("/")[0], True)}
    drawn = set(result.details.figures) - set(manifest.get("figures_not_drawn", {}))
    endings = ["png", "pdf"] if pdf else ["png"]
    wanted |= {f"{FIGURES}/{name}.{ending}" for name in drawn for ending in endings if figures}
    wanted |= {REPORT} if report else set()
    return all(name in listed and file_hash(folder / name) == listed[name] for name in wanted)


def said_origin(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The origin in a manifest."""
    config = {name: v for name, v in (manifest.get("config") or {}).items() if name != FORMER}
    return {"config": config, "versions": manifest.get("versions")} | (
        manifest.get("made_from") or {}
    )


def as_json(content: Mapping[str, Any]) -> Any:
    """A value after a round trip through JSON."""
    return json.loads(json.dumps(content, default=str))


def file_hash(path: Place) -> str:
    """The hash of a file; empty if it does not exist or is not a regular file."""
    if isinstance(path, Path) and not path.is_file():
        return ""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except OSError:
        return ""


def hashes_of(folder: Place, files: Iterable[Place]) -> dict[str, str]:
    """The hashes of files, by name below a folder."""
    return {name_below(folder, path): file_hash(path) for path in sorted(set(files))}


# ---------------------------------------------------------------- what may be replaced
SIZES = ("precision", "stop_by", "at_least")  # of what is drawn, and no part of its numbers
LONGEST_VALUE = 60  # characters of a setting that a refusal shows, and of a folder's name


class Change(NamedTuple):
    """A setting as published, and now."""

    name: str
    before: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.name} was {_short(self.before)} and is {_short(self.now)}"

    @property
    def is_growth(self) -> bool:
        """Whether the value is equal, or a list with additional values."""
        if isinstance(self.before, list) and isinstance(self.now, list):
            return all(value in self.now for value in self.before)
        return bool(self.before == self.now)


def design_of(keys: Iterable[str]) -> str:
    """An identifier for a set of scenarios."""
    return short_hash(",".join(sorted(keys)))


def refuse_replacing(
    folder: Place,
    config: Mapping[str, Any],
    plan: Plan,
    n_rep: int | Mapping[str, int] | None,
    *,
    design: Sequence[str] = (),
) -> None:
    """Refuse to replace results of other settings or of a longer run.

    More is not other: methods, levels, scenarios and replicates may be added.

    Parameters
    ----------
    n_rep
        Replicates in each scenario, or by scenario key; None where the run decides as it goes.
    design
        Keys of all scenarios of the study, where the plan has but some.

    Raises
    ------
    StoreError
        Naming what is other, and an `out=` that would do.
    """
    check_study(plan.name, folder)
    manifest = read_json(folder / MANIFEST)
    if manifest is None or is_unpublished(manifest):
        return
    then = {**(manifest.get("config") or {}), "seed": manifest.get("seed")}
    changes = differing(then, as_json({**config, "seed": plan.seed})) + fewer(manifest, n_rep)
    reasons = [str(change) for change in changes]
    reasons = reasons or _removed(folder, manifest.get("design"), plan, design)
    if reasons:
        raise StoreError(
            f"{folder} holds the results of other settings, which these would replace: "
            f"{'; '.join(reasons)}. out={folder.parent / folder_of_try(changes)} would do; "
            "replace=true puts the new results in their place and keeps all that was drawn. "
            f"{WAYS_ON}"
        )


def differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Change]:
    """The settings that changed, other than by additional values."""
    names = [name for name in before if name not in (*SIZES, FORMER)]
    changes = [Change(name, before[name], now.get(name)) for name in names]
    return [change for change in changes if not change.is_growth]


def _removed(
    folder: Place, published_design: str | None, plan: Plan, design: Sequence[str]
) -> list[str]:
    """Text about published scenarios and methods that no longer exist; empty if all do."""
    keys = {*(design or plan.work_units.keys)}
    if published_design in (None, design_of(keys)):
        return []
    try:
        with (folder / SCENARIOS).open("rb") as file:
            # with read_table, which leaves threads that read the file, an exit soon after may abort
            published = pq.ParquetFile(file).read(use_threads=False).to_pylist()
    except (OSError, pa.ArrowInvalid):
        return ["it has other scenarios or methods"]
    gone = [row for row in published if row["scenario"] not in keys]
    axis = plan.methods_axis
    methods = dict.fromkeys(str(row[axis]) for row in gone if axis in row)
    lost = [name for name in methods if name not in plan.axes.get(axis, ())]
    if lost:
        return [f"methods removed: {', '.join(lost)}"]
    shown = [", ".join(f"{name}={row[name]}" for name in row if name != "scenario") for row in gone]
    return [f"{len(gone)} of {len(published)} scenarios removed: {first_few(shown)}"] * bool(gone)


def is_unpublished(manifest: Mapping[str, Any]) -> bool:
    """Whether results were written by a run and not published."""
    return manifest.get("published") is False


def fewer(manifest: Mapping[str, Any], n_rep: int | Mapping[str, int] | None) -> list[Change]:
    """Text about a longer published run."""
    then = manifest.get("replicates_per_scenario")
    if n_rep is None or not isinstance(then, int | dict):
        return []
    sizes = n_rep if isinstance(n_rep, Mapping) else {"": n_rep}
    for key, now in sizes.items():
        before = then.get(key, min(then.values(), default=0)) if isinstance(then, dict) else then
        if now < before:
            return [Change("n_rep", before, now)]
    return []


def _short(value: Any) -> str:
    return shorten(str(value), LONGEST_VALUE, placeholder="...")


def folder_of_try(changes: Sequence[Change]) -> str:
    """The folder for results of other settings."""
    parts = (f"{change.name}_{json.dumps(change.now)}" for change in changes)
    label = re.sub(r"[^\w.-]+", "_", "-".join(parts))[:LONGEST_VALUE].strip("_")
    return f"{TRIES}/{label or 'other'}"
