"""A run stops gracefully; a time limit stops what takes longer, and leaves all else as it was."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest

from simstudy.engine import graceful_stop
from simstudy.engine.graceful_stop import BlockTimeoutError, OutOfTime, time_limit
from simstudy.engine.progress import Silent
from simstudy.measures import mean
from simstudy.study import Study
from tests.factories import mean_study
from tests.guarantees.content import content
from tests.support import on


@pytest.fixture(autouse=True)
def forgotten():
    yield
    graceful_stop.clear_stop_request()


class WarnsAfter(Silent):
    """Warns when so many replicates are done."""

    def __init__(self, n_rep):
        self.n_rep, self.done = n_rep, 0

    def advance(self, n_rep):
        self.done += n_rep
        if self.done >= self.n_rep:
            graceful_stop.request_stop()


@pytest.mark.parametrize(
    "backend",
    ["inline", *(pytest.param(one, marks=pytest.mark.slow) for one in ("threads", "loky"))],
)
def test_it_ends_after_what_is_under_way_and_goes_on_later(backend, tmp_path):
    workers = on(backend, 2)
    with pytest.raises(OutOfTime) as stop:
        mean_study().run(4_000, out=tmp_path, **workers, progress=WarnsAfter(100))
    assert 0 < stop.value.n_left < 3 * 80
    graceful_stop.clear_stop_request()
    rest = mean_study().run(4_000, out=tmp_path, **workers)
    assert rest.outcome.n_blocks == stop.value.n_left
    if backend == "inline":
        assert content(rest) == content(mean_study().run(4_000, **workers))


@dataclass(frozen=True)
class Signalled:
    """A batch system tells this process in the first block that its time is nearly up."""

    bad: int = 0

    def simulate(self, streams, n_rep):
        if streams.block == self.bad:
            os.kill(os.getpid(), signal.SIGUSR2)
            sum(range(1000))  # where a handler would run
        return {"x": streams("data").standard_normal(n_rep)}


@pytest.mark.parametrize("backend", ["auto", "inline", "threads"])
def test_a_handler_of_the_hosts_runs_after_the_block_and_is_no_failure(backend, tmp_path):
    def requeue(number, frame):
        raise SystemExit(-1)

    before = signal.signal(signal.SIGUSR2, requeue)
    try:
        study = Study("told", [Signalled()], measures=[mean("x")], block_size=10)
        with pytest.raises(SystemExit):
            study.run(1000, out=tmp_path, backend=backend, n_jobs=2)
        assert signal.getsignal(signal.SIGUSR2) is requeue
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        rest = study.run(1000, out=tmp_path, backend="inline", n_jobs=1)
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert 0 < rest.outcome.n_blocks < 100, "what was begun is stored, and the rest goes on"
    assert rest.outcome.n_failed == 0
    assert len(rest.failures) == 0


# ---------------------------------------------------------------- time limits
def spin():
    while True:
        pass


@pytest.mark.parametrize("work", [lambda: time.sleep(60), spin])
def test_what_takes_too_long_is_stopped(work):
    with pytest.raises(BlockTimeoutError), time_limit(0.05):
        work()


def test_an_alarm_of_the_users_own_is_given_back():
    def mine(*_):
        raise AssertionError("nobody asked for it")

    before = signal.signal(signal.SIGALRM, mine)
    signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        with time_limit(5):
            assert signal.getitimer(signal.ITIMER_REAL)[0] < 6
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 900
        assert signal.getsignal(signal.SIGALRM) is mine
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
def test_a_process_that_may_be_lost_ends_with_what_cannot_be_stopped():
    code = """
import collections
import itertools

from simstudy.engine import graceful_stop

graceful_stop.GRACE_SECONDS = 0.1
graceful_stop.mark_as_worker()
with graceful_stop.time_limit(0.1):
    collections.deque(itertools.repeat(None), maxlen=0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, timeout=300, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "Timeout" in done.stderr, "it says where"
    assert "line" in done.stderr
