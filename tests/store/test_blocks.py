"""The store: whole files or none, found again whatever happened to their folder."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simstudy.errors import StoreError
from simstudy.store import compaction
from simstudy.store.blocks import Store
from simstudy.store.compaction import compact
from simstudy.store.disk import trouble_in_words
from simstudy.store.header import TENTATIVE, Group
from simstudy.store.owner import Owner
from simstudy.store.write import write_blocks

ROWS = 5
OWNER = Owner({"study": "toy", "seed": 1, "block_size": 5})


def rows(key: str, first: int, n: int = 1) -> pa.Table:
    """The same rows for the same blocks, whoever writes them; block 3 of "b" has a failure."""
    rep = np.arange(first * ROWS, (first + n) * ROWS)
    columns = {"scenario": [key] * len(rep), "rep": rep, "x": np.sin(rep) + len(key)}
    table = pa.table(columns)
    if key == "b" and first <= 3 < first + n:
        error = [None if r != 3 * ROWS + 2 else "no root" for r in rep.tolist()]
        table = table.append_column("error", pa.array(error, pa.string()))
    return table


def write(folder: Path, *groups: tuple[str, int, int]) -> Path:
    table = pa.concat_tables([rows(*group) for group in groups], promote_options="permissive")
    return write_blocks(folder, [Group(*group) for group in groups], table, owner=OWNER)


def open_store(folder: Path) -> Store:
    return Store(folder, ROWS, OWNER)


def assert_holds(store: Store, key: str, n_blocks: int) -> None:
    """Every prefix comes back as the plain table says."""
    assert store.n_blocks(key) == n_blocks
    for n_rows in {1, ROWS - 1, ROWS, n_blocks * ROWS // 2 + 1, n_blocks * ROWS}:
        table = store.read(key, n_rows, ["rep", "x"])
        plain = rows(key, 0, n_blocks).slice(0, n_rows)
        assert table.equals(plain.select(["rep", "x"]).combine_chunks())


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.parquet"))


# ---------------------------------------------------------------- whole or absent
def test_a_file_is_named_by_its_bytes(tmp_path):
    import hashlib

    path = write(tmp_path, ("a", 0, 1))
    assert path.stem == hashlib.sha256(path.read_bytes()).hexdigest()[:32]
    assert files(tmp_path) == [path.name]
    assert not list(tmp_path.glob(".writing-*"))


def test_the_same_blocks_are_the_same_file(tmp_path):
    first = write(tmp_path, ("a", 0, 1))
    stamp = first.read_bytes()
    assert write(tmp_path, ("a", 0, 1)) == first
    assert files(tmp_path) == [first.name]
    assert first.read_bytes() == stamp


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write(tmp_path, ("a", 0, 1))
    assert not list(tmp_path.iterdir())


def test_a_write_that_is_killed_leaves_no_file_of_blocks(tmp_path):
    """Killed after the bytes and before their name: only a temporary file stays."""
    code = f"""
import os, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from simstudy import whole_files
from tests.store.test_blocks import write
whole_files.os.replace = lambda *_: os._exit(9)
write(Path({str(tmp_path)!r}), ("a", 0, 1))
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert done.returncode == 9
    assert [path.name[:9] for path in tmp_path.iterdir()] == [".writing-"]
    store = open_store(tmp_path)
    assert store.n_blocks("a") == 0
    assert store.damaged == []


def test_trouble_with_the_disk_is_said_in_words(tmp_path):
    for number, says in [(28, "is full. Every finished block is kept"), (13, "Choose another out")]:
        with pytest.raises(StoreError, match=says), trouble_in_words(tmp_path):
            raise OSError(number, "trouble")
    with pytest.raises(OSError, match="weather"), trouble_in_words(tmp_path):
        raise OSError(99, "weather")


# ---------------------------------------------------------------- reading
def test_every_prefix_of_every_scenario(tmp_path):
    write(tmp_path, ("a", 0, 1), ("b", 0, 2))
    write(tmp_path, ("b", 2, 3), ("a", 1, 1))
    store = open_store(tmp_path)
    assert_holds(store, "a", 2)
    assert_holds(store, "b", 5)


def test_what_is_there_and_what_is_not(tmp_path):
    write(tmp_path, ("a", 0, 1), ("a", 3, 2))
    store = open_store(tmp_path)
    assert store.have("a", 7).tolist() == [True, False, False, True, True, False, False]
    assert store.have("never", 2).tolist() == [False, False]
    assert store.n_blocks("a") == 1
    with pytest.raises(StoreError, match="block 1 of scenario a is not in"):
        store.read("a", 2 * ROWS)
    with pytest.raises(StoreError, match="block 0 of scenario never is not in"):
        store.read("never", 1)


