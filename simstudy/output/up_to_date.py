"""Decides whether outputs are up to date."""

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
CELLS = "cells.parquet"  # of a study with axes
SCENARIOS = "scenarios.parquet"
FORMER = "keep"  # a setting in older manifests, which changes no number


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
    found = fingerprint([study])
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
    folder: Place | None = None,
    sources: str | None = None,
    pdf: bool = False,
) -> bool:
    """Whether a folder (default: that of the blocks) holds this result, current and undamaged."""
    folder = result.folder if folder is None else folder
    manifest = read_json(folder / MANIFEST) if folder else None
    if folder is None or manifest is None or result.outcome.n_blocks:
        return False
    if said_origin(manifest) != as_json(origin_of(result, config, module_file, sources)):
        return False
    if manifest.get("tables_failed") or (figures and manifest.get("figures_failed")):
        return False
    listed = listed_files(manifest, folder)
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


def hashes_of(folder: Place, files: Iterable[Place]) -> dict[str, str]:
    """The hashes of files, by name below a folder."""
    return {name_below(folder, path): file_hash(path) for path in sorted(set(files))}


def design_of(keys: Iterable[str]) -> str:
    """An identifier for a set of scenarios."""
    return short_hash(",".join(sorted(keys)))


def is_unpublished(manifest: Mapping[str, Any]) -> bool:
    """Whether results were written by a run and not published."""
    return manifest.get("published") is False
