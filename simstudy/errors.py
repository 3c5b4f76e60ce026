"""The exceptions of the package, and the helpers that word their messages.

Every message says what is wrong (with the value), why it matters, and what to do instead.
"""

import contextlib
import difflib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar

MOST_SAID = 5  # findings that one line has room for
ROOM_FOR_ITS_CUT = 100  # letters: a text that was cut is not cut again
DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}  # of Unicode's UAX 9
LONGEST_SAID = 2000  # letters of a message: what is longer is data, repeated in every replicate


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
        What is wrong and what to do, for a measure that has no value anywhere.
    reason
        The same in a few words, for a cell of a summary.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[type["UndefinedError"], tuple[str, str]]:
        return UndefinedError, (str(self), self.reason)


class UnsendableError(StudyError):
    """A study holds an object that cannot be sent to another process."""


class ReturnedError(StudyError):
    """A method returned what cannot be stored: a mistake of the study, not of a replicate."""


class AlwaysFailsError(StudyError):
    """Every replicate of a first block failed in the same way: an error of the study.

    Parameters
    ----------
    text
        The message.
    frames
        Where the error was raised, a line for each call, the innermost last.
    """

    def __init__(self, text: str, frames: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.frames = tuple(frames)

    def __reduce__(self) -> tuple[type, tuple[str, tuple[str, ...]]]:
        return type(self), (str(self), self.frames)


class TooFewReplicatesError(StudyError, LookupError):
    """Monte Carlo error does not allow to decide a statement.

    Parameters
    ----------
    found
        What was found, in words.
    times
        How many times the replicates would decide it, if what was found is so; at least 1.
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


class UnreachableError(SimstudyError):
    """A remote store does not exist, refuses access, or does not answer.

    It says nothing of the files that lie there, which may be whole.
    """


class StaleCodeError(SimstudyError):
    """A worker has loaded other code than the process that started it.

    Parameters
    ----------
    found
        What differs, as text.
    """

    def __init__(self, found: Sequence[str]) -> None:
        super().__init__(found)
        self.found = found


class UnreadableTaskError(SimstudyError):
    """A worker could not load its task."""


class TableError(SimstudyError):
    """A table is declared wrongly."""


class FigureError(SimstudyError):
    """A figure would hide, average or overplot its data."""


# ---------------------------------------------------------------- words for them
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
    text = in_one_line(_said_by(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _said_by(error: BaseException) -> str:
    try:
        return str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as own:  # whatever a class of a user's own does, as to end the program
        return f"(its text cannot be had: str of it raised {type(own).__name__})"


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
    said = _visible(writable(" ".join(text.split())))
    if len(said) > LONGEST_SAID + ROOM_FOR_ITS_CUT:
        return f"{said[:LONGEST_SAID]} [cut: {len(text):,} letters]"
    return said


def _visible(text: str) -> str:
    """Escape characters that control a terminal or the direction of text."""
    if text.isprintable():
        return text
    return "".join(
        letter.encode("unicode_escape").decode("ascii") if _commands(letter) else letter
        for letter in text
    )


def _commands(letter: str) -> bool:
    """Whether a character controls a terminal or the order of characters."""
    return unicodedata.category(letter) == "Cc" or unicodedata.bidirectional(letter) in DIRECTIONS


def writable(text: str) -> str:
    """Escape lone surrogates, which cannot be written to files.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    str
        The text, as UTF-8 can encode it.
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def nearest(name: object, known: Iterable[str]) -> str:
    """Suggest the known name nearest to an unknown one, or list the known names.

    Parameters
    ----------
    name
        The unknown name; of any type.
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
        Findings, a text each.

    Returns
    -------
    str
        The line.
    """
    n_more = len(found) - MOST_SAID
    return "; ".join(found[:MOST_SAID]) + (f"; and {n_more} more" if n_more > 0 else "")


# ---------------------------------------------------------------- recorded errors
Swallowed = tuple[int | None, BaseException]
"""A row of a block, or None for all of it, and its error."""

_told: ContextVar[list[Swallowed] | None] = ContextVar("told", default=None)


@contextlib.contextmanager
def listening_to_errors() -> Iterator[list[Swallowed]]:
    """Context that collects exceptions which are recorded as data.

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
    """Report an exception of which only the text is stored.

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
