"""Progress of a run: a bar on a terminal, lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from rich import progress as rich_progress

LINE_SECONDS = 10.0  # time between lines, if there is no terminal
BAR_SECONDS = 0.2  # time between updates of the bar within a block


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
    """A progress bar: replicates done, replicates per second, time left."""

    def __init__(self, title: str, *, visible: bool = True) -> None:
        self.title, self.shown = title, visible
        self.total = self.done = 0
        self.start = self.last_line = time.monotonic()
        self._rich: rich_progress.Progress | None = None

    def __enter__(self) -> Self:
        return self

    def begin(self, n_rep: int) -> None:
        """Add work; runs with a precision target call it more than once."""
        if not self.total:
            self.start = self.last_line = time.monotonic()
        self.total += n_rep
        if self._rich is not None:
            self._rich.update(self._rich.task_ids[0], total=self.total)
        elif self.shown and n_rep and sys.stderr.isatty():
            self._open_bar()

    def __exit__(self, *_: object) -> None:
        if self._rich is not None:
            self._rich.stop()

    def _open_bar(self) -> None:
        from rich import progress as rich_progress
        from rich.console import Console

        self._rich = rich_progress.Progress(
            rich_progress.TextColumn("{task.description}", markup=False),
            rich_progress.BarColumn(),
            rich_progress.TextColumn("{task.percentage:>3.0f}%  {task.fields[rate]}  left"),
            rich_progress.TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._rich.add_task(self.title, total=self.total, rate="")
        self._rich.start()

    def advance(self, n_rep: int) -> None:
        self.done += n_rep
        per_second = self.done / max(time.monotonic() - self.start, 1e-9)
        rate = f"{per_second:,.0f} rep/s"
        if self._rich is not None:
            self._rich.update(self._rich.task_ids[0], advance=n_rep, rate=rate)
        elif self._is_due(LINE_SECONDS):
            left = (self.total - self.done) / per_second
            share = f"{self.done:,} of {self.total:,} replicates"
            _print(f"{self.title}: {share}, {rate}, {left:.0f} s left")

    def within(self, n_done: int, of: int) -> None:
        """Show progress within a block that is analysed replicate by replicate."""
        if not self._is_due(LINE_SECONDS if self._rich is None else BAR_SECONDS):
            return
        if self._rich is None:
            _print(f"{self.title}: {n_done:,} of the {of:,} replicates of a block")
        else:
            at = f"{n_done:,} of {of:,} in this block"
            self._rich.update(self._rich.task_ids[0], rate=at)

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
