"""The scheduler: groups blocks into tasks, submits them, and handles workers that die.

With `auto` the first tasks are drawn in this process, which measures what a block costs; workers
are started when they pay.
"""

import itertools
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager

from simstudy.atomic_files import ABANDONED_SECONDS
from simstudy.engine.executors import Executor, InProcess, executor_of
from simstudy.engine.executors.loky import IsolatedWorker, WorkerDiedError
from simstudy.engine.graceful_stop import host_signals_deferred, raise_if_stopped, stop_requested
from simstudy.engine.per_replicate import progress_reported_to
from simstudy.engine.progress import Progress
from simstudy.engine.provenance import RunProvenance
from simstudy.engine.tasks import Task, TaskFactory, TaskResult, record_failed
from simstudy.engine.thread_limits import single_threaded
from simstudy.engine.timeouts import GRACE_SECONDS, timeout_message
from simstudy.engine.work_queue import BlockId, WorkQueue, missing_after_crash
from simstudy.engine.workers import Workers
from simstudy.errors import StaleCodeError, StoreError, first_few
from simstudy.store.io_errors import translate_io_errors
from simstudy.store.object_store import ObjectStore, check_sendable

TASK_SECONDS = 0.25  # of work in a task of a short run: 1000 times what it costs to hand it out
PART_OF_RUN = 0.01  # of what a run took so far, in a long one: the most that a kill costs a worker
MOST_SECONDS = 20.0  # and never more
LEAST_PART = 0.1  # of that in a task at the end of a run, when workers share what is left
TASK_BYTES = 1 << 26  # of rows that a worker gathers before it writes them
WORKERS_PAY_SECONDS = 1.0  # that workers have to save: what they import takes as long
LOOK_SECONDS = 5.0  # without a result, before an executor is asked what it waits for
TRIES = 2  # of a block that ends its worker: somebody else may have ended the first


def draw_blocks(
    factory: TaskFactory,
    blocks: Collection[BlockId],
    *,
    workers: Workers,
    progress: Progress,
    retries: Collection[BlockId] = (),
) -> Iterator[TaskResult]:
    """Draw and store blocks; finished blocks stay whatever stops the run.

    Parameters
    ----------
    retries
        Blocks that the machine made fail before, drawn last and each alone.

    Yields
    ------
    TaskResult
        As each task is finished.

    Raises
    ------
    StoreError
        Where the results cannot be written (a full disk, say), or the code was edited under the
        run, so that workers would draw something else.
    OutOfTime
        Where a stop was asked for; what was begun is finished then.
    """
    files = factory.store.files
    if workers.backend in ("auto", "loky", "dask") and isinstance(files, ObjectStore):
        check_sendable(files.place)
    n_left = len(blocks) + len(retries)
    progress.begin(n_left * factory.plan.block_size)
    scheduler = Scheduler(factory, workers, progress)
    within = progress_reported_to(getattr(progress, "within", None))
    with (
        host_signals_deferred(),
        translate_io_errors(files),
        single_threaded(),
        within,
        _stale_code_explained(factory.provenance),
    ):
        try:
            for result in scheduler.results(blocks, retries):
                n_left -= len(result.done)
                progress.advance(len(result.done) * factory.plan.block_size)
                yield result
        finally:
            files.forget_unfinished(ABANDONED_SECONDS)
        raise_if_stopped(n_left)


