"""Columns that several claims ask for are read once, and nobody sees what another wrote."""

import pickle

import numpy as np

from simstudy.analysis import result_columns
from simstudy.analysis.result_columns import RecentColumns


def test_what_is_written_into_columns_is_not_there_when_they_are_asked_for_again():
    recent, column = RecentColumns(), np.zeros(3)
    recent.note("a", column)
    column[:] = 1
    recent.again("a")[:] = 2
    assert (recent.again("a") == 0).all()
    assert recent.again("b") is None


def test_a_full_cache_is_emptied(monkeypatch):
    monkeypatch.setattr(result_columns, "AT_HAND", 2 * np.zeros(3).nbytes)
    recent = RecentColumns()
    for name in "abc":
        recent.note(name, np.zeros(3))
    assert set(recent) == {"c"}
    recent.note("large", np.zeros(100))
    assert not recent


def test_another_process_gets_none():
    recent = RecentColumns()
    recent.note("a", np.zeros(3))
    assert pickle.loads(pickle.dumps(recent)) == {}
