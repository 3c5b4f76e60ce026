"""A run that is warned that its time is nearly up finishes what it has begun, and no more."""

from dataclasses import dataclass

import pytest

from simstudy.engine import warning
from simstudy.engine.progress import Silent
from simstudy.engine.warning import OutOfTime
from simstudy.engine.workers import Workers
from simstudy.measures import mean
from simstudy.study import Study
from tests import toy
from tests.guarantees.content import content


@pytest.fixture(autouse=True)
def forgotten():
    yield
    warning.forget_warning()


class WarnsAfter(Silent):
    """Warns when so many replicates are done."""

    def __init__(self, n_rep):
        self.n_rep, self.done = n_rep, 0

    def advance(self, n_rep):
        self.done += n_rep
        if self.done >= self.n_rep:
            warning.warn()


@pytest.mark.parametrize(
    "backend",
    ["inline", *(pytest.param(one, marks=pytest.mark.slow) for one in ("threads", "loky"))],
)
def test_it_ends_after_what_is_under_way_and_goes_on_later(backend, tmp_path):
    workers = Workers(backend, 2)
    with pytest.raises(OutOfTime) as stop:
        toy.study().run(20_000, out=tmp_path, workers=workers, progress=WarnsAfter(100))
    assert 0 < stop.value.n_left < 3 * 400
    warning.forget_warning()
    rest = toy.study().run(20_000, out=tmp_path, workers=workers)
    assert rest.outcome.n_blocks == stop.value.n_left
    if backend == "inline":
        assert content(rest) == content(toy.study().run(20_000, workers=workers))


@dataclass(frozen=True)
class Warned:
    """The warning comes while a block is drawn."""

    bad: int = 2

    def simulate(self, streams, n_rep):
        if streams.block == self.bad:
            warning.warn()
        return {"x": streams("data").standard_normal(n_rep)}


def test_a_block_under_way_is_finished_and_stored(tmp_path):
    study = Study("warned", [Warned()], measures=[mean("x")], block_size=10)
    with pytest.raises(OutOfTime) as stop:
        study.run(100, out=tmp_path, workers=Workers("inline"))
    assert stop.value.n_left <= 7
    warning.forget_warning()
    again = study.run(10 * (10 - stop.value.n_left), out=tmp_path, workers=Workers("inline"))
    assert again.outcome.n_blocks == 0
