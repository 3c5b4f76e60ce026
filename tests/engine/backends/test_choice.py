"""Backends by name, of the package or of one's own, each told what is its own."""

from dataclasses import dataclass

import pytest

from simstudy.engine.backends.choice import backend_of
from simstudy.engine.backends.inline import Inline
from simstudy.engine.backends.processes import Processes
from simstudy.engine.backends.threads import Threads
from simstudy.engine.tasks import compute
from simstudy.engine.workers import Workers
from simstudy.errors import ConfigError
from tests import toy
from tests.guarantees.content import assert_same_result

HERE = __name__
seen: list[tuple[str, int]] = []


@dataclass
class Counting:
    """Computes here, and notes for whom."""

    address: str
    n_workers: int

    def receipts(self, tasks):
        for task in tasks:
            seen.append((self.address, self.n_workers))
            yield compute(task)


class Picky:
    def __init__(self, address):
        raise ConnectionError(f"nobody at {address}")

    def receipts(self, tasks):
        """Never asked."""


def run(tmp_path, **workers):
    return toy.study().run(120, seed=3, out=tmp_path, workers=Workers(**workers))


def test_a_backend_of_ones_own_computes_the_same(tmp_path):
    seen.clear()
    own = run(tmp_path / "a", backend=f"{HERE}:Counting", n_jobs=3, options={"address": "x:1"})
    assert set(seen) == {("x:1", 3)}
    assert_same_result(own, run(tmp_path / "b", backend="inline"))


def test_each_is_told_what_it_asks_for():
    assert isinstance(backend_of(Workers("threads", 2), ""), Threads)
    told = backend_of(Workers("loky", 2, {"idle_worker_timeout": 7}), "code")
    assert isinstance(told, Processes)
    assert (told.n_workers, told.expected, told.idle_worker_timeout) == (2, "code", 7)
    assert isinstance(backend_of(Workers("simstudy.engine.backends.inline:Inline"), ""), Inline)


@pytest.mark.parametrize(
    ("workers", "said"),
    [
        ({"backend": "loki"}, "backend=loki: no such backend.*did you mean 'loky'"),
        ({"backend": "threads", "options": {"address": 1}}, "backend.address: backend threads has"),
        ({"backend": "loky", "options": {"idle_timeout": 1}}, "did you mean 'idle_worker_timeout'"),
        (
            {"backend": "loky", "options": {"expected": "x"}},
            "backend.expected: backend loky has no",
        ),
        ({"backend": "no.such:Thing"}, "backend=no.such:Thing cannot be imported: ModuleNotFound"),
        ({"backend": "simstudy.errors:StudyError"}, "has no method receipts, which turns tasks"),
        ({"backend": f"{HERE}:Counting"}, "cannot be started: TypeError.*address"),
        ({"backend": f"{HERE}:Picky", "options": {"address": "y"}}, "started:.*nobody at y"),
    ],
)
def test_what_makes_no_backend_is_refused_in_a_line(workers, said, tmp_path):
    with pytest.raises(ConfigError, match=said) as refusal:
        run(tmp_path, **workers)
    assert "\n" not in str(refusal.value)
