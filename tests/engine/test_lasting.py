"""Files that workers write as they are to stay are those that a compaction would have made."""

import tracemalloc
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from simstudy.data.read_audit import unwatched
from simstudy.engine import lasting, runner, tasks
from simstudy.engine.assignment import Assignment
from simstudy.engine.backends.forked import can_fork
from simstudy.engine.jobs import Waiting, all_jobs
from simstudy.engine.lasting import Prospect, _Layout
from simstudy.engine.ownership import ownership_of
from simstudy.engine.portions import Portions
from simstudy.engine.runner import Runner
from simstudy.engine.tasks import Lasting, compute
from simstudy.engine.workers import Workers
from simstudy.store import compaction, volumes
from simstudy.store.blocks import Store
from simstudy.store.header import Group
from simstudy.store.layout import KeepReplicates
from simstudy.store.places import Place
from simstudy.store.write import Form, joint_schema
from tests import toy
from tests.engine import test_methods as by_methods
from tests.guarantees.content import file_names
from tests.guarantees.flaky import Deadly, deadly_study
from tests.guarantees.test_same_bits import Stop

INLINE = Workers("inline", 1)
STEP, SIZE = 4, 20  # blocks of a chunk, and replicates of a block


def small_files(patch):
    """Of 4 blocks of a column with two cells; what is no half of that shares one."""
    patch.setattr(volumes, "VALUES_PER_CHUNK", 2 * SIZE * STEP)
    patch.setattr(lasting, "PART_AGAIN", 3)
    patch.setattr(lasting, "PART_AT_FIRST", 8)


@pytest.fixture(autouse=True)
def _small_files(monkeypatch):
    small_files(monkeypatch)


@dataclass(frozen=True)
class Returns:
    """Numbers, vectors of a scenario's own length, and errors now and then."""

    length: int

    def simulate(self, streams, n_rep):
        x = streams("data").standard_normal((n_rep, self.length))
        error = np.where(x[:, 0] > 2.5, "too large", None)
        return {"x": x, "first": x[:, 0], "is_odd": x[:, 0] > 1, "error": error}


def vectors(**changes):
    declared = replace(
        toy.study(block_size=SIZE),
        name="vectors",
        scenarios=[Returns(length) for length in (2, 1)],
        measures=[by_methods.mean("first")],
        axes={},
        vectors={"x": "length"},
    )
    return replace(declared, **changes)


STUDIES = {
    "cells": lambda: toy.study(block_size=SIZE),
    "vectors and failures": vectors,
    "groups": lambda: vectors(group_size=2, name="groups"),
    "methods": by_methods.study,
}
N_BLOCKS = 17  # four files of each scenario and a block in a file that is shared


def run(study, out, n_blocks=N_BLOCKS, **how):
    result = study.run(n_blocks * SIZE, out=out, explain=False, **{"workers": INLINE, **how})
    return file_names(result.store.files.path)


def written(patch):
    """Names of files that are laid out, by whom."""
    found = {"worker": [], "compaction": []}
    for who, module in (("worker", tasks), ("compaction", compaction)):
        plain = module.write_laid_out

        def noted(*arguments, who=who, plain=plain, **named):
            found[who].append(plain(*arguments, **named))
            return found[who][-1]

        patch.setattr(module, "write_laid_out", noted)
    return found


@pytest.fixture(scope="module", params=sorted(STUDIES))
def study(request):
    return STUDIES[request.param]()


@pytest.fixture(scope="module")
def reference(study, tmp_path_factory):
    """The files of a folder that compactions alone have laid out."""
    with pytest.MonkeyPatch.context() as patch:
        small_files(patch)
        patch.setattr(Portions, "may_take", lambda *_: False)
        by = written(patch)
        names = run(study, tmp_path_factory.mktemp("plain"))
    assert not by["worker"]
    assert set(names) <= set(by["compaction"])
    return names


def test_a_worker_writes_what_a_compaction_would(study, reference, tmp_path, monkeypatch):
    by = written(monkeypatch)
    assert run(study, tmp_path) == reference
    stay = set(by["worker"]) & set(reference)
    assert len(stay) > len(reference) / 2
    assert stay.isdisjoint(by["compaction"])


