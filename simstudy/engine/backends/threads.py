"""In threads of this process, for kernels that let go of Python's lock."""

from collections.abc import Iterable, Iterator

from simstudy.engine.backends.here import compute_here
from simstudy.engine.tasks import Receipt, Task


class Threads:
    """So many threads of this process."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers

    def receipts(self, tasks: Iterable[Task]) -> Iterator[Receipt]:
        from joblib import Parallel, delayed

        parallel = Parallel(
            n_jobs=self.n_workers,
            backend="threading",
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch="2*n_jobs",
        )
        yield from parallel(delayed(compute_here)(task) for task in tasks)
