"""Shares of a study: which one this job draws, and its files for the other jobs.

Under `shares/` lie a small file for each share that was begun, which only that share's run writes,
and what a block of each scenario costs, which a pilot writes once. Whoever publishes the whole
takes them away: a joined folder is that of one run.
"""

import math
import os
import re
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simstudy.atomic_files import read_json, write_json
from simstudy.errors import ConfigError
from simstudy.remote.paths import Place

if TYPE_CHECKING:
    from simstudy.engine.progress import Progress

FOLDER, COSTS = "shares", "costs.json"
NEVER_BEGUN = "never began to draw"
OF_SLURM = re.compile(r"Slurm (?:array )?(\d+(?:_\d+)?)$")  # in the record of a share
PATIENCE = 20.0  # seconds for which an answer of `squeue` is waited for
IN_THE_QUEUE = {"PENDING": "waits", "RUNNING": "runs", "SUSPENDED": "is suspended"}
ENDED = {"CANCELLED": "was cancelled", "TIMEOUT": "ran out of time"}  # others in Slurm's word


# ---------------------------------------------------------------- which share this job has
SLURM = "SLURM_ARRAY_TASK_"
INDICES = (f"{SLURM}ID", "PBS_ARRAY_INDEX", "PBS_ARRAYID", "LSB_JOBINDEX", "SGE_TASK_ID")
"""Variables that hold the index of a job in its array: of Slurm, PBS, Torque, LSF and SGE."""


def share_of_array(environment: Mapping[str, str], n_shares: int | None = None) -> tuple[int, int]:
    """The share of this array job, and the number of shares.

    Parameters
    ----------
    environment
        Variables of this process.
    n_shares
        Where the user says it, indices are those of the shares, from 1, so that an array of a few
        of them will do; otherwise it is the number of jobs in a Slurm array without gaps.

    Raises
    ------
    ConfigError
        Where this is no job of an array, or its place in it cannot be told.
    """
    here = {name: text for name in INDICES if (text := environment.get(name, "")).isdecimal()}
    if here.get("LSB_JOBINDEX") == "0":  # LSF says it to a job that is not of an array
        del here["LSB_JOBINDEX"]
    if not here:
        raise ConfigError(
            f"shard=auto, and this is no job of an array: none of {', '.join(INDICES)} says which. "
            "Give the share as shard=i/N."
        )
    name, index = next(iter(here.items()))
    indices = range(1, n_shares + 1) if n_shares else range(0)
    if not n_shares and name == f"{SLURM}ID":
        first, last, count = (environment.get(f"{SLURM}{each}") for each in ("MIN", "MAX", "COUNT"))
        array = range(int(first or 0), int(last or 0) + 1)
        indices = array if str(len(array)) == count else indices
    if not indices:
        raise ConfigError(
            f"shard=auto: {name} does not say how many shares there are, which only a Slurm array "
            "without gaps does. Say it, for an array from 1 to N: shard=auto/N."
        )
    if int(index) not in indices:
        raise ConfigError(
            f"shard=auto: {name}={index} is none of {indices[0]} to {indices[-1]}, the shares of "
            "this study. Give the share as shard=i/N, with i from 1."
        )
    return indices.index(int(index)) + 1, len(indices)


def job_name(environment: Mapping[str, str]) -> str:
    """The name of this job of Slurm; empty if it is none."""
    array, job = environment.get("SLURM_ARRAY_JOB_ID"), environment.get("SLURM_JOB_ID")
    task = environment.get(f"{SLURM}ID")
    return f"Slurm array {array}_{task}" if array else f"Slurm {job}" if job else ""


# ---------------------------------------------------------------- what a share leaves
@dataclass(frozen=True)
class ShareRecord:
    """The record of a run of a share.

    Parameters
    ----------
    index, n_shares
        Which it is, from 1, and of how many.
    seed, n_rep
        Of which study's blocks it is a share.
    begun, ended
        When it began to draw and when it was done, in seconds since the epoch; None where it is
        not, or was stopped.
    where
        The machine, and the job of a batch system.
    """

    index: int
    n_shares: int
    seed: int
    n_rep: int
    begun: float | None = None
    ended: float | None = None
    where: str = ""

    def write(self, folder: Place) -> None:
        """Write the record, replacing an earlier one."""
        write_json(folder / FOLDER / f"{self.index}-of-{self.n_shares}.json", asdict(self))

    @classmethod
    def of_this_process(cls, shard: tuple[int, int], seed: int, n_rep: int) -> "ShareRecord":
        """The record of a share that has drawn nothing yet."""
        where = " ".join(filter(None, [socket.gethostname(), job_name(os.environ)]))
        return cls(*shard, seed, n_rep, where=where)

    @property
    def history(self) -> str:
        """The history of the share, as text."""
        if self.begun is None:
            return NEVER_BEGUN
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.begun))
        ended = "ended, and blocks have gone since" if self.ended else "has not ended"
        return f"began {at} on {self.where}; {ended}"


