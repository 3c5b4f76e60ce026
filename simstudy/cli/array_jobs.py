"""Which share of the blocks is an array job's: as its scheduler says in the environment."""

from collections.abc import Mapping
from dataclasses import dataclass

from simstudy.errors import ConfigError


@dataclass(frozen=True)
class Scheduler:
    """Where a scheduler says which of its array's jobs this is: names of variables.

    Empty are those that it does not set. `count` has the number of jobs, gaps left out.
    """

    name: str
    index: str
    first: str = ""
    last: str = ""
    step: str = ""
    count: str = ""


SCHEDULERS = (
    Scheduler(
        "Slurm",
        "SLURM_ARRAY_TASK_ID",
        "SLURM_ARRAY_TASK_MIN",
        "SLURM_ARRAY_TASK_MAX",
        "SLURM_ARRAY_TASK_STEP",
        "SLURM_ARRAY_TASK_COUNT",
    ),
    Scheduler("SGE", "SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE"),
    Scheduler("LSF", "LSB_JOBINDEX", last="LSB_JOBINDEX_END", step="LSB_JOBINDEX_STEP"),
    Scheduler("PBS", "PBS_ARRAY_INDEX"),
    Scheduler("Torque", "PBS_ARRAYID"),
)

JOBS = {
    "Slurm array": ("SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"),
    "Slurm": ("SLURM_JOB_ID", ""),
    "PBS": ("PBS_JOBID", ""),  # which has the index in it
    "LSF": ("LSB_JOBID", "LSB_JOBINDEX"),
    "SGE": ("JOB_ID", "SGE_TASK_ID"),
}
"""Where batch systems say which job this is, and which of its array: names of variables."""


def share_of_array(environment: Mapping[str, str], n_shares: int | None = None) -> tuple[int, int]:
    """Which share this job has, of how many.

    Parameters
    ----------
    environment
        Variables of this process.
    n_shares
        Where the user says it, indices are those of the shares, from 1, so that an array of a few
        of them will do; else it follows from the first, the last and the step of the array.

    Raises
    ------
    ConfigError
        Where this is no job of an array, or its place in it cannot be told.
    """
    scheduler = _whose_job(environment)
    index = int(environment[scheduler.index])
    indices = range(1, n_shares + 1) if n_shares else _indices(scheduler, environment)
    if index not in indices:
        raise ConfigError(
            f"shard=auto: {scheduler.index}={index} is none of {indices[0]} to {indices[-1]}, the "
            "shares of this study. Give the share as shard=i/N, with i from 1."
        )
    return indices.index(index) + 1, len(indices)


def job_in_words(environment: Mapping[str, str]) -> str:
    """The job of a batch system that this process is, as its user would name it; empty: none."""
    for name, (job, index) in JOBS.items():
        if environment.get(job):
            array = environment.get(index, "")
            return f"{name} {environment[job]}" + f"_{array}" * array.isdecimal()
    return ""


def _whose_job(environment: Mapping[str, str]) -> Scheduler:
    for scheduler in SCHEDULERS:
        index = environment.get(scheduler.index, "")
        if index.isdecimal() and not (scheduler.name == "LSF" and index == "0"):
            return scheduler  # SGE says "undefined", and LSF 0, to a job that is not of an array
    raise ConfigError(
        "shard=auto, and this is no job of an array: none of "
        f"{', '.join(scheduler.index for scheduler in SCHEDULERS)} says which. Give the share as "
        "shard=i/N."
    )


def _indices(scheduler: Scheduler, environment: Mapping[str, str]) -> range:
    """Indices of an array's jobs, where it says them all and has no gaps."""

    def number(name: str, default: int = 0) -> int:
        text = environment.get(name, "")
        return int(text) if text.isdecimal() else default

    if not environment.get(scheduler.last, "").isdecimal():
        raise ConfigError(
            f"shard=auto: {scheduler.name} does not say how many jobs this array has. Say it, for "
            "an array from 1 to N: shard=auto/N."
        )
    first, last, step = (
        number(scheduler.first, 1),
        number(scheduler.last),
        number(scheduler.step, 1),
    )
    if first > last or step < 1:
        raise ConfigError(
            f"shard=auto: {scheduler.name} says that this array goes from {first} to {last} in "
            f"steps of {step}, which is none. Say how many shares there are: shard=auto/N."
        )
    indices = range(first, last + 1, step)
    if number(scheduler.count, len(indices)) != len(indices):
        raise ConfigError(
            f"shard=auto: this array has gaps between {indices[0]} and {last}, so nobody knows of "
            "how many shares its jobs are some. Say it, for shares from 1 to N: shard=auto/N."
        )
    return indices
