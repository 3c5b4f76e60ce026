"""A run under way: what is missing is drawn, until all that is wanted is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

from simstudy.design.plan import Plan
from simstudy.engine.jobs import (
    Job,
    Jobs,
    failed_jobs,
    failed_replicates,
    in_shard,
    missing_jobs,
)
from simstudy.engine.meter import Meter
from simstudy.engine.outcome import Outcome
from simstudy.engine.ownership import Ownership, learn_from_run
from simstudy.engine.progress import Progress
from simstudy.engine.warning import OutOfTime
from simstudy.engine.workers import Workers
from simstudy.errors import StoreError
from simstudy.remote.paths import Place
from simstudy.store.blocks import Store
from simstudy.store.home import Home
from simstudy.store.layout import Keep
from simstudy.store.manifest import mark_outdated
from simstudy.store.remarks import remember, remembered

if TYPE_CHECKING:
    from simstudy.engine.watch import Watch

ROUNDS = 5  # of drawing what another run deleted meanwhile
PAUSES_SECONDS = (0.1, 0.5, 2.0)  # before looks at a list that lacks what was written


@dataclass
class Drawing:
    """A run under way, and what it did so far.

    Parameters
    ----------
    weights
        By scenario key, what a block costs, for the sizes of shards.
    check
        Refuses what can be told to be a mistake by a first block; False where there is none yet.
    """

    plan: Plan
    home: Home
    keep: Keep
    ownership: Ownership
    workers: Workers
    progress: Progress
    weights: Mapping[str, float] | None = None
    check: Callable[[Store], bool] | None = None
    outcome: Outcome = field(default_factory=Outcome)
    _wanted: Mapping[str, int] = field(default_factory=dict)
    _watching: Watch | None = None

    def draw(self, sizes: Mapping[str, int], shard: tuple[int, int] | None = None) -> None:
        """Compute what is missing of so many replicates by scenario key, or a shard's share of it.

        Raises
        ------
        StoreError
            Where another run deletes what this one writes.
        StudyError
            Where more has failed than the study allows, if only in what was stored before.
        """
        self._wanted = sizes
        jobs = self._missing(sizes, shard, tentative=True)
        careful: Collection[Job] = self._missing(sizes, shard, tentative=False).without(jobs)
        if len(jobs):
            self._check(self.home.store)
        for _ in range(ROUNDS):
            if not len(careful):  # which are failures that may yet come out well
                self._watch().refuse_failed()
            if not (len(jobs) or len(careful)):
                self.outcome.noticed = self._noticed()
                return
            self._run(jobs, careful=careful, is_share=shard is not None)
            jobs = self._missing_still(sizes, shard)  # another run may have started over
            careful = ()
        raise StoreError(
            f"the blocks of {self.home.store.files} vanish as they are written: another run keeps "
            "starting over there. Run this again when it has ended, or choose another out=..."
        )

    def _missing_still(self, sizes: Mapping[str, int], shard: tuple[int, int] | None) -> Jobs:
        """What is missing when all was drawn, after some more looks where it is anything.

        Network file systems and some object stores list a new file only seconds after it is there.
        """
        jobs = self._missing(sizes, shard, tentative=True)
        for pause in PAUSES_SECONDS:
            if len(jobs):
                time.sleep(pause)
                self.home.store.scan()
                jobs = self._missing(sizes, shard, tentative=True)
        return jobs

    def _missing(
        self, sizes: Mapping[str, int], shard: tuple[int, int] | None, *, tentative: bool
    ) -> Jobs:
        wanted = self._blocks(sizes)
        jobs = missing_jobs(self.plan, wanted, self.home.store, tentative=tentative)
        return in_shard(self.plan, jobs, shard, self.weights) if shard else jobs

    def _blocks(self, sizes: Mapping[str, int]) -> dict[str, int]:
        return {key: self.plan.n_blocks(n) for key, n in sizes.items()}

    def _run(
        self,
        jobs: Jobs,
        *,
        rank: int = 0,
        careful: Collection[Job] = (),
        is_share: bool = False,
    ) -> None:
        from simstudy.engine.assignment import Assignment
        from simstudy.engine.runner import run_jobs

        limit = self.workers.block_seconds
        assignment = Assignment(self.plan, self.home.store, self.keep, self.ownership, rank, limit)
        watch = self._watch(replaces_failures=rank > 0)
        try:
            outcome = run_jobs(
                assignment,
                jobs,
                workers=self.workers,
                progress=self.progress,
                careful=careful,
                is_share=is_share,
                watch=watch,
            )
        except OutOfTime as stop:
            self.outcome += stop.outcome
            self.home.store.scan()
            raise
        finally:
            if self._blocks_folder is not None:
                remember(self._blocks_folder, self.ownership.owner, watch.remarks)
            self._meter.write()
            self.outcome.spent = self._meter.spent
        self.outcome += outcome
        self.outcome.noticed = self._noticed()
        self.home.store.scan()
        if outcome.drew_here:
            learn_from_run(self.plan, self.ownership, self.keep.measures)

    def close(self) -> None:
        """Let go of what looks back at this run, so that its folder goes with its result."""
        self._watching, self.check = None, None

    def _check(self, store: Store) -> None:
        """Once, and of what is stored where anything is."""
        if self.check is not None and self.check(store):
            self.check = None

    def _check_files(self, names: Sequence[str]) -> None:
        """The same of what was just written."""
        if self.check is not None:
            here = self.home.store
            self._check(Store(here.files, here.rows_per_block, here.owner, among=names))

    @cached_property
    def _meter(self) -> Meter:
        """What blocks of this run take."""
        return Meter(self._blocks_folder, self.ownership.owner)

    @property
    def _blocks_folder(self) -> Place | None:
        return None if self.home.path is None else self.home.path / self.keep.folder

    def _noticed(self) -> list[str]:
        """What is known of the random numbers of all that is stored, and of this run."""
        found = self._watching.found if self._watching else {}
        folder = self._blocks_folder
        before = {} if folder is None else remembered(folder, self.ownership.owner)
        return list({**before, **found}.values())

    def _watch(self, *, replaces_failures: bool = False) -> Watch:
        """The same all along, told what is wanted now, and what of it has failed for good."""
        if self._watching is None:
            from simstudy.engine.watch import Watch

            self._watching = Watch(self.plan, self.progress, self._check_files, self._meter.note)
        if self.plan.max_failed is not None:
            blocks = self._blocks(self._wanted)
            stored = partial(failed_replicates, self.plan, self.home.store, blocks)
            self._watching.n_failed = {} if replaces_failures else stored()
        self._watching.wanted = self._wanted
        return self._watching

    def redraw_failures(self, sizes: Mapping[str, int]) -> None:
        """Draw the blocks that hold failures again; what comes outranks what is stored."""
        self._wanted = sizes
        jobs = failed_jobs(self.plan, self._blocks(sizes), self.home.store)
        if jobs:
            if self.home.path is not None:
                mark_outdated(self.home.path)
            self._run(jobs, rank=self.home.store.highest_rank + 1)

    def say_unfollowed(self) -> None:
        """Name once what nobody can tell the content of."""
        for name, what in self.ownership.unfollowed.items():
            self.progress.note(
                f"{name} ({what}) has neither source nor content that could be compared, so it "
                "counts as changed: what is drawn now will not be found again by a later run"
            )
