"""How many workers a run begins by itself in the jobs of batch systems."""

import os

import pytest

from simstudy.engine.workers import Workers, cores_of_job
from simstudy.errors import ConfigError

IN_SLURM, IN_PBS = {"SLURM_JOB_ID": "7"}, {"PBS_JOBID": "7.head"}


@pytest.mark.parametrize(
    ("environment", "cores"),
    [
        ({"SLURM_CPUS_PER_TASK": "4"}, 4),
        (IN_SLURM | {"SLURM_CPUS_PER_TASK": "4", "SLURM_CPUS_ON_NODE": "16"}, 4),
        (IN_SLURM | {"SLURM_CPUS_ON_NODE": "16"}, 16),
        (IN_SLURM | {"SLURM_CPUS_PER_TASK": "0", "SLURM_CPUS_ON_NODE": "2"}, 2),
        (IN_PBS | {"NCPUS": "8"}, 8),
        ({"JOB_ID": "7", "NSLOTS": "3"}, 3),
        ({"LSB_JOBID": "7", "LSB_DJOB_NUMPROC": "12"}, 12),
    ],
)
def test_a_job_has_the_cores_that_its_batch_system_says(environment, cores):
    assert cores_of_job(environment) == cores


@pytest.mark.parametrize("text", ["0", "00", "", "-1", "4(x2)", "2.0", "many", "²", "١"])
@pytest.mark.parametrize("said", [{}, IN_SLURM])
def test_what_is_no_number_of_cores_is_passed_over(text, said):
    assert cores_of_job(said | {"SLURM_CPUS_PER_TASK": text}) is None


@pytest.mark.parametrize("name", ["NCPUS", "NSLOTS", "LSB_DJOB_NUMPROC", "SLURM_CPUS_ON_NODE"])
def test_a_variable_of_that_name_outside_of_a_job_says_nothing(name):
    assert cores_of_job({name: "99"}) is None


@pytest.mark.parametrize("text", ["0", "junk"])
def test_workers_are_as_many_as_cores_are_seen_where_the_job_says_none(text, monkeypatch):
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)
    seen = Workers().count
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", text)
    assert Workers().count == seen >= 1
    monkeypatch.setitem(os.environ, "SLURM_CPUS_PER_TASK", "3")
    assert Workers().count == 3


@pytest.mark.parametrize("n_jobs", [True, "2", 0])
def test_what_is_no_number_of_workers_is_refused(n_jobs):
    with pytest.raises(ConfigError, match="n_jobs="):
        Workers(n_jobs=n_jobs)


def test_negative_numbers_of_workers_count_from_all_cores(monkeypatch):
    monkeypatch.setattr("simstudy.engine.workers.available_cores", lambda: 4)
    counts = [Workers(n_jobs=n).count for n in (None, -1, -2, -9, 3)]
    assert counts == [4, 4, 3, 1, 3]
