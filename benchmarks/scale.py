"""What each step of a run costs, and what follows for many workers and many blocks.

`python -m benchmarks.scale` prints the tables of `docs/scale.md`; with that file's name after
it, it puts them there. Costs are processor time, so that other work on the machine matters less.
"""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import process_time, thread_time

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.timing import python
from experiments.two_stage import study as two_stage
from simstudy.analysis import estimates
from simstudy.design.plan import Plan
from simstudy.engine.assignment import Assignment
from simstudy.engine.backends.processes import packed
from simstudy.engine.jobs import all_jobs
from simstudy.engine.ownership import ownership_of
from simstudy.engine.portions import MOST_SECONDS, PART_OF_RUN, TASKS_IN_A_FILE
from simstudy.engine.runner import FILES_BEFORE_COMPACTION, TASK_SECONDS
from simstudy.engine.tasks import compute
from simstudy.engine.workers import Workers
from simstudy.store.blocks import Store
from simstudy.store.compaction import compact
from simstudy.store.files import Folder
from simstudy.store.header import Group
from simstudy.store.layout import KeepReplicates
from simstudy.store.places import Place
from simstudy.store.volumes import VALUES_PER_CHUNK, chunk_length, volumes
from simstudy.store.write import write_blocks
from simstudy.study import Study

BEGIN, END = "<!-- measured{} -->", "<!-- end of what is measured -->"
WORKERS = (1, 2, 4, 8, 16, 32, 64)
N_SCENARIOS = 4  # which are read and measured side by side
CONFIG = two_stage.Config(k=[0.0, 1.0], n2=[100, 400], draws="sufficient")
INLINE = Workers("inline", 1)


@dataclass(frozen=True)
class Costs:
    """Seconds of processor time.

    Parameters
    ----------
    start
        Of a worker process: Python and what it imports.
    draw, engine
        A block of 1,000 replicates of the fastest kernel: `simulate` alone, and all around it.
    hand_out
        A task, in the parent.
    write
        A file of few blocks, without what its rows cost.
    scan, hash
        To look at a file, and at a gigabyte.
    gather
        A file among those that are laid out anew, without its rows.
    rows
        To lay out a million rows of one number anew.
    summary, alone
        Two measures of a million rows of one number, read and taken; and of that what is done in
        the thread that asks, while others do the rest.
    moments
        Two measures of a million blocks that are kept as moments.
    """

    start: float
    draw: float
    engine: float
    hand_out: float
    write: float
    scan: float
    hash: float
    gather: float
    rows: float
    summary: float
    alone: float
    moments: float


def cost(
    work: Callable[[], object], n: int = 3, clock: Callable[[], float] = process_time
) -> float:
    """The least of some tries."""
    tries = []
    for _ in range(n):
        before = clock()
        work()
        tries.append(clock() - before)
    return min(tries)


# ---------------------------------------------------------------- measured
def measured() -> Costs:
    """All costs, on this machine."""
    from benchmarks.test_engine import tiny

    fast, small = two_stage.study(CONFIG), tiny(4, 1000)
    draw, engine = _of_a_block(fast)
    hand_out, write = _of_a_task(fast.plan(1))
    scan, per_gigabyte, gather, rows = _of_files(small)
    summary, alone = _of_a_summary(small, "replicates", 1_000_000)
    return Costs(
        start=_of_a_process(),
        draw=draw,
        engine=engine,
        hand_out=hand_out,
        write=write,
        scan=scan,
        hash=per_gigabyte,
        gather=gather,
        rows=rows,
        summary=summary,
        alone=alone,
        moments=_of_a_summary(tiny(4, 5), "summary", 20_000)[0] * 50,
    )


def _of_a_process() -> float:
    """What a worker imports to draw."""
    code = "import time, experiments.two_stage, simstudy.engine.backends.processes as _"
    return float(python("-c", f"{code}; print(time.process_time())"))


def _of_a_block(study: Study) -> tuple[float, float]:
    n_each = 250
    plan = study.plan(1)

    def directly() -> None:
        for scenario in plan.scenarios:
            for block in range(n_each):
                scenario.simulate(plan.streams(scenario, block), plan.block_size)

    directly()
    n_blocks = n_each * len(plan.scenarios)
    kernel = cost(directly) / n_blocks

    def drawn() -> None:
        with tempfile.TemporaryDirectory() as folder:
            assignment = assigned(plan, Path(folder))
            wanted = dict.fromkeys(plan.keys, n_each)
            compute(assignment.task(list(all_jobs(plan, wanted))))

    return kernel, cost(drawn) / n_blocks - kernel


def assigned(plan: Plan, folder: Path) -> Assignment:
    """What a run into a folder has."""
    ownership = ownership_of(plan)
    store = Store(folder, plan.block_size, ownership.owner)
    return Assignment(plan, store, KeepReplicates(), ownership)


