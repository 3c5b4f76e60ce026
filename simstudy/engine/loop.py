"""A run: draws missing blocks until all are stored.

`Loop.draw` lists the missing blocks and draws them, and repeats this until no block is missing.
`Loop.draw_blocks` draws a list of blocks: first in this process (`auto`), then with an executor.
If a worker dies, its blocks are drawn again one by one. `_on_task_done` counts and checks every
finished task, and tries the measures on the first. Workers write the blocks that they draw, so
finished blocks do not depend on this process.
"""

from __future__ import annotations

import contextlib
import itertools
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from functools import cached_property
from queue import SimpleQueue

from simstudy.design.plan import Plan
from simstudy.engine.executors import (
    Executor,
    InProcess,
    IsolatedWorker,
    WorkerDiedError,
    executor_of,
)
from simstudy.engine.graceful_stop import (
    GRACE_SECONDS,
    OutOfTime,
    host_signals_deferred,
    is_worker,
    stop_requested,
    timeout_message,
)
from simstudy.engine.independence import odd_spreads
from simstudy.engine.progress import Progress
from simstudy.engine.provenance import RunProvenance
from simstudy.engine.run_monitor import RunMonitor, RunStats
from simstudy.engine.second_draw import check_repeatable, draw_pilot
from simstudy.engine.tasks import (
    TASK_SECONDS,
    BlockId,
    BlockSet,
    Task,
    TaskFactory,
    TaskResult,
    TaskSizes,
    WorkQueue,
    blocks_of_shard,
    blocks_with_failures,
    missing_after_crash,
    missing_blocks,
    record_failed,
)
from simstudy.engine.thread_limits import single_threaded
from simstudy.engine.workers import Workers
from simstudy.errors import SimstudyError, StaleCodeError, StoreError, first_few
from simstudy.places import Place, forget_unfinished
from simstudy.store import runs
from simstudy.store.blocks import Store, failed_replicates
from simstudy.store.compaction import compact
from simstudy.store.files import ObjectStore, check_sendable, translate_io_errors

Sizes = Mapping[str, int]  # replicates, by key of a scenario or of a scenario and method
TryMeasures = Callable[[Store], bool]
"""Function that computes the measures from a first block; false if the store has none."""

MAX_ROUNDS = 5  # rounds of drawing, if another run deletes blocks meanwhile
RECORD_INTERVAL = 30.0  # seconds between writes of the run record
PAUSES_SECONDS = (0.1, 0.5, 2.0)  # pauses before a listing that lacks new files is read again
MIN_SECONDS_SAVED = 1.0  # time that workers must save to be started: about that of their imports
MAX_TRIES = 2  # draws of a block whose worker dies: the first death may have an outside cause


