"""In processes, which import the study's code for themselves: what they are sent, and check."""

import contextlib
import pickle
import re
import signal
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, cast

from simstudy.engine.backends.protocol import WorkerDiedError
from simstudy.engine.ownership import as_imported, digest_of
from simstudy.engine.tasks import Receipt, Task, compute
from simstudy.engine.threads import one_thread_each
from simstudy.errors import StaleCodeError, StudyError, UnreadableTaskError, describe


class Processes:
    """So many processes of loky's, kept for the next run that expects the same code.

    Parameters
    ----------
    expected
        Hash of the code that they must have loaded.
    idle_worker_timeout
        Seconds after which a process without work ends.
    """

    def __init__(self, n_workers: int, expected: str, idle_worker_timeout: float = 300.0) -> None:
        self.n_workers, self.expected = n_workers, expected
        self.idle_worker_timeout = float(idle_worker_timeout)

    def receipts(self, tasks: Iterable[Task]) -> Iterator[Receipt]:
        """Compute tasks.

        Raises
        ------
        WorkerDiedError
            Where a process ended; what was finished is written.
        """
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import BrokenProcessPool

        parallel = Parallel(
            n_jobs=self.n_workers,
            backend="loky",
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch="2*n_jobs",
            initializer=_begin,
            initargs=(self.expected,),
            idle_worker_timeout=self.idle_worker_timeout,
        )
        try:
            with deaf_to_interrupts():
                receipts = parallel(delayed(compute_packed)(packed(task)) for task in tasks)
            yield from receipts
        except BrokenProcessPool as error:
            raise _death(error) from error


class OneProcess:
    """A process for tasks that may kill it; started anew when they do."""

    def __enter__(self) -> Self:
        self._pool: Any = None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def receipt(self, task: Task) -> Receipt:
        """Compute a task.

        Raises
        ------
        WorkerDiedError
            Where the process ended.
        """
        from joblib.externals.loky import ProcessPoolExecutor
        from joblib.externals.loky.process_executor import BrokenProcessPool

        self._pool = self._pool or ProcessPoolExecutor(max_workers=1)
        try:
            with deaf_to_interrupts():
                promised = self._pool.submit(compute_packed, packed(task))
            return cast(Receipt, promised.result())
        except BrokenProcessPool as error:
            self._pool = None
            raise _death(error) from error


@contextlib.contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Processes and threads begun within it never hear Ctrl-C, which reaches the whole group.

    It is for the parent, which stops them; each of them would say with a traceback that it heard.
    What a thread blocks is handed down to all that it begins. The trackers of resources, Python's
    and loky's, may let signals through again when they start, so they have to be there before.
    """
    if not hasattr(signal, "pthread_sigmask"):  # there is none on Windows
        yield
        return
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as of_loky

    resource_tracker.ensure_running()
    of_loky.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _death(error: BaseException) -> WorkerDiedError:
    """How it ended: with a status of its own, or by a signal."""
    codes = re.search(r"exit codes of the workers are \{(.+?)\}", str(error))
    how = codes[1] if codes else describe(error)
    return WorkerDiedError(f"the process died: {how}", by_signal="EXIT(" not in how)


def _begin(_expected: str) -> None:
    """What a worker begins with: given other code to expect, joblib starts other workers."""


# ---------------------------------------------------------------- what is sent
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


# ---------------------------------------------------------------- in the worker
def compute_packed(sent: bytes) -> Receipt:
    """The work of a worker: load a task, hold its code to what is expected, and compute it."""
    try:
        task: Task = pickle.loads(sent)
    except Exception as error:  # an import that fails, a name that has gone
        raise UnreadableTaskError(describe(error)) from None
    with one_thread_each():  # libraries have not been told yet in a process of its own
        _refuse_other_code(task.witnesses, task.expected)
        return compute(task)


_checked: set[str] = set()  # what this process was found to have loaded


def _refuse_other_code(witnesses: Sequence[tuple[Any, ...]], expected: str) -> None:
    """Draw nothing where this process has loaded other code than the one that started it."""
    if not expected or expected in _checked:
        return
    found = as_imported(tuple(witnesses))
    if digest_of(found) != expected:
        raise StaleCodeError(found)
    _checked.add(expected)
