"""Translates I/O errors into one line with advice."""

import contextlib
import errno
from collections.abc import Iterator

from simstudy.errors import DiskFullError, StoreError

ADVICE = {
    "EISDIR ENOTDIR EEXIST ENOTEMPTY": "Move away the file or folder at that path",
    "EFBIG": "Raise the limit (ulimit -f unlimited)",
    "EMFILE": "Raise the limit of open files (ulimit -n 4096)",
    "ENFILE": "Close other programs",
    "EIO EBUSY ENXIO ENODEV": "Check the disk",
    "ESTALE ETIMEDOUT ENOTCONN EREMOTEIO EHOSTDOWN EHOSTUNREACH": "Wait for the file server",
    "ENAMETOOLONG": "Choose a shorter name, or another out=...",
    "ENOENT": "Let no other program delete the folder",
}
"""Advice by names of errors."""


@contextlib.contextmanager
def translate_io_errors(path: object) -> Iterator[None]:
    """Report I/O errors within the context, such as a full or read-only disk, in one line.

    Parameters
    ----------
    path
        Folder that is written to, local or remote; its text is shown.
    """
    try:
        yield
    except OSError as error:
        raise _translated(error, path) from error


def _translated(error: OSError, path: object) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(
            f"the disk that holds {path} is full. Every finished block is kept; free some space "
            "and run the same command again to continue."
        )
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return StoreError(f"cannot write to {path}: {error.strerror}. Choose another out=...")
    what = str(error.filename2 or error.filename or path)
    name = errno.errorcode.get(error.errno or 0, "")
    if name == "ENOENT" and str(path).startswith(f"{what}/"):  # the folder cannot be made
        reason = f"cannot make the folder {what}: {error.strerror}"
        return StoreError(f"{reason}. Choose another out=...")
    advice = next((text for names, text in ADVICE.items() if name in names.split()), "")
    if not advice or (name == "ENOENT" and not what.startswith(str(path))):
        return error  # the study's code needs a missing file
    return StoreError(
        f"cannot write {what}: {str(error.strerror).lower()}. {advice}, then run the same command "
        "again; every finished block is kept."
    )
