"""Blocks to workers to store.

The first blocks run in this process, which measures what a block costs; only then is it decided
how many go into a task and whether starting worker processes pays. Workers write what they
compute, so that nothing finished depends on the parent.
"""

import itertools
import json
import os
import pickle
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import pyarrow as pa

from simstudy.design import Plan
from simstudy.engine.block import Address, draw_block, failed_block
from simstudy.engine.failures import is_machine_trouble
from simstudy.engine.ownership import Ownership, as_imported
from simstudy.engine.threads import drawn_with_one_thread, one_thread_each
from simstudy.errors import (
    ConfigError,
    StaleCodeError,
    StoreError,
    StudyError,
    UnreadableTaskError,
    describe,
)
from simstudy.identity.fingerprint import Fingerprint, changes
from simstudy.identity.names import short_hash
from simstudy.store.blocks import TENTATIVE, Group, Store, write_blocks
from simstudy.store.files import trouble_in_words
from simstudy.store.layout import ERROR, Block, has_text
from simstudy.store.owner import NOBODY, Owner

TASK_SECONDS = 0.25  # of work in a task: what a kill can lose, and 1000 times its overhead
INLINE_SECONDS = 1.0  # of work left below which starting workers does not pay
FILES_BEFORE_COMPACTION = 400  # loose files: few enough to list and verify in a moment
FAILURES_SHOWN = 10  # of which a run remembers the text
BACKENDS = ("auto", "loky", "threads", "inline")


class Job(NamedTuple):
    """One block to compute, of the scenario with this key."""

    scenario: Any
    block: int
    key: str


Keep = Callable[[Plan, Sequence[Block]], pa.Table]
"""Turns blocks into the table that is kept of them, in order: all of their rows, or moments."""


class Task(NamedTuple):
    """Some blocks, what to keep of them, where, whose they are, and which they outrank.

    `witnesses` are fingerprinted by the worker, which draws nothing where its code is not the
    `expected` one: it imports for itself, from files that may have been edited meanwhile.
    """

    plan: Plan
    jobs: tuple[Job, ...]
    keep: Keep
    folder: Path
    owner: Owner = NOBODY
    rank: int = 0
    witnesses: tuple[tuple[Any, ...], ...] = ()
    expected: str = ""


class Receipt(NamedTuple):
    """What a worker says of a task whose blocks are written."""

    done: tuple[tuple[str, int], ...]  # keys and blocks: scenarios do not travel back
    seconds: float
    n_failed: int
    first_failure: tuple[Address, str] | None
    seconds_each: tuple[float, ...]  # of drawing each block, without writing


class Progress(Protocol):
    """Is told what is to be done, and what is done."""

    def begin(self, n_rep: int) -> None: ...
    def advance(self, n_rep: int) -> None: ...
    def note(self, text: str) -> None: ...


