"""Chooses the number of blocks per task, by time and by memory."""

from __future__ import annotations

import time

from simstudy.engine.tasks import TaskResult

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
        by_time = int(self.task_seconds / self.seconds_per_block)
        least = int(self.least_seconds * MIN_PART / self.seconds_per_block)
        n_parts = 4 * self.n_workers if self.n_workers > 1 else 1
        by_share = max(-(-n_left // n_parts), least)
        by_room = int(TASK_BYTES / self.bytes_per_block) if self.bytes_per_block else by_time
        return max(1, min(by_time, by_share, by_room))

    @property
    def task_seconds(self) -> float:
        """The intended duration of the next task."""
        so_far = time.perf_counter() - self._start
        return max(self.least_seconds, min(PART_OF_RUN * so_far, MAX_SECONDS))