class Scheduler:
    """Submits blocks as tasks and yields their results."""

    def __init__(self, factory: TaskFactory, workers: Workers, progress: Progress) -> None:
        self.factory, self.workers, self.progress = factory, workers, progress
        self.sizer = ChunkSizer(workers.count)
        self._trouble = ""  # that was said last

    def results(
        self, blocks: Collection[BlockId], retries: Collection[BlockId]
    ) -> Iterator[TaskResult]:
        """Draw all blocks on the selected backend, and yield the results."""
        queue = WorkQueue(blocks)
        if self.workers.backend in ("auto", "inline"):
            yield from self._results_of(InProcess(), queue, leave=self._workers_pay)
        if (queue.left or retries) and not stop_requested():
            with self._executor() as executor:
                yield from self._results_of(executor, queue)
                yield from self._isolated_results(executor, retries)

    def _workers_pay(self, n_left: int) -> bool:
        """Whether the remaining blocks should go to workers; with a time limit they must.

        The first task may have compiled, or loaded what is compiled, as each worker has to; the
        second tells what a block costs.
        """
        if self.workers.backend != "auto":
            return False
        if self.factory.block_seconds is not None:
            return True
        if self.sizer.n_results < 2 or self.workers.count < 2:
            return False
        saved = self.sizer.seconds_per_block * n_left * (1 - 1 / self.workers.count)
        return saved > WORKERS_PAY_SECONDS + self.sizer.loading_seconds

    @contextmanager
    def _executor(self) -> Iterator[Executor]:
        """Context with an executor, which is killed if an error leaves it."""
        executor = executor_of(self.workers, self.factory.expected)
        self.sizer.n_workers = executor.n_workers
        self.sizer.least_seconds = max(TASK_SECONDS, getattr(executor, "task_seconds", 0.0))
        try:
            yield executor
        except BaseException:
            executor.close(kill=True)
            raise
        executor.close(kill=False)

    # ---------------------------------------------------------------- tasks to results
    def _results_of(
        self,
        executor: Executor,
        queue: WorkQueue,
        leave: Callable[[int], bool] = lambda _: False,
    ) -> Iterator[TaskResult]:
        """Yield results as they arrive, until no block is left or `leave` returns true."""
        pending: dict[Future[TaskResult], Task] = {}
        lost: list[Task] = []  # whose worker has died: nothing new is begun until all is back
        while True:
            while not lost and self._has_room(executor, pending) and not leave(queue.left):
                blocks = queue.take(self.sizer.n_blocks(queue.left))
                if not blocks:
                    break
                task = self.factory.task(blocks)
                try:
                    pending[executor.submit(task)] = task
                except WorkerDiedError:
                    lost.append(task)
            if not pending and not lost:
                return
            if not pending:
                yield from self._lost_results(executor, lost, queue.left)
                lost = []
                continue
            done = wait(pending, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED).done
            if not done:
                self._note_trouble(executor)
            for future in done:
                task = pending.pop(future)
                try:
                    result = future.result()
                except WorkerDiedError:
                    lost.append(task)
                    continue
                self.sizer.learn_from(result)
                yield result

    def _note_trouble(self, executor: Executor) -> None:
        """Report once what an executor waits for."""
        trouble = getattr(executor, "trouble", "")
        if trouble != self._trouble:
            self.progress.note(trouble or "workers are back")
            self._trouble = trouble

    def _has_room(self, executor: Executor, pending: Collection[object]) -> bool:
        n_ahead = getattr(executor, "n_ahead", 2 * executor.n_workers)
        return len(pending) < n_ahead and not stop_requested()

    # ---------------------------------------------------------------- workers that die
    def _lost_results(
        self, executor: Executor, tasks: Collection[Task], n_left: int
    ) -> Iterator[TaskResult]:
        """Draw the blocks of lost tasks again, one by one."""
        blocks = list(itertools.chain.from_iterable(task.blocks for task in tasks))
        if not self.factory.generation:  # else what is there already is what they replace
            blocks = missing_after_crash(self.factory.plan, blocks, self.factory.store)
        self.progress.note(f"a worker died; {len(blocks) + n_left:,} blocks to go")
        yield from self._isolated_results(executor, blocks)

    def _isolated_results(
        self, executor: Executor, blocks: Collection[BlockId]
    ) -> Iterator[TaskResult]:
        """Draw blocks one by one in an isolated worker."""
        if not blocks:
            return
        isolated: Executor = getattr(executor, "isolated", IsolatedWorker)()
        try:
            for block_id in itertools.takewhile(lambda _: not stop_requested(), blocks):
                yield self._result_alone(isolated, self.factory.task([block_id]))
        finally:
            if isolated is not executor:  # each block was waited for
                isolated.close(kill=True)

    def _result_alone(self, isolated: Executor, task: Task) -> TaskResult:
        """Draw a task of one block; if it ends its worker twice, record it as failed."""
        for _ in range(TRIES):
            begun = time.monotonic()
            try:
                return isolated.submit(task).result()
            except WorkerDiedError as died:
                death = died
                limit = task.block_seconds
                if (
                    limit
                    and not died.by_signal
                    and time.monotonic() - begun > limit + GRACE_SECONDS
                ):
                    return record_failed(task, timeout_message(limit), machine=False)
        return record_failed(task, str(death), machine=death.by_signal)


class ChunkSizer:
    """Chooses the number of blocks of the next task, by time and by memory.

    A task is a file, and what a kill can cost. Short tasks in a short run, so that a kill costs
    little; longer ones as the run goes on, so that the number of files grows as the logarithm of
    its length.
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
        """The number of blocks of the next task; enough tasks are left for every worker."""
        if not self.seconds_per_block:
            return 1
        by_time = int(self.task_seconds / self.seconds_per_block)
        least = int(self.least_seconds * LEAST_PART / self.seconds_per_block)
        by_share = max(-(-n_left // (4 * self.n_workers)), least)
        by_room = int(TASK_BYTES / self.bytes_per_block) if self.bytes_per_block else by_time
        return max(1, min(by_time, by_share, by_room))

    @property
    def task_seconds(self) -> float:
        """The intended duration of the next task."""
        so_far = time.perf_counter() - self._start
        return max(self.least_seconds, min(PART_OF_RUN * so_far, MOST_SECONDS))


# ---------------------------------------------------------------- code that workers do not have
@contextmanager
def _stale_code_explained(provenance: RunProvenance | None) -> Iterator[None]:
    """Context in which the error of a worker with other code says what differs."""
    try:
        yield
    except StaleCodeError as stale:
        edited = provenance.expected.edited_since() if provenance else []
        why = (
            f"{first_few(edited)} was edited since this run began. What was finished is kept as "
            "the old code's. Run again: the new code is then a run of its own."
            if edited
            else "This process holds other values than its files give to workers. Set them in the "
            "file or as fields of the scenario, or use backend=threads or backend=inline."
        )
        raise StoreError(
            f"workers load other code than this run began with: {first_few(list(stale.found))}. "
            f"{why}"
        ) from None
