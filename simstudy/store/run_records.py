"""Records of runs: seconds, dates and warnings.

Records are separate files, so that the bytes of block files do not depend on the clock. Each run
rewrites its own file from time to time, so simultaneous shares never write the same file. Entries
state a hash of the blocks' provenance, and those of other code are not counted.
"""

import contextlib
import json
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from simstudy.atomic_files import read_json, write_bytes, write_json
from simstudy.remote import Place
from simstudy.store.provenance import Provenance

FOLDER = "_runs"  # name of the folder of records, below the folder of blocks
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

    def plus(self, other: "BlockTimings") -> "BlockTimings":
        """Add two timings."""
        n_blocks = self.n_blocks + other.n_blocks
        return BlockTimings(n_blocks, self.own + other.own, self.data + other.data)


class Times(NamedTuple):
    """When the first block started and the last one finished: UTC, ISO 8601."""

    first: str
    last: str

    def joined(self, other: "Times | None") -> "Times":
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
    made_from = provenance.digest_of_each(provenance.values)
    times = record.times or Times("", "")
    spent = {
        (key, made_from[key]): (timings, times)
        for key, timings in record.spent.items()
        if key in made_from
    }
    warnings = [
        (key, made_from[key], kind, text)
        for (kind, key), text in record.warnings.items()
        if key in made_from
    ]
    _write(blocks, name, spent, dict.fromkeys(warnings))


def _write(blocks: Place, name: str, spent: Spent, warnings: Warned) -> None:
    timed = [(*made, *timings, *times) for made, (timings, times) in spent.items()]
    content = {"spent": timed, "warnings": [*warnings]}
    write_bytes(blocks / FOLDER / f"{name}.json", json.dumps(content).encode())


def read_records(blocks: Place, provenance: Provenance) -> RunRecord:
    """Read the records of all runs with this provenance; damaged files are ignored."""
    found = RunRecord()
    ours = provenance.digest_of_each(provenance.values).items()
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
    return sorted([*(blocks / FOLDER).glob("*.json")], key=str)


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
    for path in sorted((blocks / FOLDER / VERDICTS).glob("*.json"), key=str):
        for each in (read_json(path) or {}).get("compared", []):
            with contextlib.suppress(AttributeError, KeyError, TypeError):
                pair = each["unit"], each["stored"], each["current"]
                if each["verdict"] == AGREES:
                    found[pair] = each
                elif each["rtol"] == rtol:
                    found.setdefault(pair, each)
    return found


def write_verdicts(blocks: Place, verdicts: Verdicts) -> None:
    """Write a record; a folder that cannot be written is compared again by the next run."""
    compared = [
        {"unit": unit, "stored": stored, "current": current, **verdict}
        for (unit, stored, current), verdict in verdicts.items()
    ]
    with contextlib.suppress(OSError):
        write_json(blocks / FOLDER / VERDICTS / f"{uuid.uuid4().hex}.json", {"compared": compared})


def accepted_origins(verdicts: Verdicts, current: Provenance) -> dict[str, frozenset[str]]:
    """The origins of other blocks that agree with the current ones, by key."""
    found: dict[str, set[str]] = defaultdict(set)
    for key, stored, _ in _agreeing(verdicts, current):
        found[key].add(stored)
    return {key: frozenset(origins) for key, origins in found.items()}


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
