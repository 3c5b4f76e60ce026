"""A study on a real Dask cluster: the same bytes, and what becomes of workers that die."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from simstudy.engine import dask_executor as dask
from simstudy.engine import provenance
from simstudy.engine.executors import executor_of
from simstudy.engine.workers import Workers
from simstudy.errors import ConfigError, SchedulerLostError, StoreError
from simstudy.measures import mean
from simstudy.provenance import modules
from simstudy.store.files import Folder
from simstudy.study import Study
from tests import factories
from tests.factories import mean_study
from tests.guarantees.content import assert_same_result, content
from tests.support import ROOT, on

pytestmark = pytest.mark.slow

pytest.importorskip("distributed", reason="needs pip install -e '.[dev]'")
psutil = pytest.importorskip("psutil")  # comes with distributed

OWN = on("dask", 2)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with _cluster(tmp_path_factory.mktemp("cluster")) as (address, _):
        yield address


@contextmanager
def _cluster(folder):
    """A scheduler with two workers, as somebody else would have started them; its processes."""
    (folder / "study_elsewhere.py").write_text("raise ImportError('a module that workers have')")
    told = folder / "scheduler.json"
    begin = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
    begin += ["--port", "0", "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(told)]
    join = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(told)]
    join += ["--host", "127.0.0.1", "--nworkers", "2", "--nthreads", "1"]
    join += ["--dashboard-address", "127.0.0.1:0", "--local-directory", str(folder)]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with (folder / "log").open("w") as log:
        processes = [
            subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=env)
            for command in (begin, join)
        ]
    try:
        yield _address_in(told), processes
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            _wait_or_kill(process)


def _wait_or_kill(process: subprocess.Popen) -> None:
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _address_in(told: Path) -> str:
    for _ in range(600):
        if told.exists() and told.read_text():
            return str(json.loads(told.read_text())["address"])
        time.sleep(0.1)
    raise AssertionError("the scheduler did not start")


def run(study, tmp_path, workers, n_rep=400):
    return study.run(n_rep, seed=3, out=tmp_path, **workers)


# ---------------------------------------------------------------- the same bytes
def test_a_cluster_of_its_own_draws_the_same_bytes(tmp_path):
    elsewhere = run(mean_study(), tmp_path / "a", OWN)
    assert elsewhere.outcome.warnings == [], "Dask draws from Python's global generator itself"
    assert_same_result(elsewhere, run(mean_study(), tmp_path / "b", on("inline")))


def test_a_cluster_that_runs_draws_the_same_bytes(tmp_path, address, monkeypatch):
    """Also for code that only this process knows how to find, and a folder named from here.

    Workers have a module of the same name: the caller's paths come first.
    """
    workers = on("dask", 1, backend_options={"address": address})
    (tmp_path / "study_elsewhere.py").write_text(Path(factories.__file__).read_text())
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    import study_elsewhere

    elsewhere = run(study_elsewhere.mean_study(), "a", workers)
    assert_same_result(elsewhere, run(study_elsewhere.mean_study(), "b", on("inline")))
    assert run(study_elsewhere.mean_study(), "a", workers).outcome.n_blocks == 0


def test_it_opens_no_port_beyond_the_loopback():
    seen = set()
    backend = executor_of(Workers("dask", 2), "")
    try:
        for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
            seen |= {c.laddr.ip for c in process.net_connections() if c.status == "LISTEN"}
    finally:
        backend.close(kill=False)
    assert seen == {"127.0.0.1"}


# ---------------------------------------------------------------- workers that die
@dataclass(frozen=True)
class Slow:
    """Every block takes a while, and says who drew it."""

    def simulate(self, streams, n_rep):
        time.sleep(0.2)
        return {"x": streams("data").standard_normal(n_rep)}


@dataclass(frozen=True)
class Deadly:
    """One block ends every worker that draws it, and spares who started it."""

    bad: int = 3

    def simulate(self, streams, n_rep):
        if streams.block == self.bad and multiprocessing.parent_process():
            os._exit(7)
        return {"x": streams("data").standard_normal(n_rep)}


def study_of(*scenarios, **settings):
    return Study("mortal", scenarios, measures=[mean("x")], block_size=10, **settings)


def test_a_worker_that_somebody_kills_costs_its_block_and_nothing_else(tmp_path, address):
    scheduler_side = on("dask", 2, backend_options={"address": address})
    killed = []

    def kill_one():
        worker = next(each for each in psutil.process_iter() if _is_worker_of(each, address))
        worker.send_signal(signal.SIGKILL)
        killed.append(worker)

    with _once_blocks_are_stored(tmp_path / "a", kill_one):
        result = run(study_of(Slow()), tmp_path / "a", scheduler_side, n_rep=300)
    assert killed
    assert result.outcome.n_failed == 0
    assert content(result) == content(run(study_of(Slow()), tmp_path / "b", on("threads", 30), 300))


@contextmanager
def _once_blocks_are_stored(out, work):
    """Do some work beside what is done within, once that has written a first file."""
    is_over = threading.Event()

    def wait():
        while not is_over.wait(0.05):
            if list((out / "mortal" / "replicates").glob("*.parquet")):
                work()
                return

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _is_worker_of(process, address):
    """Whether it is a worker (not the nanny that watches it) connected to the scheduler."""
    port = int(address.rpartition(":")[2])
    try:
        return (
            process.pid != os.getpid()
            and any(c.raddr and c.raddr.port == port for c in process.net_connections())
            and "spawn_main" in " ".join(process.cmdline())
        )
    except psutil.Error:
        return False


def test_a_block_that_kills_its_workers_is_named_and_the_rest_goes_on(tmp_path):
    result = run(study_of(Deadly()), tmp_path, OWN, n_rep=100)
    spared = run(study_of(Deadly()), tmp_path / "spared", on("inline"), n_rep=100)
    assert set(result.failures["error"]) == {dask.DIED}
    failed = result.failures["rep"].to_numpy()
    assert failed.tolist() == list(range(30, 40))
    expected = spared.columns(Deadly(), "x")["x"].copy()
    expected[failed] = np.nan
    np.testing.assert_array_equal(result.columns(Deadly(), "x")["x"], expected)


# ---------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"address": "tcp://127.0.0.1:9", "timeout": 1},
            "backend=dask cannot be started: OSError.*127.0.0.1:9 after 1 s",
        ),
        ({"address": "nonsense://x", "timeout": 1}, "backend=dask cannot be started: ValueError"),
        ({"cluster": "no.such:Cluster"}, "backend.cluster=no.such:Cluster cannot be imported"),
        ({"cluster": "distributed"}, "backend.cluster=distributed cannot be imported"),
        ({"adress": "x"}, "backend.adress: backend dask has no such setting; did you mean"),
    ],
)
def test_what_makes_no_cluster_is_refused_in_a_line(options, said, tmp_path):
    with pytest.raises(ConfigError, match=said) as refusal:
        run(mean_study(), tmp_path, on("dask", 1, backend_options=options))
    assert "\n" not in str(refusal.value)


def test_a_scheduler_without_workers_is_refused(tmp_path):
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        options = {"address": cluster.scheduler_address, "timeout": 1}
        with pytest.raises(ConfigError, match="backend=dask cannot be started"):
            run(mean_study(), tmp_path, on("dask", 1, backend_options=options))


def test_workers_with_other_versions_are_refused(monkeypatch, tmp_path, address):
    """Here this process finds another NumPy than they have."""
    found = modules.library
    old = {"numpy": "1.0"}
    for module in (modules, provenance):
        monkeypatch.setattr(
            module, "library", lambda name: old if name.startswith("numpy") else found(name)
        )
    with pytest.raises(StoreError, match=r"workers load other code .*: numpy was 1\.0 and is 2"):
        run(mean_study(), tmp_path, on("dask", 1, backend_options={"address": address}))


def test_workers_that_write_elsewhere_are_noticed(monkeypatch, tmp_path, address):
    """As on machines that do not share their files: their folder of this name is another."""
    workers = on("dask", 1, backend_options={"address": address})
    monkeypatch.setattr(Folder, "__getstate__", lambda folder: {"path": tmp_path / "theirs"})
    (tmp_path / "theirs").mkdir()
    with pytest.raises(StoreError, match=r"this machine cannot see them.*that all machines share"):
        run(mean_study(), tmp_path / "b", workers)


def reset():
    raise OSError("CommClosedError: connection reset by peer")


@pytest.mark.parametrize(
    "future",
    [
        SimpleNamespace(status="finished", result=reset),
        SimpleNamespace(status="error", exception=lambda: TimeoutError("no answer in 30 s")),
    ],
    ids=["while it sends a result", "time out"],
)
def test_a_scheduler_that_dies_is_lost(future):
    executor = object.__new__(dask.Dask)
    executor._client = SimpleNamespace(scheduler=SimpleNamespace(address="tcp://away"))
    with pytest.raises(SchedulerLostError, match="tcp://away no longer answers"):
        executor._result(future, task=None)


def test_a_scheduler_that_dies_is_one_line_and_the_run_goes_on_elsewhere(tmp_path):
    with _cluster(tmp_path) as (address, processes):
        workers = on("dask", 2, backend_options={"address": address})
        with (
            _once_blocks_are_stored(tmp_path, lambda: [process.kill() for process in processes]),
            pytest.raises(SchedulerLostError, match=r"no longer answers.*Finished blocks are kept"),
        ):
            run(study_of(Slow()), tmp_path, workers, n_rep=1000)
    rest = run(study_of(Slow()), tmp_path, on("threads", 30), n_rep=1000)
    assert 0 < rest.outcome.n_blocks < 100
    assert rest.outcome.n_failed == 0
