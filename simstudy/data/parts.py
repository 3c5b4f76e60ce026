"""A user's data as part of a scenario, identified by its content.

Data are identified by a hash of their content, not by their path. The SHA-256 of a `Data` part is
in the identity of the scenario, so other data are another scenario, with other random streams and
other stored blocks. Content with another hash is refused when it is read.
"""

import os
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, TypeVar, cast

import numpy as np

from simstudy.data.canonical import held_array, held_frame, read_npy, reader_of_tables
from simstudy.data.sources import (
    Bundled,
    File,
    InMemory,
    Stored,
    ending_of,
    kind_of,
    sha256_of,
    stem,
)
from simstudy.errors import DesignError, StudyError

if TYPE_CHECKING:
    import pandas as pd


KEPT_BYTES = 1 << 30  # per process; the latest content is kept even if it is larger

Content = TypeVar("Content", bound="np.ndarray | bytes | pd.DataFrame")

_lock = threading.RLock()
_cache: "OrderedDict[Hashable, tuple[object, int]]" = OrderedDict()


def _as_bytes(options: Mapping[str, object]) -> "bytes | None":
    """A key for options; None if they cannot be pickled, such as lambdas."""
    try:
        return pickle.dumps(options)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


@dataclass(frozen=True, eq=False, repr=False)
class Data:
    """Data as a part of a scenario or of a data-generating process, identified by their content.

    Make them with `Data.file`, `Data.from_frame`, `Data.from_array` or `Data.bundled`. In
    `simulate`, read them with `.read_frame()`, `.read_array()`, `.bytes()` or `.text()`. The
    content is compared with the hash when a process reads it for the first time, and cached. Two
    parts with the same content are equal, even if their names and paths differ.

    Parameters
    ----------
    sha256
        SHA-256 of the content; for a file, as printed by `sha256sum`.
    name
        Name in tables, with the first digits of the hash. No number depends on it.
    source
        Location of the content. A file is sent to workers as its path. Tables and arrays are sent
        with every task, so large ones are better stored in files.
    """

    sha256: str
    name: str
    source: "Stored | InMemory"

    # ---------------------------------------------------------------- making
    @classmethod
    def from_frame(cls, frame: "pd.DataFrame | pd.Series[Any]", name: str) -> "Data":
        """Take a pandas table; a Series is a table of one column.

        Column names, types, index and values are part of the identity; the memory layout is not.

        Parameters
        ----------
        frame
            The table.
        name
            Name in labels.

        Returns
        -------
        Data
            The data.

        Raises
        ------
        DesignError
            If it is not a table.
        """
        import pandas as pd

        table = frame.to_frame() if isinstance(frame, pd.Series) else frame
        if not isinstance(table, pd.DataFrame):
            raise DesignError(
                f"Data.from_frame takes a pandas DataFrame or Series, not {kind_of(frame)}."
            )
        held = InMemory(held_frame(table))
        return cls(held.sha256(), _named(name), held)

    @classmethod
    def from_array(cls, array: np.ndarray, name: str) -> "Data":
        """Take a NumPy array, identified by type, shape and values, not byte order or layout.

        Parameters
        ----------
        array
            The array, of any shape.
        name
            Name in labels.

        Returns
        -------
        Data
            The data.

        Raises
        ------
        DesignError
            If it is not an array, or is a masked array.
        """
        if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
            raise DesignError(
                f"Data.from_array takes a NumPy array, not {kind_of(array)}: make one with "
                "numpy.asarray (masked values filled), or give a table to Data.from_frame."
            )
        held = InMemory(held_array(array))
        return cls(held.sha256(), _named(name), held)

    @classmethod
    def file(cls, path: str | os.PathLike[str], name: str | None = None) -> "Data":
        """Take a file as a part of scenarios; a relative path starts in the current folder.

        Parameters
        ----------
        path
            Path of the file.
        name
            Name in labels. Default: the file's name without its ending.

        Returns
        -------
        Data
            The data; the file is read when a scenario uses it.
        """
        return cls._stored(File(os.path.abspath(os.fspath(path))), name)

    @classmethod
    def bundled(cls, package: str, resource: str, name: str | None = None) -> "Data":
        """Take a file of an installed package, such as `("mypackage", "data/prices.csv")`.

        Parameters
        ----------
        package
            Name of the package, as it is imported.
        resource
            Path of the file within the package, with `/`.
        name
            Name in labels. Default: the file's name without its ending.

        Returns
        -------
        Data
            The data; the file is read when a scenario uses it.
        """
        return cls._stored(Bundled(package, resource), name)

    @classmethod
    def _stored(cls, source: "File | Bundled", name: str | None) -> "Data":
        with source.open() as file:
            sha256 = sha256_of(file)
        return cls(sha256, _named(stem(source.place) if name is None else name), source)

    # ---------------------------------------------------------------- reading
    def read_frame(self, **options: Any) -> "pd.DataFrame":
        """Read the table, as a copy that may be changed.

        Parameters
        ----------
        **options
            Options of `pandas.read_csv` or `pandas.read_parquet` (by the ending), for a file.

        Returns
        -------
        DataFrame
            The table.
        """
        if isinstance(self.source, InMemory):
            _refuse_options(self, options)
            table = self._held("DataFrame", "Data.from_frame")
        else:
            parse = reader_of_tables(self.source.place)
            load = partial(self._read, partial(parse, **options))
            asked = _as_bytes({**parse.keywords, **options})
            table = load() if asked is None else kept((self.sha256, parse.func, asked), load)
        copied = table.copy(deep=True)
        copied.index = table.index.copy(deep=True)
        return cast("pd.DataFrame", copied)

    def read_array(self) -> np.ndarray:
        """Read the array, read-only; a file must be in NumPy's format (`.npy`).

        Returns
        -------
        ndarray
            The array.

        Raises
        ------
        StudyError
            If the file does not end in `.npy`.
        """
        if isinstance(self.source, InMemory):
            return cast(np.ndarray, self._held("ndarray", "Data.from_array"))
        if ending_of(self.source.place) != ".npy":
            raise StudyError(
                f"{self.source.place} does not end in .npy, so it is not read as an array. Read it "
                "with .read_frame().to_numpy(), or take .bytes() apart."
            )
        return kept((self.sha256, ".npy"), lambda: self._read(read_npy))

    def bytes(self) -> bytes:
        """Read the file as bytes.

        Returns
        -------
        bytes
            The content of the file.
        """
        if isinstance(self.source, InMemory):
            self._refuse_kind("bytes", "Data.file or Data.bundled")
        return cast("bytes", kept((self.sha256, "bytes"), lambda: self._read(methodcaller("read"))))

    def text(self, encoding: str = "utf-8") -> str:
        """Read the file as text, with its line ends unchanged.

        Parameters
        ----------
        encoding
            Encoding of the file.

        Returns
        -------
        str
            The content.
        """
        return self.bytes().decode(encoding)

    @property
    def path(self) -> Path:
        """The path of the file, for libraries that open it themselves; its content is checked now.

        A later change is not detected before the next check.
        """
        if not isinstance(self.source, File):
            self._refuse_kind("path", "Data.file")
        self.check()
        return Path(self.source.path)

    def check(self, *, anew: bool = False) -> None:
        """Compare the source with the hash.

        A file is read again unless this process has hashed it and its size and times are unchanged.

        Parameters
        ----------
        anew
            Whether to read it in any case, as at the start of a run.

        Raises
        ------
        StudyError
            If the source is missing, or its content has another hash.
        """
        if isinstance(self.source, InMemory):
            kept((self.sha256, "held"), self._checked_content)
            return
        with self.source.open() as file:
            self._refuse_other(sha256_of(file, anew=anew))

    def _read(self, parse: Callable[[BinaryIO], Content]) -> Content:
        """Parse the file; the hash is checked before and after."""
        assert not isinstance(self.source, InMemory)
        with self.source.open() as file:
            self._refuse_other(sha256_of(file))
            file.seek(0)
            content = parse(file)
            self._refuse_other(sha256_of(file))
        return content

    def _held(self, kind: str, maker: str) -> Any:
        assert isinstance(self.source, InMemory)
        if type(self.source.content).__name__ != kind:
            self._refuse_kind(kind, maker)
        return kept((self.sha256, "held"), self._checked_content)

    def _checked_content(self) -> "np.ndarray | pd.DataFrame":
        assert isinstance(self.source, InMemory)
        self._refuse_other(self.source.sha256())
        if isinstance(self.source.content, np.ndarray):  # a copy in a worker may be written to
            self.source.content.setflags(write=False)
        return self.source.content

    def _refuse_other(self, found: str) -> None:
        if found != self.sha256:
            raise StudyError(
                f"{self.source} has changed since the study was made: its content was "
                f"#{self.sha256[:6]} and is #{found[:6]}. Its results would mix two versions of "
                "the data. Put the old content back, or start the program again, which makes a "
                "new part of the new content."
            )

    def _refuse_kind(self, wanted: str, maker: str) -> NoReturn:
        raise StudyError(
            f"{self!r} is {self.source} and has no {wanted}: only what {maker} made does. Read it "
            "as what it is."
        )

    def identity_text(self) -> str:
        """Return the text that identifies the data in random streams and in the store.

        Returns
        -------
        str
            The first 64 bits of the hash of its content, such as `Data(#0123456789abcdef)`.
        """
        return f"Data(#{self.sha256[:16]})"

    def __str__(self) -> str:
        return f"{self.name}#{self.sha256[:6]}"

    def __repr__(self) -> str:
        return f"Data({self})"

    def __eq__(self, other: object) -> bool:
        return self.sha256 == other.sha256 if isinstance(other, Data) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.sha256)


