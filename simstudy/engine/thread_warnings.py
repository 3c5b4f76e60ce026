"""What one thread warns of, while others warn too."""

import contextlib
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TextIO

_one_at_a_time = threading.RLock()  # recording warnings changes process-wide filters


class _Ear(threading.local):
    """What the replicate that this thread analyses has warned of; None while there is none."""

    said: list[str] | None = None
    pattern = ""  # of any text: scikit-learn reads filters to put them up again where it fits

    def match(self, _text: str) -> bool:
        """As the pattern of a filter: whether this thread listens."""
        return self.said is not None

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        """For a process that a method hands its filters to: there all warnings are its own."""
        return re.compile, (self.pattern,)


_ear = _Ear()
_GARBAGE_HERE: Any = ("ignore", _ear, ResourceWarning, None, 0)
_ALWAYS_HERE: Any = ("always", _ear, Warning, None, 0)
_show_elsewhere: Callable[..., Any] = warnings.showwarning


@contextlib.contextmanager
def warnings_of_this_thread() -> Iterator[list[str]]:
    """The warnings raised within, and none that other threads raise meanwhile.

    Python's filters and its way to show a warning belong to the process. So the filter put there
    matches in this thread alone, and what comes from another is shown as it would have been. Both
    are the same objects each time: where another thread puts back what it found there, it does
    not bring back the list of a replicate that is done. One thing is out of reach: what another
    thread silences by a `catch_warnings` of its own is silent here too while that lasts.

    Files that somebody left open are warned of when garbage is collected, in whichever thread that
    happens to be: that says nothing of a replicate, and no two runs would have it of the same one.
    """
    global _show_elsewhere
    said: list[str] = []
    with _one_at_a_time, warnings.catch_warnings():
        if warnings.showwarning is not _hear:
            _show_elsewhere = warnings.showwarning
        warnings.showwarning = _hear
        filters: Any = warnings.filters
        ours = (_GARBAGE_HERE, _ALWAYS_HERE)
        filters[:] = [*ours, *(other for other in filters if other not in ours)]
        around, _ear.said = _ear.said, said
        try:
            yield said
        finally:
            _ear.said = around


def _hear(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    if _ear.said is not None:
        _ear.said.append(f"{category.__name__}: {message}")
    else:  # to change a filter, if only to add what holds anyway, forgets what was shown already,
        warnings.simplefilter("default", append=True)  # which a thread that listens would not hear
        _show_elsewhere(message, category, filename, lineno, file, line)