def test_grown_stopped_and_in_shares(study, reference, tmp_path, monkeypatch):
    monkeypatch.setattr(Portions, "fills", lambda _, n_blocks: n_blocks > 0)
    for n_blocks in (3, 9):
        run(study, tmp_path / "grown", n_blocks)
    assert run(study, tmp_path / "grown") == reference
    for after in (4, 2):
        with pytest.raises(KeyboardInterrupt):
            run(study, tmp_path / "stopped", progress=Stop(after))
    assert run(study, tmp_path / "stopped") == reference
    run(study, tmp_path / "shares", shard=(1, 2))
    assert run(study, tmp_path / "shares") == reference


def test_two_processes_write_them_too(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Portions, "may_take", lambda *_: False)
        reference = run(vectors(), tmp_path / "plain")
    kept = []
    patched = Runner.count

    def count(self, receipt):
        kept.extend(receipt.files if receipt.are_lasting else ())
        patched(self, receipt)

    monkeypatch.setattr(Runner, "count", count)
    assert run(vectors(), tmp_path, workers=Workers("loky", 2)) == reference
    assert set(kept) & set(reference)


def task_of_a_file(folder, n_failed):
    """Blocks 1 to 3 of a scenario, with block 0 once more, of which so many had failed."""
    plan = vectors().plan(1)
    ownership = ownership_of(plan)
    store = Store(folder, SIZE, ownership.owner)
    assignment = Assignment(plan, store, KeepReplicates(), ownership)
    key = next(iter(plan.keys))
    jobs = [job for job in all_jobs(plan, dict.fromkeys(plan.keys, STEP)) if job.key == key]
    loose = compute(assignment.task(jobs[:1]))
    form = Form(joint_schema([loose.schema]), 0, loose.width)
    lasts = Lasting((((Group(key, 0, STEP)),),), form, ((jobs[0], n_failed),))
    return assignment.task(jobs[1:], lasts), loose.failed_each[0]


def test_a_block_that_comes_out_otherwise_the_second_time_is_left_where_it_is(tmp_path):
    task, n_failed = task_of_a_file(tmp_path / "other", 7)
    assert n_failed != 7
    receipt = compute(task)
    assert not receipt.are_lasting
    assert [block for _, block in receipt.done] == [1, 2, 3]
    same, _ = task_of_a_file(tmp_path / "same", n_failed)
    receipt = compute(same)
    assert receipt.are_lasting
    assert [block for _, block in receipt.done] == [1, 2, 3]
    assert [Store(same.files, SIZE, same.owner).headers[name].groups for name in receipt.files] == [
        [(same.jobs[0].key, 0, STEP)]
    ]


def test_a_part_of_a_task_has_no_such_file(tmp_path):
    """As where one of its blocks kills its process."""
    task, _ = task_of_a_file(tmp_path, 0)
    assert [task.only([job]).lasting for job in task.jobs] == [None] * 3


def test_a_scenario_whose_first_block_failed_whole_is_not_drawn_again(tmp_path):
    plan = vectors().plan(1)
    assignment = Assignment(plan, Store(tmp_path, SIZE), KeepReplicates())
    jobs = all_jobs(plan, dict.fromkeys(plan.keys, STEP))
    for n_failed, n_files in ((1, 2), (SIZE, 1)):
        waiting, prospect = Waiting(jobs), Prospect(assignment, jobs)
        first = waiting.take(1)
        receipt = compute(assignment.task(first))
        prospect.learn_from(receipt._replace(failed_each=(n_failed,)))
        size = Portions(1, 1.0)
        size.drawing_per_block = 1e-3
        some, lasts = prospect.take(waiting, size)
        assert len(lasts.files) == n_files
        assert lasts.again == (((first[0], 1),) if n_files == 2 else ())
        assert waiting.left == 2 * STEP - 1 - len(some)


@dataclass(frozen=True)
class Troubled:
    """What fails for as long as something is there."""

    sign: str
    why: str = ""
    at: int | None = None
    n: int = 1

    def simulate(self, streams, n_rep):
        x = streams("data").standard_normal((n_rep, self.n))[:, 0]
        is_now = self.at in (None, streams.block) and trouble(self.sign)
        if is_now and self.why == "memory":
            raise MemoryError
        fails = is_now & (np.arange(n_rep) == 0)
        return {"first": x} | ({"error": np.where(fails, "odd", None)} if is_now else {})


def trouble(sign):
    with unwatched():
        return Path(sign).exists()


