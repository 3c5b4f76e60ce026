"""Translates I/O errors into one line that says what to do."""

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from simstudy.errors import DiskFullError, StoreError

# a folder where a file is to be, or a file where a folder is to be
IN_THE_WAY = (errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENOTEMPTY)


@contextlib.contextmanager
def translate_io_errors(path: object) -> Iterator[None]:
    """Context: a full, read-only or vanished disk is reported in one line.

    Parameters
    ----------
    path
        What is written to: as text it is a folder's path, or a place beyond this machine.
    """
    try:
        yield
    except OSError as error:
        raise _translated(error, path) from error


def _translated(error: OSError, path: object) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(
            f"the disk that holds {path} is full. Every finished block is kept; free some space "
            "and run the same command again to go on."
        )
    if error.errno == errno.EFBIG:
        return StoreError(
            f"cannot write to {path}: a file would be larger than this process or that disk "
            "allows. Every finished block is kept; raise the limit (ulimit -f unlimited) and run "
            "the same command again to go on."
        )
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return StoreError(f"cannot write to {path}: {error.strerror}. Choose another out=...")
    if error.errno in IN_THE_WAY:
        what = error.filename2 or error.filename or path
        return StoreError(
            f"cannot write {what}: {str(error.strerror).lower()}. Move away what stands there, "
            "then run the same command again; every finished block is kept."
        )
    if isinstance(error, FileNotFoundError) and _has_gone(str(path)):
        return StoreError(
            f"{path} has gone while this run wrote to it: it was deleted or moved. Put it back, "
            "or run the same command again to draw it anew."
        )
    return error


def _has_gone(place: str) -> bool:
    """Whether a local folder no longer exists."""
    return "://" not in place and not Path(place).is_dir()
