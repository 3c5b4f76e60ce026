"""A run under way: what is missing is drawn, until all that is wanted is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from simstudy.engine.assignment import Assignment
from simstudy.engine.jobs import Job, failed_jobs, in_shard, missing_jobs
from simstudy.engine.outcome import Outcome
from simstudy.engine.ownership import Ownership, learn_from_run
from simstudy.engine.progress import Progress
from simstudy.engine.runner import run_jobs
from simstudy.engine.workers import ELSEWHERE, Workers
from simstudy.errors import StoreError
from simstudy.plan import Plan
from simstudy.store.home import Home
from simstudy.store.layout import Keep
from simstudy.store.manifest import mark_outdated

ROUNDS = 5  # of drawing what another run deleted meanwhile


@dataclass
class Drawing:
    """A run under way, and what it did so far."""

    plan: Plan
    home: Home
    keep: Keep
    ownership: Ownership
    workers: Workers
    progress: Progress
    outcome: Outcome = field(default_factory=Outcome)

    def draw(self, sizes: Mapping[str, int], shard: tuple[int, int] | None = None) -> None:
        """Compute what is missing of so many replicates by scenario key, or a shard's share of it.

        Raises
        ------
        StoreError
            Where another run deletes what this one writes.
        """
        jobs = self._missing(sizes, shard, tentative=True)
        never = {(job.key, job.block) for job in jobs}
        every = self._missing(sizes, shard, tentative=False)
        careful = [job for job in every if (job.key, job.block) not in never]
        for _ in range(ROUNDS):
            if not (jobs or careful):
                return
            self._run(jobs, careful=careful)
            jobs = self._missing(sizes, shard, tentative=True)  # another run may have started over
            careful = []
        raise StoreError(
            f"the blocks of {self.home.store.files} vanish as they are written: another run keeps "
            "starting over there. Run this again when it has ended, or choose another out=..."
        )

    def _missing(
        self, sizes: Mapping[str, int], shard: tuple[int, int] | None, *, tentative: bool
    ) -> list[Job]:
        wanted = self._blocks(sizes)
        jobs = missing_jobs(self.plan, wanted, self.home.store, tentative=tentative)
        return in_shard(self.plan, jobs, shard) if shard else jobs

    def _blocks(self, sizes: Mapping[str, int]) -> dict[str, int]:
        return {key: self.plan.n_blocks(n) for key, n in sizes.items()}

    def _run(self, jobs: Sequence[Job], *, rank: int = 0, careful: Sequence[Job] = ()) -> None:
        assignment = Assignment(self.plan, self.home.store, self.keep, self.ownership, rank)
        self.outcome += run_jobs(
            assignment, jobs, workers=self.workers, progress=self.progress, careful=careful
        )
        self.home.store.scan()
        if self.workers.backend not in ELSEWHERE:
            learn_from_run(self.plan, self.ownership, self.keep.measures)

    def redraw_failures(self, sizes: Mapping[str, int]) -> None:
        """Draw the blocks that hold failures again; what comes outranks what is stored."""
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
