"""Loose files gathered while a run goes on."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType

from simstudy.store.blocks import LastOpened, Store
from simstudy.store.compaction import gather


class Gathering:
    """Remembers the files that a run writes, and has them gathered as they become many.

    It knows nothing of other runs' files, so that a thousand shares of a study can be drawn into
    one folder without reading each other's.

    Parameters
    ----------
    n_files
        Small ones that a run may leave: few enough to list and verify in a moment.
    beside
        Whether to do it in a thread, for which nobody waits but the end of the run. Where this
        thread draws, two would only wait for each other.
    """

    def __init__(self, store: Store, n_files: int, *, beside: bool) -> None:
        self.beside = beside
        # The run's store is in use meanwhile.
        self.own = replace(store, among=set(), _open=LastOpened())
        self.written: set[str] = set()
        self.n_small, self.most, self.n_allowed = 0, n_files, n_files
        self._thread = ThreadPoolExecutor(1)
        self._at_work: Future[int] | None = None

    def __enter__(self) -> Gathering:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.wait()
        finally:
            self._thread.shutdown()

    def note(self, files: Iterable[str]) -> None:
        """Some more were written."""
        self.written.update(files)
        if self._at_work is not None and self._at_work.done():
            self.wait()
        if self._at_work is None and self.n_small + len(self.written) > self.n_allowed:
            self._at_work = self._thread.submit(self._gather, self._taken(), wait=False)
            if not self.beside:
                self.wait()

    def wait(self) -> None:
        """Until nothing is being gathered; raises what went wrong."""
        if self._at_work is not None:
            at_work, self._at_work = self._at_work, None
            self.n_small = at_work.result()
            self.n_allowed = max(self.most, 2 * self.n_small)

    def finish(self) -> None:
        """Leave few files behind, for whoever puts the shares together."""
        self.wait()
        self.n_small = self._gather(self._taken(), wait=True)

    def _taken(self) -> set[str]:
        taken, self.written = self.written, set()
        return taken

    def _gather(self, written: set[str], *, wait: bool) -> int:
        self.own.among = {*(self.own.among or ()), *written}
        return gather(self.own, wait=wait)
