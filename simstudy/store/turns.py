"""Who may lay the files of a folder out anew: one alone, or several who touch only their own."""

import contextlib
import os
from collections.abc import Iterator

from simstudy.store.files import Files, Folder


@contextlib.contextmanager
def turn_at(files: Files, *, alone: bool, wait: bool) -> Iterator[bool]:
    """Within it, nobody else on any machine has a turn alone; gives whether it is ours.

    Two who look at the same files at different times might each delete a copy of a block because
    of the other's. Where there are no locks (other systems, some file systems, places that are no
    folders) everybody has a turn, and a block that is lost in that way is drawn again by the next
    run.

    Parameters
    ----------
    alone
        Whether nobody else is to have a turn at all: for whoever deletes what others wrote.
    wait
        Whether to wait for a turn, or else to go without.
    """
    handle = _opened(files)
    try:
        yield handle is None or _locked(handle, alone=alone, wait=wait)
    finally:
        if handle is not None:
            os.close(handle)  # which ends the turn, as the end of the process does


def _opened(files: Files) -> int | None:
    if os.name != "posix" or not isinstance(files, Folder):
        return None
    return os.open(files.path, os.O_RDONLY)


def _locked(handle: int, *, alone: bool, wait: bool) -> bool:
    import fcntl

    kind = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    try:
        fcntl.flock(handle, kind if wait else kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
