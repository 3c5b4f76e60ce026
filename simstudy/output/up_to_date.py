"""Check whether outputs are up to date."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from simstudy.analysis.result import Result
from simstudy.atomic_files import read_json
from simstudy.output.environment import library_versions
from simstudy.provenance.fingerprint import fingerprint
from simstudy.provenance.modules import experiment_libraries, module_at
from simstudy.provenance.scenario_id import short_hash
from simstudy.remote.paths import Place, name_below
from simstudy.store.runs import MANIFEST, PROTOCOL, file_hash, listed_files

REPORT = "report.html"
FIGURES, TABLES = "figures", "tables"  # folders


def output_digest(
    result: Result, folder: Place, config: Mapping[str, Any], module_file: str | None, sources: str
) -> str:
    """The digest of all that outputs depend on: blocks, settings, code, libraries, protocol.

    Results with the same digest have the same published files. The manifest records it as
    `made_from`.
    """
    content = {
        "config": dict(config),
        "blocks": result.details.provenance.digest(result.details.drawn_sizes),
        "sources": sources,
        "versions": versions_of(result, module_file),
        "protocol": file_hash(folder / PROTOCOL),
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


def versions_of(result: Result, module_file: str | None) -> dict[str, str]:
    """The versions of libraries behind numbers and figures."""
    few = result.details.provenance.only(result.details.drawn_sizes)
    named = library_versions() | experiment_libraries(module_file) | few.libraries
    return dict(sorted(named.items()))


def is_current(
    result: Result, folder: Place, digest: str, *, figures: bool, report: bool, pdf: bool = False
) -> bool:
    """Whether a folder holds this result with the requested outputs, undamaged.

    Parameters
    ----------
    digest
        The `output_digest` of the result.
    """
    manifest = read_json(folder / MANIFEST) or {}
    if manifest.get("made_from") != {"digest": digest} or result.outcome.n_blocks:
        return False
    if manifest.get("tables_failed") or (figures and manifest.get("figures_failed")):
        return False
    listed = listed_files(manifest, folder)
    drawn = set(result.details.figures) - set(manifest.get("figures_not_drawn", {}))
    endings = ["png", "pdf"] if pdf else ["png"]
    wanted = {f"{FIGURES}/{name}.{ending}" for name in drawn for ending in endings if figures}
    wanted |= {REPORT} if report else set()
    settings = {FIGURES: figures, REPORT: report}  # every run makes the other outputs
    wanted |= {name for name in listed if settings.get(name.partition("/")[0], True)}
    return all(name in listed and file_hash(folder / name) == listed[name] for name in wanted)


def hashes_of(folder: Place, files: Iterable[Place]) -> dict[str, str]:
    """The hashes of files, by name below a folder."""
    return {name_below(folder, path): file_hash(path) for path in sorted(set(files))}


def is_unpublished(manifest: Mapping[str, Any]) -> bool:
    """Whether results were written by a run and not published."""
    return manifest.get("published") is False
