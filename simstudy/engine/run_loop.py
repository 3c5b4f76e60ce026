"""The run loop: draws missing blocks until all requested blocks are stored."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

from simstudy.design.plan import Plan
from simstudy.engine.progress import Progress
from simstudy.engine.provenance import RunProvenance
from simstudy.engine.repeat import check_repeatable
from simstudy.engine.run_monitor import RunMonitor
from simstudy.engine.run_stats import RunStats
from simstudy.engine.scheduler import draw_blocks
from simstudy.engine.tasks import TaskFactory, TaskResult
from simstudy.engine.work_queue import (
    BlockId,
    BlockSet,
    blocks_of_shard,
    blocks_with_failures,
    missing_blocks,
    n_failed_replicates,
)
from simstudy.engine.workers import Workers
from simstudy.errors import SimstudyError, StoreError
from simstudy.remote.paths import Place
from simstudy.store.manifest import mark_outdated
from simstudy.store.run_records import RunRecord, Times, read_records, write_record
from simstudy.store.study_folder import StudyFolder

Results = Generator[TaskResult, None, None]

ROUNDS = 5  # of drawing what another run deleted meanwhile
WRITTEN_EVERY = 30.0  # seconds: what a run that is killed does not say of itself
PAUSES_SECONDS = (0.1, 0.5, 2.0)  # before looks at a list that lacks what was written


@dataclass
class RunLoop:
    """A run in progress."""

    plan: Plan
    home: StudyFolder
    provenance: RunProvenance
    workers: Workers
    progress: Progress
    stats: RunStats = field(default_factory=RunStats)
    monitor: RunMonitor = field(init=False)
    _times: Times = field(default_factory=lambda: Times(_now(), ""))
    _name: str = field(default_factory=lambda: uuid.uuid4().hex)
    _written: float = field(default_factory=time.monotonic)
    _first_blocks: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        code = self.provenance
        self.monitor = RunMonitor(self.plan, self.progress, code.generators, code.readers)

    def lacks_any(self, sizes: Mapping[str, int], shard: tuple[int, int] | None = None) -> bool:
        """Whether any block is missing."""
        return len(self._missing(sizes, shard, retries=True)) > 0

    def draw(self, sizes: Mapping[str, int], shard: tuple[int, int] | None = None) -> Results:
        """Draw the missing blocks of the given numbers of replicates, or of one share.

        Yields
        ------
        TaskResult
            As each task is finished; nothing is drawn that nobody iterates for.

        Raises
        ------
        StoreError
            Where another run deletes what this one writes.
        StudyError
            Where more has failed than the study allows, if only in what was stored before.
        """
        blocks = self._missing(sizes, shard, retries=True)
        retries: Collection[BlockId] = self._missing(sizes, shard).without(blocks)
        for _ in range(ROUNDS):
            self._prepare_monitor(sizes)
            if not retries:  # which are failures that may yet come out well
                self.monitor.raise_if_too_many_failed()
            if not (blocks or retries):
                self._check_repeatable()
                self.stats.noticed = self._warnings()
                return
            yield from self._draw(blocks, retries)
            blocks, retries = self._still_missing(sizes, shard), ()
        raise StoreError(
            f"the blocks of {self.home.store.files} vanish as they are written: another run keeps "
            "starting over there. Run this again when it has ended, or choose another out=..."
        )

    def redraw_failures(self, sizes: Mapping[str, int]) -> Results:
        """Draw blocks with failures again; the new blocks replace the stored ones."""
        blocks = blocks_with_failures(self.plan, self._n_blocks(sizes), self.home.store)
        if blocks:
            if self.home.path is not None:
                mark_outdated(self.home.path)
            self._prepare_monitor(sizes, replaces_failures=True)
            yield from self._draw(blocks, generation=self.home.store.highest_generation + 1)

    # ---------------------------------------------------------------- which blocks
    def _missing(
        self, sizes: Mapping[str, int], shard: tuple[int, int] | None, *, retries: bool = False
    ) -> BlockSet:
        store, wanted = self.home.store, self._n_blocks(sizes)
        blocks = missing_blocks(self.plan, wanted, store, retries=retries)
        return blocks_of_shard(self.plan, blocks, shard) if shard else blocks

    def _still_missing(self, sizes: Mapping[str, int], shard: tuple[int, int] | None) -> BlockSet:
        """The blocks missing after a round, checked again after short pauses.

        Network file systems and some object stores list a new file only seconds after it is there.
        """
        blocks = self._missing(sizes, shard, retries=True)
        for pause in PAUSES_SECONDS:
            if blocks:
                time.sleep(pause)
                self.home.store.scan()
                blocks = self._missing(sizes, shard, retries=True)
        return blocks

    def _n_blocks(self, sizes: Mapping[str, int]) -> dict[str, int]:
        return {key: self.plan.n_blocks(n) for key, n in sizes.items()}

    # ---------------------------------------------------------------- drawing them
    def _draw(
        self, blocks: Collection[BlockId], retries: Collection[BlockId] = (), *, generation: int = 0
    ) -> Results:
        store = self.home.store
        limit = self.workers.block_seconds
        factory = TaskFactory(self.plan, store, self.provenance, generation, limit)
        begun = time.perf_counter()
        self.monitor.note_code()
        try:
            for result in draw_blocks(
                factory, blocks, workers=self.workers, progress=self.progress, retries=retries
            ):
                self.stats.count(self.plan, result)
                self._times = self._times._replace(last=_now())
                if time.monotonic() - self._written > WRITTEN_EVERY:
                    self._write_notes()
                self.monitor.check(result)
                self._first_blocks |= {key: None for key, block in result.done if block == 0}
                yield result
        finally:
            self.stats.seconds += time.perf_counter() - begun
            self.stats.noticed = self._warnings()
            self._write_notes()
            store.scan()

    def _check_repeatable(self) -> None:
        """Draw first blocks of this run again in another process."""
        keys, self._first_blocks = self._first_blocks, {}
        if keys:
            found = check_repeatable(
                self.plan,
                self.home.store,
                keys,
                code=self.provenance.expected,
                run_seconds=self.stats.seconds,
            )
            self.monitor.note_unrepeatable(found)
            if found:
                self._write_notes()

    def _write_notes(self) -> None:
        """Write what blocks took, and remarks on them; failing to do so does not stop the run."""
        remarks, folder = self.monitor.remarks, self.blocks_folder
        if (self._times.last or remarks) and folder is not None:
            record = RunRecord(self.stats.spent, self._times, dict(remarks))
            with contextlib.suppress(OSError, SimstudyError):
                write_record(folder, self._name, self.provenance.of_blocks, record)
        self._written = time.monotonic()

    @property
    def blocks_folder(self) -> Place | None:
        """The folder of the blocks; None for a temporary store."""
        return self.home.blocks

    def _prepare_monitor(
        self, sizes: Mapping[str, int], *, replaces_failures: bool = False
    ) -> None:
        """Give the monitor the requested sizes and the stored failures."""
        self.monitor.wanted = sizes
        if self.plan.max_failed is not None:
            n_failed = n_failed_replicates(self.plan, self.home.store, self._n_blocks(sizes))
            self.monitor.n_failed = {} if replaces_failures else n_failed

    def _warnings(self) -> list[str]:
        """Warnings about random numbers, of stored blocks and of this run."""
        return list({**self._stored_warnings, **self.monitor.warnings}.values())

    @cached_property
    def _stored_warnings(self) -> dict[str, str]:
        if self.blocks_folder is None or self.home.store.label:  # a share reads no other's records
            return {}
        return read_records(self.blocks_folder, self.provenance.of_blocks).first_warnings


def _now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
