"""A run that is warned that its time is nearly up finishes what it has begun, and no more."""

import os
import signal
from dataclasses import dataclass

import pytest

from simstudy.engine import graceful_stop
from simstudy.engine.graceful_stop import OutOfTime
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
