"""Progress of a run: a bar on a terminal, lines elsewhere."""

import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from rich import progress as rich_progress

LINE_SECONDS = 10.0  # time between lines, if there is no terminal
BAR_SECONDS = 0.2  # time between updates of the bar within a block
RECENT_SECONDS = 30.0  # time over which the speed is measured
MIN_RESULTS, MIN_SECONDS = 4, 2.0  # finished tasks and time before a first estimate


class Progress(Protocol):
    """The interface of progress displays."""

    def begin(self, n_rep: int) -> None: ...
    def advance(self, n_rep: int) -> None: ...
    def note(self, text: str) -> None: ...


class Silent:
    """A progress display that shows nothing."""

    def begin(self, n_rep: int) -> None:
        """Do nothing."""

    def advance(self, n_rep: int) -> None:
        """Do nothing."""

    def note(self, text: str) -> None:
        """Do nothing."""


class Bar:
    """A progress bar: the share that is done, and the time left.

    The speed is that of the last half minute, from the first finished block on: the start of
    workers, compilation and a first block say nothing about the rest.
    """

    def __init__(self, title: str, *, visible: bool = True) -> None:
        self.title, self.shown = title, visible
        self.total = self.done = 0
        self.last_line = time.monotonic()
        self._recent: deque[tuple[float, int]] = deque()  # times and work done
        self._rich: rich_progress.Progress | None = None

    def __enter__(self) -> Self:
        return self

    def begin(self, n_rep: int) -> None:
        """Add work; runs with a precision target call it more than once."""
        if not self.total:
            self.last_line = time.monotonic()
        self.total += n_rep
        if self._rich is None and self.shown and n_rep and sys.stderr.isatty():
            self._open_bar()
        self._show()

    def resume(self, n_rep: int) -> None:
        """Add work that an earlier run has done."""
        self.total += n_rep
        self.done += n_rep

    def __exit__(self, *_: object) -> None:
        if self._rich is not None:
            self._rich.stop()
            self._rich = None

    def _open_bar(self) -> None:
        from rich import progress as rich_progress
        from rich.console import Console

        self._rich = rich_progress.Progress(
            rich_progress.TextColumn("{task.description}", markup=False),
            rich_progress.BarColumn(),
            rich_progress.TextColumn("{task.fields[text]}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self._rich.add_task(self.title, total=self.total, text="")
        self._rich.start()

    def advance(self, n_rep: int) -> None:
        self.done += n_rep
        self._recent.append((time.monotonic(), self.done))
        while self._recent[-1][0] - self._recent[0][0] > RECENT_SECONDS:
            self._recent.popleft()
        self._show()
        if self._rich is None and self._is_due(LINE_SECONDS):
            _print(f"{self.title}: {self._text()}")

    def _show(self) -> None:
        if self._rich is not None:
            task = self._rich.task_ids[0]
            self._rich.update(task, total=self.total, completed=self.done, text=self._text())

    def _text(self) -> str:
        """The share that is done, and an estimate of the time left."""
        share = f"{self.done / max(self.total, 1):.0%}"
        left = self.seconds_left()
        return share if left is None else f"{share}, {format_seconds(left)} left"

    def seconds_left(self) -> float | None:
        """An estimate of the time left in seconds; None before there are enough results."""
        if len(self._recent) < MIN_RESULTS:
            return None
        (first, before), (last, done) = self._recent[0], self._recent[-1]
        if last - first < MIN_SECONDS or done == before:
            return None
        return (self.total - self.done) * (last - first) / (done - before)

    def step(self, text: str) -> None:
        """Show what is done after drawing, such as "figure 3 of 4"."""
        if self.shown and sys.stderr.isatty():
            if self._rich is None:
                self._open_bar()
            if self._rich is not None:
                task = self._rich.task_ids[0]
                self._rich.update(task, total=None, text=text)

    def within(self, n_done: int, of: int) -> None:
        """Show progress within a block that is analysed replicate by replicate."""
        if not self._is_due(LINE_SECONDS if self._rich is None else BAR_SECONDS):
            return
        at = f"{n_done:,} of the {of:,} replicates of a block"
        if self._rich is None:
            _print(f"{self.title}: {at}")
        else:
            self._rich.update(self._rich.task_ids[0], text=f"{self._text()}; {at}")

    def _is_due(self, seconds: float) -> bool:
        """Whether enough time has passed since the last update; if so, start the time anew."""
        now = time.monotonic()
        is_due = self.shown and now - self.last_line > seconds
        self.last_line = now if is_due else self.last_line
        return is_due

    def note(self, text: str) -> None:
        if self._rich is not None:
            self._rich.console.print(text, markup=False)
        else:
            _print(text)


def format_seconds(seconds: float) -> str:
    """A time that is left: "40 s", "12 min", "3.5 h"."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.0f} s"


class DefaultBar(Bar):
    """The bar of runs from Python: notes become warnings of `Study.run`."""

    def note(self, text: str) -> None:
        """Do nothing: `Study.run` issues the warning."""


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextmanager
def progress_of(title: str, progress: Progress | bool | None) -> Iterator[Progress]:
    """Provide the progress display of a run from Python.

    Parameters
    ----------
    progress
        Whether a bar is shown; None for a bar in a terminal or a notebook only. Any other object
        is used as the display.
    """
    if progress is not None and not isinstance(progress, bool):
        yield progress
    elif progress or (progress is None and (sys.stderr.isatty() or "ipykernel" in sys.modules)):
        with DefaultBar(title) as bar:
            yield bar
    else:
        yield Silent()
