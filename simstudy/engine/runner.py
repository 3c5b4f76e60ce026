"""Jobs through a backend to the store; what happens when a worker dies.

The first blocks are drawn in a copy of this process, made by fork, which measures what a block
costs; only then is it decided how many go into a task and whether starting worker processes pays.
Where no copy is safe they are drawn in this process, which leaves a note of what it draws.
"""

import itertools
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, closing
from functools import cached_property
from typing import cast

from simstudy.atomic_files import ABANDONED_SECONDS
from simstudy.engine.assignment import Assignment
from simstudy.engine.backends.apart import LocalApart
from simstudy.engine.backends.choice import backend_of
from simstudy.engine.backends.forked import forked, forks_safely
from simstudy.engine.backends.here import compute_here
from simstudy.engine.backends.processes import OneProcess, are_left
from simstudy.engine.backends.protocol import Backend, Place, WorkerDiedError
from simstudy.engine.gathering import Gathering
from simstudy.engine.jobs import Job, Jobs, Waiting, still_missing
from simstudy.engine.journal import cut_short, forget
from simstudy.engine.lasting import Prospect, may_last
from simstudy.engine.outcome import Outcome
from simstudy.engine.ownership import Ownership
from simstudy.engine.pace import telling
from simstudy.engine.portions import Portions
from simstudy.engine.progress import Progress, Silent
from simstudy.engine.quarantine import Quarantine
from simstudy.engine.tasks import Receipt, Task, compute
from simstudy.engine.threads import one_thread_each
from simstudy.engine.warning import OutOfTime, is_warned, stop_if_warned
from simstudy.engine.watch import Watch
from simstudy.engine.workers import ELSEWHERE, IN_THIS_PROCESS, Workers
from simstudy.errors import StaleCodeError, StoreError, UnreadableTaskError, first_few
from simstudy.identity.fingerprint import changes
from simstudy.store.disk import trouble_in_words
from simstudy.store.objects import Objects, refuse_sending

TASK_SECONDS = 0.25  # of work in a task of a short run: 1000 times what it costs to hand it out
INLINE_SECONDS = 1.0  # of work left below which starting workers does not pay
UNFINISHED = (
    "an earlier run ended while {} blocks were drawn in its process: they are drawn apart, in case "
    "one of them ended it"
)
FILES_BEFORE_COMPACTION = 400  # loose files: few enough to list and verify in a moment


def run_jobs(
    assignment: Assignment,
    jobs: Collection[Job],
    *,
    workers: Workers,
    progress: Progress | None = None,
    careful: Collection[Job] = (),
    is_share: bool = False,
    watch: Watch | None = None,
) -> Outcome:
    """Compute and store blocks; whatever stops it, what was finished stays.

    Parameters
    ----------
    careful
        Blocks that the machine made fail before, done last and in a process of their own.
    is_share
        Whether these are a share of a study, which leaves few files for those who join them.
    watch
        Looks at each task that is finished, and may stop the run.

    Raises
    ------
    StoreError
        Where the results cannot be written (a full disk, say), or the code was edited under the
        run, so that workers would draw something else.
    OutOfTime
        Where this process was warned that its time is nearly up; what was begun is finished then.
    """
    if workers.backend in ELSEWHERE and isinstance(assignment.store.files, Objects):
        refuse_sending(assignment.store.files.place)
    runner = Runner(assignment, workers, progress or Silent(), watch)
    if isinstance(jobs, Jobs) and not is_share and may_last(assignment):
        runner.prospect = Prospect(assignment, jobs)
    runner.progress.begin((len(jobs) + len(careful)) * assignment.plan.block_size)
    start = time.perf_counter()
    within = telling(getattr(progress, "within", None))
    with trouble_in_words(assignment.store.files), one_thread_each(), within:
        try:
            with closing(runner):
                runner.run(jobs)
                runner.run_one_by_one(careful)
                stop_if_warned(len(jobs) + len(careful) - runner.outcome.n_blocks)
                if is_share:
                    runner.gathering.finish()
        except OutOfTime as stop:
            runner.outcome.seconds = time.perf_counter() - start
            stop.outcome = runner.outcome
            raise
        except StaleCodeError as stale:
            raise _edited(assignment.ownership, stale) from None
        except UnreadableTaskError as error:
            raise _unreadable(error) from None
        finally:
            assignment.store.files.forget_unfinished(ABANDONED_SECONDS)
    runner.outcome.seconds = time.perf_counter() - start
    return runner.outcome


