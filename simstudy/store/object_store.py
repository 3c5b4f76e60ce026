"""Block files in an object store, with a local cache.

Nothing can be renamed or locked there, and every request costs a network's round trip, so many
files are asked for at once. A file is named by its content, so it never changes: it is fetched
once, held against its name, and read from the copy.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BufferedRandom, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from simstudy.atomic_files import atomic_write, temporary_folder, write_bytes
from simstudy.errors import StoreError
from simstudy.remote.paths import list_sizes, place_of, put_file, translated_errors
from simstudy.store.files import DAMAGED, ENDING, OTHER_BYTES, Metadata, is_named_by_content
from simstudy.store.io_errors import translate_io_errors

if TYPE_CHECKING:
    from upath import UPath

FILES_AT_ONCE = 64  # asked for together: as many connections as servers like from a client
BYTES_AT_ONCE = 64_000_000  # of them held in memory
TAIL_BYTES = 1 << 16  # of a file, in which its metadata mostly lie


@dataclass
class ObjectStore:
    """Block files below a URL, with local copies.

    Parameters
    ----------
    at_once
        Whether files are fetched and verified as they are found, since all of them will be read;
        else only their metadata are read, and a file is fetched when its rows are wanted.
    """

    place: UPath
    at_once: bool = True
    is_sent: bool = field(default=False, compare=False)  # to another process, which only writes

    def __post_init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._copies = temporary_folder()
        self._lock = threading.Lock()  # threads may want the same file

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and caches stay in this process."""
        check_sendable(self.place)
        return _in_another_process, (str(self.place), self.at_once)

    def __str__(self) -> str:
        return str(self.place)

    # ---------------------------------------------------------------- looking
    def names(self) -> list[str]:
        listed = list_sizes(self.place)
        self._sizes = {name: listed[name] for name in sorted(listed) if name.endswith(ENDING)}
        return list(self._sizes)

    def size(self, name: str) -> int:
        known = self._sizes.get(name)
        return (self.place / name).stat().st_size if known is None else known

    def metadata(self, names: Iterable[str], *, verify: bool = True) -> Metadata:
        """Metadata from local copies if all rows will be read, else from the ends of the files."""
        fetches = self.at_once and verify
        for some in self._in_batches(names, whole=fetches):
            errors = self._fetch(some) if fetches else {}
            tails = {} if fetches else self._tails(some)
            for name in some:
                try:
                    if name in errors:
                        raise errors[name]
                    yield name, self._metadata_of(name, tails.get(name))
                except Exception as error:  # a file may hold anything
                    yield name, error

    def _metadata_of(self, name: str, tail: bytes | None) -> pq.FileMetaData:
        if tail is not None:
            with contextlib.suppress(pa.ArrowInvalid):  # they are longer than the tail, or damaged
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

    def _tails(self, names: Sequence[str]) -> dict[str, bytes]:
        """The ends of files without a local copy; empty for vanished files."""
        lacking = {name: self.size(name) for name in names if not self._copy(name).exists()}
        found = self._read(lacking, TAIL_BYTES)
        tails = {name: part for name, part in found.items() if isinstance(part, bytes)}
        for name, tail in tails.items():
            if len(tail) == lacking[name]:  # all of it
                with contextlib.suppress(StoreError):
                    self._keep(name, tail)
        return tails

    def _read(self, sizes: Mapping[str, int], n_bytes: int) -> dict[str, bytes | Exception]:
        """Read the last bytes of files, in parallel where the store can."""
        paths = [(self.place / name).path for name in sizes]
        starts = [max(0, size - n_bytes) for size in sizes.values()]
        ends = list(sizes.values())
        parts = self.place.fs.cat_ranges(paths, starts, ends, on_error="return") if paths else []
        return dict(zip(sizes, parts, strict=True))

    # ---------------------------------------------------------------- reading
    def open(self, name: str) -> pa.NativeFile:
        """Open the local copy of a file, verified against its name.

        Raises
        ------
        StoreError
            Where they are not.
        """
        with self._lock:
            error = self._fetch([name]).get(name)
        if isinstance(error, StoreError) and str(error) == OTHER_BYTES:
            raise StoreError(
                f"{name} in {self} cannot be used: {error}. Run the study without shard=...: that "
                "sets it aside and draws its blocks again."
            )
        if error is not None:
            raise error
        return pa.OSFile(str(self._copy(name)), "rb")

    def _copy(self, name: str) -> Path:
        return Path(self._copies.name) / name

    def _fetch(self, names: Sequence[str]) -> dict[str, Exception]:
        """Download files; returns what is wrong with those that failed."""
        lacking = {name: self.size(name) for name in names if not self._copy(name).exists()}
        errors: dict[str, Exception] = {}
        for name, content in self._read(lacking, max(lacking.values(), default=0)).items():
            try:
                if isinstance(content, Exception):
                    with translated_errors(str(self.place)):
                        raise content
                self._keep(name, content)
            except Exception as error:
                is_damage = "Checksum" in type(content).__name__  # of the store's own
                errors[name] = StoreError(OTHER_BYTES) if is_damage else error
        return errors

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
        with contextlib.suppress(FileNotFoundError):  # another run was quicker
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
        Naming what would do.
    """
    if path.protocol == "memory":
        raise StoreError(
            f"{path} lies in the memory of this process, and workers in others would write into "
            "their own. Use backend=threads or backend=inline, or another out=..."
        )
