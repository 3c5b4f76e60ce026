"""Blocks are found again, whatever happened to their folder."""

import hashlib
import os
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simstudy.analysis.estimates import side_by_side
from simstudy.design.plan import Plan
from simstudy.errors import StoreError
from simstudy.store import blocks, compaction
from simstudy.store import files as stored_files
from simstudy.store.block_files import RETRY_GENERATION
from simstudy.store.blocks import Store, failed_replicates, map_batches
from simstudy.store.compaction import compact
from simstudy.store.files import is_named_by_content
from simstudy.store.provenance import Provenance
from tests.store.samples import (
    BLOCKS,
    OWNER,
    ROWS,
    assert_holds,
    files,
    flipped,
    open_store,
    rows,
    write,
    write_as,
)


@pytest.fixture(autouse=True)
def merge_any(monkeypatch):
    """However few files there are."""
    monkeypatch.setattr(compaction, "MANY_FILES", 0)


def test_a_file_is_named_by_its_bytes(tmp_path):
    path = write(tmp_path, ("a", 0, 1))
    assert path.stem == hashlib.sha256(path.read_bytes()).hexdigest()[:32]
    assert files(tmp_path) == [path.name]
    assert not list(tmp_path.glob(".writing-*"))


# ---------------------------------------------------------------- reading
def test_what_is_there_and_what_is_not(tmp_path):
    write(tmp_path, ("a", 0, 1), ("a", 3, 2))
    store = open_store(tmp_path)
    assert store.has_blocks("a", 7).tolist() == [True, False, False, True, True, False, False]
    assert store.has_blocks("never", 2).tolist() == [False, False]
    assert store.n_blocks("a") == 1
    with pytest.raises(StoreError, match="block 1 of scenario a is not in"):
        store.read("a", 2 * ROWS)
    with pytest.raises(StoreError, match="block 0 of scenario never is not in"):
        store.read("never", 1)


def test_an_error_that_only_some_blocks_have_is_null_elsewhere(tmp_path):
    for block in range(5):
        write(tmp_path, ("b", block, 1))
    store = open_store(tmp_path)
    for _ in range(2):
        error = store.read("b", 5 * ROWS, ["error"])["error"].to_pylist()
        assert [i for i, text in enumerate(error) if text] == [3 * ROWS + 2]
        assert len(error) == 5 * ROWS
        assert store.read("b", 3 * ROWS)["error"].null_count == 3 * ROWS
        compact(store)


def test_whole_numbers_and_fractions_of_one_column_share_a_type(tmp_path):
    """Also where a scenario has whole numbers only: no type depends on which file holds what."""
    for block, values in enumerate([[1, 2], [0.5, 1.5]]):
        table = pa.table({"scenario": ["a"] * 2, "rep": [2 * block, 2 * block + 1], "x": values})
        write_as(tmp_path, table, ("a", block, 1), provenance=OWNER)
    store = Store(tmp_path, 2, OWNER)
    for _ in range(2):
        assert store.read("a", 4, ["x"])["x"].to_pylist() == [1, 2, 0.5, 1.5]
        assert store.read("a", 2, ["x"])["x"].type == pa.float64()
        compact(store)


def test_of_rows_those_with_an_error(tmp_path):
    for first in (0, 2, 4):
        write(tmp_path, ("b", first, 2))
    store = open_store(tmp_path)
    plan = Plan("toy", 1, (), {}, ROWS)
    assert failed_replicates(plan, store, "b", 8).tolist() == [3 * ROWS + 2]
    assert failed_replicates(plan, store, "b", 3).size == 0
    assert failed_replicates(plan, store, "never", 2).size == 0


# ---------------------------------------------------------------- damage
def truncated(path):
    path.write_bytes(path.read_bytes()[:-20])


def emptied(path):
    path.write_bytes(b"")


def foreign_bytes(path):
    path.write_bytes(b"not a table at all")


def renamed(path):
    path.rename(path.with_name("copy-of-results.parquet"))


def another_table(path):
    path.unlink()
    pq.write_table(pa.table({"x": [1, 2]}), path.with_name(f"{'0' * 32}.parquet"))


