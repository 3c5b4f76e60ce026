"""Block files in an object store, with a local cache.

An object store cannot rename or lock files, and every request takes a round trip over the network,
so many files are requested at once. A file is named by its content and never changes: it is fetched
once, compared with its name, and read from the local copy.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BufferedRandom, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from simstudy.atomic_files import TemporaryFolder, atomic_write, write_bytes
from simstudy.errors import StoreError
from simstudy.remote import list_sizes, place_of, put_file, translated_errors
from simstudy.store.files import (
    DAMAGED,
    ENDING,
    OTHER_BYTES,
    Metadata,
    is_named_by_content,
    translate_io_errors,
)

if TYPE_CHECKING:
    from upath import UPath

FILES_AT_ONCE = 64  # files to request in parallel; more connections may be refused by servers
BYTES_AT_ONCE = 64_000_000  # size of these files in memory
TAIL_BYTES = 1 << 16  # end of a file that is read first, with its metadata in most cases


@dataclass
class ObjectStore:
    """Block files below a URL, with local copies.

    Parameters
    ----------
    at_once
        Whether files are fetched and verified when they are found, since all will be read.
        Otherwise only their metadata are read, and a file is fetched when its rows are.
    """

    place: UPath
    at_once: bool = True
    is_sent: bool = field(default=False, compare=False)  # workers only write

    def __post_init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._copies = TemporaryFolder()
        self._lock = threading.Lock()  # threads may fetch the same file

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the URL only, without copies and caches."""
        check_sendable(self.place)
        return _in_another_process, (str(self.place), self.at_once)

    def __str__(self) -> str:
        return str(self.place)

    # ---------------------------------------------------------------- listing
    def names(self) -> list[str]:
        """List the names of the files, in order."""
        listed = sorted(list_sizes(self.place).items())
        self._sizes = {name: size for name, size in listed if name.endswith(ENDING)}
        return list(self._sizes)

    def size(self, name: str) -> int:
        known = self._sizes.get(name)
        return (self.place / name).stat().st_size if known is None else known

    def modified(self, name: str) -> float:
        return float(getattr((self.place / name).stat(), "st_mtime", 0.0))

    def metadata(self, names: Iterable[str], *, verify: bool = True) -> Metadata:
        """Yield the metadata of each file, or the error of reading it.

        They are read from local copies if all rows will be read, otherwise from the files' ends.
        """
        whole = self.at_once and verify
        for some in self._in_batches(names, whole=whole):
            found = self._fetch(some, None if whole else TAIL_BYTES)
            for name in some:
                try:
                    yield name, self._metadata_of(name, found.get(name))
                except Exception as error:  # a file may hold anything
                    yield name, error

    def _metadata_of(self, name: str, tail: bytes | Exception | None) -> pq.FileMetaData:
        if isinstance(tail, Exception):
            raise tail
        if tail is not None:
            with contextlib.suppress(pa.ArrowInvalid):  # longer than the tail, or damaged
                return pq.read_metadata(pa.BufferReader(tail))
        with self.open(name) as file:
            return pq.read_metadata(file)

    def _in_batches(self, names: Iterable[str], *, whole: bool) -> Iterator[list[str]]:
        """Split names into batches of parallel requests."""
        batch, n_bytes = list[str](), 0
        for name in names:
            size = self.size(name) if whole else TAIL_BYTES
            if batch and (len(batch) == FILES_AT_ONCE or n_bytes + size > BYTES_AT_ONCE):
                yield batch
                batch, n_bytes = [], 0
            batch.append(name)
            n_bytes += size
        if batch:
            yield batch

    # ---------------------------------------------------------------- reading
    def open(self, name: str) -> pa.NativeFile:
        """Open the local copy of a file, whose content was compared with its name.

        Raises
        ------
        StoreError
            If they do not match.
        """
        with self._lock:
            error = self._fetch([name]).get(name)
        if isinstance(error, StoreError) and str(error) == OTHER_BYTES:
            raise StoreError(
                f"{name} in {self} cannot be used: {error}. Run the study without shard=... to "
                "move it away and draw its blocks again."
            )
        if isinstance(error, Exception):
            raise error
        return pa.OSFile(str(self._copy(name)), "rb")

    def _copy(self, name: str) -> Path:
        return Path(self._copies.name) / name

    def _fetch(
        self, names: Sequence[str], n_bytes: int | None = None
    ) -> dict[str, bytes | Exception]:
        """Download files without a local copy, in parallel if the store supports it.

        Parameters
        ----------
        n_bytes
            Number of bytes from the end of each file; None for the whole file. Whole files are
            kept as local copies.

        Returns
        -------
        dict
            The ends of longer files, and the errors of files that failed, by name.
        """
        sizes = {name: self.size(name) for name in names if not self._copy(name).exists()}
        starts = [0 if n_bytes is None else max(0, size - n_bytes) for size in sizes.values()]
        paths = [(self.place / name).path for name in sizes]
        ends = list(sizes.values())
        parts = self.place.fs.cat_ranges(paths, starts, ends, on_error="return") if paths else []
        found: dict[str, bytes | Exception] = {}
        for name, start, part in zip(sizes, starts, parts, strict=True):
            try:
                if isinstance(part, Exception):
                    with translated_errors(str(self.place)):
                        raise part
                if start:
                    found[name] = part
                else:
                    self._keep(name, part)
            except Exception as error:
                found[name] = error
        return found

    def _keep(self, name: str, content: bytes) -> None:
        if not is_named_by_content(BytesIO(content), name):
            raise StoreError(OTHER_BYTES)
        with translate_io_errors(self._copies.name):
            write_bytes(self._copy(name), content)

    # ---------------------------------------------------------------- writing
    def write(self, fill: Callable[[BufferedRandom], str]) -> str:
        """Write a file locally, verify it, then upload it."""
        with translate_io_errors(self._copies.name):
            copy = atomic_write(Path(self._copies.name), fill)
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
        self._copy(name).unlink(missing_ok=True)

    def quarantine(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):  # another run has moved it
            self.place.fs.mv((self.place / name).path, (self.place / DAMAGED / name).path)
        self._forget(name)

    def forget_unfinished(self, older_than: float) -> None:
        """Do nothing: uploads appear complete or not at all."""


def _in_another_process(url: str, at_once: bool) -> ObjectStore:
    return ObjectStore(cast("UPath", place_of(url)), at_once, is_sent=True)


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
