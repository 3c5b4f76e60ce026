"""Tasks: made by the parent, drawn by a worker, with a result for the parent.

A worker writes the blocks of a task to one file, so that finished blocks do not depend on the
parent.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from simstudy.design.plan import Plan
from simstudy.engine.block import Address, draw_block, failed_block
from simstudy.engine.error_policy import BlockContext, OnRow
from simstudy.engine.methods import DatasetCache
from simstudy.engine.provenance import LoadedCode, RunProvenance
from simstudy.engine.returned import BlockConstant, constants_among
from simstudy.engine.thread_limits import limit_new_pools
from simstudy.engine.work_queue import BlockId
from simstudy.store.arrow_schema import ERROR, Block, block_table, has_text
from simstudy.store.block_files import RETRY_GENERATION, joined_ranges, write_blocks
from simstudy.store.blocks import Store
from simstudy.store.files import Files
from simstudy.store.provenance import NO_PROVENANCE, Provenance


class Task(NamedTuple):
    """Blocks to draw, with all that is needed to draw and store them.

    Attributes
    ----------
    code
        Code that the worker must have imported; otherwise it draws nothing. None for no check.
    block_seconds
        Time limit for drawing a block, in seconds; None for no limit.
    label
        Label of the share of the blocks that the run draws, for the names of files.
    """

    plan: Plan
    blocks: tuple[BlockId, ...]
    files: Files
    provenance: Provenance = NO_PROVENANCE
    generation: int = 0
    code: LoadedCode | None = None
    block_seconds: float | None = None
    label: str = ""


class TaskResult(NamedTuple):
    """The result of a finished task, without the rows.

    Attributes
    ----------
    done
        Key and number of each block.
    draw_seconds
        Time for each block, without the time for its data if a method analyses them.
    data_seconds
        Time for each block's data; 0 if they were in the cache.
    failed_each
        Failed replicates of each block.
    n_bytes
        Size of the rows in memory.
    files
        Names of the written files.
    noticed
        Keys of first blocks with findings about random numbers, each with the kind of the finding.
    constants
        Columns with one value for a whole block.
    """

    done: tuple[tuple[str, int], ...]
    seconds: float
    n_failed: int
    first_failure: tuple[Address, str] | None
    draw_seconds: tuple[float, ...]
    data_seconds: tuple[float, ...]
    failed_each: tuple[int, ...] = ()
    n_bytes: int = 0
    files: tuple[str, ...] = ()
    noticed: tuple[tuple[str, str], ...] = ()
    constants: frozenset[BlockConstant] = frozenset()


MAX_DRAWS = 10  # draws of a task; libraries that are loaded one by one need a few


# ---------------------------------------------------------------- in the worker
def draw_task(task: Task, on_row: OnRow | None = None) -> TaskResult:
    """Draw the blocks of a task and write them to one file."""
    begun, plan = time.perf_counter(), task.plan
    limit_new_pools()
    for _ in range(MAX_DRAWS):
        datasets = DatasetCache()
        blocks, on_drawing, on_data, noticed = [], [], [], []
        for scenario, number, key in task.blocks:
            start, before = time.perf_counter(), datasets.seconds
            context = BlockContext.of_block(plan, number, on_row)
            blocks.append(draw_block(plan, scenario, number, datasets, context, task.block_seconds))
            on_data.append(datasets.seconds - before)
            on_drawing.append(time.perf_counter() - start - on_data[-1])
            noticed += [(key, kind) for kind in context.rng_events or ()]
        if not limit_new_pools():  # otherwise a library that was loaded has used several threads
            break
    result = _write(task, blocks, on_drawing, on_data)
    return result._replace(
        seconds=time.perf_counter() - begun,
        noticed=tuple(noticed),
        constants=constants_among(plan, blocks),
    )


def record_failed(task: Task, reason: str, *, machine: bool) -> TaskResult:
    """Write the blocks of a task as failed.

    Parameters
    ----------
    machine
        Whether the machine is at fault, so that a later run draws the blocks again.
    """
    blocks = [
        failed_block(task.plan, each.scenario, each.block, reason, machine=machine)
        for each in task.blocks
    ]
    nothing = [0.0] * len(blocks)
    return _write(task, blocks, nothing, nothing)


def _write(
    task: Task, blocks: Sequence[Block], on_drawing: Sequence[float], on_data: Sequence[float]
) -> TaskResult:
    """Write blocks to a file; those that failed by the machine's fault go to a second file."""
    files, n_bytes = [], 0
    for by_machine in (False, True):
        some = [block for block in blocks if block.machine == by_machine]
        if some:
            name, size = _write_file(
                task, some, RETRY_GENERATION if by_machine else task.generation
            )
            files.append(name)
            n_bytes += size
    n_failed = sum(block.n_failed for block in blocks)
    return TaskResult(
        done=tuple((block.key, block.number) for block in blocks),
        seconds=0.0,
        n_failed=n_failed,
        first_failure=_first_failure(task, blocks) if n_failed else None,
        draw_seconds=tuple(on_drawing),
        data_seconds=tuple(on_data),
        failed_each=tuple(block.n_failed for block in blocks),
        n_bytes=n_bytes,
        files=tuple(files),
    )