def _of_a_task(plan: Plan) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        assignment = assigned(plan, Path(folder))
        jobs = list(all_jobs(plan, dict.fromkeys(plan.keys, 20)))
        hand_out = cost(lambda: [packed(assignment.task(jobs)) for _ in range(20)]) / 20
        write = cost(lambda: [compute(assignment.task(jobs[:4])) for _ in range(10)]) / 10
        blocks = cost(lambda: compute(assignment.task(jobs))) / len(jobs)
        return hand_out, max(write - 4 * blocks, 0.0)


def _of_files(study: Study) -> tuple[float, float, float, float]:
    """A file to look at, a gigabyte of it, a file to lay out anew, and a million rows of it."""
    plan, n_files = study.plan(1), 200
    with tempfile.TemporaryDirectory() as folder:
        few, many = Path(folder) / "few", Path(folder) / "many"
        written(plan, few, 4, 250_000)
        written(plan, many, n_files, 1000)
        owner = ownership_of(plan).owner
        at_few = cost(lambda: Store(few, 1000, owner))
        at_many = cost(lambda: Store(many, 1000, owner))
        gigabytes = Store(few, 1000, owner).n_bytes / 1e9
        rows = cost(lambda: compact(Store(few, 1000, owner)), 1)
        anew = cost(lambda: compact(Store(many, 1000, owner)), 1)
    scan = at_many / n_files
    per_gigabyte = max(at_few - 4 * scan, 0.0) / gigabytes
    return scan, per_gigabyte, max(anew - 0.2 * rows, 0.0) / n_files, rows


