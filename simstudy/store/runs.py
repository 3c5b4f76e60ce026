"""The folder of a study: one store of blocks for all runs, and a folder of outputs for each run.

A run of the published settings has its outputs in the study's own folder, any other run in
`runs/NAME` below it. All of them share the blocks in `replicates/`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from simstudy.design.plan import Plan
from simstudy.errors import StoreError
from simstudy.places import Place, TemporaryFolder, place_of, read_json, write_bytes, write_json
from simstudy.store.blocks import Store
from simstudy.store.files import REPLICATES, files_at, translate_io_errors
from simstudy.store.provenance import Provenance
from simstudy.validation import is_whole

MANIFEST = "manifest.json"
PROTOCOL = "protocol.json"  # the plan, in the same folder


RUN_AGAIN = "Run the study again, or delete the file"
COUNTS = ("seed", "scenarios", "replicates", "replicates_per_scenario")  # entries of a manifest


def read_manifest(folder: Place) -> dict[str, Any] | None:
    """Read the manifest of a folder; None if there is none.

    Raises
    ------
    StoreError
        If it is no JSON object, or one of a study with impossible numbers.
    """
    path = folder / MANIFEST
    if not path.exists():
        return None
    content = read_json(path)
    if content is None or not isinstance(content.get("study", ""), str):
        raise StoreError(f"{path} is damaged: it is no JSON object that names a study. {RUN_AGAIN}")
    for name in COUNTS if "study" in content else ():
        value: Any = content.get(name)
        sizes = value.values() if isinstance(value, dict) else [value]
        if not all(is_whole(size) and size >= (name != "seed") for size in sizes):
            raise StoreError(f"{path} is damaged: {name} is {value!r:.100}. {RUN_AGAIN}")
    return content


def listed_files(manifest: Mapping[str, Any], folder: Place) -> dict[str, str]:
    """List the files of a manifest that are below the folder, with their hashes.

    A manifest from an untrusted source may name other files, or reach them through a link.
    """
    files = manifest.get("files")
    named = files.items() if isinstance(files, dict) else ()
    return {name: str(digest) for name, digest in named if is_below(folder, name)}


def is_below(folder: Place, name: str) -> bool:
    """Whether a relative path leads to a place below a folder, after all links are resolved."""
    path = PurePosixPath(name)
    if not name or "\0" in name or path.is_absolute() or ".." in path.parts:
        return False
    if not isinstance(folder, Path):
        return True
    with contextlib.suppress(OSError):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            (folder / name).stat()  # refuses a loop of links, which resolve() accepts since 3.13
        return (folder / name).resolve().is_relative_to(folder.resolve())
    return False


def file_hash(path: Place) -> str:
    """Hash a file; the hash is empty if it does not exist or is not a regular file."""
    with contextlib.suppress(OSError):
        if not isinstance(path, Path) or path.is_file():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    return ""


RUNS = "runs"  # folder in a study's folder, with a folder for each run with other settings
INPUTS = "inputs"  # manifest entry: `digest` of all inputs, and keys of `blocks` by their origin


def study_folder(run: Place) -> Place:
    """Return the folder of the study to which a folder of outputs belongs."""
    is_study = run.parent.name != RUNS or (run / REPLICATES).exists()
    return run if is_study else run.parent.parent


@dataclass(frozen=True)
class StoredRun:
    """A finished run of a study."""

    folder: Place
    manifest: Mapping[str, Any]

    @cached_property
    def blocks(self) -> dict[str, frozenset[str]]:
        """Keys of its scenarios or methods by the origin of their blocks."""
        named = self.manifest.get(INPUTS, {}).get("blocks", {})
        return {origin: frozenset(keys) for origin, keys in named.items()}

    def uses(self, provenance: Provenance, key: str) -> bool:
        """Whether it uses blocks of a scenario or method with this provenance."""
        return key in self.blocks.get(provenance.origin(key), ())


def list_runs(study: Place) -> list[StoredRun]:
    """List the finished runs of a study: first the one in its own folder, the others by name.

    Parameters
    ----------
    study
        Folder of the study, such as `results/NAME`.
    """
    below = sorted((study / RUNS).iterdir(), key=str) if (study / RUNS).is_dir() else []
    found = ((folder, read_json(folder / MANIFEST)) for folder in (study, *below))
    return [StoredRun(folder, manifest) for folder, manifest in found if manifest is not None]


# ---------------------------------------------------------------- records of seconds and warnings
# Records are separate files, so that the bytes of block files do not depend on the clock. Each run
# rewrites its own file from time to time, so simultaneous shares never write the same file. Entries
# state a hash of the blocks' provenance, and those of other code are not counted.
RECORDS = "_runs"  # name of the folder of records, below the folder of blocks
MANY_FILES = 64  # number of records above which they are merged


class BlockTimings(NamedTuple):
    """Timings of blocks of one scenario or method. A block that was drawn twice counts twice.

    Attributes
    ----------
    own
        Seconds for drawing and analysing the blocks; for a method, for analysing alone.
    data
        Seconds for drawing the data that were not yet in the cache.
    """

    n_blocks: int = 0
    own: float = 0.0
    data: float = 0.0

    def plus(self, other: BlockTimings) -> BlockTimings:
        """Add two timings."""
        n_blocks = self.n_blocks + other.n_blocks
        return BlockTimings(n_blocks, self.own + other.own, self.data + other.data)


class Times(NamedTuple):
    """When the first block started and the last one finished: UTC, ISO 8601."""

    first: str
    last: str

    def joined(self, other: Times | None) -> Times:
        """Return the earliest start and the latest end of both."""
        moments = [*self, *(other or ())]
        return Times(min(moments), max(moments))


Spent = dict[tuple[str, str], tuple[BlockTimings, Times]]
"""Timings by key of the work unit and hash of its provenance."""
Warned = dict[tuple[str, str, str, str], None]
"""Key of the work unit, hash of its provenance, kind and text of each warning."""


@dataclass
class RunRecord:
    """The record of a run: timings and warnings of blocks.

    Parameters
    ----------
    spent
        Timings by key of the work unit.
    times
        Start and end of drawing; None if unknown.
    warnings
        Texts of warnings, by their kind and the key of the work unit.
    """

    spent: dict[str, BlockTimings] = field(default_factory=dict)
    times: Times | None = None
    warnings: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def first_warnings(self) -> dict[str, str]:
        """The first warning of each kind."""
        first: dict[str, str] = {}
        for (kind, _), text in self.warnings.items():
            first.setdefault(kind, text)
        return first


def write_record(blocks: Place, name: str, provenance: Provenance, record: RunRecord) -> None:
    """Write the record of a run to its own file.

    Parameters
    ----------
    blocks
        Folder of the blocks.
    name
        Name of the run, for the file.
    """
    made_from, times = provenance.digests(), record.times or Times("", "")
    spent = {(key, made_from[key]): (each, times) for key, each in record.spent.items()}
    warnings = [(key, made_from[key], kind, text) for (kind, key), text in record.warnings.items()]
    _write(blocks, name, spent, dict.fromkeys(warnings))


def _write(blocks: Place, name: str, spent: Spent, warnings: Warned) -> None:
    timed = [(*made, *timings, *times) for made, (timings, times) in spent.items()]
    content = {"spent": timed, "warnings": [*warnings]}
    write_bytes(blocks / RECORDS / f"{name}.json", json.dumps(content).encode())


def read_records(blocks: Place, provenance: Provenance) -> RunRecord:
    """Read the records of all runs with this provenance; damaged files are ignored."""
    found = RunRecord()
    ours = provenance.digests().items()
    spent, warnings = _read_all(record_files(blocks))
    for made, (timings, times) in spent.items():
        if made in ours:
            found.spent[made[0]] = timings
            found.times = times.joined(found.times)
    for key, made_from, kind, text in warnings:
        if (key, made_from) in ours:
            found.warnings.setdefault((kind, key), text)
    return found


def adopt_records(blocks: Place, old: Provenance, new: Provenance) -> None:
    """Copy the records of blocks with one provenance to another provenance."""
    write_record(blocks, uuid.uuid4().hex, new, read_records(blocks, old))


def merge_records(blocks: Place) -> None:
    """Merge the records of many runs into one file."""
    paths = record_files(blocks)
    if len(paths) <= MANY_FILES:
        return
    _write(blocks, uuid.uuid4().hex, *_read_all(paths))
    for path in paths:
        path.unlink(missing_ok=True)


def record_files(blocks: Place) -> list[Place]:
    """List the record files of all runs."""
    return sorted([*(blocks / RECORDS).glob("*.json")], key=str)


def _read_all(paths: Iterable[Place]) -> tuple[Spent, Warned]:
    """Sum the timings in some files by key and provenance, and collect warnings, each once."""
    spent: Spent = {}
    warnings: Warned = {}
    for path in paths:
        content = read_json(path) or {}
        try:
            timed = [
                (key, made, BlockTimings(int(n), float(own), float(data)), Times(*map(str, times)))
                for key, made, n, own, data, *times in content["spent"]
            ]
            warned = [(key, made, kind, text) for key, made, kind, text in content["warnings"]]
        except (KeyError, TypeError, ValueError):  # not a record
            continue
        for key, made, timings, times in timed:
            known, span = spent.get((key, made), (BlockTimings(), None))
            spent[key, made] = known.plus(timings), times.joined(span)
        warnings |= dict.fromkeys(warned)
    return spent, warnings


# ---------------------------------------------------------------- comparisons of blocks
VERDICTS = "compared"  # folder of the records of comparisons, below the folder of records
AGREES, DIFFERS = "agrees", "differs"

Pair = tuple[str, str, str]
"""Key of a unit, and the origins of its stored blocks and of the current code."""
Verdicts = dict[Pair, dict[str, Any]]


def read_verdicts(blocks: Place, rtol: Mapping[str, float]) -> Verdicts:
    """Read the comparisons of stored blocks with other code or versions.

    A verdict that blocks agree counts whatever the tolerances are now; one that they differ counts
    only for its own tolerances.
    Damaged records are ignored.
    """
    found: Verdicts = {}
    for path in sorted((blocks / RECORDS / VERDICTS).glob("*.json"), key=str):
        for each in (read_json(path) or {}).get("compared", []):
            with contextlib.suppress(AttributeError, KeyError, TypeError):
                pair = each["unit"], each["stored"], each["current"]
                if each["verdict"] == AGREES:
                    found[pair] = each
                elif each["rtol"] == rtol:
                    found.setdefault(pair, each)
    return found


def accepted_origins(verdicts: Verdicts, current: Provenance) -> Mapping[str, set[str]]:
    """The origins of other blocks that agree with the current ones, by key."""
    found: dict[str, set[str]] = defaultdict(set)
    for key, stored, _ in _agreeing(verdicts, current):
        found[key].add(stored)
    return found


def _agreeing(verdicts: Verdicts, current: Provenance) -> Iterator[Pair]:
    """The pairs of units whose stored blocks agree with the current code."""
    for (key, stored, now), verdict in verdicts.items():
        agrees = verdict.get("verdict") == AGREES
        if agrees and key in current.codes and current.origin(key) == now:
            yield key, stored, now


def counted_verdicts(verdicts: Verdicts, current: Provenance) -> list[dict[str, Any]]:
    """For each other code or set of versions whose blocks count: units, and what was compared."""
    found: dict[str, dict[str, Any]] = {}
    for pair in _agreeing(verdicts, current):
        verdict = verdicts[pair]
        made_by = {name: verdict[name] for name in ("changed", "versions")}
        empty = {"units": 0, "units_compared": 0, "blocks_compared": 0}
        known = found.setdefault(json.dumps(made_by, sort_keys=True), made_by | empty)
        n = verdict["blocks_compared"]
        for name, more in (("units", 1), ("units_compared", n > 0), ("blocks_compared", n)):
            known[name] += int(more)
    return [found[at] for at in sorted(found)]


# ---------------------------------------------------------------- the folder of a run's blocks
@dataclass
class StudyFolder:
    """The folder of a study, local or remote.

    Parameters
    ----------
    path
        Folder of the study, such as `results/NAME`; None if it is temporary.
    temporary
        Temporary folder, deleted with this object.
    verdicts
        Comparisons of blocks of other versions or code, stored with the blocks.
    """

    path: Place | None
    store: Store
    temporary: TemporaryFolder | None = None
    verdicts: Verdicts = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        plan: Plan,
        out: str | os.PathLike[str] | Place | None,
        provenance: Provenance,
        *,
        label: str = "",
    ) -> StudyFolder:
        """Open the folder of a plan below `out`, for blocks of some provenance.

        Parameters
        ----------
        label
            Label of the share of a run, as for `Store`.

        Raises
        ------
        StoreError
            If the folder holds the results of another study, or cannot be used.
        """
        if out is None:
            temporary = TemporaryFolder()
            blocks = Store(temporary.path / REPLICATES, plan.block_size, provenance)
            return cls(None, blocks, temporary=temporary)
        place = place_of(out)
        if isinstance(place, Path):
            place = place.absolute()  # a study's own code may change the working directory
        path = place / plan.name
        with translate_io_errors(path):
            check_study(plan.name, path)
            files = files_at(path / REPLICATES)
        verdicts = read_verdicts(path / REPLICATES, dict(plan.rules.rtol))
        accepted = accepted_origins(verdicts, provenance)
        store = Store(files, plan.block_size, provenance, label=label, accepted=accepted)
        return cls(path, store, verdicts=verdicts)

    @property
    def blocks(self) -> Place | None:
        """Folder of the block files, which all runs of the study share; None if it is temporary."""
        return None if self.path is None else self.path / REPLICATES

    def record(self, verdicts: Verdicts) -> None:
        """Record comparisons, and have the blocks that agree count."""
        assert self.blocks is not None  # a temporary store has no other blocks
        compared = [
            {"unit": unit, "stored": stored, "current": current, **verdict}
            for (unit, stored, current), verdict in verdicts.items()
        ]
        path = self.blocks / RECORDS / VERDICTS / f"{uuid.uuid4().hex}.json"
        with contextlib.suppress(OSError):  # the next run then compares again
            write_json(path, {"compared": compared})
        self.verdicts |= verdicts
        accepted = accepted_origins(self.verdicts, self.store.provenance)
        self.store = self.store.reopened(accepted=accepted)


def no_blocks_error(folder: Place) -> StoreError:
    """Make the error for a folder without blocks."""
    return StoreError(f"{folder} holds no block of this study yet: run the study first")


# ---------------------------------------------------------------- checks of the folder
def check_study(study: str, folder: Place) -> None:
    """Refuse a folder whose manifest names another study, or that is not a folder."""
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file, not a folder for results. Choose another out=...")
    owner = (read_json(folder / MANIFEST) or {}).get("study", study)
    if owner != study:
        raise StoreError(
            f"{folder} holds the results of study {owner!r}, which {study!r} would overwrite. "
            "Choose another out=..., or move that folder away."
        )
