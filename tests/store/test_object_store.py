"""Files beyond this machine: few requests, whole or absent, and undamaged when they are read."""

import os
import pickle
import uuid

import pytest

from simstudy import places as paths
from simstudy.engine import tasks
from simstudy.errors import StoreError, UnreachableError
from simstudy.places import place_of, write_bytes
from simstudy.store import compaction
from simstudy.store.blocks import Store
from simstudy.store.files import ObjectStore
from simstudy.study import RunOptions
from simstudy.study.run import run as run_study
from tests.factories import mean_study
from tests.file_systems import Counting, Cut
from tests.store.samples import BLOCKS, OWNER, ROWS, assert_holds, put

N = len(BLOCKS)


def objects(protocol="counting"):
    return ObjectStore(place_of(f"{protocol}://{uuid.uuid4().hex}/blocks"))


def again(files):
    """The same place, as another process sees it."""
    return ObjectStore(files.place)


@pytest.fixture(autouse=True)
def asked(monkeypatch):
    monkeypatch.setattr(paths, "PUT_WHOLE", {"counting"})
    Counting.asked.clear()
    return Counting.asked


@pytest.fixture
def filled():
    files = objects()
    for group in BLOCKS:
        put(files, group)
    Counting.asked.clear()
    return files


# ---------------------------------------------------------------- requests
def test_a_store_lists_once_and_asks_for_each_file_once(filled, asked):
    store = Store(again(filled), ROWS, OWNER)
    assert asked == {"ls": 1, "cat_file": N}
    asked.clear()
    assert_holds(store, "b", 6)
    store.own_sizes()
    assert not asked, "rows and sizes are known"
    store.scan()
    assert asked == {"ls": 1}, "and what was seen is not asked for again"


def test_a_run_puts_each_file_once_and_asks_once_for_those_of_others(asked, monkeypatch):
    monkeypatch.setattr(tasks, "TASK_SECONDS", 0.0)
    monkeypatch.setattr(compaction, "MANY_FILES", 0)
    out = f"counting://{uuid.uuid4().hex}"
    how = {"n_rep": 200, "out": out, "backend": "inline", "n_jobs": 1}
    for share in (1, 2):
        asked.clear()
        run = mean_study().run(shard=(share, 2), **how)
        n_files = run.outcome.n_blocks
        assert len(run.details.store.referenced_files) == 1, (
            "a share leaves one file and opens none of other shares"
        )
        put = n_files + 2  # the one that they are gathered in, and what they took
        assert (asked["put_file"], asked["rm_file"]) == (put, n_files)
        assert asked["cat_file"] == 1, "the manifest"
    asked.clear()
    whole = run_study(mean_study(), RunOptions.read(mean_study(), how))
    assert (asked["put_file"], asked["cat_file"], asked["rm_file"]) == (1, 2 + 1 + 2, 2)
    asked.clear()
    assert len(whole.summary)
    assert not asked, "a summary is made of the copies"


# ---------------------------------------------------------------- whole or absent
def test_an_upload_cut_in_the_middle_leaves_nothing_that_is_seen(monkeypatch):
    files = objects("cut")
    for after in (0, 10, 1000):
        monkeypatch.setattr(Cut, "after", after)
        with pytest.raises(UnreachableError, match="the other end has gone"):
            put(files, ("a", 0, 1))
        assert files.names() == []
        assert Store(again(files), ROWS, OWNER).damaged == []
    monkeypatch.setattr(Cut, "after", None)
    put(files, ("a", 0, 1))
    assert_holds(Store(again(files), ROWS, OWNER), "a", 1)


# ---------------------------------------------------------------- undamaged
def test_a_damaged_file_is_set_aside(filled):
    name, *left = filled.names()
    content = bytearray((filled.place / name).read_bytes())
    content[10] ^= 1  # in a column's values: what the file says of itself is as it was
    write_bytes(filled.place / name, bytes(content))
    store = Store(again(filled), ROWS, OWNER)
    assert store.damaged == [f"{name} (its bytes are not the ones that were written)"]
    assert filled.names() == left


def test_a_file_that_has_gone_since_it_was_listed_is_passed_over(filled, monkeypatch):
    other, (gone, *left) = again(filled), filled.names()
    filled.delete(gone)
    monkeypatch.setattr(other, "names", lambda: [gone, *left])
    monkeypatch.setattr(other, "_sizes", dict.fromkeys([gone], 100))
    store = Store(other, ROWS, OWNER)
    assert len(store.referenced_files) == len(left)
    assert store.damaged == []


# ---------------------------------------------------------------- in other processes
def test_a_worker_gets_a_place_and_keeps_no_copy():
    files = objects()
    sent = pickle.loads(pickle.dumps(files))
    name = put(sent, ("a", 0, 1))
    assert os.listdir(sent._copies.path) == []
    assert files.names() == [name]
    assert_holds(Store(files, ROWS, OWNER), "a", 1)


@pytest.mark.parametrize("backend", ["auto", "loky", "dask"])
def test_what_lies_in_one_process_is_refused_to_others_before_anything_is_drawn(backend):
    place = place_of(f"memory://{uuid.uuid4().hex}")
    with pytest.raises(StoreError, match=r"in the memory of this process.*backend=threads or"):
        mean_study().run(200, out=place, backend=backend, n_jobs=2)
    assert not list(place.rglob("*.parquet"))
    assert mean_study().run(200, out=place, backend="threads", n_jobs=2).outcome.n_blocks