class Runner:
    """Hands out jobs as tasks whose size follows what blocks turn out to cost."""

    def __init__(
        self,
        assignment: Assignment,
        workers: Workers,
        progress: Progress,
        watch: Watch | None = None,
    ) -> None:
        self.assignment, self.workers, self.progress = assignment, workers, progress
        self.watch = watch or Watch(assignment.plan, progress)
        self.outcome = Outcome()
        self.portions = Portions(workers.count, TASK_SECONDS)
        self.prospect: Prospect | None = None
        draws_here = workers.backend == "inline" or workers.count == 1
        self.gathering = Gathering(assignment.store, FILES_BEFORE_COMPACTION, beside=not draws_here)
        self.under_way: dict[tuple[str, int], Job] = {}
        self.n_deaths = 0
        self._open = ExitStack()
        self._open.enter_context(self.gathering)

    def close(self) -> None:
        """Let go of workers that were begun for this run alone."""
        self._open.close()

    @cached_property
    def backend(self) -> Backend:
        """Where tasks go that do not stay here; begun when the first one goes, and closed last."""
        backend = backend_of(self.workers, self.assignment.expected)
        self._open.callback(getattr(backend, "close", lambda: None))
        self.portions.n_workers = getattr(backend, "n_workers", self.workers.count)
        self.portions.least_seconds = max(TASK_SECONDS, getattr(backend, "task_seconds", 0.0))
        return backend

    # ---------------------------------------------------------------- the ways
    def run(self, jobs: Collection[Job]) -> None:
        """Do all of the jobs, where the workers say; last those that an earlier run died of."""
        files = self.assignment.store.files
        suspected = cut_short(files, self.assignment.expected)
        suspects = [job for job in jobs if (job.key, job.block) in suspected] if suspected else []
        self.run_unsuspected(Waiting(jobs, without=suspects))
        if suspects and not is_warned():
            self.progress.note(UNFINISHED.format(len(suspects)))
            self.run_apart([self.assignment.task(suspects)])
        forget(files)

    def run_unsuspected(self, jobs: Waiting) -> None:
        """Do jobs that nobody has died of."""
        if self.workers.backend in ("auto", "inline"):
            self.run_here(jobs)
        if jobs.left and not is_warned():
            self.run_in_workers(self.backend, jobs)

    def run_here(self, jobs: Waiting) -> None:
        """Work in this process, or in a copy of it, until workers would pay."""
        while jobs.left and not self.better_in_workers():
            may_die = self.workers.backend == "auto" and forks_safely()
            self.outcome.drew_here |= not may_die
            try:
                for receipt in self.drawn_in_a_copy(jobs) if may_die else self.drawn_here(jobs):
                    self.count(receipt)
                return
            except WorkerDiedError as died:
                self.note_death(jobs.left)
                self.run_suspects(died, jobs, 1)

    def better_in_workers(self) -> bool:
        """Whether this process could be lost, and workers are there or have to be."""
        if self.workers.backend != "auto" or forks_safely():
            return False
        may_kill = self.n_deaths > 0 or self.assignment.rank > 0  # failed blocks, drawn again
        return may_kill or are_left(self.workers.count, self.assignment.expected)

    def drawn_in_a_copy(self, jobs: Waiting) -> Iterator[Receipt]:
        """Receipts of the first tasks, which a copy of this process takes from a copy of the jobs.

        The same are then taken here; where the copy dies, the next task is the one it died of.
        """
        receipts = self.learning(self.drawn_here(jobs, compute))
        for receipt in forked(receipts, self.assignment.block_seconds):
            jobs.drop(receipt.done)
            yield receipt

    def learning(self, receipts: Iterable[Receipt]) -> Iterator[Receipt]:
        """The same, each learned from where nobody counts it."""
        for receipt in receipts:
            self.learn_from(receipt)
            yield receipt

    def drawn_here(
        self, jobs: Waiting, work: Callable[[Task], Receipt] = compute_here
    ) -> Iterator[Receipt]:
        """Receipts of the first tasks, until workers would pay; nothing is counted."""
        may_leave = self.workers.backend == "auto" and self.workers.count > 1
        for n_tasks, receipt in enumerate(map(work, self.tasks(jobs)), start=1):
            yield receipt
            pays = self.portions.seconds_per_block * jobs.left > INLINE_SECONDS
            if may_leave and pays and n_tasks > 1:
                return

    def run_in_workers(self, backend: Backend, jobs: Waiting) -> None:
        """Where a worker dies, find the block that kills and go on with the rest."""
        self.outcome.drew_here |= self.workers.backend not in ELSEWHERE
        while jobs.left:
            try:
                for receipt in backend.receipts(self.tasks(jobs)):
                    self.count(receipt)
                return
            except WorkerDiedError as died:
                missing = self.missing_under_way()
                self.note_death(len(missing) + jobs.left)
                accused = {(job.key, job.block) for task in died.suspects for job in task.jobs}
                jobs.put_back([job for job in missing if (job.key, job.block) not in accused])
                self.run_suspects(died, jobs, 2 * self.portions.n_workers)

    def note_death(self, n_left: int) -> None:
        """A process has died under its task; so many blocks are left."""
        self.n_deaths += 1
        self.progress.note(f"a worker died; {n_left} blocks to go")

    def missing_under_way(self) -> list[Job]:
        """Blocks that somebody had when a process died, and that nobody wrote."""
        self.gathering.wait()
        jobs = list(self.under_way.values())
        self.under_way.clear()
        if self.assignment.rank:  # what is there already is what they are to replace
            return jobs
        return still_missing(jobs, self.assignment.store)

    def run_suspects(self, died: WorkerDiedError, jobs: Waiting, n_under_way: int) -> None:
        """Do what a process may have died of away from others; the rest goes on waiting.

        The tasks that the backend names, or the blocks that processes were at when one of them
        died. Where it was none of these, so many tasks that may have been under way.
        """
        if died.suspects:
            self.run_apart(died.suspects)
            return
        keys = self.assignment.plan.keys
        spots = [spot for spot in died.spots if jobs.has(*spot)]
        jobs.drop(spots)
        alone = (self.assignment.task([Job(keys[key], block, key)]) for key, block in spots)
        if not self.run_apart(alone):
            self.run_apart(itertools.islice(self.tasks(jobs), n_under_way))

    def run_one_by_one(self, jobs: Collection[Job]) -> None:
        """Do blocks of which one may kill its process."""
        if jobs:
            unless_warned = itertools.takewhile(lambda _: not is_warned(), jobs)
            self.run_apart(self.assignment.task([job]) for job in unless_warned)

    def run_apart(self, tasks: Iterable[Task]) -> int:
        """Do tasks where they may kill; how many processes died of them."""
        with self.place_apart() as apart:
            quarantine = Quarantine(apart)
            for task in tasks:
                for receipt in quarantine.receipts(task):
                    self.count(receipt)
            return quarantine.n_deaths

    def place_apart(self) -> Place:
        """The backend's own place for tasks that may kill, or a process of this machine's."""
        is_here = self.workers.backend in IN_THIS_PROCESS
        make = LocalApart if is_here else getattr(self.backend, "apart", OneProcess)
        return cast(Place, make())

    # ---------------------------------------------------------------- tasks and receipts
    def tasks(self, jobs: Waiting) -> Iterator[Task]:
        """All jobs in order, as tasks whose size is decided when they are asked for."""
        while not is_warned() and (task := self.next_task(jobs)):
            self.under_way |= {(job.key, job.block): job for job in task.jobs}
            yield task

    def next_task(self, jobs: Waiting) -> Task | None:
        """All blocks of files that are to stay, where that pays, or as many as fill some time."""
        n_to_begin = self.prospect.n_to_begin(jobs) if self.prospect else 0
        if self.prospect and not n_to_begin:
            some, lasting = self.prospect.take(jobs, self.portions)
            if some:
                return self.assignment.task(some, lasting)
        n_blocks, n_left, before = self.portions.n_blocks(jobs.left), n_to_begin, None
        if self.prospect and not n_to_begin:
            n_left, before = self.prospect.left_before(jobs, self.portions)
        some = jobs.take(min(n_blocks, n_left or n_blocks), before)
        return self.assignment.task(some) if some else None

    def count(self, receipt: Receipt) -> None:
        """Note a finished task."""
        self.outcome.count(receipt)
        self.learn_from(receipt)
        for done in receipt.done:
            self.under_way.pop(done, None)
        self.progress.advance(len(receipt.done) * self.assignment.plan.block_size)
        self.watch.count(receipt)
        if not receipt.are_lasting:
            self.gathering.note(receipt.files)

    def learn_from(self, receipt: Receipt) -> None:
        """What the next tasks are to be like."""
        self.portions.learn_from(receipt)
        if self.prospect is not None:
            self.prospect.learn_from(receipt)


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