def test_duplicates_come_once(tmp_path):
    write(tmp_path, ("a", 0, 3))
    write(tmp_path, ("a", 1, 3))
    write(tmp_path, ("a", 2, 1))
    assert_holds(open_store(tmp_path), "a", 4)


def test_an_error_that_only_some_blocks_have_is_null_elsewhere(tmp_path):
    for block in range(5):
        write(tmp_path, ("b", block, 1))
    store = open_store(tmp_path)
    for _ in range(2):
        error = store.read("b", 5 * ROWS, ["error"])["error"].to_pylist()
        assert [i for i, text in enumerate(error) if text] == [3 * ROWS + 2]
        assert len(error) == 5 * ROWS
        assert "error" not in store.read("b", 3 * ROWS).column_names or _only_null(store)
        compact(store)


def _only_null(store):
    return store.read("b", 3 * ROWS)["error"].null_count == 3 * ROWS


def test_only_the_columns_that_are_asked_for(tmp_path):
    write(tmp_path, ("a", 0, 2))
    table = open_store(tmp_path).read("a", 7, ["x", "not stored"])
    assert table.column_names == ["x"]
    assert table.num_rows == 7


def test_whole_numbers_and_fractions_of_one_column_share_a_type(tmp_path):
    for block, values in enumerate([[1, 2], [0.5, 1.5]]):
        table = pa.table({"scenario": ["a"] * 2, "rep": [2 * block, 2 * block + 1], "x": values})
        write_blocks(tmp_path, [Group("a", block, 1)], table, owner=OWNER)
    store = Store(tmp_path, 2, OWNER)
    for _ in range(2):
        assert store.read("a", 4, ["x"])["x"].to_pylist() == [1, 2, 0.5, 1.5]
        compact(store)


# ---------------------------------------------------------------- compaction
BLOCKS = [(key, block, 1) for key, n in {"a": 4, "b": 6, "c": 1}.items() for block in range(n)]


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


def test_compaction_leaves_one_file_and_every_row(tmp_path):
    for one in BLOCKS:
        write(tmp_path, one)
    store = open_store(tmp_path)
    assert store.n_files == len(BLOCKS)
    compact(store)
    assert store.n_files == len(files(tmp_path)) == 1
    assert store.n_bytes == sum(path.stat().st_size for path in tmp_path.glob("*.parquet"))
    for key, n in {"a": 4, "b": 6, "c": 1}.items():
        assert_holds(store, key, n)


def test_a_gap_stays_a_gap(tmp_path):
    write(tmp_path, ("a", 0, 2))
    write(tmp_path, ("a", 5, 1))
    store = open_store(tmp_path)
    compact(store)
    assert store.have("a", 6).tolist() == [True, True, False, False, False, True]
    assert_holds(store, "a", 2)


def test_row_groups_are_cut_where_the_blocks_say_and_not_where_the_files_did(tmp_path, monkeypatch):
    monkeypatch.setattr(compaction, "ROWS_PER_GROUP", 3 * ROWS)
    names = []
    for cut in (1, 2, 7):
        folder = tmp_path / str(cut)
        folder.mkdir()
        write(folder, ("a", 0, cut))
        write(folder, *[("a", block, 1) for block in range(cut, 8)])
        store = open_store(folder)
        compact(store)
        names.append(files(folder))
        assert_holds(store, "a", 8)
    assert names[0] == names[1] == names[2]


def test_a_run_of_many_files_rewrites_the_small_ones_only(tmp_path):
    large = write(tmp_path, *[("a", block, 1) for block in range(200)])
    for block in range(200, 204):
        write(tmp_path, ("a", block, 1))
    store = open_store(tmp_path)
    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("*.parquet")}
    small = sum(size for name, size in sizes.items() if name != large.name)
    assert sizes[large.name] > small
    compact(store, recent_only=True)
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
    day_before = time.time() - 2 * compaction.STALE_SECONDS
    os.utime(old, (day_before, day_before))
    compact(open_store(tmp_path))
    assert not old.exists()
    assert young.exists()


# ---------------------------------------------------------------- damage
def truncated(path):
    path.write_bytes(path.read_bytes()[:-20])


def flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


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
    assert store.have("b", 1).tolist() == [False]
    assert_holds(store, "a", 2)
    write(tmp_path, ("a", 2, 1), ("b", 0, 1))
    store.scan()
    assert_holds(store, "a", 3)


OTHERS = {
    "another seed": Owner({"study": "toy", "seed": 2, "block_size": 5}),
    "another study": Owner({"study": "census", "seed": 1, "block_size": 5}),
    "a policy more": Owner({**OWNER.settings, "may_be_missing": ["x"]}),
    "other values": Owner(OWNER.settings, {"a": "A(k=1.0)"}, {"a": {}}),
    "other code": Owner(OWNER.settings, {"a": ""}, {"a": {"f": "#1"}}),
    "nobody": Owner({}),
}


