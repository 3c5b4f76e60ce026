"""The exceptions of the package, and helpers that format their messages.

Every message states what is wrong (with the value), why it matters, and what to do instead.
"""

import contextlib
import difflib
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar

MOST_SAID = 5  # findings in one line
LONGEST_SAID = 2000  # letters of a message, which may be stored for every replicate
ROOM_FOR_ITS_CUT = 100  # letters above the maximum that are kept: a cut text is not cut again
EXTRAS = {
    "dask": "dask", "dask_jobqueue": "slurm", "distributed": "dask", "h5netcdf": "loo",
    "xarray": "loo", "numba": "kernels", "sklearn": "models",
}  # fmt: skip
"""Extras by the module that they bring."""


class SimstudyError(Exception):
    """Base class of the package's errors; the command line prints them in one line."""


class DesignError(SimstudyError, ValueError):
    """A scenario, data-generating process or statistic has invalid parameters."""


class ConfigError(SimstudyError, ValueError):
    """A setting of a run is unknown, of the wrong type, or outside its range."""


class NotHereError(ConfigError):
    """A study needs data or a library that this machine does not have."""


class BrokenExperimentError(ConfigError):
    """An experiment cannot be imported or declares no study; others can still run."""


class StudyError(SimstudyError):
    """A study's own code breaks the contract between a study and the engine."""


class UndefinedError(StudyError):
    """A measure has no value for these replicates.

    Parameters
    ----------
    message
        Message with the remedy, for a measure without a value in any scenario.
    reason
        Reason in a few words, for a cell of a summary.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[type["UndefinedError"], tuple[str, str]]:
        return UndefinedError, (str(self), self.reason)


class UnsendableError(StudyError):
    """A study holds an object that cannot be sent to another process."""


class ReturnedError(StudyError):
    """A method returned a value that cannot be stored: a mistake in the study."""


class AlwaysFailsError(StudyError):
    """Every replicate of a first block failed: a mistake in the study.

    Parameters
    ----------
    text
        The message.
    frames
        Traceback of the error within the user's code, one line per call, the innermost last.
    """

    def __init__(self, text: str, frames: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.frames = tuple(frames)


class TooFewReplicatesError(StudyError, LookupError):
    """The Monte Carlo error is too large to decide a statement.

    Parameters
    ----------
    found
        The estimate with its error, as text.
    times
        Factor by which the replicates must increase to decide it, if the estimate is right; at
        least 1.
    """

    def __init__(self, found: str, times: float) -> None:
        super().__init__(f"too few replicates to tell ({found})")
        self.found, self.times = found, times

    def __reduce__(self) -> tuple[type, tuple[str, float]]:
        return type(self), (self.found, self.times)


class StoreError(SimstudyError):
    """The results folder cannot be used: foreign, stale, unwritable or full."""


class DiskFullError(StoreError):
    """The disk is full; finished blocks are kept."""


class SchedulerLostError(StoreError):
    """The scheduler of a cluster was lost during a run; finished blocks are kept."""


class IncompleteError(SimstudyError):
    """Shares are missing, and drawing them here would take longer than one share."""


class UnreachableError(SimstudyError):
    """A remote store does not exist, refuses access, or does not answer.

    The files there may be undamaged.
    """


class StaleCodeError(SimstudyError):
    """A worker has loaded other code than the process that started it.

    Parameters
    ----------
    found
        Differences, as text.
    """

    def __init__(self, found: Sequence[str]) -> None:
        super().__init__(found)
        self.found = found

    def __str__(self) -> str:
        return f"another process loads other code from the files: {first_few(self.found)}"


class UnreadableTaskError(SimstudyError):
    """A worker could not load its task."""


class TableError(SimstudyError):
    """The declaration of a table is wrong."""


class FigureError(SimstudyError):
    """A figure would hide, average or overplot its data."""


# ---------------------------------------------------------------- texts of messages
def describe(error: BaseException) -> str:
    """Format an exception in one line, for files and terminals.

    Parameters
    ----------
    error
        Any exception.

    Returns
    -------
    str
        Its type and its text.
    """
    try:
        text = in_one_line(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as own:  # the __str__ of a user's class may raise anything
        text = f"(its text cannot be had: str of it raised {type(own).__name__})"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def how_to_install(error: BaseException) -> str:
    """How to install the extra whose library an error misses; empty for other errors.

    Parameters
    ----------
    error
        Any error; that which caused it counts as well.

    Returns
    -------
    str
        A sentence with the command, or an empty text.
    """
    for each in (error, error.__cause__):
        if isinstance(each, ModuleNotFoundError) and each.name:
            extra = EXTRAS.get(each.name.partition(".")[0])
            if extra:
                return f"Install it: pip install 'simstudy[{extra}]'."
    return ""


def in_one_line(text: str) -> str:
    """Format a text as a message: single spaces, visible characters, bounded length.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    str
        The line.
    """
    said = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in writable(" ".join(text.split()))
    )  # others control a terminal, or the direction of text
    if len(said) > LONGEST_SAID + ROOM_FOR_ITS_CUT:
        return f"{said[:LONGEST_SAID]} [cut: {len(text):,} letters]"
    return said


def writable(text: str) -> str:
    """Escape lone surrogates, which cannot be written to files.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    str
        The text with only characters that UTF-8 can encode.
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def warn(text: str, *, stacklevel: int) -> None:
    """Issue a warning; where the user's filters turn warnings into errors, print it instead.

    Such a filter is meant for the study's own code, and would end a run that is complete.

    Parameters
    ----------
    text
        The warning.
    stacklevel
        Frame to which the warning belongs, as in `warnings.warn`.
    """
    try:
        warnings.warn(text, stacklevel=stacklevel + 1)
    except UserWarning:
        print(text, file=sys.stderr)


