"""How a command ends: exit statuses, signals, and the line that says how to go on."""

import contextlib
import gc
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from simstudy.cli.project import Project

DEFECT, REFUSED, FAILED, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143


class Terminated(KeyboardInterrupt):
    """SIGTERM, which schedulers send before they kill."""


def refuse(error: BaseException) -> int:
    """Say in one line what is wrong."""
    print(" ".join(str(error).split()), file=sys.stderr)
    return REFUSED


def interrupted(stop: KeyboardInterrupt, command: str) -> int:
    """Say how to go on: with a command."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not cut this short
    print(f"interrupted; every finished block is kept. To go on: {command}", file=sys.stderr)
    return TERMINATED if isinstance(stop, Terminated) else INTERRUPTED


def again(project: Project, overrides: Sequence[str]) -> str:
    """The command that goes on where this one stopped: it must not delete what is finished."""
    kept = [text for text in overrides if text.lstrip("+").partition("=")[0] != "restart"]
    return f"{project.runs} {shlex.join(kept)}"


@contextlib.contextmanager
def termination_interrupts() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does: workers are stopped, and what is finished is kept."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only there may a program say what a signal does
        return

    def terminate(*_: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not cut this short
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def interrupts_given_back() -> Iterator[None]:
    """Leave Ctrl-C to do what it did before: a program that calls this one may go on."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def no_garbage(*, to_the_end: bool) -> Iterator[None]:
    """Imports leave no garbage: looking for it among what they make is a seventh of a short run.

    Parameters
    ----------
    to_the_end
        Whether what is there afterwards stays until the process ends, as a program may say of
        itself, but not of another that calls it.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        if to_the_end:
            gc.freeze()
