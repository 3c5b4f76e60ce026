"""Work: the blocks to draw, their order and shards, and the tasks in which workers draw them.

A worker writes the blocks of a task to one file, so that finished blocks do not depend on the
parent.
"""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simstudy.design import Scenario
from simstudy.design.plan import Plan, base_scenario
from simstudy.engine.block import Address, draw_block, failed_block
from simstudy.engine.error_policy import BlockContext
from simstudy.engine.methods import DatasetCache
from simstudy.engine.provenance import LoadedCode, RunProvenance
from simstudy.engine.thread_limits import limit_pools
from simstudy.provenance.scenario_id import short_hash
from simstudy.store.arrow_schema import ERROR, Block, block_table, counted_errors, has_text
from simstudy.store.block_files import RETRY_GENERATION, joined_ranges, write_blocks
from simstudy.store.blocks import Store, failed_replicates
from simstudy.store.files import Files
from simstudy.store.provenance import NO_PROVENANCE, Provenance
from simstudy.store.runs import BlockTimings

PART_OF_DONE = 8  # divisor: consecutive blocks of a scenario are an eighth of its earlier ones
MAX_CONSECUTIVE = 1 << 10  # upper limit of consecutive blocks of a scenario
SPLIT_DIGITS = 12  # digits of the hash of a split, in the names of files


class BlockId(NamedTuple):
    """A block to draw: its scenario, index, and key of scenario and method."""

    scenario: Scenario
    block: int
    key: str


@dataclass(frozen=True)
class BlockSet(Collection[BlockId]):
    """An ordered set of blocks, created lazily.

    It takes one byte of memory per block, so that a study may have many millions.

    Parameters
    ----------
    chosen
        Booleans of shape `(n_blocks,)` by key of the work unit: whether each block is in the set.
        The arrays of a scenario's methods have the same length.
    """

    plan: Plan
    chosen: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return sum(int(np.count_nonzero(which)) for which in self.chosen.values())

    def __contains__(self, block_id: object) -> bool:
        if not isinstance(block_id, BlockId) or block_id.key not in self.chosen:
            return False
        which = self.chosen[block_id.key]
        return block_id.block < len(which) and bool(which[block_id.block])

    def __iter__(self) -> Iterator[BlockId]:
        """Iterate over the first block of every scenario, then the second of every scenario, etc.

        Later, several consecutive blocks of a scenario come together, so that they are stored in
        one file. They are at most an eighth of the scenario's earlier blocks, so that at any time
        all scenarios have about the same number of blocks.
        """
        families = group_by_dataset(self.plan, self.chosen)
        for start, end in _bands(max(map(len, self.chosen.values()), default=0)):
            for family in families:
                here = np.stack([self.chosen[key][start:end] for key in family], axis=1)
                for block, place in np.argwhere(here).tolist():
                    yield BlockId(self.plan.keys[family[place]], start + block, family[place])

    def without(self, others: BlockSet) -> BlockSet:
        """These blocks without others."""
        return BlockSet(
            self.plan, {key: which & ~others.chosen[key] for key, which in self.chosen.items()}
        )


def group_by_dataset(plan: Plan, keys: Iterable[str]) -> list[list[str]]:
    """Group keys by base scenario: the methods of the same data are in one group."""
    families: dict[int, list[str]] = {}
    for key in keys:
        families.setdefault(id(base_scenario(plan.keys[key])), []).append(key)
    return list(families.values())


