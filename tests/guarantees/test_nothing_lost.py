"""Nothing finished is lost, doubled or half-read: after kills, damage, full disks, and company."""

import contextlib
import errno
import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simstudy.engine import tasks
from simstudy.engine.provenance import compute_provenance
from simstudy.errors import StoreError
from simstudy.store.block_files import BlockRange, write_blocks
from simstudy.store.blocks import Store
from simstudy.store.compaction import compact
from simstudy.store.files import Folder, name_by_content
from simstudy.store.provenance import Provenance
from tests.factories import mean_study
from tests.guarantees import slow
from tests.guarantees.content import assert_each_block_once, assert_same_result, content, file_names
from tests.guarantees.server import Server, children, kill_group, wait_until
from tests.support import INLINE, on

N_REP = 2400  # 120 blocks in each of 5 scenarios, of at least 4 ms each: more than all kills wait
N_KILLS, N_GROUP_KILLS, N_WORKER_KILLS = 5, 2, 2


@pytest.fixture(scope="module")
def server():
    running = Server()
    yield running
    running.close()


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    return slow.study().run(N_REP, slow.SEED, out=folder, **INLINE)


def assert_complete(out: Path, reference) -> None:
    """What the killed runs left is, to the last byte, what one quiet run leaves."""
    found = slow.study().run(N_REP, slow.SEED, out=out, **INLINE)
    assert found.outcome.n_blocks == 0
    assert not found.details.store.damaged
    assert found.n_failed == 0
    assert_same_result(found, reference)
    for key in found.plan.keys:
        assert_each_block_once(found.details.store, key, found.plan.n_blocks(N_REP))


def started(server: Server, out: Path, *how) -> int:
    before = file_names(out / "slow" / "replicates")
    process = server.start(out, N_REP, *how)
    assert wait_until(lambda: file_names(out / "slow" / "replicates") != before)
    return process


@pytest.mark.slow
def test_a_run_killed_again_and_again(server, uninterrupted, tmp_path):
    chance = random.Random(1)
    for _ in range(N_KILLS):
        process = started(server, tmp_path)
        time.sleep(chance.uniform(0, 0.12))
        kill_group(process)
        assert server.wait(process) == -9
    assert server.wait(server.start(tmp_path, N_REP)) == 0
    assert_complete(tmp_path, uninterrupted)


@pytest.mark.slow
def test_a_run_and_its_workers_killed(server, uninterrupted, tmp_path):
    chance = random.Random(2)
    for _ in range(N_GROUP_KILLS):
        process = started(server, tmp_path, "loky", 2)
        time.sleep(chance.uniform(0, 0.15))
        kill_group(process)
        assert server.wait(process) == -9
    assert server.wait(server.start(tmp_path, N_REP, "loky", 2)) == 0
    assert_complete(tmp_path, uninterrupted)


@pytest.mark.slow
def test_workers_killed_under_a_run(server, uninterrupted, tmp_path):
    """The run goes on without them, and no innocent block is recorded as deadly."""
    chance = random.Random(3)
    folder = tmp_path / "slow" / "replicates"
    process = server.start(tmp_path, N_REP, "loky", 2)
    for _ in range(N_WORKER_KILLS):
        before = set(file_names(folder))
        assert wait_until(lambda before=before: set(file_names(folder)) - before)
        time.sleep(chance.uniform(0, 0.2))
        found = []  # listed once: a pool that has just broken has none a moment later
        assert wait_until(lambda found=found: found.extend(children(process)) or found)
        with contextlib.suppress(ProcessLookupError):
            os.kill(chance.choice(found), 9)
    assert server.wait(process) == 0
    assert_complete(tmp_path, uninterrupted)


@pytest.mark.slow
def test_two_runs_at_once_on_one_folder(server, uninterrupted, tmp_path):
    both = [server.start(tmp_path, N_REP) for _ in range(2)]
    assert [server.wait(one) for one in both] == [0, 0]
    assert_complete(tmp_path, uninterrupted)