DAMAGES = [truncated, flipped, emptied, foreign_bytes, renamed, another_table]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.__name__)
def test_a_damaged_file_is_named_set_aside_and_its_blocks_are_missing(damage, tmp_path):
    kept = write(tmp_path, ("a", 0, 2))
    hurt = write(tmp_path, ("a", 2, 1), ("b", 0, 1))
    damage(hurt)
    (name,) = set(files(tmp_path)) - {kept.name}
    store = open_store(tmp_path)
    assert store.damaged == [f"{name} (its bytes are not the ones that were written)"]
    assert files(tmp_path) == [kept.name]
    assert [path.name for path in (tmp_path / "_damaged").iterdir()] == [name]
    assert store.has_blocks("b", 1).tolist() == [False]
    assert_holds(store, "a", 2)
    write(tmp_path, ("a", 2, 1), ("b", 0, 1))
    store.scan()
    assert_holds(store, "a", 3)


def test_a_share_opens_the_files_of_other_splits_and_of_whole_runs(tmp_path):
    """A damaged file of another share is left to whoever opens it."""
    whole = write_as(tmp_path, rows("a", 0), ("a", 0, 1), provenance=OWNER)
    mine, theirs, other_split = (
        write_as(tmp_path, rows("a", block), ("a", block, 1), provenance=OWNER, label=label)
        for block, label in enumerate(("-aa-2", "-aa-12", "-bb-12"), start=1)
    )
    flipped(theirs)
    store = Store(tmp_path, ROWS, OWNER, label="-aa-2")
    assert {file.name for file in store.referenced_files} == {
        whole.name,
        mine.name,
        other_split.name,
    }
    assert not store.damaged
    (named,) = open_store(tmp_path).damaged
    assert named.startswith(theirs.name)


def test_a_file_is_hashed_once_and_again_when_it_changed(tmp_path, monkeypatch):
    path, hashed = write(tmp_path, ("a", 0, 2)), []

    def hash_and_note(file, name):
        hashed.append(name)
        return is_named_by_content(file, name)

    monkeypatch.setattr(stored_files, "is_named_by_content", hash_and_note)
    for _ in range(3):
        open_store(tmp_path)
    assert hashed == [path.name]
    flipped(path)
    assert open_store(tmp_path).damaged
    assert hashed == [path.name] * 2


OTHERS = {
    "another seed": Provenance({"study": "toy", "seed": 2, "block_size": 5}),
    "another study": Provenance({"study": "census", "seed": 1, "block_size": 5}),
    "a policy more": Provenance({**OWNER.settings, "may_be_missing": ["x"]}),
    "other values": Provenance(OWNER.settings, {"a": "A(k=1.0)"}, {"a": {}}),
    "other code": Provenance(OWNER.settings, {"a": ""}, {"a": {"f": "#1"}}),
    "nobody": Provenance({}),
}


@pytest.mark.parametrize("other", OTHERS)
def test_blocks_of_another_owner_are_left_alone(other, tmp_path):
    """Neither read nor set aside, and a compaction of ours does not touch their files."""
    theirs = write_as(tmp_path, rows("a", 0), ("a", 0, 1), provenance=OTHERS[other])
    before = theirs.read_bytes()
    mine = [write(tmp_path, ("a", 1, 1)), write(tmp_path, ("b", 0, 1))]
    store = open_store(tmp_path)
    assert store.n_blocks("a") == 0
    assert not store.damaged
    is_other_code = OTHERS[other].settings == OWNER.settings
    expected = [OTHERS[other].codes] if is_other_code else []
    assert [each.codes for each in store.others.get("a", [])] == expected
    compact(store)
    assert not any(path.exists() for path in mine)
    assert theirs.read_bytes() == before
    assert store.has_blocks("a", 2).tolist() == [False, True]


def test_a_file_with_blocks_of_two_owners_serves_its_own_and_is_kept(tmp_path):
    """A scenario's code changed, its neighbour's did not, and one task had drawn both."""
    code = {"a": {"f": "#1"}, "b": {"g": "#1"}}
    both = Provenance(OWNER.settings, {"a": "", "b": ""}, code)
    table = pa.concat_tables([rows("a", 0), rows("b", 0)])
    mixed = write_as(tmp_path, table, ("a", 0, 1), ("b", 0, 1), provenance=both)
    now = Provenance(OWNER.settings, {"a": "", "b": ""}, {**code, "a": {"f": "#2"}})
    write_as(tmp_path, rows("a", 0), ("a", 0, 1), provenance=now.only(["a"]))
    write_as(tmp_path, rows("b", 1), ("b", 1, 1), provenance=now.only(["b"]))
    store = Store(tmp_path, ROWS, now)
    assert store.has_blocks("b", 2).all()
    assert store.has_blocks("a", 1).all()
    compact(store)
    assert mixed.exists()
    before = Store(tmp_path, ROWS, both)
    assert before.has_blocks("a", 1).all()


