"""Files of blocks in a store that is reached by URL: put whole, fetched once, read here.

Nothing can be renamed or locked there, and every request costs a network's round trip. A file is
named by its content, so it never changes: it is fetched once, held against its name, and read from
the copy. What this process wrote is its own copy.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BufferedRandom
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from simstudy.atomic_files import temporary_folder, write_bytes, write_whole
from simstudy.errors import StoreError
from simstudy.remote.paths import BEING_WRITTEN, list_sizes, place_of, put_file
from simstudy.store.disk import trouble_in_words
from simstudy.store.fetched import Fetched
from simstudy.store.naming import DAMAGED, ENDING, OTHER_BYTES, is_named_by_content

if TYPE_CHECKING:
    from upath import UPath


@dataclass
class Objects:
    """Files below a URL.

    Parameters
    ----------
    at_once
        Whether files are held against their names as they are found, since all of them will be
        read; else only their ends are read, and a file is fetched when its rows are wanted.
    """

    place: UPath
    at_once: bool = True
    is_sent: bool = field(default=False, compare=False)  # to another process, which only writes

    def __post_init__(self) -> None:
        self.fetched = Fetched(self.place, whole=self.at_once)
        self.written: set[str] = set()
        self.copies = temporary_folder()
        self._one_fetches = threading.Lock()  # threads may want the same file

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process it is the same place; what is known of it, and copies, stay here."""
        refuse_sending(self.place)
        return _objects_at, (str(self.place), self.at_once)

    def __str__(self) -> str:
        return str(self.place)

    # ---------------------------------------------------------------- looking
    def names(self) -> list[str]:
        """Those that are listed, and those that this process wrote and the list lacks as yet."""
        listed = {n: size for n, size in list_sizes(self.place).items() if n.endswith(ENDING)}
        for name in self.written - set(listed):
            try:
                listed[name] = (self.place / name).stat().st_size
            except FileNotFoundError:  # gathered by another run
                self.written.discard(name)
        self.fetched.listed = dict(sorted(listed.items()))
        return list(self.fetched.listed)

    def size(self, name: str) -> int:
        known = self.fetched.listed.get(name)
        return (self.place / name).stat().st_size if known is None else known

    # ---------------------------------------------------------------- reading
    def open_checked(self, name: str) -> pa.NativeFile:
        """A file held against its name, unless it is large and its rows are not wanted yet."""
        if self.fetched.is_whole(name):
            self._have_copy(name)
        return self.open_end(name)

    def open_end(self, name: str) -> pa.NativeFile:
        if self._copy(name).exists():
            return self.open(name)
        return pa.PythonFile(self.fetched.end(name), mode="r")

    def open(self, name: str) -> pa.NativeFile:
        """Its copy on this machine, which is the file: its bytes are those that its name says.

        Raises
        ------
        StoreError
            Where they are not.
        """
        try:
            self._have_copy(name)
        except StoreError as error:
            raise StoreError(
                f"{name} in {self} cannot be used: {error}. Run the study without shard=...: that "
                "sets it aside and draws its blocks again."
            ) from None
        return pa.OSFile(str(self._copy(name)), "rb")

    def _have_copy(self, name: str) -> None:
        copy = self._copy(name)
        with self._one_fetches:
            if not copy.exists():
                with trouble_in_words(self.copies.name):
                    self._fetch(name, copy)

    def _copy(self, name: str) -> Path:
        return Path(self.copies.name) / name

    def _fetch(self, name: str, copy: Path) -> None:
        begun = copy.with_name(f"{BEING_WRITTEN}{name}")
        self.fetched.to_file(name, begun)
        with begun.open("rb") as file:
            is_whole = is_named_by_content(file, name)
        if not is_whole:
            begun.unlink()
            raise StoreError(OTHER_BYTES)
        begun.rename(copy)

    # ---------------------------------------------------------------- writing
    def write(self, fill: Callable[[BufferedRandom], str]) -> str:
        """Write a file of this machine, read back as it is named, then put it there whole."""
        with trouble_in_words(self.copies.name):
            copy = write_whole(Path(self.copies.name), fill)
        put_file(copy, self.place / copy.name)
        if self.is_sent:
            copy.unlink(missing_ok=True)
        self.written.add(copy.name)
        self.fetched.taken.add(copy.name)
        return copy.name

    def delete(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.place.fs.rm_file((self.place / name).path)
        self._forget(name)

    def set_aside(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):  # another run was quicker
            write_bytes(self.place / DAMAGED / name, (self.place / name).read_bytes())
        self.delete(name)

    def _forget(self, name: str) -> None:
        self.written.discard(name)
        self.fetched.listed.pop(name, None)
        self._copy(name).unlink(missing_ok=True)

    def forget_unfinished(self, older_than: float) -> None:
        """Leave it: what is put appears whole, and what another run is uploading is not ours."""

    def below(self, *names: str) -> Objects:
        return Objects(self.place.joinpath(*names), self.at_once)


def _objects_at(url: str, at_once: bool) -> Objects:
    """The files of a place as another process gets them."""
    return Objects(cast("UPath", place_of(url)), at_once, is_sent=True)


def refuse_sending(place: UPath) -> None:
    """Refuse workers in other processes what only this one has.

    Raises
    ------
    StoreError
        Naming what would do.
    """
    if place.protocol == "memory":
        raise StoreError(
            f"{place} lies in the memory of this process, and workers in others would write into "
            "their own. Use backend=threads or backend=inline, or another out=..."
        )
