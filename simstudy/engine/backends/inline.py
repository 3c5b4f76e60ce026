"""In this process, one task after the other."""

from collections.abc import Iterable, Iterator

from simstudy.engine.backends.here import compute_here
from simstudy.engine.tasks import Receipt, Task


class Inline:
    """In this process: takes a task only when the last one is done."""

    def receipts(self, tasks: Iterable[Task]) -> Iterator[Receipt]:
        return map(compute_here, tasks)
