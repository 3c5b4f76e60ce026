"""How many cores a batch system has given to this job, as it says in the environment."""

from collections.abc import Mapping
from typing import NamedTuple


class Said(NamedTuple):
    """Where a batch system says it: names of variables.

    Parameters
    ----------
    job
        Set in its jobs only, which tells its word from a variable of that name that somebody
        exports in a shell. Empty where no other program uses the name.
    cores
        The number of cores of a process of this job, on this machine.
    """

    job: str
    cores: str


SAID = (
    Said("", "SLURM_CPUS_PER_TASK"),  # not set by Slurm where nobody asked for --cpus-per-task
    Said("SLURM_JOB_ID", "SLURM_CPUS_ON_NODE"),
    Said("PBS_JOBID", "NCPUS"),
    Said("JOB_ID", "NSLOTS"),  # SGE
    Said("LSB_JOBID", "LSB_DJOB_NUMPROC"),  # LSF
)


def cores_of_job(environment: Mapping[str, str]) -> int | None:
    """Cores of this job; None where no batch system says a number of one or more.

    A batch system may let a job see more cores than it has, so its word goes before the
    system's. What is no such number (0, `4(x2)`, nothing) is passed over: the job has cores.
    """
    for said in SAID:
        text = environment.get(said.cores, "")
        if (not said.job or environment.get(said.job)) and text.isascii() and text.isdigit():
            cores = int(text)
            if cores:
                return cores
    return None
