"""Whether outputs in a folder are as they would be made now, and whether they may be replaced."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from textwrap import shorten
from typing import TYPE_CHECKING, Any, NamedTuple

from simstudy.atomic_files import read_json
from simstudy.errors import StoreError
from simstudy.identity.names import short_hash
from simstudy.identity.source_files import experiment_libraries, sources_digest
from simstudy.output.environment import library_versions
from simstudy.remote.paths import Place, name_below
from simstudy.store.guard import WAYS_ON, refuse_foreign
from simstudy.store.manifest import MANIFEST, PROTOCOL, listed_files

if TYPE_CHECKING:
    from simstudy.analysis.result import Result
    from simstudy.design.plan import Plan

REPORT = "report.html"
FIGURES, TABLES = "figures", "tables"  # folders
CELLS = "cells.parquet"  # of a study with axes
SCENARIOS = "scenarios.parquet"


def origin_of(
    result: Result,
    config: Mapping[str, Any],
    module_file: str | None,
    sources: str | None = None,
) -> dict[str, Any]:
    """What the outputs are made from: blocks, settings, and the code and libraries that read them.

    Two results with the same origin are published as the same files.
    """
    planned = "" if result.folder is None else hash_of_protocol(result.folder)
    return {
        "config": dict(config),
        "blocks": result.store.owner.digest(result.drawn_sizes),
        "sources": sources or sources_digest(module_file),
        "versions": _versions(result, module_file),
        **({"protocol": planned} if planned else {}),
    }


def hash_of_protocol(folder: Place) -> str:
    """Of what was planned, where a protocol lies beside the results, as `read_protocol` finds it.

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
    asked = {FIGURES: figures, REPORT: report}  # all else is made by every run
    wanted = {name for name in listed if asked.get(name.partition("/")[0], True)}
    drawn = set(result.figures) - set(manifest.get("figures_not_drawn", {}))
    wanted |= {f"{FIGURES}/{name}.png" for name in drawn if figures}
    wanted |= {REPORT} if report else set()
    return all(name in listed and file_hash(folder / name) == listed[name] for name in wanted)


def said_origin(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The origin that a manifest states."""
    named = {name: manifest.get(name) for name in ("config", "versions")}
    return named | (manifest.get("made_from") or {})


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


# ---------------------------------------------------------------- what may be replaced
SIZES = ("precision", "stop_by", "at_least")  # of what is drawn, and no part of its numbers
LONGEST_VALUE = 60  # characters of a setting that a refusal shows, and of a folder's name


class _Change(NamedTuple):
    """A setting that was otherwise."""

    name: str
    before: Any
    now: Any


def design_of(keys: Iterable[str]) -> str:
    """A name of which scenarios there are."""
    return short_hash(",".join(sorted(keys)))


def refuse_replacing(
    folder: Place,
    config: Mapping[str, Any],
    plan: Plan,
    n_rep: int | Mapping[str, int] | None,
    *,
    design: Sequence[str] = (),
) -> None:
    """Refuse to publish over the results of other settings, or over those of a longer run.

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
    refuse_foreign(plan.name, folder)
    manifest = read_json(folder / MANIFEST)
    if manifest is None or is_unpublished(manifest):
        return
    changes = _other_settings(manifest, {**config, "seed": plan.seed}) + fewer(manifest, n_rep)
    now = design_of(design or plan.drawn.keys)
    if not changes and manifest.get("design", now) != now:
        what = "scenarios or methods" if plan.methods else "scenarios"
        changes = [_Change(what, "others", "these")]
    if changes:
        said = "; ".join(
            f"{change.name} was {_short(change.before)} and is {_short(change.now)}"
            for change in changes
        )
        raise StoreError(
            f"{folder} holds the results of other settings, which these would replace: {said}. "
            f"out={folder.parent.parent / _label(changes)} would do; replace=true puts the new "
            f"results in their place and keeps all that was drawn. {WAYS_ON}"
        )


def is_unpublished(manifest: Mapping[str, Any]) -> bool:
    """Whether a run itself wrote it, and nobody has published its results."""
    return manifest.get("published") is False


def _other_settings(manifest: Mapping[str, Any], now: Mapping[str, Any]) -> list[_Change]:
    then = {**(manifest.get("config") or {}), "seed": manifest.get("seed")}
    wanted = as_json(now)
    names = [name for name in {**then, **wanted} if name not in SIZES]
    changes = (_Change(name, then.get(name), wanted.get(name)) for name in names)
    return [change for change in changes if change.before != change.now]


def fewer(manifest: Mapping[str, Any], n_rep: int | Mapping[str, int] | None) -> list[_Change]:
    """Of a longer run, how long it was."""
    then = manifest.get("replicates_per_scenario")
    if n_rep is None or not isinstance(then, int | dict):
        return []
    sizes = n_rep if isinstance(n_rep, Mapping) else {"": n_rep}
    for key, now in sizes.items():
        before = then.get(key, min(then.values(), default=0)) if isinstance(then, dict) else then
        if now < before:
            return [_Change("n_rep", before, now)]
    return []


def _short(value: Any) -> str:
    return shorten(str(value), LONGEST_VALUE, placeholder="...")


def _label(changes: Sequence[_Change]) -> str:
    """A folder's name that says what differs."""
    parts = (f"{change.name}_{json.dumps(change.now)}" for change in changes)
    return re.sub(r"[^\w.-]+", "_", "-".join(parts))[:LONGEST_VALUE].strip("_")
