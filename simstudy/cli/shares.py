"""What runs of a study's shares leave in its folder for each other, and for who asks how far it is.

Under `shares/` lie a small file for each share that was begun, which only that share's run writes,
and what a block of each scenario costs, which a pilot writes once. Whoever publishes the whole
takes them away: a joined folder is that of one run.
"""

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from simstudy.atomic_files import read_json, write_json
from simstudy.cli.array_jobs import job_in_words
from simstudy.engine.progress import Progress
from simstudy.errors import ConfigError
from simstudy.option_types import shown
from simstudy.remote.paths import Place

FOLDER, COSTS = "shares", "costs.json"
LAST_MOMENT = 1e11  # seconds since the epoch: in the year 5138, which calendars still know
MOST_COST = 1e100  # of any unit: sums of many are still numbers
BY_A_PILOT = "seconds_per_block"


@dataclass(frozen=True)
class ShareRecord:
    """What a run says of its share of a study.

    Parameters
    ----------
    index, n_shares
        Which it is, from 1, and of how many.
    seed, n_rep
        Of which study's blocks it is a share.
    begun, ended
        When it began to draw and when it was done, in seconds since the epoch; None where it is
        not, or was stopped.
    n_blocks, n_failed
        Blocks that it drew, and replicates that failed in them.
    where
        The machine, and the job of a batch system.
    """

    index: int
    n_shares: int
    seed: int
    n_rep: int
    begun: float | None = None
    ended: float | None = None
    n_blocks: int = 0
    n_failed: int = 0
    where: str = ""

    def write(self, folder: Place) -> None:
        """Keep it, over that of an earlier run of this share."""
        write_json(folder / FOLDER / f"{self.index}-of-{self.n_shares}.json", asdict(self))


def this_share(shard: tuple[int, int], seed: int, n_rep: int) -> ShareRecord:
    """The record of a share in this process, which draws nothing yet."""
    where = " ".join(filter(None, [socket.gethostname(), job_in_words(os.environ)]))
    return ShareRecord(*shard, seed, n_rep, where=where)


class RecordedProgress:
    """Progress that notes in a share's record when its first block is begun.

    Not before: a run that is refused its folder must not write there.
    """

    def __init__(self, progress: Progress, record: ShareRecord, folder: Place) -> None:
        self._progress, self.record, self._folder = progress, record, folder

    def begin(self, n_rep: int) -> None:
        self._progress.begin(n_rep)
        if self.record.begun is None:
            self.record = replace(self.record, begun=time.time())
            self.record.write(self._folder)

    def advance(self, n_rep: int) -> None:
        self._progress.advance(n_rep)

    def note(self, text: str) -> None:
        self._progress.note(text)

    @property
    def within(self) -> Any:
        """What hears how far a block is, where anything does."""
        return getattr(self._progress, "within", None)

    def end(self, n_blocks: int, n_failed: int) -> None:
        """Nothing of the share is missing."""
        ended = replace(self.record, ended=time.time(), n_blocks=n_blocks, n_failed=n_failed)
        ended.write(self._folder)


def share_records(folder: Place, seed: int, n_rep: int) -> list[ShareRecord]:
    """Records of shares of these blocks, in order; of one number of shares, the last begun.

    Files that are damaged or of another form are passed over: what is drawn says the store.
    """
    found = [_read_record(path) for path in _files(folder, "*-of-*.json")]
    asked = [record for record in found if record and (record.seed, record.n_rep) == (seed, n_rep)]
    if not asked:
        return []
    latest = max(asked, key=lambda record: record.begun or record.ended or 0.0)
    same = (record for record in asked if record.n_shares == latest.n_shares)
    return sorted(same, key=lambda record: record.index)


def _files(folder: Place, pattern: str) -> list[Place]:
    return sorted((folder / FOLDER).glob(pattern), key=str)


def _read_record(path: Place) -> ShareRecord | None:
    try:
        record = ShareRecord(**(read_json(path) or {}))
    except TypeError:
        return None
    return record if _is_of_a_run(record) else None


def _is_of_a_run(record: ShareRecord) -> bool:
    """Whether a share's run may have written it, which no hand and no half of a file need have."""
    counts = (record.index, record.n_shares, record.seed, record.n_rep)
    return (
        all(type(count) is int for count in (*counts, record.n_blocks, record.n_failed))
        and 1 <= record.index <= record.n_shares
        and all(at is None or _is_a_moment(at) for at in (record.begun, record.ended))
        and isinstance(record.where, str)
    )


def _is_a_moment(seconds: Any) -> bool:
    return type(seconds) in (int, float) and 0 <= seconds < LAST_MOMENT


def clear_shares(folder: Place, seed: int, n_rep: int) -> None:
    """Take away what shares of these blocks, or of fewer, have left, once nothing is missing."""
    paths = _files(folder, "*.json")
    records = filter(None, map(_read_record, paths))
    if all(record.seed == seed and record.n_rep <= n_rep for record in records):
        for path in paths:
            path.unlink(missing_ok=True)
        below = folder / FOLDER
        if isinstance(below, Path):  # beyond this machine an empty folder is none
            with suppress(OSError):  # not there, or with something of somebody else's
                below.rmdir()


# ---------------------------------------------------------------- costs
def read_costs(folder: Place) -> dict[str, float]:
    """What a block costs by scenario key, as a pilot found or a person wrote; none, without a file.

    Raises
    ------
    ConfigError
        Where the file holds something else: shares would be cut in another way than was meant.
    """
    path = folder / FOLDER / COSTS
    if not path.exists():
        return {}
    found = read_json(path)
    if found is None and not path.exists():  # taken away meanwhile, by who publishes the whole
        return {}
    costs = None if found is None else found.get(BY_A_PILOT, found)
    if not isinstance(costs, dict):
        raise ConfigError(f"{path} holds no costs, so nobody knows how to cut shares. {MEND}")
    for key, cost in costs.items():
        if not _is_cost(cost):
            raise ConfigError(
                f"{path} says {shown(cost)[:30]} of {key}, which is no cost of a block, so nobody "
                f"knows how to cut shares. {MEND}"
            )
    return {key: float(cost) for key, cost in costs.items()}


MEND = (
    'Write a number above 0 for each scenario key, as in {"KEY": 2, "KEY": 0.5}, or take the '
    "file away before the first share begins."
)


def _is_cost(cost: Any) -> bool:
    return type(cost) in (int, float) and 0 < cost < MOST_COST


def keep_costs(folder: Place, measured: Mapping[str, float]) -> None:
    """Keep what a pilot found, of scenarios that no pilot has timed yet.

    What is there stays: jobs of an array that began with it share out the blocks by it.
    """
    timed = {key: cost for key, cost in measured.items() if _is_cost(cost)}
    write_json(folder / FOLDER / COSTS, {BY_A_PILOT: timed | read_costs(folder)})
