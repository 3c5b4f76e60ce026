"""Locations of data files, and cached hashes of unchanged files."""

import hashlib
import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

import numpy as np

from simstudy.data.content_hash import hash_of_array, hash_of_frame
from simstudy.errors import StudyError

if TYPE_CHECKING:
    import pandas as pd


COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}


@dataclass(frozen=True)
class File:
    """A local file.

    Parameters
    ----------
    path
        Absolute path of the file.
    """

    path: str

    @property
    def place(self) -> str:
        """The path, whose ending decides the format."""
        return self.path

    def open(self) -> BinaryIO:
        """Open the file for reading.

        Returns
        -------
        BinaryIO
            The open file.

        Raises
        ------
        StudyError
            If the file cannot be read.
        """
        try:
            return open(self.path, "rb")
        except OSError as error:
            raise StudyError(
                f"{self.path} cannot be read on {platform.node() or 'this machine'}: "
                f"{error.strerror}. The study's numbers depend on it. Put the file there, on every "
                "machine that works on the study, or give its content with Data.from_frame or "
                "Data.from_array, which travels to workers by itself."
            ) from None

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True)
class Bundled:
    """A file that an installed package ships, possibly in an archive.

    Parameters
    ----------
    package
        Name of the package, as it is imported.
    resource
        Path of the file within the package, with `/`.
    """

    package: str
    resource: str

    @property
    def place(self) -> str:
        """The path, whose ending decides the format."""
        return self.resource

    def open(self) -> BinaryIO:
        """Open the file for reading.

        Returns
        -------
        BinaryIO
            The open file.

        Raises
        ------
        StudyError
            If the file cannot be read.
        """
        from importlib import resources

        try:
            found = resources.files(self.package).joinpath(*self.resource.split("/"))
            return cast(BinaryIO, found.open("rb"))
        except (ImportError, OSError, KeyError, TypeError) as error:
            raise StudyError(
                f"package {self.package!r} has no file {self.resource!r} on "
                f"{platform.node() or 'this machine'} ({type(error).__name__}: {error}). The "
                "study's numbers depend on it. Install the package, in the version that has it, "
                "on every machine that works on the study."
            ) from None

    def __str__(self) -> str:
        return f"{self.resource} of package {self.package}"


Stored = File | Bundled


@dataclass(frozen=True, eq=False)
class InMemory:
    """A table or array in memory, protected from changes.

    Parameters
    ----------
    content
        Copy of the table or array.
    """

    content: "np.ndarray | pd.DataFrame"

    def sha256(self) -> str:
        """Hash the content.

        Returns
        -------
        str
            SHA-256 as 64 hexadecimal digits.
        """
        if isinstance(self.content, np.ndarray):
            return hash_of_array(self.content)
        return hash_of_frame(self.content)

    def __str__(self) -> str:
        return f"{kind_of(self.content)} in memory"


def kind_of(value: object) -> str:
    """Describe the type and shape of a value, such as `a DataFrame of shape (3, 2)`.

    Parameters
    ----------
    value
        Anything.

    Returns
    -------
    str
        The description.
    """
    name = type(value).__name__
    shape = getattr(value, "shape", None)
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}" + (f" of shape {shape}" if shape else "")


def stem(place: str) -> str:
    """Return a file's name without its ending, and without that of a compression.

    Parameters
    ----------
    place
        Path or URL of the file.

    Returns
    -------
    str
        The name.
    """
    path = Path(place)
    return Path(path.stem).stem if path.suffix in COMPRESSED else path.stem


def ending_of(place: str) -> str:
    """Return a file's ending, without that of a compression.

    Parameters
    ----------
    place
        Path or URL of the file.

    Returns
    -------
    str
        The ending in lower case, such as `.csv`.
    """
    path = Path(place)
    return (Path(path.stem) if path.suffix in COMPRESSED else path).suffix.lower()


COARSEST_NS = 2_000_000_000  # resolution of file times on FAT, the coarsest file system


class _Stamp(NamedTuple):
    """Identity, size and times of a file, which change when it is written to."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


_hashed: dict[_Stamp, str] = {}  # only files not modified just before they were hashed


def sha256_of(file: BinaryIO, *, anew: bool = False) -> str:
    """Hash an open file, or return the cached hash of an unchanged file.

    Parameters
    ----------
    file
        The open file.
    anew
        Whether to read it even if its times have not changed: writing through a memory map may
        not change them.

    Returns
    -------
    str
        SHA-256 as 64 hexadecimal digits.
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
    """The stamp of a file; None for a file inside an archive."""
    try:
        said = os.fstat(file.fileno())
    except (OSError, AttributeError):
        return None
    return _Stamp(said.st_dev, said.st_ino, said.st_size, said.st_mtime_ns, said.st_ctime_ns)


def _is_at_rest(stamp: _Stamp, now_ns: int) -> bool:
    """Whether a later write would change the stamp: not if times are too recent."""
    return now_ns - max(stamp.modified_ns, stamp.changed_ns) > COARSEST_NS
