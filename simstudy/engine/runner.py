"""Jobs through a backend to the store; what happens when a worker dies.

The first blocks run in this process, which measures what a block costs; only then is it decided
how many go into a task and whether starting worker processes pays.
"""

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import cached_property
from typing import cast

from simstudy.engine.assignment import Assignment
from simstudy.engine.backends.choice import backend_of
from simstudy.engine.backends.inline import Inline
from simstudy.engine.backends.processes import OneProcess
from simstudy.engine.backends.protocol import Backend, Place, WorkerDiedError
from simstudy.engine.jobs import Job, end_of_task, still_missing
from simstudy.engine.outcome import Outcome
from simstudy.engine.ownership import Ownership
from simstudy.engine.progress import Progress, Silent
from simstudy.engine.quarantine import receipts_apart
from simstudy.engine.tasks import Receipt, Task
from simstudy.engine.threads import one_thread_each
from simstudy.engine.workers import Workers
from simstudy.errors import StaleCodeError, StoreError, UnreadableTaskError, first_few
from simstudy.identity.fingerprint import changes
from simstudy.store.compaction import compact
from simstudy.store.disk import trouble_in_words

TASK_SECONDS = 0.25  # of work in a task: what a kill can lose, and 1000 times its overhead
INLINE_SECONDS = 1.0  # of work left below which starting workers does not pay
FILES_BEFORE_COMPACTION = 400  # loose files: few enough to list and verify in a moment


def run_jobs(
    assignment: Assignment,
    jobs: Sequence[Job],
    *,
    workers: Workers,
    progress: Progress | None = None,
    careful: Sequence[Job] = (),
) -> Outcome:
    """Compute and store blocks; whatever stops it, what was finished stays.

    Parameters
    ----------
    careful
        Blocks that the machine made fail before, done last and in a process of their own.

    Raises
    ------
    StoreError
        Where the results cannot be written (a full disk, say), or the code was edited under the
        run, so that workers would draw something else.
    """
    runner = Runner(assignment, workers, progress or Silent())
    runner.progress.begin((len(jobs) + len(careful)) * assignment.plan.block_size)
    start = time.perf_counter()
    with trouble_in_words(assignment.store.files), one_thread_each():
        try:
            with closing(runner):
                runner.run(list(jobs))
                runner.run_one_by_one(careful)
        except StaleCodeError as stale:
            raise _edited(assignment.ownership, stale) from None
        except UnreadableTaskError as error:
            raise _unreadable(error) from None
    runner.outcome.seconds = time.perf_counter() - start
    return runner.outcome


