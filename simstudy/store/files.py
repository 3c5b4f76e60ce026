"""Files of blocks, in a local folder or in an object store, and their names.

A file is named by the hash of its bytes. So damage can be detected, two runs may write the same
block, and a file never changes. The name of a share's file also has a label, `-SPLIT-INDEX`, so
that the other shares need not open it.

An object store cannot rename or lock files, and every request takes a round trip over the network,
so many files are requested at once. A file is fetched once, compared with its name, and read from
the local copy.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from io import BufferedRandom, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pyarrow as pa
import pyarrow.parquet as pq

from simstudy import places
from simstudy.errors import DiskFullError, StoreError
from simstudy.places import list_sizes, place_of, put_file

if TYPE_CHECKING:
    from upath import UPath

REPLICATES = "replicates"  # folder of the block files of a study
DAMAGED = "_damaged"  # folder of damaged files
VERIFIED = "_verified.json"  # size and time of files whose content was compared with their name
ENDING = ".parquet"
HASH_DIGITS = 32  # digits of a file's hash in its name
OTHER_BYTES = "its bytes are not the ones that were written"

FILES_AT_ONCE = 16  # files to request in parallel, each of at most about 32 MB in memory

Metadata = Iterator[tuple[str, pq.FileMetaData | Exception]]


@dataclass(frozen=True)
class Folder:
    """Files in a local folder, which is created when needed; each file is complete or absent.

    `ObjectStore` has the same methods for a URL. Both are picklable, to be sent to workers.
    """

    path: Path

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def __str__(self) -> str:
        return str(self.path)

    def names(self) -> list[str]:
        """List the names of the files, in order."""
        with os.scandir(self.path) as entries:
            return sorted(entry.name for entry in entries if entry.name.endswith(ENDING))

    def metadata(self, names: Sequence[str]) -> Metadata:
        """Yield the Parquet metadata of each file, or the error of reading it.

        A file is hashed only once, and again if its size or time has changed. There is a
        `StoreError` if its content does not match its name.
        """
        known = places.read_json(self.path / VERIFIED) or {}
        found: dict[str, list[int]] = {}
        for name in names:
            try:
                with self.open(name) as file:
                    status = (self.path / name).stat()
                    stamp = [status.st_size, status.st_mtime_ns]
                    if known.get(name) != stamp and not is_named_by_content(file, name):
                        raise StoreError(OTHER_BYTES)
                    metadata = pq.read_metadata(file)
            except Exception as error:  # a file may hold anything
                yield name, error
            else:
                found[name] = stamp
                yield name, metadata
        if not found.items() <= known.items():
            verified = known | found
            kept = {name: verified[name] for name in self.names() if name in verified}
            with contextlib.suppress(OSError):  # a read-only folder
                places.write_bytes(self.path / VERIFIED, json.dumps(kept).encode())

    def open(self, name: str) -> pa.NativeFile:
        """Open a file; raise FileNotFoundError if it has been deleted."""
        path = self.path / name
        if path.exists() and not path.is_file():  # a FIFO or device might never end
            raise StoreError("it is not a regular file")
        return pa.OSFile(str(path), "rb")

    def size(self, name: str) -> int:
        """Return the size of a file; raise FileNotFoundError if it has been deleted."""
        return (self.path / name).stat().st_size

    def write(self, fill: Callable[[BufferedRandom], str]) -> str:
        """Write a file and return its name.

        Parameters
        ----------
        fill
            Function that writes the content, which it may read again, and returns the file's name.
        """
        return places.atomic_write(self.path, fill).name

    def delete(self, name: str) -> None:
        """Delete a file, if it exists."""
        (self.path / name).unlink(missing_ok=True)

    def quarantine(self, name: str) -> None:
        """Move a damaged file, if it exists, to a folder that `names` does not list."""
        aside = self.path / DAMAGED
        aside.mkdir(exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # another run has moved it
            os.replace(self.path / name, aside / name)


@dataclass
class ObjectStore:
    """Block files below a URL, with local copies, which are fetched when the files are found."""

    place: UPath
    is_sent: bool = field(default=False, compare=False)  # workers only write

    def __post_init__(self) -> None:
        self.place = cast("UPath", place_of(self.place))
        self._sizes: dict[str, int] = {}
        self._copies = places.TemporaryFolder()

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the URL only, without copies and caches."""
        check_sendable(self.place)
        return ObjectStore, (str(self.place), True)

    def __str__(self) -> str:
        return str(self.place)

    # ---------------------------------------------------------------- listing
    def names(self) -> list[str]:
        """List the names of the files, in order."""
        listed = sorted(list_sizes(self.place).items())
        self._sizes = {name: size for name, size in listed if name.endswith(ENDING)}
        return list(self._sizes)

    def size(self, name: str) -> int:
        return self._sizes.get(name) or (self.place / name).stat().st_size

    def metadata(self, names: Sequence[str]) -> Metadata:
        """Yield the metadata of each file, or the error of reading it."""

        def metadata_of(name: str) -> pq.FileMetaData | Exception:
            try:
                with self.open(name) as file:
                    return pq.read_metadata(file)
            except Exception as error:  # a file may hold anything
                return error

        with ThreadPoolExecutor(FILES_AT_ONCE if self.place.fs.async_impl else 1) as requests:
            yield from zip(names, requests.map(metadata_of, names), strict=True)

    # ---------------------------------------------------------------- reading
    def open(self, name: str) -> pa.NativeFile:
        """Open the local copy of a file, whose content was compared with its name.

        Raises
        ------
        StoreError
            If they do not match.
        """
        copy = self._copies.path / name
        if not copy.exists():
            content = self.place.fs.cat_file((self.place / name).path)
            if not is_named_by_content(BytesIO(content), name):
                raise StoreError(OTHER_BYTES)
            with translate_io_errors(self._copies.path):
                places.write_bytes(copy, content)
        return pa.OSFile(str(copy), "rb")

    # ---------------------------------------------------------------- writing
    def write(self, fill: Callable[[BufferedRandom], str]) -> str:
        """Write a file locally, verify it, then upload it."""
        with translate_io_errors(self._copies.path):
            copy = places.atomic_write(self._copies.path, fill)
        put_file(copy, self.place / copy.name)
        if self.is_sent:
            copy.unlink(missing_ok=True)
        return copy.name

    def delete(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.place.fs.rm_file((self.place / name).path)
        self._forget(name)

    def _forget(self, name: str) -> None:
        self._sizes.pop(name, None)
        (self._copies.path / name).unlink(missing_ok=True)

    def quarantine(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):  # another run has moved it
            self.place.fs.mv((self.place / name).path, (self.place / DAMAGED / name).path)
        self._forget(name)


def check_sendable(path: UPath) -> None:
    """Refuse worker processes for a file system that exists only in this process.

    Raises
    ------
    StoreError
        If the files are in this process's memory.
    """
    if path.protocol == "memory":
        raise StoreError(
            f"{path} is in the memory of this process, which worker processes cannot write to. Use "
            "backend=threads or backend=inline, or another out=..."
        )


Files: TypeAlias = Folder | ObjectStore
"""A collection of block files by name."""


def files_at(location: Any) -> Files:
    """Return the block files at a path or URL."""
    if isinstance(location, Folder | ObjectStore):
        return location
    named = place_of(location)
    if isinstance(named, Path):
        return Folder(named.absolute())  # workers may have another working directory
    return ObjectStore(named)


# ---------------------------------------------------------------- names
def name_by_content(file: Any, label: str = "") -> str:
    """Make the name for a content: 32 hexadecimal digits of its hash, and a label."""
    file.seek(0)
    return f"{hashlib.file_digest(file, 'sha256').hexdigest()[:HASH_DIGITS]}{label}{ENDING}"


def is_named_by_content(file: Any, name: str) -> bool:
    """Whether a file's content matches its name."""
    return name_by_content(file, label_of(name)) == name


def label_of(name: str) -> str:
    """Return the label in a file's name; empty if no share wrote it."""
    return name[HASH_DIGITS:].removesuffix(ENDING)


def is_of_another_share(name: str, label: str) -> bool:
    """Whether another share of the same split wrote a file.

    Parameters
    ----------
    label
        Label of our share; empty for a run of all blocks.
    """
    split = label.rpartition("-")[0]
    theirs = label_of(name)
    return bool(split) and theirs.rpartition("-")[0] == split and theirs != label


# ---------------------------------------------------------------- errors
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
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFullError(
                f"the disk that holds {error.filename or path} is full. Every finished block is "
                "kept; free some space and run the same command again to continue."
            ) from error
        what = str(error.filename2 or error.filename or path)
        is_here = what.startswith(str(path)) or str(path).startswith(what)
        # a time-out has no number; the study's own code may need another file
        if error.errno is None or not is_here:
            raise
        raise StoreError(
            f"cannot write to {what}: {error.strerror}. Choose another out=..., or run the same "
            "command again if the reason is gone; every finished block is kept."
        ) from error
