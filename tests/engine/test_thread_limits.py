"""Wherever a block is drawn, and whatever it loads, its sums are made by one thread."""

import ctypes
import importlib
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from simstudy.engine import tasks
from simstudy.engine import thread_limits as threads
from simstudy.engine.thread_limits import limit_pools, single_threaded
from simstudy.measures import mean
from simstudy.provenance.policy import THREAD_VARIABLES
from simstudy.study import Study
from tests import openmp
from tests.factories import SIZE, blocks_of, factory_of, giving, plan_of

ROOT = Path(__file__).parents[2]
BACKENDS = ["inline", "threads", "loky"]


@pytest.fixture(scope="module")
def obliging(tmp_path_factory):
    """Has the number of threads that the environment says when it is loaded."""
    return openmp.compiled(tmp_path_factory.mktemp("obliging"))


@pytest.fixture(scope="module")
def stubborn(tmp_path_factory):
    """Has four, whatever the environment says."""
    return openmp.compiled(tmp_path_factory.mktemp("stubborn"), stubborn=True)


@cache
def in_a_new_process(library, backend, how="", n_threads="4"):
    """Bits of the sums, the threads that made them, and what the process is left with."""
    environment = {
        name: value for name, value in os.environ.items() if name not in THREAD_VARIABLES
    }
    if n_threads:
        environment["OMP_NUM_THREADS"] = n_threads
    done = subprocess.run(
        [sys.executable, "-m", "tests.openmp", library, backend, how],
        env=environment, cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.splitlines()


# ---------------------------------------------------------------- whole runs


@pytest.mark.parametrize(
    ("kind", "how", "n_threads"),
    [
        ("obliging", "", "4"),  # loaded inside a block
        ("obliging", "", ""),
        ("obliging", "loaded", "4"),  # before
        ("stubborn", "", "4"),  # heeds no environment
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.slow
def test_whatever_a_library_does_one_thread_makes_the_sums(kind, how, n_threads, backend, request):
    library = request.getfixturevalue(kind)
    bits, made_by, left = in_a_new_process(library, backend, how, n_threads)
    assert made_by.startswith("[1] ")
    assert bits == in_a_new_process(library, "inline")[0]
    environment, has_now = left.split()
    assert environment == (n_threads or "None"), "the environment is as it was"
    if how == "loaded" or kind == "stubborn":
        assert has_now == "4", "what the library had is given back"


@pytest.mark.parametrize(
    ("kind", "backend", "how"),
    [
        ("stubborn", "inline", "unchecked"),
        ("stubborn", "threads", "unchecked"),
        ("obliging", "threads", "loaded unchecked"),
    ],
)
@pytest.mark.slow
def test_those_tests_notice_more_threads(kind, backend, how, request):
    library = request.getfixturevalue(kind)
    bits, made_by, _ = in_a_new_process(library, backend, how)
    assert "4" in made_by.partition("]")[0]
    assert bits != in_a_new_process(library, "inline")[0]


@dataclass(frozen=True)
class Parallel:
    """Sums by numba's own threads, and how many those were."""

    k: int = 0

    def simulate(self, streams, n_rep):
        import numba

        @numba.njit(parallel=True, fastmath=True)
        def total(x):
            found = 0.0
            for i in numba.prange(x.size):
                found += x[i]
            return found

        x = streams("data").standard_normal((n_rep, 1001))
        made_by = np.full(n_rep, numba.get_num_threads())
        return {"total": np.array([total(row) for row in x]), "threads": made_by}


@pytest.mark.slow
def test_numbas_own_threads(monkeypatch):
    import numba

    if numba.config.NUMBA_NUM_THREADS == 1:
        pytest.skip("numba has one thread on this machine, whatever it is told")
    study = Study("parallel", [Parallel()], measures=[mean("total", name="mean")], block_size=20)

    def drawn(backend):
        result = study.run(60, backend=backend, n_jobs=2)
        return result.columns(Parallel(), "total", "threads")

    inline, loky = drawn("inline"), drawn("loky")
    assert set(inline["threads"]) == {1}
    np.testing.assert_array_equal(inline["total"], loky["total"])
    assert numba.get_num_threads() == numba.config.NUMBA_NUM_THREADS
    for module in (threads, tasks):
        monkeypatch.setattr(module, "limit_pools", list)
    unchecked = drawn("inline")
    assert set(unchecked["threads"]) == {numba.config.NUMBA_NUM_THREADS}
    assert unchecked["total"].tobytes() != inline["total"].tobytes(), "more threads, other bits"


# ---------------------------------------------------------------- the environment
def test_the_environment_says_one_within_and_what_it_said_after(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    importlib.import_module("threadpoolctl")  # which sets a variable of its own
    before = dict(os.environ)
    with single_threaded():
        assert {os.environ[name] for name in THREAD_VARIABLES} == {"1"}
        with pytest.raises(ZeroDivisionError), single_threaded():
            raise ZeroDivisionError
        assert os.environ["OMP_NUM_THREADS"] == "1", "the inner one is not the last to leave"
    assert dict(os.environ) == before


def test_runs_at_once_that_do_not_end_in_order(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    entered, leave = threading.Event(), threading.Event()

    def other():
        with single_threaded():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with single_threaded():
        thread.start()
        entered.wait()
    assert os.environ["OMP_NUM_THREADS"] == "1", "the other run goes on"
    leave.set()
    thread.join()
    assert os.environ["OMP_NUM_THREADS"] == "3"


# ---------------------------------------------------------------- what is looked at
class Pool:
    """Looks like torch."""

    def __init__(self, n_threads=1):
        self.n_threads = n_threads

    def get_num_threads(self):
        return self.n_threads

    def set_num_threads(self, n_threads):
        self.n_threads = n_threads


def test_pools_are_looked_at_where_a_library_was_loaded_or_limits_were_lifted(monkeypatch):
    torch, loaded = Pool(1), [0]
    looks = []
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(torch, "get_num_threads", lambda: looks.append(loaded[0]) or 1)
    monkeypatch.setattr(threads, "libraries_loaded", lambda: loaded[0])
    with single_threaded():
        for _ in range(100):
            limit_pools()
        loaded[0] = 1
        limit_pools()
        thread = threading.Thread(target=limit_pools)  # OpenMP has limits of each thread
        thread.start()
        thread.join()
        assert looks == [0, 0, 1, 1, 1, 1], "each look asks twice"
    with single_threaded():
        assert looks[6:] == [1, 1], "what was given back may have more threads again"


@pytest.mark.parametrize("told", [True, False], ids=["by the system", "by modules"])
def test_a_library_that_was_loaded_is_noticed(told, monkeypatch, tmp_path):
    if not told:
        monkeypatch.setattr(threads, "open", no_file, raising=False)
    elif not Path("/proc/self/status").exists():
        pytest.skip("this system does not tell the size of what is mapped")
    before = threads.libraries_loaded()
    assert threads.libraries_loaded() == before
    if told:
        ctypes.CDLL(openmp.compiled(tmp_path))
    else:
        monkeypatch.setitem(sys.modules, "new", SimpleNamespace())
    assert threads.libraries_loaded() != before


def no_file(*_args):
    raise FileNotFoundError("/proc/self/status")


def test_openblas_is_limited_by_a_thread_that_did_not_set_it_first():
    """OpenBLAS listens to one thread alone, unless that is made to let go."""

    class OpenBlas:
        controls, num_threads = None, 4

        def clear_controlling_thread(self, *, force):
            self.controls = None

        def set_num_threads(self, n_threads):
            me = threading.get_ident()
            self.controls = self.controls or me
            if self.controls == me:
                self.num_threads = n_threads

    library = OpenBlas()
    library.set_num_threads(4)
    thread = threading.Thread(target=threads._set_native, args=(library, 1))
    thread.start()
    thread.join()
    assert library.num_threads == 1


def test_torch_is_asked_where_it_is_loaded(monkeypatch):
    torch = Pool(4)
    monkeypatch.setitem(sys.modules, "torch", torch)
    for _ in range(2):  # what was given back has more threads again
        with single_threaded():
            assert torch.n_threads == 1
        assert torch.n_threads == 4


def test_numba_is_not_started_to_be_asked(monkeypatch):
    def not_yet():
        raise ValueError("Threading layer is not initialized.")

    monkeypatch.setitem(sys.modules, "numba", SimpleNamespace(threading_layer=not_yet))
    limit_pools()
    monkeypatch.setitem(sys.modules, "numba", None)
    limit_pools()


def test_a_task_in_which_a_pool_of_several_threads_is_loaded_is_drawn_again(monkeypatch, tmp_path):
    torch, drawn = Pool(1), []
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(threads, "libraries_loaded", lambda: len(drawn))

    def simulate(streams, n_rep):
        if not drawn:
            torch.n_threads = 4
        drawn.append(streams.block)
        return {"x": np.full(n_rep, torch.n_threads)}

    plan = plan_of({}, scenarios=(giving(simulate),), max_failed=None)
    factory = factory_of(plan, tmp_path)
    with single_threaded():
        tasks.draw_task(factory.task([*blocks_of(factory, 1)]))
        assert drawn == [0, 0]
    factory.store.scan()
    (key,) = plan.keys
    assert set(factory.store.read(key, SIZE, ["x"])["x"].to_pylist()) == {1}
