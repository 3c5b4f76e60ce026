"""Where the data of a study are found: in files, in packages, in memory."""

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from simstudy.data.content_hash import hash_of_array, hash_of_frame
from simstudy.errors import StudyError

if TYPE_CHECKING:
    import pandas as pd

COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}


@dataclass(frozen=True)
class File:
    """A file, by its whole path."""

    path: str

    @property
    def place(self) -> str:
        """Its path, by whose ending it is read."""
        return self.path

    def open(self) -> BinaryIO:
        """The file, to be read.

        Raises
        ------
        StudyError
            Where it is not there.
        """
        try:
            return open(self.path, "rb")
        except OSError as error:
            raise StudyError(
                f"{self.path} cannot be read on {platform.node() or 'this machine'}: "
                f"{error.strerror}. The study's numbers depend on it. Put the file there, on every "
                "machine that works on the study, or give its content with Data.frame or "
                "Data.array, which travels to workers by itself."
            ) from None

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True)
class Bundled:
    """A file that an installed package ships, maybe in an archive."""

    package: str
    resource: str

    @property
    def place(self) -> str:
        """Its path, by whose ending it is read."""
        return self.resource

    def open(self) -> BinaryIO:
        """The file, to be read.

        Raises
        ------
        StudyError
            Where it is not there.
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
    """A table or an array, which nobody else can change."""

    content: "np.ndarray | pd.DataFrame"

    def sha256(self) -> str:
        """Hash of the content."""
        if isinstance(self.content, np.ndarray):
            return hash_of_array(self.content)
        return hash_of_frame(self.content)

    def __str__(self) -> str:
        return f"{kind_of(self.content)} in memory"


def kind_of(value: object) -> str:
    """What something is, in words: `a DataFrame of shape (3, 2)`."""
    name = type(value).__name__
    shape = getattr(value, "shape", None)
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}" + (f" of shape {shape}" if shape else "")


def stem(place: str) -> str:
    """The file's name without its ending, and without that of a compression."""
    path = Path(place)
    return Path(path.stem).stem if path.suffix in COMPRESSED else path.stem


def ending_of(place: str) -> str:
    """The last ending but that of a compression."""
    path = Path(place)
    return (Path(path.stem) if path.suffix in COMPRESSED else path).suffix.lower()
