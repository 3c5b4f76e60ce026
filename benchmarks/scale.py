"""What each step of a run costs, and what shares cost whoever joins them.

`python -m benchmarks.scale` prints the tables of `benchmarks/README.md`; with that name after
it, it puts them there. Costs are processor time, so that other work on the machine matters less.
"""

import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.pages import print_or_put, table
from benchmarks.timing import python
from experiments.two_stage import study as two_stage
from simstudy.design.plan import Plan
from simstudy.engine.executors import Executor, packed
from simstudy.engine.provenance import compute_provenance
from simstudy.engine.tasks import (
    Task,
    TaskFactory,
    TaskResult,
    TaskSizes,
    all_blocks,
    draw_task,
    missing_blocks,
    shard_label,
    shard_of_each,
)
from simstudy.store.block_files import BlockRange, write_blocks
from simstudy.store.blocks import Store
from simstudy.store.compaction import compact
from simstudy.store.files import Folder
from simstudy.store.provenance import Provenance
from simstudy.store.runs import BlockTimings, RunRecord, Times, merge_records, write_record
from simstudy.study import Study

CONFIG = two_stage.Config(k=[0.0, 1.0], n2=[100, 400], draws="sufficient")
INLINE = {"backend": "inline", "n_jobs": 1}
TASK_SECONDS = 20.0  # of a long run
SHARES = ((100, 20, 100), (1000, 20, 100), (10_000, 20, 100), (100, 20_000, 2000))
"""Numbers of shares, of scenarios, and of blocks of each share."""


def cost(work: Callable[[], object], n: int = 3) -> float:
    """The least processor time of some tries."""
    tries = []
    for _ in range(n):
        before = process_time()
        work()
        tries.append(process_time() - before)
    return min(tries)


# ---------------------------------------------------------------- steps
def cost_table() -> str:
    """What each step of a run costs."""
    from benchmarks.test_engine import tiny

    fast, small = two_stage.study(CONFIG), tiny(4, 1000)
    draw, engine = _of_a_block(fast)
    hand_out, write = _of_a_task(fast.plan(1))
    rows = [
        ("a worker starts", f"{_of_a_process():.2f} s"),
        ("a block of the fastest kernel is drawn", f"{draw * 1e6:.0f} µs"),
        ("the engine around a block", f"{engine * 1e6:.0f} µs"),
        ("the parent hands out a task", f"{hand_out * 1e3:.2f} ms"),
        ("a task's file is written", f"{write * 1e3:.1f} ms"),
        *_of_files(small.plan(1)),
        ("a million rows are summarised", f"{_of_a_summary(small, 10**6):.2f} s"),
    ]
    return table(["step", "processor time"], [list(row) for row in rows])


def _of_a_process() -> float:
    """What a worker imports to draw."""
    code = "import time, experiments.two_stage, simstudy.engine.executors as _"
    return float(python("-c", f"{code}; print(time.process_time())"))


def _of_a_block(study: Study) -> tuple[float, float]:
    """A block of 1,000 replicates: `simulate` alone, and all around it."""
    n_each = 250
    plan = study.plan(1)

    def directly() -> None:
        for scenario in plan.scenarios:
            for block in range(n_each):
                scenario.simulate(plan.streams(scenario, block), plan.block_size)

    def drawn() -> None:
        with tempfile.TemporaryDirectory() as folder:
            wanted = dict.fromkeys(plan.keys, n_each)
            draw_task(task_factory(plan, Path(folder)).task(list(all_blocks(plan, wanted))))

    directly()
    n_blocks = n_each * len(plan.scenarios)
    kernel = cost(directly) / n_blocks
    return kernel, cost(drawn) / n_blocks - kernel


def task_factory(plan: Plan, folder: Path) -> TaskFactory:
    """What a run into a folder has."""
    provenance = compute_provenance(plan)
    store = Store(folder, plan.block_size, provenance.of_blocks)
    return TaskFactory(plan, store, provenance)