def test_blocks_of_a_higher_rank_replace_others(tmp_path):
    """Drawn again after a failure: the older ones go at the next compaction."""
    write(tmp_path, ("a", 0, 4))
    again = rows("a", 1).set_column(2, "x", pa.array(np.full(ROWS, 9.0)))
    write_as(tmp_path, again, ("a", 1, 1), provenance=OWNER, generation=1)
    store = open_store(tmp_path)
    for _ in range(2):
        x = store.read("a", 4 * ROWS, ["x"]).column("x").to_numpy()
        np.testing.assert_array_equal(x[ROWS : 2 * ROWS], 9.0)
        assert (x[2 * ROWS :] != 9.0).all()
        compact(store)
    assert len(files(tmp_path)) == 2, "one of each generation"
    assert store.highest_generation == 1


def test_tentative_blocks_hold_until_they_are_drawn(tmp_path):
    failed = rows("a", 1).set_column(2, "x", pa.array(np.full(ROWS, np.nan)))
    path = write_as(tmp_path, failed, ("a", 1, 1), provenance=OWNER, generation=RETRY_GENERATION)
    write(tmp_path, ("a", 0, 1))
    store = open_store(tmp_path)
    assert store.has_blocks("a", 2).tolist() == [True, False]
    assert store.has_blocks("a", 2, retries=True).all()
    assert store.n_blocks("a") == 2
    compact(store)
    assert path.exists(), "nothing else holds its block"
    assert np.isnan(store.read("a", 2 * ROWS, ["x"]).column("x").to_numpy()[ROWS:]).all()
    write(tmp_path, ("a", 1, 1))
    store.scan()
    assert store.has_blocks("a", 2).all()
    compact(store)
    assert not path.exists()
    assert_holds(store, "a", 2)


# ---------------------------------------------------------------- many scenarios at once
@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("at_once", [1, 2 * ROWS, 1 << 20])
def test_each_scenario_is_read_as_if_alone(merged, at_once, monkeypatch, tmp_path):
    monkeypatch.setattr(blocks, "VALUES_AT_ONCE", at_once)
    for group in BLOCKS:
        write(tmp_path, group)
    store = open_store(tmp_path)
    if merged:
        compact(store)
    sizes = {"a": 2 * ROWS, "b": 2 * ROWS + 1, "c": 1}
    found = {}
    for batch in map_batches(lambda each: each, store, sizes, ["rep", "x", "error"]):
        for at, key in enumerate(batch.keys):
            assert batch.n_rows == sizes[key]
            found[key] = batch.table.slice(at * batch.n_rows, batch.n_rows)
    assert set(found) == set(sizes)
    for key, table in found.items():
        alone = store.read(key, sizes[key], ["rep", "x"])
        assert table.select(["rep", "x"]).combine_chunks().equals(alone.combine_chunks())


@pytest.mark.parametrize("each", [map, partial(side_by_side, n_threads=2)])
def test_scenarios_are_read_although_their_files_are_gathered_meanwhile(
    each, monkeypatch, tmp_path
):
    """Each once, also where others are being read, or were, when a file is found to be gone."""
    for group in BLOCKS:
        write(tmp_path, group)
    reader, other = open_store(tmp_path), open_store(tmp_path)
    monkeypatch.setattr(blocks, "VALUES_AT_ONCE", 1)
    seen = []
    sizes = {"a": ROWS, "b": ROWS, "c": ROWS}
    for keys in map_batches(lambda batch: batch.keys, reader, sizes, ["rep"], each):
        seen += keys
        compact(other)
    assert sorted(seen) == ["a", "b", "c"]


def test_an_error_of_the_work_is_no_file_that_has_gone(tmp_path):
    write(tmp_path, ("a", 0, 1))

    def work(batch):
        raise FileNotFoundError("of its own")

    with pytest.raises(FileNotFoundError, match="of its own"):
        list(map_batches(work, open_store(tmp_path), {"a": 1}))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux")
def test_no_file_stays_open(tmp_path):
    """Some systems do not delete a file that is open."""
    write(tmp_path, ("b", 0, 6))
    assert_holds(open_store(tmp_path), "b", 6)
    links = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    assert not [link for link in links if link.startswith(f"{tmp_path}/")]
