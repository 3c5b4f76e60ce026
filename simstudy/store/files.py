"""Where files of blocks lie: a folder, or anything else that keeps whole files by name."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from simstudy.whole_files import BEING_WRITTEN, write_whole

DAMAGED = "_damaged"  # folder of what was set aside
DERIVED = "derived"  # folder of what was made of the blocks


class Files(Protocol):
    """Files of blocks, each there whole or not at all, found by name.

    A store asks for no more than this, so that an object store can take a folder's place. What is
    sent to workers holds one, which must therefore be picklable.
    """

    def __str__(self) -> str:
        """Where they lie, for a person to find them."""

    def names(self) -> list[str]:
        """Names of the files that are there, in order."""

    def open(self, name: str) -> pa.NativeFile:
        """A file to read; FileNotFoundError where it has gone."""

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
        """Take away what was begun so many seconds ago and never finished."""

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
        return sorted(path.name for path in self.path.glob("*.parquet"))

    def open(self, name: str) -> pa.NativeFile:
        return pa.OSFile(str(self.path / name), "rb")

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
        for path in self.path.glob(f"{BEING_WRITTEN}*"):
            try:
                if time.time() - path.stat().st_mtime > older_than:
                    path.unlink()
            except FileNotFoundError:
                continue


def files_at(place: Any) -> Files:
    """The files of a folder that is named by its path, or those that are given."""
    if isinstance(place, str | os.PathLike):
        return Folder(Path(place))
    files: Files = place
    return files
