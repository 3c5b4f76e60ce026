"""How many blocks go into a task: as many as fill some time, and no more than memory has room for.

A task is a file, and what a kill can cost. Short tasks in a short run, so that a kill costs little;
longer ones as the run goes on, so that the number of files grows as the logarithm of its length.
"""

import time

from simstudy.engine.tasks import Receipt

PART_OF_RUN = 0.01  # of what a run took so far, in a long one: the most that a kill costs a worker
MOST_SECONDS = 20.0  # and never more
TASK_BYTES = 1 << 26  # of rows that a worker gathers before it writes them
TASKS_IN_A_FILE = 8  # in a short run: a task whose files are to stay has the work of so many
AHEAD_SECONDS = 30.0  # by which a scenario may be ahead of others, so that files can be drawn whole
PART_AHEAD = 8  # or, if that is more, this part of what the run took so far


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
        self.drawing_per_block = 0.0
        self.bytes_per_block = 0.0
        self._start = time.perf_counter()

    def learn_from(self, receipt: Receipt) -> None:
        """What a block costs is what it cost in the latest task: the first one compiles."""
        n_blocks = len(receipt.done)
        self.seconds_per_block = receipt.seconds / n_blocks
        self.drawing_per_block = (sum(receipt.seconds_each) + sum(receipt.data_each)) / n_blocks
        self.bytes_per_block = max(self.bytes_per_block, receipt.n_bytes / n_blocks)

    def n_blocks(self, n_left: int) -> int:
        """Of the next task, where so many are left: enough tasks for every worker."""
        if not self.seconds_per_block:
            return 1
        by_time = int(self.task_seconds / self.seconds_per_block)
        by_share = -(-n_left // (4 * self.n_workers))
        by_room = int(TASK_BYTES / self.bytes_per_block) if self.bytes_per_block else by_time
        return max(1, min(by_time, by_share, by_room))

    def may_take(self, n_blocks: int, n_left: int, n_beside: int = 0) -> bool:
        """Whether a task may have just so many blocks, where so many are left.

        Parameters
        ----------
        n_beside
            Blocks that are drawn in such tasks before any scenario has more of them than another.
        """
        if not (n_blocks and self.drawing_per_block):
            return False
        ahead = n_beside * self.drawing_per_block / self.n_workers
        return (
            n_blocks * self.drawing_per_block <= self.file_seconds
            and n_blocks * self.bytes_per_block <= TASK_BYTES
            and (self.n_workers == 1 or 2 * self.n_workers * n_blocks <= n_left)
            and ahead <= max(AHEAD_SECONDS, self.so_far / PART_AHEAD)
        )

    def fills(self, n_blocks: int) -> bool:
        """Whether so many blocks are enough for a task."""
        return 2 * n_blocks * self.drawing_per_block >= self.task_seconds

    @property
    def so_far(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._start

    @property
    def file_seconds(self) -> float:
        """Of work in the next task, where its files are to stay."""
        return min(max(TASKS_IN_A_FILE * self.least_seconds, self.task_seconds), MOST_SECONDS)

    @property
    def task_seconds(self) -> float:
        """Of work in the next task."""
        return max(self.least_seconds, min(PART_OF_RUN * self.so_far, MOST_SECONDS))
