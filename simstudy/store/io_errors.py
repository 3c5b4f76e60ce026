"""Translates I/O errors into one line that says what to do."""

import contextlib
import errno
from collections.abc import Iterator

from simstudy.errors import DiskFullError, StoreError

IN_THE_WAY = (errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENOTEMPTY)
ADVICE = dict.fromkeys(IN_THE_WAY, "Move away what stands there") | {
    errno.EFBIG: "Raise the limit (ulimit -f unlimited)"
}
"""What to do, by error number."""


@contextlib.contextmanager
def translate_io_errors(path: object) -> Iterator[None]:
    """Context: a full or read-only disk is reported in one line.

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
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return StoreError(f"cannot write to {path}: {error.strerror}. Choose another out=...")
    if error.errno in ADVICE:
        what = error.filename2 or error.filename or path
        return StoreError(
            f"cannot write {what}: {str(error.strerror).lower()}. {ADVICE[error.errno]}, "
            "then run the same command again; every finished block is kept."
        )
    return error