def nearest(name: object, known: Iterable[str]) -> str:
    """Suggest the known name nearest to an unknown one, or list the known names.

    Parameters
    ----------
    name
        The unknown name, of any type.
    known
        The known names.

    Returns
    -------
    str
        `did you mean 'x'?`, or the list.
    """
    name, known = str(name), sorted(known)
    in_any_case = {each.lower(): each for each in reversed(known)}
    close = difflib.get_close_matches(name.lower(), in_any_case, n=1, cutoff=0.5)
    if close:
        return f"did you mean '{in_any_case[close[0]]}'?"
    return f"available: {', '.join(known) or 'nothing'}"


def first_few(found: Sequence[str]) -> str:
    """Join the first items of a list in one line, and count the rest.

    Parameters
    ----------
    found
        Texts of the findings.

    Returns
    -------
    str
        The line.
    """
    n_more = len(found) - MOST_SAID
    return "; ".join(found[:MOST_SAID]) + (f"; and {n_more} more" if n_more > 0 else "")


# ---------------------------------------------------------------- recorded errors
Swallowed = tuple[int | None, BaseException]
"""A row of a block, or None for the whole block, and its error."""

_told: ContextVar[list[Swallowed] | None] = ContextVar("told", default=None)


@contextlib.contextmanager
def listening_to_errors() -> Iterator[list[Swallowed]]:
    """Collect, within the context, the exceptions that are recorded as data.

    Yields
    ------
    list[Swallowed]
        Row in the block and exception, in order.
    """
    told: list[Swallowed] = []
    token = _told.set(told)
    try:
        yield told
    finally:
        _told.reset(token)


def swallowed(error: BaseException, row: int | None = None) -> None:
    """Report an exception that is recorded, to an enclosing `listening_to_errors`.

    Parameters
    ----------
    error
        The exception.
    row
        Its row in the block; None for the whole block.
    """
    told = _told.get()
    if told is not None:
        told.append((row, error))
