"""Hashes of files, remembered as long as a file is untouched."""

import hashlib
import os
import time
from typing import Any, BinaryIO, NamedTuple, cast

COARSEST_NS = 2_000_000_000  # the clock of FAT, of all file systems the one with the longest tick


class _Stamp(NamedTuple):
    """What the file system says of a file; it is another as soon as the file is written to."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


_hashed: dict[_Stamp, str] = {}  # of files that had come to rest before they were hashed


def sha256_of(file: BinaryIO, *, anew: bool = False) -> str:
    """Hash of an open file, from memory where it was hashed in this process and is untouched.

    Parameters
    ----------
    anew
        Read it whatever its times say: a page that is written through a map may not move them.
    """
    stamp = _stamp(file)
    if not anew and stamp is not None and stamp in _hashed:
        return _hashed[stamp]
    began = time.time_ns()
    file.seek(0)
    sha256 = hashlib.file_digest(cast(Any, file), "sha256").hexdigest()
    if stamp is not None and stamp == _stamp(file) and _is_at_rest(stamp, began):
        _hashed[stamp] = sha256
    return sha256


def _stamp(file: BinaryIO) -> _Stamp | None:
    """None for what is no file of its own, such as one in an archive."""
    try:
        said = os.fstat(file.fileno())
    except (OSError, AttributeError):
        return None
    return _Stamp(said.st_dev, said.st_ino, said.st_size, said.st_mtime_ns, said.st_ctime_ns)


def _is_at_rest(stamp: _Stamp, now_ns: int) -> bool:
    """Whether another write would show: one within a tick of the clock might not."""
    return now_ns - max(stamp.modified_ns, stamp.changed_ns) > COARSEST_NS