class Silent:
    """No progress is shown."""

    def begin(self, n_rep: int) -> None:
        """Say nothing."""

    def advance(self, n_rep: int) -> None:
        """Say nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""


@dataclass(frozen=True)
class Workers:
    """How blocks are computed; no choice here moves a number.

    Parameters
    ----------
    backend
        `auto` (in this process while that is the fastest, then loky), `loky` (processes),
        `threads`, or `inline` (this process).
    n_jobs
        Workers; None means one per core that this process may use (`SLURM_CPUS_PER_TASK` where
        Slurm set it).
    """

    backend: str = "auto"
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise ConfigError(f"backend={self.backend!r}: there is {', '.join(BACKENDS)}.")
        if self.n_jobs is not None and self.n_jobs < 1:
            raise ConfigError(
                f"n_jobs={self.n_jobs}: work needs at least one worker. "
                "Give 1 or more, or leave it out to use every core."
            )

    @property
    def count(self) -> int:
        """Workers to use."""
        return self.n_jobs or available_cores()


def available_cores() -> int:
    """Cores that this process may use."""
    slurm = os.environ.get("SLURM_CPUS_PER_TASK", "")
    if slurm.isdecimal():
        return int(slurm)
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@dataclass
class Outcome:
    """What a run did.

    `seconds_per_block` is the least time to draw a block of each scenario, by key: the first one
    may have paid for compiling.
    """

    n_blocks: int = 0
    n_failed: int = 0
    seconds: float = 0.0
    failures: list[tuple[Address, str]] = field(default_factory=list)
    seconds_per_block: dict[str, float] = field(default_factory=dict)

    def count(self, receipt: Receipt) -> None:
        """Add a finished task."""
        self.n_blocks += len(receipt.done)
        self.n_failed += receipt.n_failed
        if receipt.first_failure and len(self.failures) < FAILURES_SHOWN:
            self.failures.append(receipt.first_failure)
        for (key, _), seconds in zip(receipt.done, receipt.seconds_each, strict=True):
            self._least(key, seconds)

    def __iadd__(self, other: "Outcome") -> "Outcome":
        """Another round of the same run."""
        self.n_blocks += other.n_blocks
        self.n_failed += other.n_failed
        self.seconds += other.seconds
        self.failures += other.failures
        for key, seconds in other.seconds_per_block.items():
            self._least(key, seconds)
        return self

    def _least(self, key: str, seconds: float) -> None:
        self.seconds_per_block[key] = min(seconds, self.seconds_per_block.get(key, seconds))


def missing_jobs(
    plan: Plan, wanted: Mapping[str, int], store: Store, *, tentative: bool = False
) -> list[Job]:
    """Blocks that are wanted and not stored, the first of every scenario before the second of any.

    Parameters
    ----------
    wanted
        Blocks wanted of each scenario, by its key.
    tentative
        Whether blocks that the machine made fail will do.
    """
    lacking = {key: ~store.have(key, wanted[key], tentative=tentative) for key in plan.keys}
    return _breadth_first(plan, lacking)


def failed_jobs(plan: Plan, wanted: Mapping[str, int], store: Store) -> list[Job]:
    """Stored blocks among those wanted that hold a failure."""
    return _breadth_first(plan, {key: store.failed(key, wanted[key]) for key in plan.keys})


def _breadth_first(plan: Plan, chosen: Mapping[str, np.ndarray]) -> list[Job]:
    jobs = [
        Job(plan.keys[key], block, key)
        for key, which in chosen.items()
        for block in np.flatnonzero(which).tolist()
    ]
    return sorted(jobs, key=lambda job: job.block)  # stable: scenarios keep their order


def in_shard(plan: Plan, jobs: Iterable[Job], shard: tuple[int, int]) -> list[Job]:
    """The jobs that belong to shard `i` of `n`, whatever is stored already."""
    index, n_shards = shard
    places = {key: place for place, key in enumerate(plan.keys)}
    size = len(places)
    return [job for job in jobs if (job.block * size + places[job.key]) % n_shards == index - 1]


def run_jobs(
    plan: Plan,
    jobs: Sequence[Job],
    store: Store,
    *,
    keep: Keep,
    workers: Workers,
    progress: Progress | None = None,
    ownership: Ownership | None = None,
    rank: int = 0,
    careful: Sequence[Job] = (),
) -> Outcome:
    """Compute and store blocks; whatever stops it, what was finished stays.

    Parameters
    ----------
    ownership
        What workers are held to: their code must be this process's. None holds them to nothing.
    rank
        Above that of stored blocks which these replace.
    careful
        Blocks that the machine made fail before, done last and in a process of their own.

    Raises
    ------
    StoreError
        Where the results cannot be written (a full disk, say), or the code was edited under the
        run, so that workers would draw something else.
    """
    run = _Run(plan, store, keep, workers, progress or Silent(), ownership, rank)
    run.progress.begin((len(jobs) + len(careful)) * plan.block_size)
    start = time.perf_counter()
    with trouble_in_words(store.folder), one_thread_each():
        try:
            run.all(list(jobs))
            run.one_by_one(careful)
        except StaleCodeError as stale:
            raise run.edited(stale) from None
        except UnreadableTaskError as error:
            raise StoreError(
                f"workers cannot load the study ({error}): its code was edited under this run, or "
                "cannot be sent to another process. What was finished is kept. Run again, or use "
                "backend=threads or backend=inline."
            ) from None
    run.outcome.seconds = time.perf_counter() - start
    return run.outcome


def compute(task: Task) -> Receipt:
    """Draw the blocks of a task and write them as one file."""
    blocks, seconds = [], []
    for job in task.jobs:
        start = time.perf_counter()
        blocks.append(_drawn(task.plan, job))
        seconds.append(time.perf_counter() - start)
    return _written(task, blocks, seconds)


def _drawn(plan: Plan, job: Job) -> Block:
    """A block; where not even its threads can be looked at, the machine has run out."""
    try:
        return drawn_with_one_thread(partial(draw_block, plan, job.scenario, job.block))
    except OSError as error:
        if not is_machine_trouble(error):
            raise
        return failed_block(plan, job.scenario, job.block, describe(error), machine=True)


def packed(task: Task) -> bytes:
    """A task as it is sent to a worker.

    Raises
    ------
    StudyError
        Where it cannot be: it holds something that lives in this process only.
    """
    from joblib.externals.loky.backend.reduction import dumps

    try:
        return bytes(dumps(task))
    except Exception as error:  # whatever an object raises that will not be pickled
        raise StudyError(
            f"the study cannot be sent to worker processes: {describe(error)}. Put its code into a "
            "module that workers can import, or use backend=threads or backend=inline."
        ) from error


def compute_packed(sent: bytes) -> Receipt:
    """The work of a worker: load a task, and compute it."""
    try:
        task = pickle.loads(sent)
    except Exception as error:  # an import that fails, a name that has gone
        raise UnreadableTaskError(describe(error)) from None
    return compute_alone(task)


def compute_alone(task: Task) -> Receipt:
    """The same in a worker process of its own, where libraries have not been told yet."""
    with one_thread_each():
        _refuse_other_code(task)
        return compute(task)


_checked: set[str] = set()  # what this process was found to have loaded


def _refuse_other_code(task: Task) -> None:
    """Draw nothing where this process has loaded other code than the one that started it."""
    if not task.expected or task.expected in _checked:
        return
    found = as_imported(task.witnesses)
    if digest_of(found) != task.expected:
        raise StaleCodeError(found)
    _checked.add(task.expected)


def digest_of(found: Sequence[Fingerprint]) -> str:
    """One hash of some fingerprints."""
    return short_hash(json.dumps(list(found), sort_keys=True), 32)


def _nothing(_expected: str) -> None:
    """What a worker begins with: given other code to expect, joblib starts other workers."""


def _written(task: Task, blocks: Sequence[Block], seconds: Sequence[float]) -> Receipt:
    """Blocks that the machine made fail go into a file of their own, to be drawn again."""
    start = time.perf_counter()
    pairs = list(zip(task.jobs, blocks, strict=True))
    for by_machine in (False, True):
        few = [(job, block) for job, block in pairs if block.machine == by_machine]
        if few:
            _write(task, *zip(*few, strict=True), rank=TENTATIVE if by_machine else task.rank)
    n_failed = sum(block.n_failed for block in blocks)
    failure = _first_failure(task.plan, task.jobs, blocks) if n_failed else None
    total = sum(seconds) + time.perf_counter() - start
    done = tuple((job.key, job.block) for job in task.jobs)
    return Receipt(done, total, n_failed, failure, tuple(seconds))


def _write(task: Task, jobs: Sequence[Job], blocks: Sequence[Block], *, rank: int) -> None:
    groups = [Group(job.key, job.block, 1) for job in jobs]
    table = task.keep(task.plan, blocks)
    write_blocks(task.folder, groups, table, owner=task.owner, rank=rank)


def _first_failure(
    plan: Plan, jobs: Sequence[Job], blocks: Sequence[Block]
) -> tuple[Address, str] | None:
    for job, block in zip(jobs, blocks, strict=True):
        if block.n_failed:
            errors = block.columns[ERROR].reshape(plan.block_size, -1)
            row, cell = np.argwhere(has_text(errors))[0]
            rep = job.block * plan.block_size + int(row)
            return Address(job.key, rep), errors[row, cell]
    return None


class _OneProcess:
    """A process for tasks that may kill it; started anew when they do."""

    died_of = ""

    def __enter__(self) -> "_OneProcess":
        self._pool: Any = None
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def run(self, task: Task) -> Receipt | None:
        """The task's receipt; None where the process died."""
        from joblib.externals.loky import ProcessPoolExecutor
        from joblib.externals.loky.process_executor import BrokenProcessPool

        self._pool = self._pool or ProcessPoolExecutor(max_workers=1)
        try:
            return cast(Receipt, self._pool.submit(compute_packed, packed(task)).result())
        except BrokenProcessPool as error:
            codes = re.search(r"exit codes of the workers are \{(.+?)\}", str(error))
            self.died_of = f"the process died: {codes[1] if codes else describe(error)}"
            self._pool = None
            return None


