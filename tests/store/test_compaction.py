"""Many files to one: nothing lost, and the same file whatever the files were before."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simstudy.atomic_files import ABANDONED_SECONDS
from simstudy.store import compaction, volumes
from simstudy.store.compaction import compact, gather
from simstudy.store.files import Folder
from simstudy.store.turns import turn_at
from tests.store.samples import (
    BLOCKS,
    ROWS,
    assert_holds,
    files,
    flipped,
    open_store,
    rows,
    write,
)


def split(rng, blocks):
    """The blocks in any order, in any number of files."""
    order = [blocks[i] for i in rng.permutation(len(blocks))]
    cuts = np.sort(rng.choice(np.arange(1, len(blocks)), rng.integers(0, 6), replace=False))
    return [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(order)], strict=True)]


def test_one_file_is_laid_out_anew_as_many_are(tmp_path):
    """Otherwise the last file would tell whether the blocks came in one task or in several."""
    names = []
    for i, parts in enumerate([[BLOCKS], [BLOCKS[::-1]], [[one] for one in BLOCKS]]):
        folder = tmp_path / str(i)
        folder.mkdir()
        for part in parts:
            write(folder, *part)
        compact(open_store(folder))
        names.append(files(folder))
    assert names[0] == names[1] == names[2]


def test_a_compacted_store_is_left_alone(tmp_path):
    for one in BLOCKS:
        write(tmp_path, one)
    store = open_store(tmp_path)
    compact(store)
    (path,) = tmp_path.glob("*.parquet")
    inode = path.stat().st_ino
    compact(store)
    compact(open_store(tmp_path))
    assert path.stat().st_ino == inode


@pytest.mark.parametrize("seed", range(8))
def test_a_compacted_store_does_not_know_how_it_was_written(seed, tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    for one in BLOCKS:
        write(plain, one)
    compact(open_store(plain))
    other = tmp_path / "other"
    other.mkdir()
    rng = np.random.default_rng(seed)
    for part in split(rng, BLOCKS):
        write(other, *part)
        if rng.random() < 0.3:
            compact(open_store(other))
    store = open_store(other)
    compact(store)
    assert files(other) == files(plain)
    for key, n in {"a": 4, "b": 6, "c": 1}.items():
        assert_holds(store, key, n)


def test_a_gap_stays_a_gap(tmp_path):
    write(tmp_path, ("a", 0, 2))
    write(tmp_path, ("a", 5, 1))
    store = open_store(tmp_path)
    compact(store)
    assert store.have("a", 6).tolist() == [True, True, False, False, False, True]
    assert_holds(store, "a", 2)


def test_a_run_of_many_files_rewrites_the_small_ones_only(tmp_path):
    large = write(tmp_path, *[("a", block, 1) for block in range(200)])
    for block in range(200, 204):
        write(tmp_path, ("a", block, 1))
    store = open_store(tmp_path)
    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("*.parquet")}
    small = sum(size for name, size in sizes.items() if name != large.name)
    assert sizes[large.name] > small
    assert gather(store) == 2
    assert large.name in files(tmp_path)
    assert store.n_files == 2
    assert_holds(store, "a", 204)


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
    assert again.n_files == 1
    assert_holds(again, "a", 3)


def test_a_reader_goes_on_while_another_run_compacts(tmp_path):
    for block in range(3):
        write(tmp_path, ("a", block, 1))
    reader = open_store(tmp_path)
    compact(open_store(tmp_path))
    assert_holds(reader, "a", 3)


def test_temporary_files_without_a_writer_go_and_young_ones_stay(tmp_path):
    for block in range(2):
        write(tmp_path, ("a", block, 1))
    old, young = tmp_path / ".writing-old", tmp_path / ".writing-young"
    for path in (old, young):
        path.write_bytes(b"half a file")
    day_before = time.time() - 2 * ABANDONED_SECONDS
    os.utime(old, (day_before, day_before))
    compact(open_store(tmp_path))
    assert not old.exists()
    assert young.exists()


# ---------------------------------------------------------------- several files
def of_small_files(patch):
    """Chunks of 3 blocks, files of one and from the third chunk on of two; 1 block is too few."""
    patch.setattr(volumes, "VALUES_PER_CHUNK", 3 * ROWS)
    patch.setattr(volumes, "CHUNKS_PER_FILE", 2)
    patch.setattr(volumes, "PART_OF_DONE", 1)
    patch.setattr(volumes, "CHUNKS_SHARING", 1)


SIZES = {"a": 13, "b": 8, "c": 1}
LONG = [(key, block, 1) for key, n in SIZES.items() for block in range(n)]


@pytest.mark.parametrize("seed", range(6))
def test_many_files_do_not_know_how_they_were_written_either(seed, tmp_path, monkeypatch):
    of_small_files(monkeypatch)
    rng = np.random.default_rng(seed)
    plain, other = tmp_path / "plain", tmp_path / "other"
    for folder in (plain, other):
        folder.mkdir()
    write(plain, *LONG)
    compact(open_store(plain))
    for part in split(rng, LONG):
        write(other, *part)
        (compact if rng.random() < 0.3 else gather)(open_store(other))
    store = open_store(other)
    compact(store, n_threads=1 + seed % 3)
    held = [store.headers[name].groups for name in files(plain)]
    assert sorted(held) == [
        [("a", 0, 3)],
        [("a", 3, 3)],
        [("a", 6, 3), ("a", 9, 3)],
        [("a", 12, 1), ("c", 0, 1)],
        [("b", 0, 3)],
        [("b", 3, 3)],
        [("b", 6, 2)],
    ]
    assert files(other) == files(plain)
    for key, n in SIZES.items():
        assert_holds(store, key, n)


def test_a_longer_run_leaves_the_files_that_are_full_as_they_are(tmp_path, monkeypatch):
    of_small_files(monkeypatch)
    write(tmp_path, ("a", 0, 5))
    compact(open_store(tmp_path))
    stamps = {path.name: path.stat().st_ino for path in tmp_path.glob("*.parquet")}
    assert len(stamps) == 2  # 0 to 2, and 3 and 4
    write(tmp_path, ("a", 5, 3))
    store = open_store(tmp_path)
    compact(store)
    after = {path.name: path.stat().st_ino for path in tmp_path.glob("*.parquet")}
    assert len(after) == 3
    assert len(stamps.items() & after.items()) == 1
    assert_holds(store, "a", 8)


def test_nothing_is_deleted_before_all_files_of_a_compaction_stand(tmp_path, monkeypatch):
    """The disk fills up after the first of them."""
    of_small_files(monkeypatch)
    for key, block, n in LONG:
        write(tmp_path, (key, block, n))
    before = set(files(tmp_path))
    written = compaction.write_laid_out
    calls = iter(range(99))

    def until_full(*arguments, **named):
        if next(calls):
            raise OSError(28, "No space left on device")
        return written(*arguments, **named)

    monkeypatch.setattr(compaction, "write_laid_out", until_full)
    with pytest.raises(OSError, match="No space"):
        compact(open_store(tmp_path), n_threads=2)
    assert before <= set(files(tmp_path))
    monkeypatch.setattr(compaction, "write_laid_out", written)
    store = open_store(tmp_path)
    compact(store)
    for key, n in SIZES.items():
        assert_holds(store, key, n)


def test_what_another_run_is_gathering_is_left_to_it(tmp_path):
    for block in range(4):
        write(tmp_path, ("a", block, 1))
    with turn_at(Folder(tmp_path), alone=True, wait=True):
        assert gather(open_store(tmp_path)) == 4
    assert len(files(tmp_path)) == 4
    assert gather(open_store(tmp_path)) == 1
    assert len(files(tmp_path)) == 1


def test_all_files_of_a_folder_have_the_same_columns(tmp_path, monkeypatch):
    """Block 3 of b has a failure, so a file without any, which is full, is made anew with it.

    Software that reads a folder takes the columns of its first file for those of all.
    """
    of_small_files(monkeypatch)
    for groups in ([("b", 0, 3)], [("b", 3, 3), ("b", 6, 2)]):
        write(tmp_path, *groups)
        compact(open_store(tmp_path))
    assert len(files(tmp_path)) == 3
    for name in files(tmp_path):
        assert "error" in pq.read_schema(tmp_path / name).names


def test_files_are_as_long_as_an_eighth_of_those_before_and_no_longer():
    """Of a scenario with 200 chunks of 3 blocks, and one with a block and nothing to share."""
    own = dict.fromkeys(tuple(volumes.own_file("a", 600, block, 3)) for block in range(600))
    assert [group.first for file in own for group in file] == list(range(0, 600, 3))
    assert list(volumes.shared_files({"a": 600, "b": 1, "none": 0}, 3)) == [[("b", 0, 1)]]
    ends = [(file[0].first // 3, file[-1].end // 3) for file in own]
    lengths = [end - first for first, end in ends]
    assert lengths == [1] * 16 + [2] * 8 + [4] * 8 + [8] * 17
    assert all(
        length == 1 or 8 * length <= first for (first, _), length in zip(ends, lengths, strict=True)
    )


# ---------------------------------------------------------------- any history
GROUPS = st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.integers(1, 3))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.lists(GROUPS, min_size=1, max_size=3)),
        st.tuples(st.sampled_from(["compact", "recent", "reopen", "damage"]), st.none()),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(STEPS, st.booleans())
def test_any_history_is_the_set_of_blocks_that_were_written(steps, in_many_files):
    """Against the plainest model: a set. Damage takes away what was in one file and no more."""
    folder = Path(tempfile.mkdtemp())
    with pytest.MonkeyPatch.context() as patch:
        if in_many_files:
            of_small_files(patch)
        _follow(folder, steps)


def _follow(folder, steps):
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
            elif step in ("compact", "recent"):
                (gather if step == "recent" else compact)(store)
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
        assert store.have(key, 9).tolist() == have
        n = have.index(False) if False in have else 9
        if n:
            found = store.read(key, n * ROWS, ["rep", "x"])
            assert found.equals(rows(key, 0, n).select(["rep", "x"]))
