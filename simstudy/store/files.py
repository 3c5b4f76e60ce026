"""Where files of blocks lie: a folder, or anything else that keeps whole files by name."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from simstudy.atomic_files import forget_unfinished, write_whole
from simstudy.errors import StoreError
from simstudy.remote.paths import place_of
from simstudy.store.naming import DAMAGED, ENDING, OTHER_BYTES, is_named_by_content


class Files(Protocol):
    """Files of blocks, each there whole or not at all, found by name.

    A store asks for no more than this: a folder, or what is reached by URL. What is sent to workers
    holds one, which must therefore be picklable.
    """

    def __str__(self) -> str:
        """Where they lie, for a person to find them."""

    def names(self) -> list[str]:
        """Names of the files that are there, in order."""

    def open(self, name: str) -> pa.NativeFile:
        """A file to read; FileNotFoundError where it has gone."""

    def open_checked(self, name: str) -> pa.NativeFile:
        """A file to learn what it says of itself; a StoreError where its bytes are not its name's.

        Where reading costs a network's time, `open` may find out instead.
        """

    def open_end(self, name: str) -> pa.NativeFile:
        """A file to learn what it says of itself, damaged or not."""

    def size(self, name: str) -> int:
        """Its bytes; FileNotFoundError where it has gone."""

    def write(self, fill: Callable[[BufferedRandom], str]) -> str:
        """Write a file and give its name.

        Parameters
        ----------
        fill
            Writes the content, which it may read again, and gives the file's name.
        """

    def delete(self, name: str) -> None:
        """Take a file away, if it is still there."""

    def set_aside(self, name: str) -> None:
        """Put a file where `names` does not see it, if it is still there."""

    def forget_unfinished(self, older_than: float) -> None:
        """Take away what was begun and never finished: so many seconds ago, or by the dead."""

    def below(self, *names: str) -> "Files":
        """Other files, which belong to these and are found by names."""


@dataclass(frozen=True)
class Folder:
    """Files in a folder of this machine, which is made if it is not there."""

    path: Path

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def __getstate__(self) -> dict[str, Path]:
        """In another process, which may work in another folder, it is the same one."""
        return {"path": self.path.absolute()}

    def __str__(self) -> str:
        return str(self.path)

    def names(self) -> list[str]:
        return sorted(path.name for path in self.path.glob(f"*{ENDING}"))

    def open(self, name: str) -> pa.NativeFile:
        return pa.OSFile(str(self.path / name), "rb")

    def open_end(self, name: str) -> pa.NativeFile:
        return self.open(name)

    def open_checked(self, name: str) -> pa.NativeFile:
        file = self.open(name)
        if not is_named_by_content(file, name):
            file.close()
            raise StoreError(OTHER_BYTES)
        file.seek(0)
        return file

    def size(self, name: str) -> int:
        return (self.path / name).stat().st_size

    def write(self, fill: Callable[[BufferedRandom], str]) -> str:
        return write_whole(self.path, fill).name

    def delete(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    def set_aside(self, name: str) -> None:
        aside = self.path / DAMAGED
        aside.mkdir(exist_ok=True)
        try:
            os.replace(self.path / name, aside / name)
        except FileNotFoundError:  # another run was quicker
            return

    def below(self, *names: str) -> "Folder":
        return Folder(self.path.joinpath(*names))

    def forget_unfinished(self, older_than: float) -> None:
        forget_unfinished(self.path, older_than)


def files_at(place: Any, *, at_once: bool = True) -> Files:
    """The files of a place that is named by its path or URL, or those that are given.

    Parameters
    ----------
    at_once
        Whether files beyond this machine are checked as they are found, or as they are read.
    """
    if hasattr(place, "set_aside"):
        files: Files = place
        return files
    named = place_of(place)
    if isinstance(named, Path):
        return Folder(named)
    from simstudy.store.objects import Objects

    return Objects(named, at_once)