class Runner:
    """Hands out jobs as tasks whose size follows what blocks turn out to cost."""

    def __init__(self, assignment: Assignment, workers: Workers, progress: Progress) -> None:
        self.assignment, self.workers, self.progress = assignment, workers, progress
        self.outcome = Outcome()
        self.seconds_per_block = 0.0
        self.n_loose = assignment.store.n_files
        self.n_workers, self.task_seconds = workers.count, TASK_SECONDS
        self._open = ExitStack()

    def close(self) -> None:
        """Let go of workers that were begun for this run alone."""
        self._open.close()

    @cached_property
    def backend(self) -> Backend:
        """Where tasks go that do not stay here; begun when the first one goes, and closed last."""
        backend = backend_of(self.workers, self.assignment.expected)
        self._open.callback(getattr(backend, "close", lambda: None))
        self.n_workers = getattr(backend, "n_workers", self.n_workers)
        self.task_seconds = max(TASK_SECONDS, getattr(backend, "task_seconds", 0.0))
        return backend

    # ---------------------------------------------------------------- the ways
    def run(self, jobs: list[Job]) -> None:
        """Do all of the jobs, where the workers say."""
        if self.workers.backend in ("auto", "inline"):
            jobs = self.run_here(jobs)
        if jobs:
            self.run_in_workers(self.backend, jobs)

    def run_here(self, jobs: list[Job]) -> list[Job]:
        """Work in this process until workers would pay; what is left then."""
        may_leave = self.workers.backend == "auto" and self.workers.count > 1
        for n_tasks, receipt in enumerate(Inline().receipts(self.tasks(jobs)), start=1):
            self.count(receipt)
            n_done = self.outcome.n_blocks
            pays = self.seconds_per_block * (len(jobs) - n_done) > INLINE_SECONDS
            if may_leave and pays and n_tasks > 1:
                return jobs[n_done:]
        return []

    def run_in_workers(self, backend: Backend, jobs: list[Job]) -> None:
        """Where a worker dies, find the block that kills and go on with the rest."""
        while jobs:
            try:
                for receipt in backend.receipts(self.tasks(jobs)):
                    self.count(receipt)
                return
            except WorkerDiedError as died:
                jobs = still_missing(jobs, self.assignment.store)
                self.progress.note(f"a worker died; {len(jobs)} blocks to go")
                jobs = self.run_suspects(jobs, died.suspects)

    def run_suspects(self, jobs: list[Job], known: Sequence[Task]) -> list[Job]:
        """Do the tasks that may have been under way, away from others; the rest is returned."""
        suspects = known or itertools.islice(self.tasks(jobs), 2 * self.n_workers)
        done = self.run_apart(suspects)
        return [job for job in jobs if (job.key, job.block) not in done]

    def run_one_by_one(self, jobs: Sequence[Job]) -> None:
        """Do blocks of which one may kill its process."""
        if jobs:
            self.run_apart(self.assignment.task([job]) for job in jobs)

    def run_apart(self, tasks: Iterable[Task]) -> set[tuple[str, int]]:
        """Do tasks where they may kill; keys and numbers of the blocks that are done."""
        done: set[tuple[str, int]] = set()
        with self.place_apart() as apart:
            for task in tasks:
                for receipt in receipts_apart(task, apart):
                    self.count(receipt)
                    done.update(receipt.done)
        return done

    def place_apart(self) -> Place:
        """The backend's own place for tasks that may kill, or a process of this machine's."""
        is_here = self.workers.backend in ("auto", "inline")
        make = OneProcess if is_here else getattr(self.backend, "apart", OneProcess)
        return cast(Place, make())

    # ---------------------------------------------------------------- sizes and counts
    def tasks(self, jobs: list[Job]) -> Iterator[Task]:
        """All jobs in order, as tasks whose size is decided when they are asked for."""
        at = 0
        while at < len(jobs):
            end = end_of_task(jobs, at + self.blocks_per_task(len(jobs) - at))
            yield self.assignment.task(jobs[at:end])
            at = end

    def blocks_per_task(self, n_left: int) -> int:
        """About a quarter of a second's worth, and enough tasks for every worker."""
        if not self.seconds_per_block:
            return 1
        by_time = int(self.task_seconds / self.seconds_per_block)
        by_share = -(-n_left // (4 * self.n_workers))
        return max(1, min(by_time, by_share))

    def count(self, receipt: Receipt) -> None:
        """Note a finished task; the cost of a block is that of the latest (the first compiles)."""
        self.outcome.count(receipt)
        self.seconds_per_block = receipt.seconds / len(receipt.done)
        self.progress.advance(len(receipt.done) * self.assignment.plan.block_size)
        self.n_loose += 1
        if self.n_loose > FILES_BEFORE_COMPACTION:
            compact(self.assignment.store, recent_only=True)
            self.n_loose = self.assignment.store.n_files


def _edited(ownership: Ownership | None, stale: StaleCodeError) -> StoreError:
    """Why a worker drew nothing: it imported code that is not the run's."""
    pairs = zip(ownership.expected if ownership else (), stale.found, strict=True)
    found = dict.fromkeys(line for ours, its in pairs for line in changes(ours, its))
    return StoreError(
        f"workers load other code than this run began with: {first_few(list(found))}. "
        "It was edited meanwhile, or this process changed it after importing it, so blocks of "
        "two codes would mix; none was drawn. What was finished is kept as the old code's. "
        "Run again: the new code is then a run of its own. Where code is changed on purpose "
        "after it is imported, use backend=threads or backend=inline."
    )


def _unreadable(error: UnreadableTaskError) -> StoreError:
    return StoreError(
        f"workers cannot load the study ({error}): its code was edited under this run, or "
        "cannot be sent to another process. What was finished is kept. Run again, or use "
        "backend=threads or backend=inline."
    )
