"""Data files, and cached hashes of unchanged files."""

import hashlib
import os
import platform
import time
from pathlib import Path
from typing import Any, BinaryIO, cast

from simstudy.errors import StudyError

COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}


def open_file(path: str) -> BinaryIO:
    """Open a data file for reading.

    Raises
    ------
    StudyError
        If the file cannot be read.
    """
    try:
        return open(path, "rb")
    except OSError as error:
        raise StudyError(
            f"{path} cannot be read on {platform.node() or 'this machine'}: "
            f"{error.strerror}. The study's numbers depend on it. Put the file there, on every "
            "machine that works on the study, or give its content with Data.from_frame or "
            "Data.from_array, which travels to workers by itself."
        ) from None


def stem(path: str) -> str:
    """A file's name without its ending, and without that of a compression."""
    place = Path(path)
    return Path(place.stem).stem if place.suffix in COMPRESSED else place.stem


def ending_of(path: str) -> str:
    """A file's ending in lower case, such as `.csv`, without that of a compression."""
    place = Path(path)
    return (Path(place.stem) if place.suffix in COMPRESSED else place).suffix.lower()


COARSEST_NS = 2_000_000_000  # resolution of file times on FAT, the coarsest file system


_hashed: dict[tuple[int, ...], str] = {}  # only files not modified just before they were hashed


def sha256_of(file: BinaryIO, *, anew: bool = False) -> str:
    """Hash an open file, or return the cached hash of an unchanged file.

    Parameters
    ----------
    anew
        Whether to read it even if its times have not changed: writing through a memory map may
        not change them.
    """
    stamp = _stamp(file)
    if not anew and stamp in _hashed:
        return _hashed[stamp]
    began = time.time_ns()
    file.seek(0)
    sha256 = hashlib.file_digest(cast(Any, file), "sha256").hexdigest()
    is_at_rest = began - max(stamp[-2:]) > COARSEST_NS
    if stamp == _stamp(file) and is_at_rest:  # otherwise a later write may have the same times
        _hashed[stamp] = sha256
    return sha256


def _stamp(file: BinaryIO) -> tuple[int, ...]:
    """Identity, size and times of a file, which change when it is written to."""
    said = os.fstat(file.fileno())
    return (said.st_dev, said.st_ino, said.st_size, said.st_mtime_ns, said.st_ctime_ns)
