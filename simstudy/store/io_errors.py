"""Translates I/O errors into one line that says what to do."""

import contextlib
import errno
from collections.abc import Iterator

from simstudy.errors import DiskFullError, StoreError

ADVICE = {
    "EISDIR ENOTDIR EEXIST ENOTEMPTY": "Move away what stands there",
    "EFBIG": "Raise the limit (ulimit -f unlimited)",
    "EMFILE": "Raise the limit of open files (ulimit -n 4096)",
    "ENFILE": "Close other programs",
    "EIO EBUSY ENXIO ENODEV": "Check the disk",
    "ESTALE ETIMEDOUT ENOTCONN EREMOTEIO EHOSTDOWN EHOSTUNREACH": "Wait for the file server",
    "ENAMETOOLONG": "Choose a shorter name, or another out=...",
    "ENOENT": "Let no other program delete the folder",
}
"""What to do, by the names of errors."""


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
    what = str(error.filename2 or error.filename or path)
    name = errno.errorcode.get(error.errno or 0, "")
    if name == "ENOENT" and str(path).startswith(f"{what}/"):  # a folder that cannot be made
        reason = f"cannot make the folder {what}: {error.strerror}"
        return StoreError(f"{reason}. Choose another out=...")
    advice = next((text for names, text in ADVICE.items() if name in names.split()), "")
    if not advice or (name == "ENOENT" and not what.startswith(str(path))):
        return error  # a file of the study's own is missing
    return StoreError(
        f"cannot write {what}: {str(error.strerror).lower()}. {advice}, then run the same command "
        "again; every finished block is kept."
    )
