"""Work in threads: in order, no further ahead than it may be, and errors reach who asked."""

import threading

import numpy as np
import pytest

from simstudy.analysis import estimates
from simstudy.analysis.estimates import side_by_side
from simstudy.store import batches
from tests.benchmarks.test_engine import tiny


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_order_is_that_of_the_items(n_threads):
    first_may_end = threading.Event()

    def work(item):
        if item == 0 and n_threads > 1:
            assert first_may_end.wait(10)
        if item == 1:
            first_may_end.set()
        return item**2

    assert list(side_by_side(work, range(20), n_threads)) == [item**2 for item in range(20)]


def test_no_more_is_read_than_threads_have_to_do_and_one():
    read = []
    items = (read.append(item) or item for item in range(100))
    for n_done, _ in enumerate(side_by_side(lambda item: item, items, 3), 1):
        assert len(read) <= n_done + 3


def test_settings_of_numpy_hold_in_threads():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        list(side_by_side(lambda item: np.ones(1) / item, [1, 0, 2], 2))


@pytest.mark.parametrize("n_cores", [2, 7])
def test_a_summary_by_threads_has_the_same_bits(n_cores, monkeypatch, tmp_path):
    study = tiny(12, 1000)
    result = study.run(n_rep=3000, out=tmp_path)
    monkeypatch.setattr(batches, "VALUES_AT_ONCE", 4000)
    monkeypatch.setattr(estimates, "available_cores", lambda: 1)
    alone = study.run(n_rep=3000, out=tmp_path).summary
    monkeypatch.setattr(estimates, "available_cores", lambda: n_cores)
    threaded = study.run(n_rep=3000, out=tmp_path).summary
    assert threaded.equals(alone)
    assert result.summary.equals(alone)