def written(plan: Plan, folder: Path, n_files: int, n_rows: int) -> None:
    """So many files of one scenario's blocks of 1,000 rows."""
    folder.mkdir()
    key, owner = next(iter(plan.keys)), ownership_of(plan).owner.only(list(plan.keys)[:1])
    x = np.random.default_rng(1).standard_normal(n_rows)
    for first in range(0, n_files * n_rows, n_rows):
        rows = {"scenario": [key] * n_rows, "rep": np.arange(first, first + n_rows), "x": x}
        groups = [Group(key, first // 1000, n_rows // 1000)]
        write_blocks(Folder(folder), groups, pa.table(rows), owner=owner)


def _of_a_summary(study: Study, keep: str, n_rows: int) -> tuple[float, float]:
    """In all threads, and in the one that asks while two do the rest."""
    n_each = n_rows // len(study.scenarios) * (study.block_size if keep == "summary" else 1)
    result = study.run(n_each, workers=INLINE, keep=keep)

    def summary() -> None:
        result.__dict__.pop("summary", None)
        assert len(result.summary)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimates, "available_cores", lambda: 2)
        return cost(summary, 5), cost(summary, 5, thread_time)


# ---------------------------------------------------------------- what follows
def n_tasks(seconds: float, seconds_per_block: float) -> float:
    """Of one worker in a run of so many seconds, of blocks that each take so many."""
    ends = [0.0, min(TASK_SECONDS / PART_OF_RUN, seconds), min(MOST_SECONDS / PART_OF_RUN, seconds)]
    flat, growing = (end - begin for begin, end in pairwise(ends))
    tasks = flat / TASK_SECONDS
    if growing:
        tasks += np.log(ends[2] / ends[1]) / PART_OF_RUN
    tasks += (seconds - ends[2]) / MOST_SECONDS
    return float(min(tasks, seconds / seconds_per_block))


def part_laid_out_anew(n_blocks: int, block: float, n_workers: int) -> float:
    """Of the rows, those that no worker writes as they are to stay.

    None where one worker draws files in a moment; of several, what is left when a file would be
    more than half of a worker's share of the rest; all, where a file takes too long.
    """
    in_a_file = chunk_length(1, 1000)
    a_run = n_blocks * block / n_workers
    if in_a_file * block > max(TASKS_IN_A_FILE * TASK_SECONDS, PART_OF_RUN * a_run):
        return 1.0
    return min(1.0, 2 * n_workers * in_a_file / n_blocks) if n_workers > 1 else 0.0


def parts_of_a_run(costs: Costs, n_blocks: int, block: float, n_workers: int) -> dict[str, float]:
    """Seconds of each part of a run of blocks of 1,000 rows, with so many workers."""
    drawing = n_blocks * (block + costs.engine) / n_workers
    tasks = n_workers * n_tasks(drawing, block)
    millions = n_blocks / 1000
    files = max(1.0, np.ceil(millions * 1e6 / VALUES_PER_CHUNK))
    anew = part_laid_out_anew(n_blocks, block + costs.engine, n_workers)
    spread = max(costs.summary - costs.alone, 0.0)
    return {
        "start": costs.start if n_workers > 1 else 0.0,
        "draw": drawing,
        "write": tasks * costs.write / n_workers,
        "hand out": max(0.0, tasks * costs.hand_out - drawing),
        "lay out": anew * (millions * costs.rows + tasks * costs.gather) / min(n_workers, files),
        "summarise": millions * (costs.alone + spread / min(n_workers, N_SCENARIOS)),
    }


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cost_table(costs: Costs) -> str:
    rows = [
        ("a worker starts", f"{costs.start:.2f} s"),
        ("a block of the fastest kernel is drawn", f"{costs.draw * 1e6:.0f} µs"),
        ("the engine around a block", f"{costs.engine * 1e6:.0f} µs"),
        ("the parent hands out a task", f"{costs.hand_out * 1e3:.2f} ms"),
        ("a task's file is written", f"{costs.write * 1e3:.1f} ms"),
        ("a file is looked at, as every run begins", f"{costs.scan * 1e3:.2f} ms"),
        ("a gigabyte is looked at (hashed)", f"{costs.hash:.1f} s"),
        ("a small file is laid out anew", f"{costs.gather * 1e3:.1f} ms"),
        ("a million rows are laid out anew", f"{costs.rows:.2f} s"),
        ("a million rows are summarised", f"{costs.summary:.2f} s"),
        ("of that, in the one thread that asks", f"{costs.alone:.3f} s"),
        ("moments of a million blocks are summarised", f"{costs.moments:.1f} s"),
    ]
    return table(["step", "processor time"], [list(row) for row in rows])


def worker_table(costs: Costs, n_blocks: int, block: float) -> str:
    alone = sum(parts_of_a_run(costs, n_blocks, block, 1).values())
    rows = []
    for n_workers in WORKERS:
        parts = parts_of_a_run(costs, n_blocks, block, n_workers)
        whole = sum(parts.values())
        shown = [f"{seconds:.1f}" for seconds in (*parts.values(), whole)]
        rows.append([str(n_workers), *shown, f"{alone / whole / n_workers:.0%}"])
    names = [f"{name} (s)" for name in (*parts, "all")]
    return table(["workers", *names, "efficiency"], rows)


def share_table(costs: Costs) -> str:
    """A million blocks of 50 ms in 20 scenarios, as an array of 1,000 jobs with a core each."""
    n_jobs, n_blocks, block = 1000, 1_000_000, 0.05
    each, millions = n_blocks * block / n_jobs, n_blocks / 1000
    tasks = n_tasks(each, block)
    at_most = n_jobs * min(tasks, FILES_BEFORE_COMPACTION)
    gigabytes = millions * 8 / 1000
    hashing = gigabytes * costs.hash
    each_of_20 = (Group(str(i), 0, n_blocks // 20) for i in range(20))
    places = {group.key: [Place(group, "", 0, 0)] for group in each_of_20}
    final = sum(1 for _ in volumes(places, {""}, chunk_length(1, 1000)))
    rows = {
        "a job draws": f"{each:.0f} s",
        "files that it writes, and leaves": f"{tasks:.0f}, 1",
        "files in the folder at any time": f"at most {at_most:,.0f}",
        "a late job looks at what is there": f"up to {at_most * costs.scan + hashing:,.0f} s",
        "files when all jobs are done": f"{n_jobs:,}",
        "the run that joins them looks at them": f"{n_jobs * costs.scan + hashing:,.0f} s",
        "it lays them out, on one core": f"{millions * costs.rows:,.0f} s",
        "files in the end": f"{final:,.0f} of {gigabytes / final * 1e3:.0f} MB",
        "it summarises two measures, on one core": f"{millions * costs.summary:,.0f} s",
        "the same with `keep=summary`": f"{costs.moments:.0f} s",
    }
    return table(["a million blocks", ""], [list(row) for row in rows.items()])


def tables(costs: Costs) -> str:
    """All of them, in Markdown."""
    return "\n\n".join(
        (
            cost_table(costs),
            "4.8 million replicates of the fastest kernel in 4 scenarios, every row kept:",
            worker_table(costs, 4800, costs.draw),
            "10,000 blocks of 50 ms in 4 scenarios, every row kept:",
            worker_table(costs, 10_000, 0.05),
            "A million blocks of 1,000 replicates and 50 ms, over 1,000 array jobs:",
            share_table(costs),
        )
    )


def main(arguments: list[str]) -> None:
    """Print the tables, or put them into a page."""
    print_or_put(tables(measured()), arguments)


def print_or_put(found: str, arguments: list[str], part: str = "") -> None:
    """What was measured, printed, or put into its part of the page that is named.

    Raises
    ------
    SystemExit
        Where the page has no such part.
    """
    if not arguments:
        print(found)
        return
    page = Path(arguments[0])
    try:
        before, _, after = around(page.read_text(), part)
    except LookupError as lacking:
        raise SystemExit(f"{page}: {lacking}. Found:\n\n{found}") from None
    page.write_text(f"{before}\n\n{found}\n\n{after}")


def around(page: str, part: str = "") -> tuple[str, str, str]:
    """A page up to what was measured, that, and what comes after it, with the lines that say so.

    Raises
    ------
    LookupError
        Where the page has no such part.
    """
    begin = BEGIN.format(part and f": {part}")
    before, begins, rest = page.partition(begin)
    shown, ends, after = rest.partition(END)
    if not (begins and ends):
        raise LookupError(f"no line {begin!r} with {END!r} after it")
    return before + begins, shown, ends + after


if __name__ == "__main__":
    main(sys.argv[1:])
