"""A name in a store that is reached by URL, used as a `Path` is: `/`, `parent`, `read_text`."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

from simstudy.errors import ConfigError, in_one_line
from simstudy.remote.trouble import in_words, no_such_place, reached
from simstudy.remote.urls import ON_THIS_MACHINE, refuse_odd_url
from simstudy.temporary import temporary_folder

BEING_WRITTEN = ".writing-"  # begins the name of a file that is not whole yet, here and in folders
PUT_WHOLE = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "oci", "tos", "obs"}
"""Protocols of stores where what is put appears whole or not at all, and nothing is renamed."""
NO_BUCKET = re.compile(r"NoSuchBucket|bucket does not exist", re.IGNORECASE)


@dataclass(frozen=True, order=True)
class RemotePath:
    """A place in a store beyond this machine's file systems.

    It holds nothing but its URL: who asks, and with what credentials, is the process's affair.
    """

    url: str

    def __str__(self) -> str:
        return self.url

    # ---------------------------------------------------------------- names
    def __truediv__(self, name: str | PurePosixPath) -> RemotePath:
        return self.joinpath(name)

    def joinpath(self, *names: str | PurePosixPath) -> RemotePath:
        return RemotePath("/".join([self.url.rstrip("/"), *map(str, names)]))

    @property
    def _parts(self) -> tuple[str, PurePosixPath]:
        scheme, _, rest = self.url.partition("://")
        return scheme, PurePosixPath(rest)

    @property
    def name(self) -> str:
        return self._parts[1].name

    @property
    def stem(self) -> str:
        return self._parts[1].stem

    @property
    def suffix(self) -> str:
        return self._parts[1].suffix

    @property
    def parent(self) -> RemotePath:
        """What it lies in; a bucket lies in itself."""
        scheme, path = self._parts
        above = str(path.parent)
        return self if above in (".", "/") else RemotePath(f"{scheme}://{above}")

    def relative_to(self, folder: Place) -> PurePosixPath:
        assert isinstance(folder, RemotePath), "a URL lies below a URL"
        return self._parts[1].relative_to(folder._parts[1])

    # ---------------------------------------------------------------- looking
    def exists(self) -> bool:
        with reached(self.url) as (system, path):
            return bool(system.exists(path))

    def is_dir(self) -> bool:
        with reached(self.url) as (system, path):
            return bool(system.isdir(path))

    def listed(self) -> dict[str, int]:
        """Bytes of each file that lies here, by its name; none where the folder is not there."""
        with reached(self.url) as (system, path):
            try:
                found = system.ls(path, detail=True)
            except FileNotFoundError as error:
                if NO_BUCKET.search(f"{error} {error.__cause__!r}"):
                    raise no_such_place(self.url, error) from None
                return {}
            files = (said for said in found if said["type"] == "file" and said["name"] != path)
            return {PurePosixPath(said["name"]).name: int(said["size"]) for said in files}

    def size(self) -> int:
        with reached(self.url) as (system, path):
            return int(system.info(path)["size"])

    def modified(self) -> float:
        """When it was written, in seconds since 1970."""
        with reached(self.url) as (system, path):
            return float(system.modified(path).timestamp())

    def glob(self, pattern: str) -> Iterator[RemotePath]:
        with reached(self.url) as (system, path):
            found = system.glob(f"{path}/{pattern}")
        return (self._below(path, name) for name in found)

    def rglob(self, pattern: str) -> Iterator[RemotePath]:
        with reached(self.url) as (system, path):
            found = system.find(path)
        return (self._below(path, name) for name in found if PurePosixPath(name).match(pattern))

    def _below(self, path: str, name: str) -> RemotePath:
        return self.joinpath(name[len(path) :].lstrip("/"))

    # ---------------------------------------------------------------- reading
    def read_bytes(self) -> bytes:
        with reached(self.url) as (system, path):
            return bytes(system.cat_file(path))

    def read_text(self, encoding: str = "utf-8") -> str:
        return self.read_bytes().decode(encoding)

    def open(self, mode: str = "rb") -> BytesIO:
        """Its bytes to read; `mode` is there for who opens a `Path`."""
        assert mode == "rb"
        return BytesIO(self.read_bytes())

    def read_parts(self, ranges: Mapping[str, tuple[int, int]]) -> dict[str, bytes | Exception]:
        """Bytes of many files that lie here, fetched side by side where the store can.

        Parameters
        ----------
        ranges
            From which byte, and to before which, by a file's name.

        Returns
        -------
        dict
            By name the bytes, or the error that came of it.
        """
        with reached(self.url) as (system, path):
            paths = [f"{path}/{name}" for name in ranges]
            starts, ends = ([pair[at] for pair in ranges.values()] for at in (0, 1))
            parts = system.cat_ranges(paths, starts, ends, on_error="return")
        return {name: _said(self.url, part) for name, part in zip(ranges, parts, strict=True)}

    def fetch(self, target: Path) -> None:
        """Copy it to a file of this machine."""
        with reached(self.url) as (system, path):
            system.get_file(path, str(target))

    # ---------------------------------------------------------------- writing
    def put(self, source: Path) -> None:
        """Make it a copy of a file of this machine, whole or not at all.

        Raises
        ------
        UnreachableError
            Where there is nothing to put it into.
        """
        with reached(self.url) as (system, path):
            try:
                self._put(system, source, path)
            except FileNotFoundError as error:
                raise no_such_place(self.url, error) from None

    def write_bytes(self, content: bytes) -> None:
        with temporary_folder() as folder:
            source = Path(folder) / self.name  # stores tell by the name's ending what it is
            source.write_bytes(content)
            self.put(source)

    def _put(self, system: Any, source: Path, path: str) -> None:
        """Upload; where half a file would be seen, under another name that is then changed."""
        if self.is_put_whole:
            system.put_file(str(source), path)
            return
        folder = path.rpartition("/")[0]
        begun = f"{folder}/{BEING_WRITTEN}{uuid.uuid4().hex}"
        system.makedirs(folder, exist_ok=True)
        system.put_file(str(source), begun)
        system.mv(begun, path)

    @property
    def is_put_whole(self) -> bool:
        """Whether what is put here appears whole or not at all."""
        return self._parts[0] in PUT_WHOLE

    def move(self, target: RemotePath) -> None:
        """Give it another name; a FileNotFoundError where it has gone.

        What is put whole is put anew before it goes from here: a store may copy later than it says
        that it does, as Azure's may, and nothing is left to copy then.
        """
        if self.is_put_whole:
            with temporary_folder() as folder:
                copy = Path(folder) / target.name
                self.fetch(copy)
                target.put(copy)
            self.unlink(missing_ok=True)
            return
        with reached(self.url) as (system, path):
            system.makedirs(_folder_of(target), exist_ok=True)
            system.mv(path, _path_of(target))

    def unlink(self, missing_ok: bool = False) -> None:
        with reached(self.url) as (system, path):
            try:
                system.rm_file(path)
            except FileNotFoundError:
                if not missing_ok:
                    raise


Place = Path | RemotePath
"""Where results lie: a folder of this machine, or a place that is reached by URL."""


def place_of(out: str | os.PathLike[str] | RemotePath) -> Place:
    """What a user names as a place for results: a path, or a URL.

    Raises
    ------
    ConfigError
        Where it is a URL that cannot be used, or a URL that was taken for a path.
    """
    if not isinstance(out, str | os.PathLike | RemotePath):
        raise ConfigError(
            f"{in_one_line(repr(out))} names no place for results: give a folder or a URL, as "
            "a text or a path."
        )
    text = str(out) if isinstance(out, RemotePath) else os.fspath(out)
    refuse_odd_url(text)
    scheme, is_url, rest = text.partition("://")
    if not is_url:
        return Path(text)
    return Path(rest) if scheme in ON_THIS_MACHINE else RemotePath(text)


def _said(url: str, part: Any) -> bytes | Exception:
    """What came of fetching a part, in words where the store could not be used."""
    if isinstance(part, Exception):
        return part if isinstance(part, FileNotFoundError) else in_words(part, url)
    return bytes(part)


def _path_of(place: RemotePath) -> str:
    with reached(place.url) as (_, path):
        return path


def _folder_of(place: RemotePath) -> str:
    return _path_of(place).rpartition("/")[0]


def name_below(folder: Place, path: Place) -> str:
    """What a place is called by somebody who stands in a folder above it."""
    if isinstance(path, RemotePath):
        return str(path.relative_to(folder))
    return str(path.relative_to(str(folder)))
