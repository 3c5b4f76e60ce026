"""What a disk may refuse, and who else is at work in a folder."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from simstudy.errors import DiskFullError, StoreError


@contextlib.contextmanager
def trouble_in_words(place: object) -> Iterator[None]:
    """Within it, a disk that is full or must not be written is refused in one line."""
    try:
        yield
    except OSError as error:
        raise _in_words(error, place) from error


def _in_words(error: OSError, place: object) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(
            f"the disk that holds {place} is full. Every finished block is kept; free some space "
            "and run the same command again to go on."
        )
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return StoreError(f"cannot write to {place}: {error.strerror}. Choose another out=...")
    return error


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Within it, no other process that asks for the same is at work in a folder."""
    try:
        import fcntl
    except ImportError:  # not on Windows: the manifest's hashes still tell of a mixture
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
