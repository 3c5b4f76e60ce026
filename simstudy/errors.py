"""What can go wrong, by whose hand.

Every message says what is wrong (with the value), why it matters, and what to do instead.
"""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

MOST_SAID = 5  # findings that one line has room for


class SimstudyError(Exception):
    """Anything that `simstudy` refuses; the command line prints it in one line."""


class DesignError(SimstudyError, ValueError):
    """A scenario, data-generating process or statistic was asked for with impossible parameters."""


class ConfigError(SimstudyError, ValueError):
    """A setting of a run is unknown, of the wrong type, or outside its range."""


class NotHereError(ConfigError):
    """A study needs data or a library that this machine does not have at the moment."""


class StudyError(SimstudyError):
    """A study's own code breaks the contract between a study and the engine."""


class StoreError(SimstudyError):
    """The results folder cannot be used: foreign, stale, unwritable or full."""


class DiskFullError(StoreError):
    """There is no room for the next block; what is finished is kept."""


class StaleCodeError(SimstudyError):
    """A worker has loaded other code than the process that started it.

    Parameters
    ----------
    found
        Its fingerprints.
    """

    def __init__(self, found: object) -> None:
        super().__init__(found)
        self.found: Any = found


class UnreadableTaskError(SimstudyError):
    """A worker could not load what it was sent: its code has gone, or cannot be sent at all."""


class FigureError(SimstudyError):
    """A figure would hide, average or overplot what it was given."""


# ---------------------------------------------------------------- words for them
def describe(error: BaseException) -> str:
    """An exception in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` or the list of what there is."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'?" if close else f"there is: {', '.join(known) or 'nothing'}"


def first_few(found: Sequence[str]) -> str:
    """As many of some findings as one line has room for, and how many more there are."""
    n_more = len(found) - MOST_SAID
    return "; ".join(found[:MOST_SAID]) + (f"; and {n_more} more" if n_more > 0 else "")
