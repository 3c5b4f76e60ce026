"""The folder of block files, and the names of files.

A file is named by the hash of its bytes. So damage can be detected, two runs may write the same
block, and a file never changes. The name of a share's file also has a label, `-SPLIT-INDEX`, so
that the other shares need not open it.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from simstudy.atomic_files import atomic_write, forget_unfinished, read_json, write_bytes
from simstudy.errors import StoreError

if TYPE_CHECKING:
    from simstudy.store.object_store import ObjectStore

import errno
import stat

from simstudy.errors import DiskFullError

REPLICATES = "replicates"  # folder of the block files of a study
DAMAGED = "_damaged"  # folder of damaged files
VERIFIED = "_verified.json"  # size and time of files whose content was compared with their name
ENDING = ".parquet"
HASH_DIGITS = 32  # digits of a file's hash in its name
OTHER_BYTES = "its bytes are not the ones that were written"
CHUNK_BYTES = 1 << 20  # bytes read at once

Metadata = Iterator[tuple[str, pq.FileMetaData | Exception]]


@dataclass(frozen=True)
class Folder:
    """Files in a local folder, which is created when needed; each file is complete or absent.

    `ObjectStore` has the same methods for a URL. Both are picklable, to be sent to workers.
    """

    path: Path

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def __getstate__(self) -> dict[str, Path]:
        """Return the absolute path, for processes with another working directory."""
        return {"path": self.path.absolute()}

    def __str__(self) -> str:
        return str(self.path)

    def names(self) -> list[str]:
        """List the names of the files, in order."""
        with os.scandir(self.path) as entries:
            return sorted(entry.name for entry in entries if entry.name.endswith(ENDING))

    def metadata(self, names: Iterable[str], *, verify: bool = True) -> Metadata:
        """Yield the Parquet metadata of each file, or the error of reading it.

        A file is hashed only once, and again if its size or time has changed.

        Parameters
        ----------
        verify
            Whether to compare the content with the name: a `StoreError` if they differ.
        """
        known = read_json(self.path / VERIFIED) or {}
        found: dict[str, list[int]] = {}
        for name in names:
            try:
                with self.open(name) as file:
                    if verify:
                        found[name] = self._verified(name, file, known.get(name))
                    metadata = pq.read_metadata(file)
            except Exception as error:  # a file may hold anything
                found.pop(name, None)
                yield name, error
            else:
                yield name, metadata
        if not found.items() <= known.items():
            self._record({**known, **found})

    def _verified(self, name: str, file: pa.NativeFile, digest: object) -> list[int]:
        """Return size and time of a file after a check that its content matches its name."""
        status = (self.path / name).stat()
        found = [status.st_size, status.st_mtime_ns]
        if digest != found and not is_named_by_content(file, name):
            raise StoreError(OTHER_BYTES)
        file.seek(0)
        return found

    def _record(self, verified: dict[str, list[int]]) -> None:
        names = set(self.names())
        kept = {name: entry for name, entry in verified.items() if name in names}
        with contextlib.suppress(OSError):  # a read-only folder
            write_bytes(self.path / VERIFIED, json.dumps(kept).encode())

    def open(self, name: str) -> pa.NativeFile:
        """Open a file; raise FileNotFoundError if it has been deleted."""
        path = self.path / name
        if not stat.S_ISREG(path.stat().st_mode):  # a FIFO or device might never end
            raise StoreError("it is not a regular file")
        return pa.OSFile(str(path), "rb")

    def size(self, name: str) -> int:
        """Return the size of a file; raise FileNotFoundError if it has been deleted."""
        return (self.path / name).stat().st_size

    def modified(self, name: str) -> float:
        """Return the time of a file, in seconds since 1970."""
        return (self.path / name).stat().st_mtime

    def write(self, fill: Callable[[BufferedRandom], str]) -> str:
        """Write a file and return its name.

        Parameters
        ----------
        fill
            Function that writes the content, which it may read again, and returns the file's name.
        """
        return atomic_write(self.path, fill).name

    def delete(self, name: str) -> None:
        """Delete a file, if it exists."""
        (self.path / name).unlink(missing_ok=True)

    def quarantine(self, name: str) -> None:
        """Move a damaged file, if it exists, to a folder that `names` does not list."""
        aside = self.path / DAMAGED
        aside.mkdir(exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # another run has moved it
            os.replace(self.path / name, aside / name)

    def forget_unfinished(self, older_than: float) -> None:
        """Delete unfinished files that are old or whose writer is dead."""
        forget_unfinished(self.path, older_than)


Files: TypeAlias = "Folder | ObjectStore"
"""A collection of block files by name."""


# ---------------------------------------------------------------- names
def name_by_content(file: Any, label: str = "") -> str:
    """Make the name for a content: 32 hexadecimal digits of its hash, and a label."""
    file.seek(0)
    whole = hashlib.sha256()
    while piece := file.read(CHUNK_BYTES):
        whole.update(piece)
    return f"{whole.hexdigest()[:HASH_DIGITS]}{label}{ENDING}"


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
        raise _translated(error, path) from error


def _translated(error: OSError, path: object) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(
            f"the disk that holds {path} is full. Every finished block is kept; free some space "
            "and run the same command again to continue."
        )
    if error.errno is None:  # such as a time-out, which is an OSError since Python 3.11
        return error
    what = str(error.filename2 or error.filename or path)
    if not (what.startswith(str(path)) or str(path).startswith(what)):
        return error  # the study's code needs another file
    return StoreError(
        f"cannot write to {what}: {error.strerror}. Choose another out=..., or run the same "
        "command again if the reason is gone; every finished block is kept."
    )