def _bands(n_blocks: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of block indices; each range is drawn for all scenarios before the next."""
    start = 0
    while start < n_blocks:
        end = min(start + min(max(1, start // PART_OF_DONE), MAX_CONSECUTIVE), n_blocks)
        yield start, end
        start = end


class WorkQueue:
    """A queue of blocks, each taken once.

    Attributes
    ----------
    left
        Number of blocks that have not been taken.
    """

    def __init__(self, blocks: Collection[BlockId]) -> None:
        self.left = len(blocks)
        self._by_data = itertools.groupby(blocks, _dataset_of)

    def take(self, n: int) -> list[BlockId]:
        """Take at least `n` blocks, so that all methods of the same data are taken together."""
        taken: list[BlockId] = []
        for _, of_one_dataset in self._by_data:
            taken += of_one_dataset
            if len(taken) >= n:
                break
        self.left -= len(taken)
        return taken


def _dataset_of(block_id: BlockId) -> tuple[int, int]:
    """Return a key that is the same for blocks that analyse the same data."""
    return id(base_scenario(block_id.scenario)), block_id.block


# ---------------------------------------------------------------- choices of blocks
def all_blocks(plan: Plan, n_blocks: Mapping[str, int]) -> BlockSet:
    """Choose all blocks, given the number of blocks by key."""
    return BlockSet(plan, {key: np.ones(n_blocks[key], dtype=bool) for key in plan.keys})


def missing_blocks(
    plan: Plan, n_blocks: Mapping[str, int], store: Store, *, retries: bool = False
) -> BlockSet:
    """Choose the requested blocks that are not stored.

    Parameters
    ----------
    n_blocks
        Number of requested blocks, by key.
    retries
        Whether stored blocks that failed by the machine's fault count as stored.
    """
    lacking = {key: ~store.has_blocks(key, n_blocks[key], retries=retries) for key in plan.keys}
    return BlockSet(plan, lacking)


def blocks_with_failures(plan: Plan, n_blocks: Mapping[str, int], store: Store) -> BlockSet:
    """Choose the requested blocks that are stored with a failure."""
    size, failed = plan.block_size, dict[str, np.ndarray]()
    for key in plan.keys:
        numbers = failed_replicates(plan, store, key, n_blocks[key]) // size
        failed[key] = np.isin(np.arange(n_blocks[key]), numbers)
    return BlockSet(plan, failed)


def missing_after_crash(plan: Plan, blocks: Sequence[BlockId], store: Store) -> list[BlockId]:
    """List the blocks of a lost task that are not stored."""
    store.scan()
    n_blocks = max((block_id.block for block_id in blocks), default=-1) + 1
    missing = missing_blocks(plan, dict.fromkeys(plan.keys, n_blocks), store, retries=True)
    return [block_id for block_id in blocks if block_id in missing]


# ---------------------------------------------------------------- shards
def shard_of_each(
    plan: Plan, chosen: Mapping[str, np.ndarray], n_shards: int
) -> dict[str, np.ndarray]:
    """Choose the shard of each block, counted from 1, by key.

    The first shards of scenarios are spread evenly, and later blocks take turns, so that numbers of
    blocks differ between shards by at most one per scenario. All methods of a block are in one
    shard. The choice does not depend on the stored blocks, so that shards may start at any time.
    """
    families = group_by_dataset(plan, plan.keys)
    starts = {
        key: at * n_shards // len(families) for at, family in enumerate(families) for key in family
    }
    return {
        key: (np.arange(len(which)) + starts[key]) % n_shards + 1 for key, which in chosen.items()
    }


def n_blocks_by_shard(plan: Plan, blocks: BlockSet, n_shards: int) -> Counter[int]:
    """Count the blocks of each shard."""
    counts = Counter[int]()
    for key, shards in shard_of_each(plan, blocks.chosen, n_shards).items():
        counts += Counter(dict(enumerate(np.bincount(shards[blocks.chosen[key]]).tolist())))
    return counts


def blocks_of_shard(plan: Plan, blocks: BlockSet, shard: tuple[int, int] | None) -> BlockSet:
    """Choose the blocks of shard `i` of `n`; None for all."""
    if shard is None:
        return blocks
    index, n_shards = shard
    shards = shard_of_each(plan, blocks.chosen, n_shards)
    chosen = {key: which & (shards[key] == index) for key, which in blocks.chosen.items()}
    return BlockSet(plan, chosen)


def shard_label(plan: Plan, provenance: Provenance, shard: tuple[int, int] | None) -> str:
    """Make the label for the names of a shard's files, from the split and the shard.

    Shards of one split have no block in common, so they need not open each other's files. Runs
    with other code, data, settings, scenarios or number of shards have another split.

    Returns
    -------
    str
        `-SPLIT-INDEX`, or an empty text for a run of all blocks.
    """
    if shard is None:
        return ""
    index, n_shards = shard
    split = [provenance.to_json(plan.keys), [*plan.keys], n_shards]
    return f"-{short_hash(json.dumps(split), SPLIT_DIGITS)}-{index}"


# ---------------------------------------------------------------- tasks
class Task(NamedTuple):
    """Blocks to draw, with all that is needed to draw and store them.

    Attributes
    ----------
    code
        Code that the worker must have imported; otherwise it draws nothing. None for no check.
    label
        Label of the shard of the blocks that the run draws, for the names of files.
    """

    plan: Plan
    blocks: tuple[BlockId, ...]
    files: Files
    provenance: Provenance = NO_PROVENANCE
    generation: int = 0
    code: LoadedCode | None = None
    label: str = ""


class TaskResult(NamedTuple):
    """The result of a finished task, without the rows.

    Attributes
    ----------
    done
        Key and number of each block.
    timings
        Time for each block.
    failed_each
        Failed replicates of each block.
    n_bytes
        Size of the rows in memory.
    files
        Names of the written files.
    warnings
        Keys of first blocks with warnings about random numbers, each with the kind of the warning.
    """

    done: tuple[tuple[str, int], ...]
    timings: tuple[BlockTimings, ...]
    failed_each: tuple[int, ...]
    first_failure: tuple[Address, str] | None = None
    seconds: float = 0.0
    n_bytes: int = 0
    files: tuple[str, ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()

    @property
    def n_failed(self) -> int:
        """Failed replicates of all blocks."""
        return sum(self.failed_each)


MAX_DRAWS = 10  # draws of a task; libraries that are loaded one by one need a few


# ---------------------------------------------------------------- in the worker
def draw_task(task: Task) -> TaskResult:
    """Draw the blocks of a task and write them to one file."""
    begun, plan = time.perf_counter(), task.plan
    limit = plan.rules.block_seconds
    limit_pools()
    for _ in range(MAX_DRAWS):
        datasets = DatasetCache()
        blocks, timings, warnings = [], [], []
        for scenario, number, key in task.blocks:
            start, before = time.perf_counter(), datasets.seconds
            context = BlockContext.of_block(plan, number)
            blocks.append(draw_block(plan, scenario, number, datasets, context, limit))
            on_data = datasets.seconds - before
            timings.append(BlockTimings(1, time.perf_counter() - start - on_data, on_data))
            warnings += [(key, kind) for kind in context.rng_events or ()]
        if not limit_pools():  # otherwise a library that was loaded has used several threads
            break
    result = _write(task, blocks, timings)
    return result._replace(seconds=time.perf_counter() - begun, warnings=tuple(warnings))


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
    return _write(task, blocks, [BlockTimings(1)] * len(blocks))


def _write(task: Task, blocks: Sequence[Block], timings: Sequence[BlockTimings]) -> TaskResult:
    """Write blocks to a file; those that failed by the machine's fault go to a second file."""
    files, n_bytes = [], 0
    in_order = sorted(blocks, key=lambda block: (block.machine, block.key, block.number))
    for by_machine, some in itertools.groupby(in_order, key=lambda block: block.machine):
        of_file = list(some)  # ordered by scenario, so that the file has few row groups
        table = block_table(task.plan, of_file)
        name = write_blocks(
            task.files,
            joined_ranges((block.key, block.number, 1) for block in of_file),
            table,
            provenance=task.provenance,
            generation=RETRY_GENERATION if by_machine else task.generation,
            label=task.label,
        )
        files.append(name)
        n_bytes += int(table.nbytes)
    return TaskResult(
        done=tuple((block.key, block.number) for block in blocks),
        timings=tuple(timings),
        failed_each=tuple(block.n_failed for block in blocks),
        first_failure=_first_failure(task, blocks),
        n_bytes=n_bytes,
        files=tuple(files),
    )


def _first_failure(task: Task, blocks: Sequence[Block]) -> tuple[Address, str] | None:
    size = task.plan.block_size
    for block in blocks:
        if block.n_failed:
            errors = counted_errors(task.plan, block.columns[ERROR]).reshape(size, -1)
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
    """

    plan: Plan
    store: Store
    provenance: RunProvenance | None = None
    generation: int = 0

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
            label=self.store.label,
        )


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
        so_far = time.perf_counter() - self._start
        task_seconds = max(self.least_seconds, min(PART_OF_RUN * so_far, MAX_SECONDS))
        by_time = int(task_seconds / self.seconds_per_block)
        least = int(self.least_seconds * MIN_PART / self.seconds_per_block)
        n_parts = 4 * self.n_workers if self.n_workers > 1 else 1
        by_share = max(-(-n_left // n_parts), least)
        by_room = int(TASK_BYTES / self.bytes_per_block) if self.bytes_per_block else by_time
        return max(1, min(by_time, by_share, by_room))
