"""On a Dask cluster: of this machine's own, one that runs already, or one that a class starts.

Tasks go as futures, not through joblib: a task that kills its workers is then named by the
scheduler, and the rest goes on. A scheduler runs a task again whose worker died, on another worker,
and gives it up after the fourth (one that is started here: after the first); what becomes of it
then is `quarantine`'s business.
"""

import itertools
import pickle
import sys
import time
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from multiprocessing import parent_process
from typing import Any

from simstudy.engine.backends import dask_clusters
from simstudy.engine.backends.dask_clusters import (
    connected,
    refuse_another_version,
    refuse_both,
    refuse_other_versions,
    started,
    threads_of,
    threads_there,
)
from simstudy.engine.backends.processes import compute_packed, packed
from simstudy.engine.backends.protocol import Place, WorkerDiedError
from simstudy.engine.tasks import Receipt, Task
from simstudy.engine.time_limits import in_an_expendable_process
from simstudy.errors import StoreError, describe

SCHEDULER_SECONDS = 0.005  # of work for each worker in a task: a scheduler hands out 600 a second
LOOK_SECONDS = 1.0  # between two looks at how many workers there are
TOLD_BESIDE = 2  # tasks for each thread of a worker, so that none waits for the next


class Dask:
    """A cluster of Dask's workers, on this machine or on many that share their files.

    Parameters
    ----------
    n_workers
        Of a cluster that is started here; each has one thread.
    address
        Of a scheduler that runs already, such as `tcp://10.0.0.1:8786`; None starts a cluster,
        which opens no port beyond the loopback.
    cluster
        A class that starts one, as `module:Class`, such as `dask_jobqueue:SLURMCluster`.
    cluster_options
        What that class is told; `n_workers` workers are then asked of it.
    timeout
        Seconds to wait for a scheduler and its first worker.

    Raises
    ------
    ConfigError
        Where Dask is not installed, no scheduler answers, or its workers could not do the work.
    """

    def __init__(
        self,
        n_workers: int,
        address: str | None = None,
        cluster: str | None = None,
        cluster_options: Mapping[str, Any] | None = None,
        timeout: float = 30.0,
    ) -> None:
        refuse_both(address, cluster)
        self._open = ExitStack()
        self.close = weakref.finalize(self, self._open.close)
        try:
            where = address or started(self._open, n_workers, cluster, cluster_options or {})
            self._client = self._open.enter_context(connected(where, float(timeout)))
            self._asked = 0 if address else n_workers  # of which some may still have to begin
            self.n_workers = max(self._asked, threads_of(self._client, float(timeout)))
            refuse_other_versions(self._client)
        except BaseException:
            self.close()
            raise
        self._looked = time.monotonic()
        self.task_seconds = SCHEDULER_SECONDS * self.n_workers

    def receipts(self, tasks: Iterable[Task]) -> Iterator[Receipt]:
        """Compute tasks.

        Raises
        ------
        WorkerDiedError
            With the tasks whose workers died again and again; all others are finished then.
        StoreError
            Where the scheduler has gone, or workers write where this process does not see it.
        """
        waiting, under_way = iter(tasks), _UnderWay(self._client)
        under_way.fill(waiting, self._room())
        suspects: list[Task] = []
        for task, receipt in under_way.finished():
            if isinstance(receipt, Receipt):
                yield receipt
            else:
                suspects.append(task)
            if not suspects:
                under_way.fill(waiting, self._room())
        if suspects:
            raise WorkerDiedError(DIED, suspects)

    def _room(self) -> int:
        """Tasks that may be under way, among the workers that there are by now.

        Workers join as a batch system begins their jobs, and go as it ends them.
        """
        now = time.monotonic()
        if now - self._looked > LOOK_SECONDS:
            self._looked = now
            self.n_workers = max(self._asked, threads_there(self._client))
        return TOLD_BESIDE * self.n_workers

    def apart(self) -> Place:
        """For tasks that may kill a worker: each goes alone."""
        return nullcontext(Apart(self._client))