def _of_a_task(plan: Plan) -> tuple[float, float]:
    """To hand it out, and its file of few blocks without what its rows cost."""
    with tempfile.TemporaryDirectory() as folder:
        factory = task_factory(plan, Path(folder))
        blocks = list(all_blocks(plan, dict.fromkeys(plan.keys, 20)))
        hand_out = cost(lambda: [packed(factory.task(blocks)) for _ in range(20)]) / 20
        write = cost(lambda: [draw_task(factory.task(blocks[:4])) for _ in range(10)]) / 10
        each = cost(lambda: draw_task(factory.task(blocks))) / len(blocks)
        return hand_out, max(write - 4 * each, 0.0)


def _of_files(plan: Plan) -> list[tuple[str, str]]:
    n_files = 200
    with tempfile.TemporaryDirectory() as folder:
        few, many = Path(folder) / "few", Path(folder) / "many"
        _write_files(plan, few, 4, 250_000)
        _write_files(plan, many, n_files, 5000)
        provenance = compute_provenance(plan).of_blocks
        first = cost(partial(Store, few, 1000, provenance), 1)
        gigabytes = sum(Store(few, 1000, provenance).own_sizes().values()) / 1e9
        Store(many, 1000, provenance)
        again = cost(partial(Store, many, 1000, provenance)) / n_files
        merged = cost(lambda: compact(Store(many, 1000, provenance)), 1)
    return [
        ("a gigabyte is looked at for the first time (hashed)", f"{first / gigabytes:.1f} s"),
        ("a file is looked at, as every run begins", f"{again * 1e3:.2f} ms"),
        (f"a million rows are merged, from {n_files} files", f"{merged:.2f} s"),
    ]