class RecordedProgress:
    """Progress that writes a share's record when drawing starts.

    Not before: a run that is refused its folder must not write there.
    """

    def __init__(self, progress: "Progress", record: ShareRecord, folder: Place) -> None:
        self._progress, self.record, self._folder = progress, record, folder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._progress, name)

    def begin(self, n_rep: int) -> None:
        """Record the start."""
        self._progress.begin(n_rep)
        if self.record.begun is None:
            self.record = replace(self.record, begun=time.time())
            self.record.write(self._folder)

    def end(self) -> None:
        """Record that the share is complete."""
        replace(self.record, ended=time.time()).write(self._folder)


def share_records(folder: Place, seed: int, n_rep: int) -> list[ShareRecord]:
    """The records of shares of these blocks, in order, for the latest split."""
    records = [
        record
        for record in map(_read_record, sorted((folder / FOLDER).glob("*-of-*.json"), key=str))
        if record and (record.seed, record.n_rep) == (seed, n_rep)
    ]
    if not records:
        return []
    latest = max(records, key=lambda record: record.begun or record.ended or 0.0)
    same = (record for record in records if record.n_shares == latest.n_shares)
    return sorted(same, key=lambda record: record.index)


def _read_record(path: Place) -> ShareRecord | None:
    """Read a record; None if the file is damaged."""
    with suppress(TypeError):
        return ShareRecord(**(read_json(path) or {}))
    return None


# ---------------------------------------------------------------- what a scheduler says of shares
class SlurmJob(NamedTuple):
    """A Slurm job; `7_2` is task 2 of array 7."""

    job: str
    task: str
    state: str
    name: str


def slurm_jobs() -> list[SlurmJob] | None:
    """List the current and recent Slurm jobs of this user; None without `squeue`."""
    command = ["squeue", "--me", "--noheader", "--array", "--states=all", "--format=%F %K %T %j"]
    try:
        listed = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    jobs = []
    for array, task, state, name in (line.split(maxsplit=3) for line in listed.splitlines()):
        jobs.append(SlurmJob(f"{array}_{task}" if task.isdecimal() else array, task, state, name))
    return jobs


def format_history(
    index: int, record: ShareRecord | None, jobs: Sequence[SlurmJob] | None, experiment: str
) -> str:
    """The history of a share, from its record and from Slurm.

    A job that waits or runs is the share's if the record names it, or if it has the experiment's
    name and the share's index, as in an array that `simstudy batch` wrote.
    """
    history = record.history if record else NEVER_BEGUN
    if jobs is None:
        return history
    named = OF_SLURM.search(record.where) if record else None
    own = named[1] if named else None
    for job in jobs:
        is_submitted = (job.name, job.task) == (experiment, str(index))
        if job.state in IN_THE_QUEUE and (job.job == own or is_submitted):
            return f"{history}; job {job.job} {IN_THE_QUEUE[job.state]}"
    if own is None or (record and record.ended):
        return history
    state = next((job.state for job in jobs if job.job == own), None)
    became = ENDED.get(state, f"has the state {state}") if state else "is no longer in the queue"
    return f"{history}; job {own} {became}"


def clear_shares(folder: Place, seed: int, n_rep: int) -> None:
    """Delete the records of shares once nothing is missing."""
    paths = list((folder / FOLDER).glob("*.json"))
    records = filter(None, map(_read_record, paths))
    if all(record.seed == seed and record.n_rep <= n_rep for record in records):
        for path in paths:
            path.unlink(missing_ok=True)
        if isinstance(folder, Path):  # beyond this machine an empty folder is none
            with suppress(OSError):  # not there, or with something of somebody else's
                (folder / FOLDER).rmdir()


# ---------------------------------------------------------------- costs
def read_costs(folder: Place) -> dict[str, float]:
    """The cost of a block by scenario key, from a pilot; empty without one.

    Raises
    ------
    ConfigError
        Where the file cannot be read: this share would be cut in another way than the others.
    """
    path = folder / FOLDER / COSTS
    costs = read_json(path)
    if costs is None and path.exists():
        raise ConfigError(
            f"{path} cannot be read, and says how shares are cut. Run this again, or take the file "
            "away before the first share begins."
        )
    return costs or {}


def write_costs(folder: Place, measured: Mapping[str, float]) -> None:
    """Write the costs found by a pilot, for scenarios without one.

    What is there stays: jobs of an array that began with it share out the blocks by it.
    """
    timed = {key: cost for key, cost in measured.items() if 0 < cost < math.inf}
    write_json(folder / FOLDER / COSTS, timed | read_costs(folder))
