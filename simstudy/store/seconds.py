"""What drawing blocks took, kept beside them and never in them: their bytes depend on no clock.

Each run that draws anything writes a file of its own, over and over as it goes on, so that shares
of a study which are drawn at one time have nothing to agree upon. It says of each scenario (or
method of one) how many blocks were drawn and how long that took, and by a hash whose they were:
what other code took is not counted. It says when that was as well, since nothing else knows it
once files were copied.
"""

import contextlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from simstudy.atomic_files import read_json, write_json
from simstudy.identity.names import short_hash
from simstudy.remote.paths import Place
from simstudy.store.owner import Owner

FOLDER = "_seconds"  # below that of the blocks
MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
MOST_SECONDS = 1e12  # of one scenario: thirty thousand years, which no run has taken


class Spent(NamedTuple):
    """What some blocks of one scenario, or of one of its methods, took.

    `own` seconds went into drawing and analysing them (of methods: into analysing), and `data`
    seconds into data that were drawn for this method first. A block that was drawn twice counts
    twice.
    """

    n_blocks: int = 0
    own: float = 0.0
    data: float = 0.0

    def plus(self, other: "Spent") -> "Spent":
        """Both together."""
        n_blocks = self.n_blocks + other.n_blocks
        return Spent(n_blocks, self.own + other.own, self.data + other.data)


class Times(NamedTuple):
    """When the first of some blocks was begun and the last was there: UTC, as ISO 8601 has it."""

    first: str
    last: str


def write_seconds(
    blocks: Place, name: str, owner: Owner, spent: Mapping[str, Spent], times: Times
) -> None:
    """Keep what a run's blocks took so far, by key, and when that was.

    Parameters
    ----------
    blocks
        The folder of the blocks.
    name
        Of the file, which is the run's own.
    """
    marks = _marks(owner, spent)
    said = {key: [marks[key], *each] for key, each in spent.items() if key in marks}
    write_json(blocks / FOLDER / f"{name}.json", {"spent": said, "drawn": list(times)})


def read_seconds_of(blocks: Place, owner: Owner) -> dict[str, Spent]:
    """By key, what this owner's blocks took in all runs that said so; damaged files say nothing."""
    found: dict[str, Spent] = {}
    marks = _marks(owner, owner.values)
    for path in files_of(blocks):
        for key, (mark, *numbers) in _entries(read_json(path) or {}):
            if marks.get(key) == mark:
                found[key] = found.get(key, Spent()).plus(Spent(*numbers))
    return found


def read_times_of(blocks: Place, owner: Owner) -> Times | None:
    """When this owner's blocks were drawn, from the first run to the last; None, if none said so.

    A run that drew blocks of others too counts from its beginning to its end.
    """
    marks = _marks(owner, owner.values)
    runs = [
        Times(*said["drawn"])
        for said in filter(None, map(read_json, files_of(blocks)))
        if _are_times(said.get("drawn"))
        and any(marks.get(key) == mark for key, (mark, *_) in _entries(said))
    ]
    if not runs:
        return None
    moments = [moment for run in runs for moment in run]  # a clock may have been set back in one
    return Times(min(moments), max(moments))


def files_of(blocks: Place) -> list[Place]:
    """The files that say it."""
    return sorted([*(blocks / FOLDER).glob("*.json")], key=str)


def _entries(said: Mapping[str, Any]) -> list[tuple[str, list[Any]]]:
    spent = said.get("spent")
    pairs = spent.items() if isinstance(spent, dict) else ()
    return [(key, entry) for key, entry in pairs if _is_entry(entry)]


def _are_times(said: object) -> bool:
    """Whether a run may have written them: in one form, so that texts are in order of time."""
    return isinstance(said, list) and len(said) == len(Times._fields) and all(map(_is_moment, said))


def _is_moment(said: object) -> bool:
    """Whether there is such a moment: 2026-02-30 is in the form, and on no calendar."""
    if not isinstance(said, str) or not MOMENT.fullmatch(said):
        return False
    with contextlib.suppress(ValueError):
        return bool(datetime.fromisoformat(said))
    return False


def _is_entry(entry: object) -> bool:
    """Whether a run may have written it."""
    return (
        isinstance(entry, list)
        and len(entry) == 1 + len(Spent._fields)
        and all(type(n) in (int, float) and 0 <= n < MOST_SECONDS for n in entry[1:])
        and type(entry[1]) is int
        and entry[1] > 0
    )


def _marks(owner: Owner, keys: Iterable[str]) -> dict[str, str]:
    """By key, a hash of whose its blocks are."""
    settings = json.dumps(owner.settings, sort_keys=True)
    codes = {id(code): code for code in owner.codes.values()}
    digests = {at: short_hash(json.dumps(code, sort_keys=True)) for at, code in codes.items()}
    return {
        key: short_hash("|".join((settings, owner.values[key], digests[id(owner.codes[key])])))
        for key in keys
        if key in owner.codes
    }
