"""Backends by name, of the package or of one's own, each told what is its own; how many workers."""

from concurrent.futures import Future
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from simstudy.engine import executors
from simstudy.engine.executors import Executor, InProcess, Loky, Threads, executor_of
from simstudy.engine.tasks import draw_task
from simstudy.engine.workers import CORE_VARIABLES, Workers, available_cores
from simstudy.errors import ConfigError
from tests.factories import mean_study
from tests.guarantees.content import assert_same_result

HERE = __name__
seen: list[tuple[str, int]] = []


@dataclass
class Counting(Executor):
    """Computes here, and notes for whom."""

    address: str
    n_workers: int

    def submit(self, task):
        seen.append((self.address, self.n_workers))
        done = Future()
        done.set_result(draw_task(task))
        return done

    def close(self, *, kill):
        """Nothing is open."""


class Picky(Executor):
    def __init__(self, address):
        raise ConnectionError(f"nobody at {address}")

    def submit(self, task):
        """Never asked."""


def run(tmp_path, **workers):
    return mean_study().run(120, seed=3, out=tmp_path, **workers)


def test_a_executor_of_ones_own_computes_the_same(tmp_path):
    seen.clear()
    own = run(
        tmp_path / "a", backend=f"{HERE}:Counting", n_jobs=3, backend_options={"address": "x:1"}
    )
    assert set(seen) == {("x:1", 3)}
    assert_same_result(own, run(tmp_path / "b", backend="inline"))


def test_each_is_told_what_it_asks_for():
    assert isinstance(executor_of(Workers("threads", 2), ""), Threads)
    told = executor_of(Workers("loky", 2, {"idle_worker_timeout": 7}), "code")
    assert isinstance(told, Loky)
    assert (told.n_workers, told.expected, told.idle_worker_timeout) == (2, "code", 7)
    assert isinstance(executor_of(Workers("simstudy.engine.executors:InProcess"), ""), InProcess)


@pytest.mark.parametrize(
    ("workers", "said"),
    [
        ({"backend": "loki"}, "backend=loki: no such backend.*did you mean 'loky'"),
        (
            {"backend": "threads", "backend_options": {"address": 1}},
            "backend.address: backend threads has",
        ),
        (
            {"backend": "loky", "backend_options": {"idle_timeout": 1}},
            "did you mean 'idle_worker_timeout'",
        ),
        (
            {"backend": "loky", "backend_options": {"expected": "x"}},
            "backend.expected: backend loky has no",
        ),
        ({"backend": "no.such:Thing"}, "backend=no.such:Thing cannot be imported: ModuleNotFound"),
        ({"backend": "simstudy.errors:StudyError"}, "is not an executor: derive the class from"),
        ({"backend": f"{HERE}:Counting"}, "cannot be started: TypeError.*address"),
        (
            {"backend": f"{HERE}:Picky", "backend_options": {"address": "y"}},
            "started:.*nobody at y",
        ),
    ],
)
def test_what_makes_no_backend_is_refused_in_a_line(workers, said, tmp_path):
    with pytest.raises(ConfigError, match=said) as refusal:
        run(tmp_path, **workers)
    assert "\n" not in str(refusal.value)


def test_a_worker_starts_no_workers(monkeypatch):
    monkeypatch.setattr(executors, "is_worker", lambda: True)
    with pytest.raises(ConfigError, match="if a file runs a study when it is imported"):
        executor_of(Workers("auto", 2), "")
    assert isinstance(executor_of(Workers("inline", 2), ""), InProcess)


def test_a_daemonic_process_draws_in_threads(monkeypatch):
    daemon = SimpleNamespace(daemon=True)
    monkeypatch.setattr(executors.multiprocessing, "current_process", lambda: daemon)
    with pytest.warns(UserWarning, match="the run uses threads"):
        assert isinstance(executor_of(Workers("loky", 2), ""), Threads)


# ---------------------------------------------------------------- the number of workers
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
