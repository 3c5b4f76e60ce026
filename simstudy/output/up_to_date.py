"""Check whether outputs are up to date."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from simstudy.atomic_files import read_json
from simstudy.output.environment import library_versions
from simstudy.provenance.fingerprint import fingerprint
from simstudy.provenance.modules import experiment_libraries, module_at, sources_digest
from simstudy.provenance.scenario_id import short_hash
from simstudy.remote.paths import Place, name_below
from simstudy.store.manifest import MANIFEST, PROTOCOL, file_hash, listed_files

if TYPE_CHECKING:
    from simstudy.analysis.result import Result

REPORT = "report.html"
FIGURES, TABLES = "figures", "tables"  # folders
CELLS = "cells.parquet"  # only for studies with axes
SCENARIOS = "scenarios.parquet"


def output_digest(
    result: Result,
    config: Mapping[str, Any],
    module_file: str | None,
    sources: str | None = None,
    folder: Place | None = None,
) -> str:
    """The digest of all that outputs depend on: blocks, settings, code, libraries, protocol.

    Results with the same digest have the same published files. The manifest records it as
    `made_from`.
    """
    target = folder or result.folder
    content = {
        "config": dict(config),
        "blocks": result.details.provenance.digest(result.details.drawn_sizes),
        "sources": sources or sources_digest(module_file),
        "versions": versions_of(result, module_file),
        "protocol": "" if target is None else _hash_of_protocol(target),
    }
    return short_hash(json.dumps(content, sort_keys=True, default=str), 32)


def code_digest(module_file: str | None) -> str:
    """The digest of the code of an experiment.

    It covers the code that `study` of the experiment's module reaches: that of the project, and the
    part of simstudy that fingerprints of scenarios follow. Versions of libraries do not count. The
    digest begins with the version of Python, since bytecode depends on it.

    Parameters
    ----------
    module_file
        Source file of the experiment.

    Returns
    -------
    str
        Digest such as "3.11 0123456789abcdef"; empty for a study outside of experiments.
    """
    study = getattr(sys.modules.get(module_at(module_file or "")), "study", None)
    if study is None:
        return ""
    found = fingerprint([study])
    code = {name: text for name, text in found.items() if text.startswith("#")}
    return f"{found['python']} {short_hash(json.dumps(code, sort_keys=True))}"


def _hash_of_protocol(folder: Place) -> str:
    """The hash of the protocol in the folder of the results; empty if there is none."""
    if not (folder / PROTOCOL).exists():
        return ""
    from simstudy.output.protocol import read_protocol

    planned = read_protocol(folder)
    return planned.hash if planned else ""


def versions_of(result: Result, module_file: str | None) -> dict[str, str]:
    """The versions of libraries behind numbers and figures."""
    few = result.details.provenance.only(result.details.drawn_sizes)
    named = library_versions() | experiment_libraries(module_file) | few.libraries
    return dict(sorted(named.items()))


def is_current(
    result: Result,
    config: dict[str, Any],
    module_file: str | None,
    *,
    figures: bool,
    report: bool,
    folder: Place | None = None,
    sources: str | None = None,
    pdf: bool = False,
) -> bool:
    """Whether a folder (default: that of the blocks) holds this result, current and undamaged."""
    folder = result.folder if folder is None else folder
    manifest = read_json(folder / MANIFEST) if folder else None
    if folder is None or manifest is None or result.outcome.n_blocks:
        return False
    made_from = {"digest": output_digest(result, config, module_file, sources, folder)}
    if manifest.get("made_from") != made_from or manifest.get("tables_failed"):
        return False
    if figures and manifest.get("figures_failed"):
        return False
    listed = listed_files(manifest, folder)
    settings_now = {FIGURES: figures, REPORT: report}  # every run makes the other outputs
    wanted = {name for name in listed if settings_now.get(name.partition("/")[0], True)}
    drawn = set(result.details.figures) - set(manifest.get("figures_not_drawn", {}))
    endings = ["png", "pdf"] if pdf else ["png"]
    wanted |= {f"{FIGURES}/{name}.{ending}" for name in drawn for ending in endings if figures}
    wanted |= {REPORT} if report else set()
    return all(name in listed and file_hash(folder / name) == listed[name] for name in wanted)


def hashes_of(folder: Place, files: Iterable[Place]) -> dict[str, str]:
    """The hashes of files, by name below a folder."""
    return {name_below(folder, path): file_hash(path) for path in sorted(set(files))}


def is_unpublished(manifest: Mapping[str, Any]) -> bool:
    """Whether results were written by a run and not published."""
    return manifest.get("published") is False