@pytest.mark.parametrize(
    ("why", "at", "again"), [("memory", 1, {}), ("", None, {"retry": "failed"})]
)
def test_what_is_drawn_again_leaves_no_column_behind(why, at, again, tmp_path, monkeypatch):
    """As little as where compactions alone lay out: of failures that are gone, no files know."""
    monkeypatch.setattr(Portions, "fills", lambda _, n_blocks: n_blocks > 0)
    scenarios = [Troubled(str(tmp_path / "sign"), why, at, n) for n in (1, 2)]
    study = vectors(scenarios=scenarios, vectors={}, name="troubled")
    found = []
    for may_take in (Portions.may_take, lambda *_: False):
        monkeypatch.setattr(Portions, "may_take", may_take)
        (tmp_path / "sign").touch()
        before = run(study, tmp_path / str(len(found)))
        (tmp_path / "sign").unlink()
        found.append(run(study, tmp_path / str(len(found)), **again))
        assert before != found[-1]
    assert found[0] == found[1]
    folder = next(iter((tmp_path / "0").rglob(found[0][0]))).parent
    assert all("error" not in pq.read_schema(folder / name).names for name in found[0])


def test_files_found_one_by_one_are_those_of_a_compaction():
    rng = np.random.default_rng(3)
    for step in (1, 2, 3, 7):
        n_blocks = {f"k{i}": int(n) for i, n in enumerate([0, 1, 300, *rng.integers(2, 200, 5)])}
        places = {key: [Place(Group(key, 0, n), "", 0, 0)] for key, n in n_blocks.items() if n}
        expected = {
            tuple(chunk.group for chunk in volume) for volume in volumes.volumes(places, {""}, step)
        }
        shared = [tuple(file) for file in volumes.shared_files(n_blocks, step)]
        own = {
            tuple(volumes.own_file(key, n, block, step))
            for key, n in n_blocks.items()
            for block in range(n)
        }
        assert {*shared, *own} - {()} == expected


def test_a_layout_of_many_millions_of_blocks_is_no_list_of_them():
    """A group of each chunk would be ten thousand times as much."""
    n_blocks = {f"{i:02}": 1_000_000 for i in range(20)}
    tracemalloc.start()
    layout = _Layout(toy.study().plan(1), {}, 2)
    layout.n_blocks = n_blocks
    files = [layout._file_with(key, 999_999) for key in n_blocks]
    assert layout.n_beside(files) == 20 * sum(group.n for group in files[0])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 20


# ---------------------------------------------------------------- a block that kills
ONE_COPY = Workers("auto", 1)


@pytest.fixture
def apart(monkeypatch):
    """The blocks of each task that goes away from others, while files have 100 blocks.

    Threads that other tests have left are idle, so a copy of this process is as good as elsewhere.
    """
    monkeypatch.setattr(volumes, "VALUES_PER_CHUNK", 100 * 10)
    if not can_fork():
        pytest.skip("this system makes no copies of processes")
    monkeypatch.setattr(runner, "forks_safely", lambda: True)
    plain, found = runner.Runner.run_apart, []

    def noted(self, some):
        some = list(some)
        found.extend([job.block for job in task.jobs] for task in some)
        return plain(self, some)

    monkeypatch.setattr(runner.Runner, "run_apart", noted)
    return found


def run_deadly(tmp_path, workers):
    """Twelve files, of which the fourth has a block that kills; which blocks failed."""
    study = deadly_study(Deadly((350,), "kill"))
    result = study.run(10 * 1200, seed=2, out=tmp_path, workers=workers)
    assert len(result.replicates) == 10 * 1200
    return set(result.failures["block"])


@pytest.mark.parametrize("workers", [ONE_COPY, Workers("loky", 2)], ids=["auto", "loky"])
def test_of_a_task_of_whole_files_only_the_block_that_kills_goes_apart(workers, apart, tmp_path):
    """And what another worker was at, whose pool ended with it; else it would be hundreds."""
    assert run_deadly(tmp_path, workers) == {350}
    assert [350] in apart
    assert len(apart) <= workers.n_jobs
    assert max(map(len, apart)) == 1


def test_that_test_would_see_a_whole_file_go_apart(apart, tmp_path, monkeypatch):
    """Where no process marks the block that it is at."""
    monkeypatch.setattr(tasks, "note_block", lambda *_: None)
    assert run_deadly(tmp_path, ONE_COPY) == {350}
    assert 350 in apart[0]
    assert len(apart[0]) >= 100