class Loop:
    """A run in progress.

    Parameters
    ----------
    plan
        Plan of the work units: scenarios, or pairs of scenario and method.
    store
        Target of the blocks.
    blocks_folder
        Folder of the blocks; None for a temporary store, which gets no run record.
    provenance
        Provenance with the code that workers must have loaded; None for no check.
    try_measures
        Function that is called until it returns true: with the store before blocks are drawn, then
        with the files of each task. It raises for mistakes in measures.
    checks_in_full
        Whether the second drawing of blocks may take as long as it needs.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        workers: Workers,
        progress: Progress,
        *,
        blocks_folder: Place | None = None,
        provenance: RunProvenance | None = None,
        try_measures: TryMeasures | None = None,
        checks_in_full: bool = False,
    ) -> None:
        self.plan, self.store, self.workers, self.progress = plan, store, workers, progress
        self.blocks_folder, self.provenance = blocks_folder, provenance
        self.try_measures = try_measures
        self.checks_in_full = checks_in_full
        self.written: list[str] = []  # files of this run
        self.stats = RunStats()
        self.monitor = RunMonitor(plan, progress)
        self._first_blocks: dict[str, None] = {}  # keys whose first block this run has drawn
        self.n_left = 0  # blocks of the current round that are not drawn
        self._factory = TaskFactory(plan, store, provenance)
        self._task_sizes = TaskSizes(1)  # `draw_blocks` counts the workers
        self._times, self._name = runs.Times(_now(), ""), uuid.uuid4().hex
        self._recorded = time.monotonic()

    # ---------------------------------------------------------------- choice of blocks
    def draw(self, sizes: Sizes, shard: tuple[int, int] | None = None) -> None:
        """Draw all missing blocks, or those of one shard.

        Raises
        ------
        StoreError
            If another run keeps deleting the files that this one writes.
        StudyError
            If more replicates failed than the study allows, including those stored before.
        OutOfTime
            If a stop was requested; blocks that were begun are finished.
        """
        blocks = self.missing(sizes, shard)
        if blocks:
            self._try_measures(None)
        retries: Collection[BlockId] = self.missing(sizes, shard, retry=True).without(blocks)
        for _ in range(MAX_ROUNDS):
            self._count_stored_failures(sizes)
            if not retries:  # blocks to retry still count as failed
                self.monitor.raise_if_too_many_failed()
            if not (blocks or retries):
                n_known = len(self.monitor.warnings)
                self._check_repeatable()
                if self.written and not self.store.label:
                    spreads = odd_spreads(self.plan, self.store, self.plan.keys, self.stats.seconds)
                    self.monitor.note_spreads(spreads)
                if len(self.monitor.warnings) > n_known:
                    self._write_record()
                self.stats.warnings = self._warnings()
                return
            self.draw_blocks(blocks, retries)
            blocks, retries = self._still_missing(sizes, shard), ()
        raise StoreError(
            f"blocks in {self.store.files} disappear after they are written: another run keeps "
            "deleting them. Run this again when it has ended, or choose another out=..."
        )

    def redraw(
        self,
        sizes: Sizes,
        keys: Collection[str] | None = None,
        shard: tuple[int, int] | None = None,
    ) -> None:
        """Draw stored blocks again: those of some units, or (None) all with a failure.

        The new rows replace them. A shard draws its own blocks only.
        """
        n_blocks = self._n_blocks(sizes)
        if keys is None:
            blocks = blocks_with_failures(self.plan, n_blocks, self.store)
        else:
            lacking = missing_blocks(self.plan, n_blocks, self.store, retries=True).chosen
            stored = {key: ~which & (key in keys) for key, which in lacking.items()}
            blocks = BlockSet(self.plan, stored)
        blocks = blocks_of_shard(self.plan, blocks, shard)
        if blocks:
            self._count_stored_failures(sizes, replaces_failures=True)
            self.draw_blocks(blocks, generation=self.store.highest_generation + 1)

    def missing(
        self, sizes: Sizes, shard: tuple[int, int] | None = None, *, retry: bool = False
    ) -> BlockSet:
        """List the blocks to draw.

        Parameters
        ----------
        retry
            Whether to include stored blocks that failed by the machine's fault.
        """
        blocks = missing_blocks(self.plan, self._n_blocks(sizes), self.store, retries=not retry)
        return blocks_of_shard(self.plan, blocks, shard)

    def _still_missing(self, sizes: Sizes, shard: tuple[int, int] | None) -> BlockSet:
        """List the blocks missing after a round; if there are any, look again after pauses.

        Network file systems and some object stores list a new file only seconds after its writing.
        """
        blocks = self.missing(sizes, shard)
        for pause in PAUSES_SECONDS:
            if blocks:
                time.sleep(pause)
                self.store.scan()
                blocks = self.missing(sizes, shard)
        return blocks

    def _n_blocks(self, sizes: Sizes) -> dict[str, int]:
        return {key: self.plan.n_blocks(n) for key, n in sizes.items()}

    # ---------------------------------------------------------------- drawing
    def draw_blocks(
        self,
        blocks: Collection[BlockId],
        retries: Collection[BlockId] = (),
        *,
        generation: int = 0,
    ) -> None:
        """Draw and store blocks. If the run stops early, finished blocks stay stored.

        Parameters
        ----------
        retries
            Blocks that failed before by the machine's fault. They are drawn last, one by one.
        generation
            Generation of the new blocks. It must be above that of stored blocks they replace.

        Raises
        ------
        StoreError
            If the results cannot be written (a full disk, for example), or the code was edited
            during the run, so that workers would draw other numbers.
        OutOfTime
            If a stop was requested; blocks that were begun are finished.
        """
        files = self.store.files
        if self.workers.backend in ("auto", "loky", "dask") and isinstance(files, ObjectStore):
            check_sendable(files.place)
        self._factory = TaskFactory(self.plan, self.store, self.provenance, generation)
        self._task_sizes = TaskSizes(self.workers.count)
        self.n_left = len(blocks) + len(retries)
        self.progress.begin(self.n_left * self.plan.block_size)
        begun = time.perf_counter()
        if self.provenance:
            self.monitor.note_code(self.provenance)
        with (
            host_signals_deferred(),
            translate_io_errors(files),
            single_threaded(),
        ):
            try:
                self._draw_on_backend(WorkQueue(blocks), retries)
            except StaleCodeError as stale:
                raise StoreError(
                    "workers load other code than this run began with: "
                    f"{first_few(list(stale.found))}. Finished blocks are kept for the old code. "
                    "If a file was edited, run again. If values in this process differ from "
                    "those in its files, set them in the file or as fields of the scenario, or use "
                    "backend=threads or backend=inline."
                ) from None
            finally:
                if self.provenance:
                    self.provenance.note_changes()
                forget_unfinished(self.blocks_folder)
                self.stats.seconds += time.perf_counter() - begun
                self.stats.warnings = self._warnings()
                self._write_record()
                self.store.scan()
            if self.n_left and stop_requested():
                raise OutOfTime(self.n_left)

    def _draw_on_backend(self, queue: WorkQueue, retries: Collection[BlockId]) -> None:
        """Draw in this process until workers save time, and the rest with the executor."""
        if self.workers.backend in ("auto", "inline"):
            self._draw_with(InProcess(), queue, until=self._workers_pay)
        if not (queue.left or retries) or stop_requested():
            return
        code = self.provenance.expected.digest if self.provenance else ""
        executor = executor_of(self.workers, code)
        self._task_sizes.n_workers = executor.n_workers
        self._task_sizes.least_seconds = max(TASK_SECONDS, executor.task_seconds)
        try:
            self._draw_with(executor, queue)
            self._draw_alone(executor, retries)
        except BaseException:
            executor.close(kill=True)
            raise
        executor.close(kill=False)

    def _draw_with(
        self, executor: Executor, queue: WorkQueue, until: Callable[[int], bool] = lambda _: False
    ) -> None:
        """Draw with an executor until no block is left or `until` returns true."""
        pending: dict[Future[TaskResult], Task] = {}
        finished: SimpleQueue[Future[TaskResult]] = SimpleQueue()  # `wait` looks at all pending
        lost: list[Task] = []  # tasks whose worker has died
        while True:  # after a death, no task is begun until all pending ones are back
            has_room = not lost and not stop_requested()
            while has_room and len(pending) < executor.n_ahead and not until(queue.left):
                blocks = queue.take(self._task_sizes.n_blocks(queue.left))
                if not blocks:
                    break
                task = self._factory.task(blocks)
                try:
                    future = executor.submit(task)
                except WorkerDiedError:
                    lost.append(task)
                else:
                    pending[future] = task
                    future.add_done_callback(finished.put)
                has_room = not lost and not stop_requested()
            if not pending and not lost:
                return
            if not pending:
                self._draw_lost(executor, lost, queue.left)
                lost = []
                continue
            for future in [finished.get(), *(finished.get() for _ in range(finished.qsize()))]:
                task = pending.pop(future)
                try:
                    result = future.result()
                except WorkerDiedError:
                    lost.append(task)
                    continue
                self._task_sizes.learn_from(result)
                self._on_task_done(result)

    def _on_task_done(self, result: TaskResult) -> None:
        """Count and check a finished task."""
        self.n_left -= len(result.done)
        self.progress.advance(len(result.done) * self.plan.block_size)
        self.stats.count(self.plan, result)
        self._times = self._times._replace(last=_now())
        if time.monotonic() - self._recorded > RECORD_INTERVAL:
            self._write_record()
        self.monitor.check(result)
        self._first_blocks |= {key: None for key, block in result.done if block == 0}
        self.written += result.files
        self._try_measures(result.files)

    def _try_measures(self, files: Sequence[str] | None) -> None:
        """Compute the measures from some files, or from all: mistakes show early."""
        if self.try_measures is None:
            return
        store = self.store if files is None else self.store.reopened(only_files=files)
        if self.try_measures(store):
            self.try_measures = None
        store.close()

    def compact(self, *, is_all: bool) -> None:
        """Merge small files; without `is_all` only those of this run."""
        if is_all:
            compact(self.store)
            if self.blocks_folder is not None:
                runs.merge_records(self.blocks_folder)
        elif self.written:
            compact(self.store.reopened(only_files=self.written), most_files=1)
            self.store.scan()

    def _workers_pay(self, n_left: int) -> bool:
        """Whether the remaining blocks should go to workers; with a time limit they always do.

        The cost of a block is measured on the second task: the first one may include compilation,
        or the loading of compiled code, which each worker repeats.
        """
        if self.workers.backend != "auto":
            return False
        if self.plan.rules.block_seconds is not None:
            return True
        sizes, n_workers = self._task_sizes, self.workers.count
        if sizes.n_results < 2 or n_workers < 2:
            return False
        saved = sizes.seconds_per_block * n_left * (1 - 1 / n_workers)
        return saved > MIN_SECONDS_SAVED + sizes.loading_seconds

    # ---------------------------------------------------------------- workers that die
    def _draw_lost(self, executor: Executor, tasks: Collection[Task], n_left: int) -> None:
        """Draw the blocks of lost tasks again, one by one."""
        blocks = list(itertools.chain.from_iterable(task.blocks for task in tasks))
        if not self._factory.generation:  # otherwise the stored blocks are those to be replaced
            blocks = missing_after_crash(self.plan, blocks, self.store)
        self.progress.note(f"a worker died; {len(blocks) + n_left:,} blocks to go")
        self._draw_alone(executor, blocks)

    def _draw_alone(self, executor: Executor, blocks: Collection[BlockId]) -> None:
        """Draw blocks one by one in an isolated worker."""
        if not blocks:
            return
        isolated = executor.isolated() or IsolatedWorker()
        try:
            for block_id in itertools.takewhile(lambda _: not stop_requested(), blocks):
                self._on_task_done(self._result_alone(isolated, self._factory.task([block_id])))
        finally:
            if isolated is not executor:  # nothing is pending
                isolated.close(kill=True)

    def _result_alone(self, isolated: Executor, task: Task) -> TaskResult:
        """Draw a task of one block; if its worker dies twice, record the block as failed."""
        for _ in range(MAX_TRIES):
            begun = time.monotonic()
            try:
                return isolated.submit(task).result()
            except WorkerDiedError as died:
                death, limit = died, self.plan.rules.block_seconds
                is_late = limit and time.monotonic() - begun > limit + GRACE_SECONDS
                if limit and is_late and not died.by_signal:
                    return record_failed(task, timeout_message(limit), machine=False)
        return record_failed(task, str(death), machine=death.is_machine_trouble)

    # ---------------------------------------------------------------- records and warnings
    def _write_record(self) -> None:
        """Write timings and warnings; an error in writing them does not stop the run."""
        folder, provenance = self.blocks_folder, self.provenance
        record = runs.RunRecord(self.stats.spent, self._times, dict(self.monitor.warnings))
        has_news = record.warnings or self._times.last
        if has_news and folder is not None and provenance is not None:
            with contextlib.suppress(OSError, SimstudyError):
                runs.write_record(folder, self._name, provenance.of_blocks, record)
        self._recorded = time.monotonic()

    def _count_stored_failures(self, sizes: Sizes, *, replaces_failures: bool = False) -> None:
        """Give the monitor the requested sizes and the stored failures, which count as well."""
        self.monitor.wanted = sizes
        if self.plan.rules.max_failed is not None:
            self.monitor.n_failed = {
                key: len(failed_replicates(self.plan, self.store, key, n))
                for key, n in self._n_blocks(sizes).items()
                if not replaces_failures
            }

    def _check_repeatable(self) -> None:
        """Draw first blocks of this run again in another process."""
        keys, self._first_blocks = self._first_blocks, {}
        if not keys or self.provenance is None or is_worker():  # a worker starts no process
            return
        code, seconds = self.provenance.expected, self.stats.seconds
        findings = check_repeatable(
            self.plan,
            self.store,
            keys,
            code=code,
            run_seconds=seconds,
            block_seconds=self.stats.seconds_per_block,
            in_full=self.checks_in_full,
        )
        if not self.store.label:  # the run that joins the shards has all blocks
            draw_pilot(self.plan, self.store, keys, findings, code=code, run_seconds=seconds)
        self.stats.notes += self.monitor.note_second_draw(findings)

    def _warnings(self) -> list[str]:
        """The warnings about random numbers in stored blocks, and all warnings of this run."""
        drawn = runs.RunRecord(warnings=self.monitor.warnings).first_warnings
        return list({**self._stored_warnings, **drawn}.values())

    @cached_property
    def _stored_warnings(self) -> dict[str, str]:
        is_shard = bool(self.store.label)  # a shard does not read the records of others
        if self.blocks_folder is None or self.provenance is None or is_shard:
            return {}
        return runs.read_records(self.blocks_folder, self.provenance.of_blocks).first_warnings


def _now() -> str:
    """Format the current time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
