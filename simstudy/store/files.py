"""The folder of block files, and the names of files.

A file is named by the hash of its bytes. A file that is there under its name is undamaged, two runs
that compute the same block do no harm, and a file never changes. The name of a share's file has
a label as well, `-SPLIT-INDEX`, so that the other shares need not open it.
"""

import contextlib
import hashlib
import json
import os
import stat
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

REPLICATES = "replicates"  # folder of the block files of a study
DAMAGED = "_damaged"  # folder of files that were set aside
VERIFIED = "_verified.json"  # size and time of files whose bytes were held against their name
ENDING = ".parquet"
DIGITS = 32  # of a file's hash, in its name
OTHER_BYTES = "its bytes are not the ones that were written"
READ_AT_ONCE = 1 << 20  # bytes

Metadata = Iterator[tuple[str, pq.FileMetaData | Exception]]


@dataclass(frozen=True)
class Folder:
    """Files in a local folder, created when needed; each is complete or absent.

    `ObjectStore` has the same methods for a URL. Workers are sent one, so it must be picklable.
    """

    path: Path

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def __getstate__(self) -> dict[str, Path]:
        """The absolute path, for processes with another working directory."""
        return {"path": self.path.absolute()}

    def __str__(self) -> str:
        return str(self.path)

    def names(self) -> list[str]:
        """The names of the files, in order."""
        with os.scandir(self.path) as entries:
            return sorted(entry.name for entry in entries if entry.name.endswith(ENDING))

    def metadata(self, names: Iterable[str], *, verify: bool = True) -> Metadata:
        """The Parquet metadata of each file, or what is wrong with it.

        A file is hashed once: its recorded size and time tell of a change.

        Parameters
        ----------
        verify
            Whether to hold its bytes against its name: a `StoreError` where they differ.
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
        """Size and time of a file whose bytes match its name."""
        status = (self.path / name).stat()
        found = [status.st_size, status.st_mtime_ns]
        if digest != found and not is_named_by_content(file, name):
            raise StoreError(OTHER_BYTES)
        file.seek(0)
        return found

    def _record(self, verified: dict[str, list[int]]) -> None:
        names = set(self.names())
        kept = {name: entry for name, entry in verified.items() if name in names}
        with contextlib.suppress(OSError):  # a folder that may only be read
            write_bytes(self.path / VERIFIED, json.dumps(kept).encode())

    def open(self, name: str) -> pa.NativeFile:
        """Open a file; FileNotFoundError if it is gone."""
        path = self.path / name
        if not stat.S_ISREG(path.stat().st_mode):  # a FIFO or device might never end
            raise StoreError("it is no regular file")
        return pa.OSFile(str(path), "rb")

    def size(self, name: str) -> int:
        """The size of a file; FileNotFoundError if it is gone."""
        return (self.path / name).stat().st_size

    def write(self, fill: Callable[[BufferedRandom], str]) -> str:
        """Write a file; returns its name.

        Parameters
        ----------
        fill
            Writes the content, which it may read again, and gives the file's name.
        """
        return atomic_write(self.path, fill).name

    def delete(self, name: str) -> None:
        """Delete a file, if it exists."""
        (self.path / name).unlink(missing_ok=True)

    def quarantine(self, name: str) -> None:
        """Move a damaged file where `names` does not list it, if it exists."""
        aside = self.path / DAMAGED
        aside.mkdir(exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # another run was quicker
            os.replace(self.path / name, aside / name)

    def forget_unfinished(self, older_than: float) -> None:
        """Delete unfinished files that are old or whose writer is dead."""
        forget_unfinished(self.path, older_than)


Files: TypeAlias = "Folder | ObjectStore"
"""Where block files are kept by name."""


# ---------------------------------------------------------------- names
def name_by_content(file: Any, label: str = "") -> str:
    """The name for a content: 32 hexadecimal digits of its hash, and a label."""
    file.seek(0)
    whole = hashlib.sha256()
    while piece := file.read(READ_AT_ONCE):
        whole.update(piece)
    return f"{whole.hexdigest()[:DIGITS]}{label}{ENDING}"


def is_named_by_content(file: Any, name: str) -> bool:
    """Whether a file's bytes match its name."""
    return name_by_content(file, label_of(name)) == name


def label_of(name: str) -> str:
    """The label in a file's name; empty if no share wrote it."""
    return name[DIGITS:].removesuffix(ENDING)


def is_of_another_share(name: str, label: str) -> bool:
    """Whether another share of the same split wrote a file.

    Parameters
    ----------
    label
        That of our share; empty where a run is no share.
    """
    split = label.rpartition("-")[0]
    theirs = label_of(name)
    return bool(split) and theirs.rpartition("-")[0] == split and theirs != label