DIED = "the process died: each of the Dask workers that took it, one after the other"


class Apart:
    """Workers that a task may kill; the cluster puts others in their place."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def receipt(self, task: Task) -> Receipt:
        """Compute a task.

        Raises
        ------
        WorkerDiedError
            Where no worker survives it.
        """
        under_way = _UnderWay(self._client)
        under_way.fill(iter([task]), 1)
        ((_, receipt),) = under_way.finished()
        if not isinstance(receipt, Receipt):
            raise WorkerDiedError(DIED, [task], by_signal=False)
        return receipt


# ---------------------------------------------------------------- tasks under way
class _UnderWay:
    """Tasks that were handed to the scheduler and are not back."""

    def __init__(self, client: Any) -> None:
        from distributed import as_completed

        self._client = client
        self._tasks: dict[Any, Task] = {}
        self._completed = as_completed(loop=client.loop, with_results=True, raise_errors=False)
        self._paths, self._versions = _own_paths(), dask_clusters.own_versions()
        self._seen = False

    def fill(self, tasks: Iterator[Task], room: int) -> None:
        """Hand out tasks until so many are under way."""
        for task in itertools.islice(tasks, max(0, room - len(self._tasks))):
            told = packed(task), self._paths, self._versions, not self._seen
            future = self._client.submit(compute_elsewhere, *told, pure=False)
            self._tasks[future.key] = task
            self._completed.add(future)

    def finished(self) -> Iterator[tuple[Task, Receipt | None]]:
        """Tasks with their receipts as they come; None where the workers died."""
        from distributed import KilledWorker

        for future, found in self._completed:
            task = self._tasks.pop(future.key)
            if future.status == "finished":
                receipt, files = found
                self._refuse_elsewhere(task, files)
                yield task, receipt
            elif future.status == "error" and isinstance(found[1], KilledWorker):
                yield task, None
            elif future.status == "error":
                raise self._in_words(found[1], task)
            else:
                raise StoreError(
                    f"the Dask scheduler at {self._client.scheduler.address} has gone away. What "
                    "was finished is kept; start one and run this again."
                )

    def _refuse_elsewhere(self, task: Task, files: Collection[str]) -> None:
        """Once: what lies there for a worker is seen from here."""
        if not self._seen and not set(task.files.names()).intersection(files):
            raise _not_shared(task, "wrote its blocks, and they are not there on this machine")
        self._seen = True

    def _in_words(self, error: BaseException, task: Task) -> BaseException:
        """What a worker raised; a folder that it does not have is another machine's."""
        if isinstance(error, FileNotFoundError) and not self._seen:
            return _not_shared(task, f"cannot write there: {describe(error)}")
        return error


def _not_shared(task: Task, what: str) -> StoreError:
    return StoreError(
        f"blocks go to {task.files}, and a Dask worker {what}. Choose an out= on a file system "
        "that all machines share."
    )


def compute_elsewhere(
    sent: bytes, paths: Sequence[str], versions: Mapping[str, str], looks: bool
) -> tuple[Receipt, Collection[str]]:
    """In a worker: the work of a task, with the study's code found where the caller found it.

    If it `looks`, it says what files it sees where it has written.

    Raises
    ------
    ConfigError
        Where this worker, which may have joined late, has other versions than the caller.
    """
    refuse_another_version(versions)
    sys.path[:] = [*sys.path, *(path for path in paths if path not in sys.path)]
    if parent_process() is not None:  # somebody, a nanny, puts another one in its place
        in_an_expendable_process()
    receipt = compute_packed(sent)
    return receipt, pickle.loads(sent).files.names() if looks else ()


def _own_paths() -> tuple[str, ...]:
    """Where this process finds modules, but for its installation, which a worker has itself."""
    from os.path import abspath

    return tuple(abspath(path) for path in sys.path if not path.startswith(sys.prefix))
