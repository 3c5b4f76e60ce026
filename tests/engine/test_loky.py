"""What goes to a worker process, and what is said where it cannot go or be read there."""

import functools
import pickle
import signal
import subprocess
import sys
from concurrent.futures import Future
from dataclasses import dataclass, replace

import numpy as np
import pytest
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import BrokenProcessPool

from simstudy.engine import executors
from simstudy.engine.executors import deaf_to_interrupts, draw_packed, packed
from simstudy.errors import StaleCodeError, StudyError, UnreadableTaskError
from simstudy.study import Study
from tests.cli.projects import python
from tests.factories import blocks_of, factory_of, mean_study

PLAN = mean_study((3,)).plan()


@pytest.fixture
def task(tmp_path):
    factory = factory_of(PLAN, tmp_path)
    return factory.task(list(blocks_of(factory, 1)))


def test_what_cannot_be_sent_is_said_with_what_will_do(task):
    said = "the study cannot be sent to worker processes: .* use backend=threads or backend=inline"
    with pytest.raises(StudyError, match=said):
        packed(task._replace(label=(row for row in ())))


CACHES = """
import functools
import types
from dataclasses import dataclass

from simstudy import Study, grid
from simstudy.measures import bias

TABLE = types.MappingProxyType({"c": 1.0})


@functools.singledispatch
def kind_of(x):
    return 1.0


@kind_of.register
def _(x: int):
    return 2.0


@functools.cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


class Dispatching:
    @functools.singledispatchmethod
    def kind_of(self, x):
        return 1.0

    @kind_of.register
    def _(self, x: int):
        return 3.0


@dataclass(frozen=True)
class Trial:
    n: int

    @functools.cached_property
    def truth(self):
        return 0.0

    @functools.lru_cache
    def twice(self):
        return 2

    def draw_one(self, rng):
        return {"x": rng.normal(size=self.n * self.twice())}


def average(x):
    scale = TABLE["c"] * kind_of(1.0)
    return {"b": x.mean() * scale + kind_of(2) * Dispatching().kind_of(fibonacci(9))}


if __name__ == "__main__":
    for backend, n_jobs in (("inline", 1), ("loky", 2)):
        measures, methods = [bias("b", truth="truth")], {"m": average}
        study = Study("caches", grid(Trial, n=[5]), measures, methods=methods)
        run = study.run(100, seed=1, n_jobs=n_jobs, backend=backend, progress=False)
        print(run.summary["estimate"].tolist())
"""


@pytest.mark.slow
def test_caches_of_a_script_work_in_workers(tmp_path):
    """Caches are sent empty, as a module's are when workers import it."""
    (tmp_path / "script.py").write_text(CACHES)
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    here, there = done.stdout.splitlines()
    assert here == there


@functools.cache
def of_a_module(n):
    return n


def test_caches_are_sent_empty():
    mine = functools.lru_cache(maxsize=3)(lambda n: n)
    mine(1)
    cached, same = pickle.loads(packed((mine, of_a_module)))
    assert same is of_a_module
    assert (cached(2), cached.cache_info()[:3]) == (2, (0, 1, 3))


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"no task", r"UnpicklingError: .* Run again, or use backend=threads"),
        (b"cno_such_module\nStudy\n.", r"no_such_module.*searched in /first/of/all"),
    ],
)
def test_what_cannot_be_loaded_is_said_with_where_modules_were_searched(sent, said, monkeypatch):
    monkeypatch.setattr(sys, "path", ["/first/of/all", *sys.path])
    with pytest.raises(UnreadableTaskError, match=rf"workers cannot load the study \(.*{said}"):
        draw_packed(sent)


def test_with_other_code_than_expected_nothing_is_drawn(task):
    other = replace(task.code, entries={"engine/tasks.py": frozenset({"#"})})
    with pytest.raises(StaleCodeError):
        draw_packed(packed(task._replace(code=other)))
    assert list(task.files.path.iterdir()) == []


# ---------------------------------------------------------------- Ctrl-C
@dataclass(frozen=True)
class Listens:
    """Says whether its process would hear Ctrl-C."""

    def simulate(self, streams, n_rep):
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        return {"deaf": np.full(n_rep, signal.SIGINT in blocked)}


def test_ctrl_c_is_for_the_parent_alone():
    """It reaches the whole group, and each worker would say with a traceback that it did."""
    study = Study("listens", [Listens()], block_size=2)
    assert study.run(8, backend="loky", n_jobs=1).replicates["deaf"].all()
    assert not study.run(8, backend="inline").replicates["deaf"].any()


def start_and_tell(started, number):
    with deaf_to_interrupts():
        signal.raise_signal(number)
        started.append(number)


def test_a_signal_waits_until_a_worker_has_started():
    """Else the worker, half started, would print a traceback beside the one line of the run."""
    started = []
    for number in (signal.SIGINT, signal.SIGTERM):
        before = signal.signal(number, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                start_and_tell(started, number)
        finally:
            signal.signal(number, before)
    assert started == [signal.SIGINT, signal.SIGTERM]


@pytest.mark.slow
def test_joblib_works_in_a_process_that_has_run_a_study():
    """As scikit-learn with `n_jobs=2` in the same notebook; both take joblib's pool."""
    study = mean_study(block_size=10)
    study.run(100, backend="loky", n_jobs=2)
    assert Parallel(n_jobs=2)(delayed(abs)(number) for number in (-1, 2)) == [1, 2]
    assert study.run(200, backend="loky", n_jobs=2).outcome.n_failed == 0


NONE_BEGINS = """
import os
from simstudy.errors import StudyError
from tests.factories import mean_study
from tests.cli.projects import python

if __name__ == "__main__":
    mean_study().run(50, backend="loky", n_jobs=2)  # begins what all pools share
    os.environ["PYTHONHOME"] = "/there/is/no/python"
    try:
        mean_study(block_size=10).run(100, backend="loky", n_jobs=3)
    except StudyError as error:
        print(error)
"""


@pytest.mark.slow
def test_workers_that_cannot_start_are_no_failure_of_blocks(tmp_path):
    (tmp_path / "run.py").write_text(NONE_BEGINS)
    done = python(tmp_path, "run.py")
    assert done.stdout.startswith("worker processes end as soon as they start"), done.stderr


@pytest.mark.parametrize("n_ended", [0, 1, 2])
def test_a_lone_worker_that_ends_while_it_starts_is_started_once_more(n_ended, monkeypatch):
    """The system may end a process for lack of memory; the block that is due is not at fault."""
    begun = []

    class Pool:
        def __init__(self, **_):
            begun.append(self)

        def submit(self, _):
            if len(begun) <= n_ended:
                raise BrokenProcessPool("ended")
            done = Future()
            done.set_result(7)
            return done

    monkeypatch.setattr("joblib.externals.loky.ProcessPoolExecutor", Pool)
    begin = executors.IsolatedWorker()._begin_pool
    if n_ended < 2:
        assert begin() is begun[n_ended]
    else:
        with pytest.raises(StudyError, match="worker processes end as soon as they start"):
            begin()