def _named(name: str) -> str:
    if not name or not isinstance(name, str):
        raise DesignError(
            f"name={name!r}: data are shown by their name in every table. Give it a text, such as "
            "name='prices'."
        )
    return name


def _refuse_options(part: Data, options: Mapping[str, object]) -> None:
    if options:
        raise StudyError(
            f"{part!r} is a table already, and {', '.join(options)} says how to read a file. "
            "Leave it out."
        )


def data_parts(part: object) -> Iterator[Data]:
    """Find the data within a scenario, at any depth.

    Parameters
    ----------
    part
        A scenario, or a part of one.

    Yields
    ------
    Data
        Each `Data`, in the order of the fields.
    """
    if isinstance(part, Data):
        yield part
    elif is_dataclass(part):
        for field in fields(part):
            yield from data_parts(getattr(part, field.name, None))
    elif isinstance(part, tuple | list):
        for entry in part:
            yield from data_parts(entry)
    elif isinstance(part, dict):
        yield from data_parts(tuple(part.values()))


def kept(key: Hashable, load: Callable[[], Content]) -> Content:
    """Return content from the cache, or load it into the cache.

    The least recently used content is dropped when the cache is full.

    Parameters
    ----------
    key
        Key in the cache, such as a hash.
    load
        Function that loads the content; called if it is not in the cache.

    Returns
    -------
    Content
        The content.
    """
    with _lock:
        if key not in _cache:
            content = load()
            _cache[key] = content, _size(content)
            _forget()
        _cache.move_to_end(key)
        return cast(Content, _cache[key][0])


def _forget() -> None:
    size = sum(size for _, size in _cache.values())
    while len(_cache) > 1 and size > KEPT_BYTES:
        size -= _cache.popitem(last=False)[1][1]


def _size(content: "np.ndarray | bytes | pd.DataFrame") -> int:
    if isinstance(content, np.ndarray):
        return content.nbytes
    if isinstance(content, bytes):
        return len(content)
    return int(content.memory_usage(deep=True).sum())
