"""Files gathered while a run goes on."""

import threading

import pytest

from simstudy.engine import gathering
from simstudy.engine.gathering import Gathering
from tests.store.samples import assert_holds, files, open_store, write


def wrote(folder, block):
    """One more file, as a receipt names it."""
    return [write(folder, ("a", block, 1)).name]


def test_many_files_become_few_while_others_are_written(tmp_path):
    store = open_store(tmp_path)
    with Gathering(store, 5, beside=False) as gathered:
        for block in range(20):
            gathered.note(wrote(tmp_path, block))
            assert len(files(tmp_path)) <= 2 * 5 + 1
    assert len(files(tmp_path)) < 12
    store.scan()
    assert_holds(store, "a", 20)


def test_a_share_leaves_one_file_and_those_of_others_alone(tmp_path):
    others = {name for block in range(5, 9) for name in wrote(tmp_path, block)}
    with Gathering(open_store(tmp_path), 100, beside=True) as beside:
        for block in range(5):
            beside.note(wrote(tmp_path, block))
        beside.finish()
    assert others < set(files(tmp_path))
    assert len(files(tmp_path)) == len(others) + 1
    assert_holds(open_store(tmp_path), "a", 9)


def test_one_at_a_time_and_drawing_does_not_wait_for_it(tmp_path, monkeypatch):
    begun, may_end, calls = threading.Event(), threading.Event(), []

    def slowly(store, *, wait):
        calls.append(store)
        begun.set()
        assert may_end.wait(30)
        return 1

    monkeypatch.setattr(gathering, "gather", slowly)
    store = open_store(tmp_path)
    with Gathering(store, 2, beside=True) as beside:
        beside.note("abc")
        assert begun.wait(30)
        for name in range(50):
            beside.note([str(name)])
        assert len(calls) == 1
        assert calls[0] is not store
        may_end.set()
    assert len(calls) == 1


def test_what_goes_wrong_is_raised(tmp_path, monkeypatch):
    def full(_store, *, wait):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(gathering, "gather", full)
    beside = Gathering(open_store(tmp_path), 0, beside=True)
    beside.note(["one"])
    with pytest.raises(OSError, match="No space"):
        beside.__exit__(None, None, None)
