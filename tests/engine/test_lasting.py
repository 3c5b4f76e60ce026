"""Files that workers write as they are to stay are those that a compaction would have made."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from simstudy.engine import lasting, tasks
from simstudy.engine.assignment import Assignment
from simstudy.engine.jobs import all_jobs
from simstudy.engine.ownership import ownership_of
from simstudy.engine.portions import Portions
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
from tests.guarantees.test_same_bits import Stop

pytestmark = pytest.mark.slow

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


# ---------------------------------------------------------------- a block that kills