def _write_files(plan: Plan, folder: Path, n_files: int, n_rows: int) -> None:
    """So many files of one scenario's blocks of 1,000 rows."""
    folder.mkdir()
    key = next(iter(plan.keys))
    provenance = compute_provenance(plan).of_blocks.only([key])
    x = np.random.default_rng(1).standard_normal(n_rows)
    for first in range(0, n_files * n_rows, n_rows):
        rows = {"scenario": [key] * n_rows, "rep": np.arange(first, first + n_rows), "x": x}
        ranges = [BlockRange(key, first // 1000, n_rows // 1000)]
        write_blocks(Folder(folder), ranges, pa.table(rows), provenance=provenance)


def _of_a_summary(study: Study, n_rows: int) -> float:
    """Two measures of so many stored rows, in all threads."""
    result = study.run(n_rows // len(study.scenarios), **INLINE)

    def summary() -> None:
        result._frames.clear()
        assert len(result.summary)

    return cost(summary, 5)


# ---------------------------------------------------------------- shares
class Joined(NamedTuple):
    """What shares cost: seconds, megabytes beyond what there was, and files opened."""

    share_look: float  # the last share begins
    n_opened: float  # files of blocks, by that share
    first_look: float  # the run that joins begins, and hashes all files
    another_look: float
    index_bytes: float  # of the index, for each block
    look_memory: float
    join: float  # blocks and records
    join_memory: float


def share_table(sizes: Sequence[tuple[int, int, int]] = SHARES) -> str:
    """What a share and whoever joins them do, for more and more of them, each in a process."""
    rows = []
    for n_shares, n_scenarios, of_each in sizes:
        told = map(str, (n_shares, n_scenarios, of_each))
        found = Joined(*map(float, python("-m", "benchmarks.scale", "--join", *told).split()))
        rows.append(
            [
                f"{n_shares:,}",
                f"{n_scenarios:,}",
                f"{n_shares * of_each:,}",
                f"{found.share_look:.2f} s",
                f"{found.n_opened:.0f}",
                f"{found.first_look:.1f} s",
                f"{found.another_look:.1f} s",
                f"{found.index_bytes:.0f}",
                f"{found.look_memory:,.0f} MB",
                f"{found.join:.1f} s",
                f"{found.join_memory:,.0f} MB",
            ]
        )
    head = ["shares", "scenarios", "blocks", "a share begins", "files it opens"]
    head += ["first look", "another look", "index, bytes a block", "memory of the looks"]
    return table([*head, "join", "memory with the join"], rows)


def join_shares(n_shares: int, n_scenarios: int, of_each: int) -> Joined:
    """Shares simulated in this process, looked at by the last of them, and joined."""
    from benchmarks.test_engine import tiny

    os.fsync = lambda _: None  # the disk's time is its own
    plan = tiny(n_scenarios, 5).plan(1)
    provenance = compute_provenance(plan).of_blocks
    n_blocks = n_shares * of_each // n_scenarios
    opened = _note_opened()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        split = shard_label(plan, provenance, (1, n_shares)).removesuffix("1")
        labels = [f"{split}{share + 1}" for share in range(n_shares)]
        for label, blocks in zip(labels, _of_shares(plan, n_shares, n_blocks), strict=True):
            _write_share(blocks, folder, label, provenance)
        compact(Store(folder, 5, provenance, only_files=[]))
        before = _peak_memory()
        opened.clear()
        share = cost(partial(Store, folder, 5, provenance, label=labels[-1]), 1)
        n_opened = len(opened)
        first = cost(partial(Store, folder, 5, provenance), 1)
        again = cost(partial(Store, folder, 5, provenance), 1)
        store = Store(folder, 5, provenance)
        index_bytes = store.index.slices.nbytes / (n_blocks * n_scenarios)
        looked = _peak_memory() - before
        join = cost(lambda: (compact(store), merge_records(folder)), 1)
        assert not missing_blocks(plan, dict.fromkeys(plan.keys, n_blocks), store)
        joined = _peak_memory() - before
    return Joined(share, n_opened, first, again, index_bytes, looked, join, joined)


def _note_opened() -> list[str]:
    """Names of the files of blocks that this process opens from now on."""
    names: list[str] = []
    original = Folder.open

    def noted(folder: Folder, name: str) -> pa.NativeFile:
        names.append(name)
        return original(folder, name)

    Folder.open = noted
    return names


def _peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _of_shares(plan: Plan, n_shares: int, n_blocks: int) -> Iterator[list[tuple[str, int]]]:
    """The blocks of each share, in the order of keys."""
    keys = sorted(plan.keys)
    shares = shard_of_each(plan, dict.fromkeys(keys, np.ones(n_blocks, dtype=bool)), n_shares)
    whose = np.stack([shares[key] - 1 for key in keys]).ravel()
    order = np.argsort(whose, kind="stable")
    for some in np.split(order, np.searchsorted(whose[order], np.arange(1, n_shares))):
        yield [(keys[at // n_blocks], at % n_blocks) for at in some.tolist()]


def _write_share(
    blocks: list[tuple[str, int]], folder: Path, label: str, provenance: Provenance
) -> None:
    """Its file, and what it notes beside it."""
    keys = [key for key, _ in blocks]
    rep = np.concatenate([np.arange(5 * block, 5 * block + 5) for _, block in blocks])
    rows = {"scenario": np.repeat(keys, 5), "rep": rep, "x": rep + 0.5}
    write_blocks(
        Folder(folder),
        [BlockRange(key, block, 1) for key, block in blocks],
        pa.table(rows),
        provenance=provenance.only(keys),
        label=label,
    )
    moment = "2026-01-01T00:00:00Z"
    spent = dict.fromkeys(keys, BlockTimings(1, 1.0, 0.0))
    write_record(folder, label, provenance, RunRecord(spent, Times(moment, moment)))


# ---------------------------------------------------------------- large runs
RUNS = ((1000, 1000), (10_000, 1000), (100_000, 1000), (1, 10**6), (1, 10**7))
"""Numbers of scenarios, and of replicates of each."""


def run_table(sizes: Sequence[tuple[int, int]] = RUNS) -> str:
    """What runs of more and more scenarios or replicates take, each in a process of its own.

    Straight lines: what a thousand rows take is the same in every line of one kind.
    """
    rows = []
    for n_scenarios, n_rep in sizes:
        found = python("-m", "benchmarks.scale", "--run", str(n_scenarios), str(n_rep)).split()
        drawn, again, memory = map(float, found)
        each = 1e6 * drawn / (n_scenarios * n_rep)
        shown = [f"{drawn:.1f} s", f"{each:.2f} µs", f"{again:.1f} s", f"{memory:,.0f} MB"]
        rows.append([f"{n_scenarios:,}", f"{n_rep:,}", *shown])
    head = ["scenarios", "replicates of each", "run and summary", "a replicate", "the same again"]
    return table([*head, "memory"], rows)


def large_run(n_scenarios: int, n_rep: int) -> tuple[float, float, float]:
    """Seconds of a run with its summary, and of the same again; megabytes beyond the start's."""
    from benchmarks.test_engine import tiny

    study, before = tiny(n_scenarios, 1000), _peak_memory()
    with tempfile.TemporaryDirectory() as folder:

        def run() -> None:
            assert len(study.run(n_rep, out=folder, progress=False, **INLINE).summary)

        return cost(run, 1), cost(run, 1), _peak_memory() - before


# ---------------------------------------------------------------- one parent, many workers
class Finished(Executor):
    """A thousand workers that finish at once: what remains is the time of the parent.

    Tasks are drawn here, and their time is left out.
    """

    n_workers = 1000
    n_tasks = 0
    drawing = 0.0

    def submit(self, task: Task) -> Future[TaskResult]:
        """Send a task as to a process, and finish it."""
        packed(task)
        begun = process_time()
        result = draw_task(task)._replace(seconds=TASK_SECONDS)
        Finished.drawing += process_time() - begun
        Finished.n_tasks += 1
        done: Future[TaskResult] = Future()
        done.set_result(result)
        return done


def parent_table(n_tasks: int = 2000) -> str:
    """What one process spends on the tasks of others, with 10 and with 100 blocks in each."""
    rows = []
    for n_blocks in (10, 100):
        seconds = _of_a_parent(n_tasks, n_blocks)
        at_once = TASK_SECONDS / seconds
        rows.append(
            [
                f"{n_blocks}",
                f"{seconds * 1e3:.2f} ms",
                f"{1000 * seconds / TASK_SECONDS:.1%}",
                f"{at_once:,.0f}",
            ]
        )
    head = ["blocks in a task", "the parent, for a task", "with 1,000 workers and tasks of 20 s"]
    return table([*head, "workers at the limit"], rows)


def _of_a_parent(n_tasks: int, n_blocks: int) -> float:
    """The parent's processor time for a task, beyond that of a run with few."""
    from benchmarks.test_engine import tiny

    def spent(n: int) -> float:
        Finished.n_tasks, Finished.drawing = 0, 0.0
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", lambda _: None)  # the disk's time is its own
            patch.setattr(TaskSizes, "n_blocks", lambda *_: n_blocks)
            before = process_time()
            size = n * n_blocks * 10 // 20
            tiny(20, 10).run(size, out=folder, backend="benchmarks.scale:Finished", progress=False)
            return process_time() - before - Finished.drawing

    few, many = n_tasks // 10, n_tasks
    at_few, n_few = spent(few), Finished.n_tasks
    at_many, n_many = spent(many), Finished.n_tasks
    return (at_many - at_few) / (n_many - n_few)


def main(arguments: list[str]) -> None:
    """Print the tables, or put them into a page."""
    if arguments[:1] == ["--join"]:
        print(*join_shares(*map(int, arguments[1:])))
        return
    if arguments[:1] == ["--run"]:
        print(*large_run(*map(int, arguments[1:])))
        return
    runs = "Runs of a mean of a few normals in blocks of 1,000, in one process:"
    parent = "One process that hands out tasks to workers that finish at once:"
    shares = "An array of shares, simulated in one process, and joined on one core:"
    parts = [cost_table(), runs, run_table(), parent, parent_table(), shares, share_table()]
    print_or_put("\n\n".join(parts), arguments, "scale")


if __name__ == "__main__":
    main(sys.argv[1:])