class _Run:
    """One run: its state, and the ways to get blocks done."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        keep: Keep,
        workers: Workers,
        progress: Progress,
        ownership: Ownership | None,
        rank: int,
    ) -> None:
        self.plan, self.store, self.keep = plan, store, keep
        self.workers, self.progress = workers, progress
        self.ownership, self.rank = ownership, rank
        self.expected = digest_of(ownership.expected) if ownership else ""
        self.outcome = Outcome()
        self.seconds_per_block = 0.0
        self.n_loose = store.n_files

    def all(self, jobs: list[Job]) -> None:
        if self.workers.backend in ("auto", "inline"):
            jobs = self.inline(jobs)
        if jobs and self.workers.backend in ("auto", "loky"):
            self.in_processes(jobs)
        elif jobs:
            self.stream(jobs, "threading", compute)

    def one_by_one(self, jobs: Sequence[Job]) -> None:
        """Blocks of which one may kill its process."""
        with _OneProcess() as alone:
            for job in jobs:
                self.quarantine(self.task([job]), alone)

    def inline(self, jobs: list[Job]) -> list[Job]:
        """Work in this process until workers would pay; what is left then."""
        may_leave = self.workers.backend == "auto" and self.workers.count > 1
        for task in self.tasks(jobs):
            self.done(compute(task))
            n_done = self.outcome.n_blocks
            pays = self.seconds_per_block * (len(jobs) - n_done) > INLINE_SECONDS
            if may_leave and pays and n_done > 1:
                return jobs[n_done:]
        return []

    def blocks_per_task(self, n_left: int) -> int:
        """About a quarter of a second's worth, and enough tasks for every worker."""
        if not self.seconds_per_block:
            return 1
        by_time = int(TASK_SECONDS / self.seconds_per_block)
        by_share = -(-n_left // (4 * self.workers.count))
        return max(1, min(by_time, by_share))

    def task(self, jobs: Sequence[Job]) -> Task:
        few = {job.key: job.scenario for job in jobs}
        witnesses = self.ownership.witnesses if self.ownership else ()
        return Task(
            self.plan.only(few.values()), tuple(jobs), self.keep, self.store.folder,
            self.store.owner.only(few), self.rank, witnesses, self.expected,
        )  # fmt: skip

    def done(self, receipt: Receipt) -> None:
        """Count a finished task; the cost of a block is that of the latest (the first compiles)."""
        self.outcome.count(receipt)
        self.seconds_per_block = receipt.seconds / len(receipt.done)
        self.progress.advance(len(receipt.done) * self.plan.block_size)
        self.n_loose += 1
        if self.n_loose > FILES_BEFORE_COMPACTION:
            self.store.compact(recent_only=True)
            self.n_loose = self.store.n_files

    def tasks(self, jobs: list[Job]) -> Iterator[Task]:
        """Tasks whose size follows what blocks turn out to cost."""
        at = 0
        while at < len(jobs):
            n = self.blocks_per_task(len(jobs) - at)
            yield self.task(jobs[at : at + n])
            at += n

    def stream(self, jobs: list[Job], backend: str, work: Callable[[Any], Receipt]) -> None:
        from joblib import Parallel, delayed

        own: dict[str, Any] = {}
        if backend == "loky":
            own = {"initializer": _nothing, "initargs": (self.expected,)}
        parallel = Parallel(
            n_jobs=self.workers.count,
            backend=backend,
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch="2*n_jobs",
            **own,
        )
        sent = map(packed, self.tasks(jobs)) if backend == "loky" else self.tasks(jobs)
        for receipt in parallel(delayed(work)(task) for task in sent):
            self.done(receipt)

    def in_processes(self, jobs: list[Job]) -> None:
        """loky; where a worker dies, find the block that kills and go on with the rest."""
        from joblib.externals.loky.process_executor import BrokenProcessPool

        while jobs:
            try:
                self.stream(jobs, "loky", compute_packed)
                return
            except BrokenProcessPool:
                jobs = self.still_missing(jobs)
                self.progress.note(f"a worker died; {len(jobs)} blocks to go")
                jobs = self.suspects(jobs)

    def edited(self, stale: StaleCodeError) -> StoreError:
        """Why a worker drew nothing: it imported code that is not the run's."""
        assert self.ownership is not None
        pairs = zip(self.ownership.expected, stale.found, strict=True)
        found = dict.fromkeys(line for ours, its in pairs for line in changes(ours, its))
        return StoreError(
            f"workers load other code than this run began with: {'; '.join(list(found)[:5])}. "
            "It was edited meanwhile, or this process changed it after importing it, so blocks of "
            "two codes would mix; none was drawn. What was finished is kept as the old code's. "
            "Run again: the new code is then a run of its own. Where code is changed on purpose "
            "after it is imported, use backend=threads or backend=inline."
        )

    def still_missing(self, jobs: list[Job]) -> list[Job]:
        self.store.scan()
        have = {
            key: self.store.have(key, max(job.block for job in jobs) + 1, tentative=True)
            for key in {job.key for job in jobs}
        }
        return [job for job in jobs if not have[job.key][job.block]]

    def suspects(self, jobs: list[Job]) -> list[Job]:
        """Do the tasks that may have been under way, away from others; the rest is returned."""
        before = self.outcome.n_blocks
        with _OneProcess() as alone:
            for task in itertools.islice(self.tasks(jobs), 2 * self.workers.count):
                self.quarantine(task, alone)
        return jobs[self.outcome.n_blocks - before :]

    def quarantine(self, task: Task, alone: "_OneProcess") -> None:
        """Find the block that kills its process; where it does so twice, that is its result.

        Twice, because somebody else may have killed the first one.
        """
        receipt = alone.run(task)
        if receipt is None and len(task.jobs) > 1:
            for job in task.jobs:
                self.quarantine(self.task([job]), alone)
        else:
            self.done(receipt or alone.run(task) or self.deadly(task, alone.died_of))

    def deadly(self, task: Task, reason: str) -> Receipt:
        """The blocks of a task recorded as failed: by the machine's fault, if a signal ended it."""
        by_signal = "EXIT(" not in reason
        blocks = [
            failed_block(task.plan, one.scenario, one.block, reason, machine=by_signal)
            for one in task.jobs
        ]
        return _written(task, blocks, [0.0] * len(blocks))
