"""What outputs are made from, and whether those in a folder are as they would be made now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from simstudy.analysis.result import Result
from simstudy.identity.source_files import experiment_libraries, sources_digest
from simstudy.output.environment import library_versions
from simstudy.output.protocol import read_protocol
from simstudy.remote.paths import Place, name_below
from simstudy.store.manifest import MANIFEST, listed_files
from simstudy.tables.table import ENDINGS
from simstudy.whole_files import read_json

REPORT = "report.html"
FIGURES, TABLES = "figures", "tables"  # folders
CELLS = "cells.parquet"  # of a study with axes
SCENARIOS = "scenarios.parquet"
ALWAYS = ("summary.parquet", "claims.parquet", SCENARIOS)


def figure_files(name: str) -> list[str]:
    """The files of a figure, below the results folder."""
    return [f"{FIGURES}/{name}.{kind}" for kind in ("png", "svg")]


def table_files(name: str) -> list[str]:
    """The files of a table, below the results folder."""
    return [f"{TABLES}/{name}.{kind}" for kind in ENDINGS]


def origin_of(
    result: Result,
    config: Mapping[str, Any],
    module_file: str | None,
    sources: str | None = None,
) -> dict[str, Any]:
    """What the outputs are made from: blocks, settings, and the code and libraries that read them.

    Two results with the same origin are published as the same files.
    """
    planned = None if result.folder is None else read_protocol(result.folder)
    return {
        "config": dict(config),
        "blocks": result.store.owner.digest(result.drawn_sizes),
        "sources": sources or sources_digest(module_file),
        "versions": _versions(result, module_file),
        **({"protocol": planned.hash} if planned else {}),
    }


def _versions(result: Result, module_file: str | None) -> dict[str, str]:
    """Of the libraries behind every number and figure."""
    few = result.store.owner.only(result.drawn_sizes)
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
    columns: Mapping[str, float] | None = None,
) -> bool:
    """Whether the folder already holds this result as it would be published now, unharmed."""
    folder = result.folder
    manifest = read_json(folder / MANIFEST) if folder else None
    if folder is None or manifest is None or result.outcome.n_blocks:
        return False
    if said_origin(manifest) != as_json(origin_of(result, config, module_file, sources)):
        return False
    if columns and manifest.get("column_widths") != as_json(columns):
        return False
    if manifest.get("tables_failed") or (figures and manifest.get("figures_failed")):
        return False
    listed = listed_files(manifest)
    wanted = _wanted_files(result, manifest, figures=figures, report=report)
    wanted += [name for name in listed if name.endswith(".pdf")] if columns else []
    return all(name in listed and file_hash(folder / name) == listed[name] for name in wanted)


def _wanted_files(
    result: Result, manifest: Mapping[str, Any], *, figures: bool, report: bool
) -> list[str]:
    """The files that this result would have, figures only where they could be drawn."""
    drawn = set(result.figures) - set(manifest.get("figures_not_drawn", {}))
    of_figures = [file for name in drawn for file in figure_files(name)]
    made = set(result.tables) - set(manifest.get("tables_not_made", {}))
    of_tables = [file for name in made for file in table_files(name)]
    always = [*ALWAYS, *filter(_is_always_made, listed_files(manifest)), *of_tables]
    return [*always, *(of_figures if figures else []), *([REPORT] if report else [])]


def _is_always_made(name: str) -> bool:
    """Whether it is a frame or a table, which no setting leaves out."""
    return name.startswith(f"{TABLES}/") or ("/" not in name and name.endswith(".parquet"))


def said_origin(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The origin that a manifest states."""
    made_from = manifest.get("made_from")
    named = made_from if isinstance(made_from, dict) else {}
    return {name: manifest.get(name) for name in ("config", "versions")} | named


def as_json(content: Mapping[str, Any]) -> Any:
    """As it is when it has been written and read."""
    return json.loads(json.dumps(content, default=str))


def file_hash(path: Place) -> str:
    """Of a file's bytes; empty where there is none."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except OSError:
        return ""


def hashes_of(folder: Place, files: Iterable[Place]) -> dict[str, str]:
    """By their names below a folder, the hashes of files."""
    return {name_below(folder, path): file_hash(path) for path in sorted(set(files))}
