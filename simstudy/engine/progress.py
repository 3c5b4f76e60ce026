"""Progress of a run: a bar on a terminal, lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, Self

LINE_SECONDS = 10.0  # time between lines, if there is no terminal


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
    """A progress bar with the time left on a terminal; elsewhere a line now and then."""

    def __init__(self, title: str, *, visible: bool = True) -> None:
        self.title, self.shown = title, visible
        self.total = self.done = 0
        self.last_line = time.monotonic()
        self._rich: Any = None  # the bar of rich, once it is shown

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._rich is not None:
            self._rich.stop()
            self._rich = None

    def begin(self, n_rep: int) -> None:
        """Add work; runs with a precision target call it more than once."""
        self.total += n_rep
        if n_rep:
            self._open()
        self._update(self.title)

    def advance(self, n_rep: int) -> None:
        self.done += n_rep
        self._update(self.title)
        now = time.monotonic()
        if self._rich is None and self.shown and now - self.last_line > LINE_SECONDS:
            self.last_line = now
            _print(f"{self.title}: {self.done / max(self.total, 1):.0%}")

    def step(self, text: str) -> None:
        """Show what is done after drawing, such as "figure 3 of 4"."""
        self._open()
        self._update(f"{self.title}: {text}")

    def note(self, text: str) -> None:
        if self._rich is not None:
            self._rich.console.print(text, markup=False)
        else:
            _print(text)

    def _open(self) -> None:
        """Show the bar, if there is a terminal."""
        if self._rich is not None or not self.shown or not sys.stderr.isatty():
            return
        from rich import progress as rich_progress
        from rich.console import Console

        self._rich = rich_progress.Progress(
            rich_progress.TextColumn("{task.description}", markup=False),
            rich_progress.BarColumn(),
            rich_progress.TaskProgressColumn(),
            rich_progress.TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._rich.add_task(self.title, total=self.total or None, completed=self.done)
        self._rich.start()

    def _update(self, text: str) -> None:
        if self._rich is not None:
            task = self._rich.task_ids[0]
            self._rich.update(task, total=self.total, completed=self.done, description=text)


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