def _write_file(task: Task, blocks: Sequence[Block], generation: int) -> tuple[str, int]:
    """Write blocks ordered by scenario, so that the file has few row groups."""
    in_order = sorted(blocks, key=lambda block: (block.key, block.number))
    table = block_table(task.plan, in_order)
    ranges = joined_ranges((block.key, block.number, 1) for block in in_order)
    name = write_blocks(
        task.files,
        ranges,
        table,
        provenance=task.provenance,
        generation=generation,
        label=task.label,
    )
    return name, int(table.nbytes)


def _first_failure(task: Task, blocks: Sequence[Block]) -> tuple[Address, str] | None:
    size = task.plan.block_size
    for block in blocks:
        if block.n_failed:
            errors = block.columns[ERROR].reshape(size, -1)
            row, cell = np.argwhere(has_text(errors))[0]
            return Address(block.key, block.number * size + int(row)), errors[row, cell]
    return None


# ---------------------------------------------------------------- tasks of a run
@dataclass(frozen=True)
class TaskFactory:
    """Makes the tasks of a run.

    Parameters
    ----------
    provenance
        Provenance with the code that workers must have loaded; None for no check.
    generation
        Generation of the new blocks. It must be above that of stored blocks they replace.
    block_seconds
        Time limit for drawing a block, in seconds; None for no limit.
    """

    plan: Plan
    store: Store
    provenance: RunProvenance | None = None
    generation: int = 0
    block_seconds: float | None = None

    def task(self, blocks: Sequence[BlockId]) -> Task:
        """Make a task of some blocks."""
        scenarios = {block_id.key: block_id.scenario for block_id in blocks}
        return Task(
            plan=self.plan.only(scenarios.values()),
            blocks=tuple(blocks),
            files=self.store.files,
            provenance=self.store.provenance.only(scenarios),
            generation=self.generation,
            code=self.provenance.expected if self.provenance else None,
            block_seconds=self.block_seconds,
            label=self.store.label,
        )

    @cached_property
    def expected(self) -> str:
        """The hash of the code that workers must have loaded; empty for no check."""
        return self.provenance.expected.digest if self.provenance else ""


# ---------------------------------------------------------------- blocks per task
TASK_SECONDS = 0.25  # duration of a task in a short run: 1000 times the cost of submitting it
PART_OF_RUN = 0.01  # duration of a task in a long run, as a part of the time since its start
MAX_SECONDS = 20.0  # longest task: the work that a killed worker loses
MIN_PART = 0.1  # shortest task at the end of a run, as a part of the usual duration
TASK_BYTES = 1 << 26  # largest task: rows that a worker holds before it writes them


class TaskSizes:
    """Chooses the number of blocks of the next task.

    Each task writes one file, and is lost if its worker is killed. So tasks are short at first, and
    become longer as the run continues: the number of files grows as the logarithm of its length.
    """

    def __init__(self, n_workers: int) -> None:
        self.n_workers, self.least_seconds = n_workers, TASK_SECONDS
        self.seconds_per_block = self.bytes_per_block = self.loading_seconds = 0.0
        self.n_results = 0
        self._start = time.perf_counter()

    def learn_from(self, result: TaskResult) -> None:
        """Update the cost of a block from the latest task (the first includes compilation)."""
        n_blocks = len(result.done)
        self.n_results += 1
        if self.n_results == 2:
            self.loading_seconds = max(0.0, self.seconds_per_block - result.seconds / n_blocks)
        self.seconds_per_block = result.seconds / n_blocks
        self.bytes_per_block = max(self.bytes_per_block, result.n_bytes / n_blocks)

    def n_blocks(self, n_left: int) -> int:
        """Choose the number of blocks of the next task, so that every worker gets tasks."""
        if not self.seconds_per_block:
            return 1
        by_time = int(self.task_seconds / self.seconds_per_block)
        least = int(self.least_seconds * MIN_PART / self.seconds_per_block)
        n_parts = 4 * self.n_workers if self.n_workers > 1 else 1
        by_share = max(-(-n_left // n_parts), least)
        by_room = int(TASK_BYTES / self.bytes_per_block) if self.bytes_per_block else by_time
        return max(1, min(by_time, by_share, by_room))

    @property
    def task_seconds(self) -> float:
        """The intended duration of the next task."""
        so_far = time.perf_counter() - self._start
        return max(self.least_seconds, min(PART_OF_RUN * so_far, MAX_SECONDS))
