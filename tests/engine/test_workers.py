"""How many workers a run begins by itself in the jobs of batch systems."""

import pytest

from simstudy.engine.workers import CORE_VARIABLES, Workers, available_cores
from simstudy.errors import ConfigError

IN_SLURM, IN_PBS = {"SLURM_JOB_ID": "7"}, {"PBS_JOBID": "7.head"}


@pytest.fixture(autouse=True)
def outside(monkeypatch):
    for names in CORE_VARIABLES.items():
        for name in names:
            monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("environment", "cores"),
    [
        (IN_SLURM | {"SLURM_CPUS_PER_TASK": "4", "SLURM_CPUS_ON_NODE": "16"}, 4),
        (IN_SLURM | {"SLURM_CPUS_ON_NODE": "16"}, 16),
        (IN_SLURM | {"SLURM_CPUS_PER_TASK": "0", "SLURM_CPUS_ON_NODE": "2"}, 2),
        (IN_PBS | {"NCPUS": "8"}, 8),
        ({"JOB_ID": "7", "NSLOTS": "3"}, 3),
        ({"LSB_JOBID": "7", "LSB_DJOB_NUMPROC": "12"}, 12),
    ],
)
def test_a_job_has_the_cores_that_its_batch_system_says(environment, cores, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert available_cores() == Workers().count == cores


@pytest.mark.parametrize("text", ["0", "00", "", "-1", "4(x2)", "2.0", "many", "²"])
def test_what_is_no_number_of_cores_is_passed_over(text, monkeypatch):
    seen = available_cores()
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", text)
    assert available_cores() == seen >= 1


@pytest.mark.parametrize("name", CORE_VARIABLES)
def test_a_variable_of_that_name_outside_of_a_job_says_nothing(name, monkeypatch):
    monkeypatch.setenv(name, "99")
    assert available_cores() < 99


@pytest.mark.parametrize("n_jobs", [True, "2", 0])
def test_what_is_no_number_of_workers_is_refused(n_jobs):
    with pytest.raises(ConfigError, match="n_jobs="):
        Workers(n_jobs=n_jobs)


def test_negative_numbers_of_workers_count_from_all_cores(monkeypatch):
    monkeypatch.setattr("simstudy.engine.workers.available_cores", lambda: 4)
    counts = [Workers(n_jobs=n).count for n in (None, -1, -2, -9, 3)]
    assert counts == [4, 4, 3, 1, 3]
