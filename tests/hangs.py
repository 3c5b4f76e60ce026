"""A worker of pytest that hangs is ended, with all its stacks printed, and the others go on.

Watched by the process that gives out the tests: an alarm or a timer in the worker would be one
more thread, or a signal of the engine's own, and tests would see them. pytest itself prints the
stacks of a process that aborts, and reports the test as the one that crashed its worker.
"""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

LONGEST = 420.0  # seconds without a word of a test: several times what the slowest takes


class Watch:
    """Hooks of the process that gives out the tests, and a thread that looks at the clock.

    Parameters
    ----------
    longest
        Seconds within which a worker has to report something: its collection, or a test.
    look
        Seconds between looks.
    """

    def __init__(self, longest: float = LONGEST, look: float = 10.0) -> None:
        self._longest, self._look_every = longest, look
        self._processes: dict[str, int] = {}  # of workers, by name
        self._heard: dict[str, float] = {}  # when, by the monotonic clock
        self._over = threading.Event()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_newgateway(self, gateway: Any) -> None:
        if not self._processes:  # only where other processes run tests, which a thread would move
            threading.Thread(target=self._look, daemon=True).start()
        self._processes[gateway.id] = gateway._rinfo().pid
        self._heard[gateway.id] = time.monotonic()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any) -> None:
        self._heard[node.gateway.id] = time.monotonic()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._heard.pop(node.gateway.id, None)

    def pytest_runtest_logreport(self, report: Any) -> None:
        worker = report.node.gateway.id if hasattr(report, "node") else None
        if worker in self._heard:
            self._heard[worker] = time.monotonic()

    def pytest_sessionfinish(self) -> None:
        self._over.set()

    def _look(self) -> None:
        while not self._over.wait(self._look_every):
            for worker in self._silent():
                print(f"\n{worker} said nothing for {self._longest:g} s: its stacks, and its end")
                self._heard.pop(worker, None)
                end(self._processes[worker])

    def _silent(self) -> Iterator[str]:
        now = time.monotonic()
        heard = list(self._heard.items())
        yield from (worker for worker, last in heard if now - last > self._longest)


def end(process: int) -> None:
    """End a process that prints its stacks as it aborts, and whatever it has started."""
    with contextlib.suppress(psutil.NoSuchProcess):
        started = psutil.Process(process).children(recursive=True)
        os.kill(process, signal.SIGABRT)
        for child in started:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