@pytest.mark.slow
def test_two_seeds_at_once_on_one_folder(server, tmp_path):
    """Neither sets aside, reads or deletes what the other draws; one that comes late may refuse."""
    seeds = (slow.SEED, slow.SEED + 1)
    both = [server.start(tmp_path, 800, seed=seed) for seed in seeds]
    ended = [server.wait(one) for one in both]
    assert set(ended) <= {0, 2}
    assert 0 in ended
    for seed, status in zip(seeds, ended, strict=True):
        if status == 0:
            found = slow.study().run(800, seed, out=tmp_path, **INLINE)
            assert found.outcome.n_blocks == 0
            alone = slow.study().run(800, seed, out=tmp_path / f"alone{seed}", **INLINE)
            assert_same_result(found, alone)
    assert not (tmp_path / "slow" / "replicates" / "_damaged").exists()


@pytest.mark.slow
def test_a_redraw_under_a_run(server, uninterrupted, tmp_path):
    first = started(server, tmp_path)
    second = server.start(tmp_path, N_REP, redraw=True)
    assert server.wait(first) == 0
    assert server.wait(second) == 0
    assert_complete(tmp_path, uninterrupted)


@pytest.mark.slow
def test_many_compactions_at_once(server, tmp_path):
    slow.write_loose(tmp_path, 600)
    before = file_names(tmp_path)
    assert len(before) == 150
    several = [server.ask(do="compact", out=str(tmp_path), times=3) for _ in range(5)]
    assert [server.wait(one) for one in several] == [0] * 5
    plan = slow.study().plan(slow.SEED)
    store = Store(tmp_path, slow.BLOCK, compute_provenance(plan).of_blocks)
    compact(store, most_files=1)
    assert not store.damaged
    assert len(file_names(tmp_path)) < len(before)
    for key in plan.keys:
        assert_each_block_once(store, key, 600 // slow.BLOCK)


def toy_run(out: Path, seed: int = 3, **settings):
    return mean_study(**settings).run(220, seed, out=out, **INLINE)


def bit_flipped(path: Path) -> Path:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    return path


def test_a_damaged_file_is_named_set_aside_and_computed_again(tmp_path):
    reference = toy_run(tmp_path / "intact")
    folder = toy_run(tmp_path / "damaged").details.store.files.path
    path = bit_flipped(next(folder.glob("*.parquet")))
    again = toy_run(tmp_path / "damaged")
    assert [one.split()[0] for one in again.details.store.damaged] == [path.name]
    assert "bytes are not" in again.details.store.damaged[0]
    assert (folder / "_damaged" / path.name).exists()
    assert again.outcome.n_blocks > 0
    assert_same_result(again, reference)


def test_only_the_damaged_blocks_are_computed_again(tmp_path):
    slow.write_loose(tmp_path / "slow" / "replicates", 200)
    quiet = slow.study().run(200, slow.SEED, out=tmp_path / "quiet", **INLINE)
    bit_flipped(sorted((tmp_path / "slow" / "replicates").glob("*.parquet"))[17])
    again = slow.study().run(200, slow.SEED, out=tmp_path, **INLINE)
    assert again.outcome.n_blocks == 1
    assert_same_result(again, quiet)


def foreign_table(folder: Path) -> Path:
    """A good Parquet file under its hash, but not one of ours."""
    pq.write_table(pa.table({"x": [1.0]}), folder / "foreign.parquet")
    with (folder / "foreign.parquet").open("rb") as file:
        return (folder / "foreign.parquet").rename(folder / name_by_content(file))


def of_another_seed(folder: Path) -> Path:
    other = toy_run(folder / "tmp", seed=4).details.store.files.path
    return Path(shutil.copy(next(other.glob("*.parquet")), folder))


def of_rows_that_do_not_fit(folder: Path) -> Path:
    plan = mean_study().plan(3)
    table = pa.table({"scenario": ["a"] * 7, "rep": range(7)})
    return folder / write_blocks(
        Folder(folder),
        [BlockRange("a", 0, 1)],
        table,
        provenance=compute_provenance(plan).of_blocks,
    )


def test_blocks_of_another_run_are_left_where_they_are(tmp_path):
    """Their rows would fit, their numbers would not."""
    first = toy_run(tmp_path / "here")
    numbers = content(first)
    path = of_another_seed(first.details.store.files.path)
    before = path.read_bytes()
    again = toy_run(tmp_path / "here")
    assert again.outcome.n_blocks == 0
    assert not again.details.store.damaged
    assert path.read_bytes() == before
    assert content(again) == numbers


FOREIGN = {
    foreign_table: "do not state which blocks it holds",
    of_rows_that_do_not_fit: "do not have 50 rows each",
}


@pytest.mark.parametrize("intrude", FOREIGN, ids=lambda one: one.__name__)
def test_a_file_without_good_blocks_is_named_and_set_aside(intrude, tmp_path):
    first = toy_run(tmp_path / "here")
    numbers = content(first)
    path = intrude(first.details.store.files.path)
    again = toy_run(tmp_path / "here")
    assert again.outcome.n_blocks == 0
    reasons = {one.split()[0]: one for one in again.details.store.damaged}
    assert FOREIGN[intrude] in reasons[path.name]
    assert (first.details.store.files.path / "_damaged" / path.name).exists()
    assert content(again) == numbers


FULL = "the disk that holds .* is full. Every finished block is kept; free some space"


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("after", [0, 4])
def test_no_space_left(call, after, tmp_path, monkeypatch):
    reference = toy_run(tmp_path / "roomy")
    calls = 0
    original = getattr(os, call)

    def until_full(*arguments):
        nonlocal calls
        calls += 1
        if calls > after:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(*arguments)

    monkeypatch.setattr(tasks, "TASK_SECONDS", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, until_full)
        with pytest.raises(StoreError, match=FULL):
            toy_run(tmp_path / "tight")
    temporary = list((tmp_path / "tight" / "toy").rglob(".writing-*"))
    assert temporary == []
    assert_same_result(toy_run(tmp_path / "tight"), reference)


@pytest.fixture
def small_disk(tmp_path):
    """A file system with room for 400 kB; only root may mount one."""
    mount = tmp_path / "disk"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(mount)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no small file system can be mounted here: {error}")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


@pytest.mark.parametrize("workers", [INLINE, on("loky", 2)], ids=["inline", "loky"])
@pytest.mark.filterwarnings("ignore:.*tasks which were still being processed:UserWarning")
@pytest.mark.slow
def test_a_disk_that_fills_up(small_disk, workers, tmp_path):
    study = mean_study(block_size=500)
    with pytest.raises(StoreError, match=FULL) as refused:
        study.run(10_000, out=small_disk, **workers)
    assert "\n" not in str(refused.value)
    subprocess.run(["mount", "-o", "remount,size=40m", str(small_disk)], check=True)
    resumed = study.run(10_000, out=small_disk, **workers)
    assert 0 < resumed.outcome.n_blocks <= 60
    assert_same_result(resumed, study.run(10_000, out=tmp_path / "roomy", **INLINE))


def test_a_disk_that_must_not_be_written(tmp_path, monkeypatch):
    toy_run(tmp_path)

    def refuse(*_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StoreError, match=r"cannot write to .*: .* Choose another out="):
        mean_study().run(1000, 3, out=tmp_path, **INLINE)


def test_publishing_on_a_full_disk_says_so_too(tmp_path, monkeypatch):
    from simstudy.output.folder import publish

    result = toy_run(tmp_path)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=FULL):
        publish(result)


def test_those_checks_notice_a_doubled_and_a_lost_block(tmp_path):
    slow.write_loose(tmp_path, 40)
    plan = slow.study().plan(slow.SEED)
    key = next(iter(plan.keys))
    store = Store(tmp_path, slow.BLOCK, compute_provenance(plan).of_blocks)
    assert_each_block_once(store, key, 2)
    with pytest.raises(StoreError, match="block 2 of scenario"):
        assert_each_block_once(store, key, 3)
    again = store.read(key, 40).slice(20)
    write_blocks(
        Folder(tmp_path), [BlockRange(key, 1, 1)], again, provenance=Provenance({"study": "twice"})
    )
    with pytest.raises(AssertionError):
        assert_each_block_once(store, key, 2)