@pytest.mark.parametrize("other", OTHERS)
def test_blocks_of_another_owner_are_left_alone(other, tmp_path):
    """Neither read nor set aside, and a compaction of ours does not touch their files."""
    theirs = write_blocks(tmp_path, [Group("a", 0, 1)], rows("a", 0), owner=OTHERS[other])
    before = theirs.read_bytes()
    mine = [write(tmp_path, ("a", 1, 1)), write(tmp_path, ("b", 0, 1))]
    store = open_store(tmp_path)
    assert store.n_blocks("a") == 0
    assert not store.damaged
    assert [owner.settings for owner in store.others["a"]] == [OTHERS[other].settings]
    compact(store)
    assert not any(path.exists() for path in mine)
    assert theirs.read_bytes() == before
    assert store.have("a", 2).tolist() == [False, True]


def test_a_file_with_blocks_of_two_owners_serves_its_own_and_is_kept(tmp_path):
    """A scenario's code changed, its neighbour's did not, and one task had drawn both."""
    code = {"a": {"f": "#1"}, "b": {"g": "#1"}}
    both = Owner(OWNER.settings, {"a": "", "b": ""}, code)
    table = pa.concat_tables([rows("a", 0), rows("b", 0)])
    mixed = write_blocks(tmp_path, [Group("a", 0, 1), Group("b", 0, 1)], table, owner=both)
    now = Owner(OWNER.settings, {"a": "", "b": ""}, {**code, "a": {"f": "#2"}})
    write_blocks(tmp_path, [Group("a", 0, 1)], rows("a", 0), owner=now.only(["a"]))
    write_blocks(tmp_path, [Group("b", 1, 1)], rows("b", 1), owner=now.only(["b"]))
    store = Store(tmp_path, ROWS, now)
    assert store.have("b", 2).all()
    assert store.have("a", 1).all()
    compact(store)
    assert mixed.exists()
    before = Store(tmp_path, ROWS, both)
    assert before.have("a", 1).all()


def test_blocks_of_a_higher_rank_replace_others(tmp_path):
    """Drawn again after a failure: the older ones go at the next compaction."""
    write(tmp_path, ("a", 0, 4))
    again = rows("a", 1).set_column(2, "x", pa.array(np.full(ROWS, 9.0)))
    write_blocks(tmp_path, [Group("a", 1, 1)], again, owner=OWNER, rank=1)
    store = open_store(tmp_path)
    for _ in range(2):
        x = store.read("a", 4 * ROWS, ["x"]).column("x").to_numpy()
        np.testing.assert_array_equal(x[ROWS : 2 * ROWS], 9.0)
        assert (x[2 * ROWS :] != 9.0).all()
        compact(store)
    assert len(files(tmp_path)) == 1
    assert store.highest_rank == 1


def test_tentative_blocks_hold_until_they_are_drawn(tmp_path):
    failed = rows("a", 1).set_column(2, "x", pa.array(np.full(ROWS, np.nan)))
    path = write_blocks(tmp_path, [Group("a", 1, 1)], failed, owner=OWNER, rank=TENTATIVE)
    write(tmp_path, ("a", 0, 1))
    store = open_store(tmp_path)
    assert store.have("a", 2).tolist() == [True, False]
    assert store.have("a", 2, tentative=True).all()
    assert store.n_blocks("a") == 2
    compact(store)
    assert path.exists(), "nothing else holds its block"
    assert np.isnan(store.read("a", 2 * ROWS, ["x"]).column("x").to_numpy()[ROWS:]).all()
    write(tmp_path, ("a", 1, 1))
    store.scan()
    assert store.have("a", 2).all()
    compact(store)
    assert not path.exists()
    assert_holds(store, "a", 2)


def test_a_file_with_the_name_of_its_bytes_that_holds_no_blocks_is_set_aside(tmp_path):
    import hashlib

    path = tmp_path / "table"
    pq.write_table(pa.table({"x": [1, 2]}), path)
    path.rename(tmp_path / f"{hashlib.sha256(path.read_bytes()).hexdigest()[:32]}.parquet")
    store = open_store(tmp_path)
    assert len(store.damaged) == 1
    assert files(tmp_path) == []


def test_a_whole_folder_of_damage_is_an_empty_store(tmp_path):
    for one in BLOCKS:
        emptied(write(tmp_path, one))
    store = open_store(tmp_path)
    assert len(store.damaged) == len(BLOCKS)
    assert store.n_files == 0
    compact(store)
    assert files(tmp_path) == []


def test_what_is_no_parquet_is_left_alone(tmp_path):
    note = tmp_path / "README.txt"
    note.write_text("mine")
    write(tmp_path, ("a", 0, 1))
    store = open_store(tmp_path)
    assert store.damaged == []
    assert note.read_text() == "mine"


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
            elif step in ("compact", "recent"):
                compact(store, recent_only=step == "recent")
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
