"""Many files to few: nothing lost, and the same rows whatever the files were before."""

import fcntl
import os
import shutil
import tempfile
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simstudy.store import block_files, blocks, compaction
from simstudy.store.compaction import compact, folder_lock
from tests.store.samples import BLOCKS, ROWS, assert_holds, files, flipped, open_store, rows, write


@pytest.fixture(autouse=True)
def merge_any(monkeypatch):
    """However few files there are."""
    monkeypatch.setattr(compaction, "MANY_FILES", 0)


def split(rng, blocks):
    """The blocks in any order, in any number of files."""
    order = [blocks[i] for i in rng.permutation(len(blocks))]
    cuts = np.sort(rng.choice(np.arange(1, len(blocks)), rng.integers(0, 6), replace=False))
    return [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(order)], strict=True)]


@pytest.mark.parametrize("seed", range(8))
def test_merged_files_hold_every_block_in_order(seed, tmp_path):
    rng = np.random.default_rng(seed)
    for part in split(rng, BLOCKS):
        write(tmp_path, *part)
        if rng.random() < 0.3:
            compact(open_store(tmp_path))
    store = open_store(tmp_path)
    compact(store)
    (name,) = files(tmp_path)
    keys = pq.read_table(tmp_path / name)["scenario"].to_pylist()
    assert sorted(key for key, _ in groupby(keys)) == ["a", "b", "c"], "each in one piece"
    for key, n in {"a": 4, "b": 6, "c": 1}.items():
        assert_holds(store, key, n)
        assert len(store.index.of(key)) == 1, "one slice"


def test_blocks_are_read_after_another_run_has_merged_their_files(tmp_path):
    for part in BLOCKS:
        write(tmp_path, part)
    store = open_store(tmp_path)
    before = store.rows_between("b", 1, 4)
    store.close()
    compact(open_store(tmp_path))
    assert store.rows_between("b", 1, 4).equals(before)
    assert before.num_rows == 3 * ROWS


def test_few_files_and_large_ones_stay_as_they_are(tmp_path, monkeypatch):
    large = write(tmp_path, *[("a", block, 1) for block in range(200)])
    monkeypatch.setattr(compaction, "SMALL_BYTES", large.stat().st_size)
    for block in range(200, 204):
        write(tmp_path, ("a", block, 1))
    monkeypatch.setattr(compaction, "MANY_FILES", 4)
    store = open_store(tmp_path)
    compact(store)
    assert len(store.referenced_files) == 5
    monkeypatch.setattr(compaction, "MANY_FILES", 3)
    compact(store)
    assert len(store.referenced_files) == 2
    assert large.exists()
    assert_holds(store, "a", 204)


def test_all_files_of_a_folder_come_to_have_the_same_columns(tmp_path, monkeypatch):
    """Block 3 of b has a failure, so files without any are written anew, however few they are."""
    monkeypatch.setattr(compaction, "MANY_FILES", 64)
    for groups in ([("b", 0, 3)], [("b", 3, 3)], [("b", 6, 2)]):
        write(tmp_path, *groups)
    store = open_store(tmp_path)
    compact(store)
    assert len(store.referenced_files) == 2
    for name in files(tmp_path):
        assert "error" in pq.read_schema(tmp_path / name).names
    before = files(tmp_path)
    compact(store)
    assert files(tmp_path) == before
    assert_holds(store, "b", 8)


def test_blocks_that_several_files_hold_are_written_once(tmp_path, monkeypatch):
    monkeypatch.setattr(compaction, "MANY_FILES", 64)
    for groups in ([("a", 0, 3)], [("a", 1, 1)], [("b", 0, 2)]):
        write(tmp_path, *groups)
    store = open_store(tmp_path)
    compact(store)
    assert sum(pq.read_metadata(path).num_rows for path in tmp_path.glob("*.parquet")) == 5 * ROWS
    before = files(tmp_path)
    compact(open_store(tmp_path))
    assert files(tmp_path) == before
    assert_holds(store, "a", 3)


