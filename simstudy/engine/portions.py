"""How many blocks go into a task: as many as fill some time, and no more than memory has room for.

A task is a file, and what a kill can cost. Short tasks in a short run, so that a kill costs little;
longer ones as the run goes on, so that the number of files grows as the logarithm of its length.
"""

import time

from simstudy.engine.tasks import Receipt

PART_OF_RUN = 0.01  # of what a run took so far, in a long one: the most that a kill costs a worker
MOST_SECONDS = 20.0  # and never more
TASK_BYTES = 1 << 26  # of rows that a worker gathers before it writes them


class Portions:
    """The size of the next task, from what the last ones were like.

    Parameters
    ----------
    least_seconds
        Of work in a task, in a short run.
    """

    def __init__(self, n_workers: int, least_seconds: float) -> None:
        self.n_workers, self.least_seconds = n_workers, least_seconds
        self.seconds_per_block = 0.0
        self.bytes_per_block = 0.0
        self._start = time.perf_counter()

    def learn_from(self, receipt: Receipt) -> None:
        """What a block costs is what it cost in the latest task: the first one compiles."""
        n_blocks = len(receipt.done)
        self.seconds_per_block = receipt.seconds / n_blocks
        self.bytes_per_block = max(self.bytes_per_block, receipt.n_bytes / n_blocks)

    def n_blocks(self, n_left: int) -> int:
        """Of the next task, where so many are left: enough tasks for every worker."""
        if not self.seconds_per_block:
            return 1
        by_time = int(self.task_seconds / self.seconds_per_block)
        by_share = -(-n_left // (4 * self.n_workers))
        by_room = int(TASK_BYTES / self.bytes_per_block) if self.bytes_per_block else by_time
        return max(1, min(by_time, by_share, by_room))

    @property
    def task_seconds(self) -> float:
        """Of work in the next task."""
        so_far = time.perf_counter() - self._start
        return max(self.least_seconds, min(PART_OF_RUN * so_far, MOST_SECONDS))
