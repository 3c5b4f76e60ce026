"""The number of blocks of a task, by time and by memory."""

from __future__ import annotations

import time

from simstudy.engine.tasks import TaskResult

TASK_SECONDS = 0.25  # duration of a task in a short run: 1000 times what it costs to submit it
PART_OF_RUN = 0.01  # duration of a task in a long run, as a part of the time since it began
MAX_SECONDS = 20.0  # longest task: what a kill costs a worker
LEAST_PART = 0.1  # of the duration, at the end of a run, when workers share what is left
TASK_BYTES = 1 << 26  # largest task: rows that a worker holds before it writes them


class TaskSizes:
    """Chooses the number of blocks of the next task.

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
        return max(self.least_seconds, min(PART_OF_RUN * so_far, MAX_SECONDS))