def test_a_crash_between_writing_and_deleting_leaves_duplicates_never_a_gap(tmp_path, monkeypatch):
    for block in range(3):
        write(tmp_path, ("a", block, 1))
    store = open_store(tmp_path)

    def crash(*_args, **_kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", crash)
        with pytest.raises(KeyboardInterrupt):
            compact(store)
    assert len(files(tmp_path)) == 4
    again = open_store(tmp_path)
    assert_holds(again, "a", 3)
    compact(again)
    assert len(again.referenced_files) == 1
    assert_holds(again, "a", 3)


def test_nothing_is_deleted_before_all_files_stand(tmp_path, monkeypatch):
    """The disk fills up after the first of them."""
    for one in BLOCKS:
        write(tmp_path, one)
    before = set(files(tmp_path))
    monkeypatch.setattr(compaction, "BATCH_BYTES", 1)
    written, calls = block_files.write_blocks, iter(range(99))

    def until_full(*arguments, **named):
        if next(calls):
            raise OSError(28, "No space left on device")
        return written(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(block_files, "write_blocks", until_full)
        with pytest.raises(OSError, match="No space"):
            compact(open_store(tmp_path))
    assert before <= set(files(tmp_path))
    store = open_store(tmp_path)
    compact(store)
    for key, n in {"a": 4, "b": 6, "c": 1}.items():
        assert_holds(store, key, n)


# ---------------------------------------------------------------- locks


def test_one_process_at_a_time_in_a_folder(tmp_path):
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        with folder_lock(tmp_path), pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(handle)


# ---------------------------------------------------------------- any history
GROUPS = st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.integers(1, 3))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.lists(GROUPS, min_size=1, max_size=3)),
        st.tuples(st.sampled_from(["compact", "reopen", "damage"]), st.none()),
    ),
    max_size=12,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(STEPS)
def test_any_history_is_the_set_of_blocks_that_were_written(steps):
    """Against the plainest model: a set. Damage takes away what was in one file and no more."""
    folder = Path(tempfile.mkdtemp())
    try:
        store, model = open_store(folder), {}
        for step, groups in steps:
            if step == "write":
                path = write(folder, *groups)
                model[path.name] = {(k, f + i) for k, f, n in groups for i in range(n)}
                store.scan()
            elif step == "damage" and model:
                flipped(folder / min(model))
                del model[min(model)]
                store = open_store(folder)
            elif step == "reopen":
                store = open_store(folder)
            elif step == "compact":
                compact(store)
                model = _model_of(folder, set().union(*model.values()))
            _assert_agrees(store, set().union(*model.values()))
    finally:
        shutil.rmtree(folder)


def _model_of(folder, blocks):
    """What each file holds after a compaction: nothing new, and nothing lost."""
    held = {}
    for path in folder.glob("*.parquet"):
        pairs = pq.read_table(path, columns=["scenario", "rep"]).to_pydict()
        held[path.name] = {
            (key, rep // ROWS) for key, rep in zip(pairs["scenario"], pairs["rep"], strict=True)
        }
    assert set().union(*held.values()) == blocks
    return held


def _assert_agrees(store, blocks):
    for key in "ab":
        have = [(key, block) in blocks for block in range(9)]
        assert store.has_blocks(key, 9).tolist() == have
        n = have.index(False) if False in have else 9
        if n:
            found = store.read(key, n * ROWS, ["rep", "x"])
            assert found.equals(rows(key, 0, n).select(["rep", "x"]))


@pytest.mark.parametrize("batch_bytes", [1 << 25, 1 << 12])
def test_each_row_group_is_read_once_for_each_file_that_is_written(
    batch_bytes, tmp_path, monkeypatch
):
    """Of files whose blocks alternate, as those of shares do; none of them fits into the cache."""
    n_files = 40
    for first in range(n_files):
        write(tmp_path, *[(key, block, 1) for key in "abc" for block in (first, first + n_files)])
    store = open_store(tmp_path)
    monkeypatch.setattr(compaction, "BATCH_BYTES", batch_bytes)
    monkeypatch.setattr(blocks, "CACHE_BYTES", 0)
    n_read = []
    original = pq.ParquetFile.read_row_group

    def noted(file, *arguments, **settings):
        n_read.append(1)
        return original(file, *arguments, **settings)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", noted)
    compact(store)
    assert len(n_read) <= n_files * len(store.referenced_files)
    for key in "abc":
        assert_holds(store, key, 2 * n_files)
