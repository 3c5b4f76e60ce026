"""A user's data as part of a scenario, identified by its content.

Data are identified by a hash of their content, not by their path. The SHA-256 of a `Data` part is
in the identity of the scenario, so other data are another scenario, with other random streams and
other stored blocks. Content with another hash is refused when it is read.
"""

import os
import pickle
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, TypeVar, cast

import numpy as np

from simstudy.data.content_hash import hash_of_array, hash_of_frame
from simstudy.data.sources import COMPRESSED, ending_of, open_file, sha256_of, stem
from simstudy.errors import DesignError, StudyError
from simstudy.read_table import parsed_csv

if TYPE_CHECKING:
    import pandas as pd


MAX_KEPT = 16  # contents that a process keeps

Content = TypeVar("Content", bound="np.ndarray | bytes | pd.DataFrame")

_lock = threading.RLock()
_cache: "OrderedDict[Hashable, object]" = OrderedDict()


@dataclass(frozen=True, eq=False, repr=False)
class Data:
    """Data as a part of a scenario or of a data-generating process, identified by their content.

    Make them with `Data.file`, `Data.from_frame` or `Data.from_array`. In `simulate`, read them
    with `.read_frame()`, `.read_array()`, `.bytes()` or `.text()`. The content is compared with the
    hash when a process reads it for the first time, and cached. Two parts with the same content are
    equal, even if their names and paths differ.

    Parameters
    ----------
    sha256
        SHA-256 of the content; for a file, as printed by `sha256sum`.
    name
        Name in tables, with the first digits of the hash. No number depends on it.
    source
        Absolute path of a file, or the content. A file is sent to workers as its path. Tables and
        arrays are sent with every task, so large ones are better stored in files.
    """

    sha256: str
    name: str
    source: "str | np.ndarray | pd.DataFrame"

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
                f"Data.from_frame takes a pandas DataFrame or Series, not a {type(frame).__name__}."
            )
        held = held_frame(table)
        return cls(hash_of_frame(held), name, held)

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
                f"Data.from_array takes a NumPy array, not a {type(array).__name__}: make one with "
                "numpy.asarray (masked values filled), or give a table to Data.from_frame."
            )
        held = held_array(array)
        return cls(hash_of_array(held), name, held)

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
        source = os.path.abspath(os.fspath(path))
        with open_file(source) as file:
            sha256 = sha256_of(file)
        return cls(sha256, name or stem(source), source)

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
        import pandas as pd

        table: pd.DataFrame
        if isinstance(self.source, str):
            table = self._parsed(self.source, options)
        else:
            table = self._held(pd.DataFrame, "Data.from_frame")
        copied = table.copy(deep=True)
        copied.index = table.index.copy(deep=True)
        return copied

    def _parsed(self, path: str, options: dict[str, Any]) -> "pd.DataFrame":
        """The table in a file; kept, unless options are functions, which may change."""

        def load() -> "pd.DataFrame":
            return self._read(lambda file: _read_table(file, path, options))

        try:
            asked = pickle.dumps(options)
        except (pickle.PicklingError, AttributeError, TypeError):
            return load()
        return kept((self.sha256, Path(path).suffix, asked), load)

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
        if not isinstance(self.source, str):
            array: np.ndarray = self._held(np.ndarray, "Data.from_array")
            return array
        if ending_of(self.source) != ".npy":
            raise StudyError(
                f"{self.source} does not end in .npy, so it is not read as an array. Read it "
                "with .read_frame().to_numpy(), or take .bytes() apart."
            )
        return kept((self.sha256, ".npy"), lambda: self._read(_read_npy))

    def bytes(self) -> bytes:
        """Read the file as bytes.

        Returns
        -------
        bytes
            The content of the file.
        """
        if not isinstance(self.source, str):
            self._refuse_kind("bytes", "Data.file")
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
        if not isinstance(self.source, str):
            self._refuse_kind("path", "Data.file")
        self.check()
        return Path(self.source)

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
        if not isinstance(self.source, str):
            kept((self.sha256, "held"), self._checked_content)
            return
        with open_file(self.source) as file:
            self._refuse_other(sha256_of(file, anew=anew))

    def _read(self, parse: Callable[[BinaryIO], Content]) -> Content:
        """Parse the file; the hash is checked before and after."""
        assert isinstance(self.source, str)
        with open_file(self.source) as file:
            self._refuse_other(sha256_of(file))
            file.seek(0)
            content = parse(file)
            self._refuse_other(sha256_of(file))
        return content

    def _held(self, kind: type, maker: str) -> Any:
        if not isinstance(self.source, kind):
            self._refuse_kind(kind.__name__, maker)
        return kept((self.sha256, "held"), self._checked_content)

    def _checked_content(self) -> "np.ndarray | pd.DataFrame":
        assert not isinstance(self.source, str)
        if isinstance(self.source, np.ndarray):
            self._refuse_other(hash_of_array(self.source))
            self.source.setflags(write=False)  # a copy in a worker may be written to
        else:
            self._refuse_other(hash_of_frame(self.source))
        return self.source

    def _refuse_other(self, found: str) -> None:
        if found != self.sha256:
            place = self.source if isinstance(self.source, str) else repr(self)
            raise StudyError(
                f"{place} has changed since the study was made: its content was "
                f"#{self.sha256[:6]} and is #{found[:6]}. Its results would mix two versions of "
                "the data. Put the old content back, or start the program again, which makes a "
                "new part of the new content."
            )

    def _refuse_kind(self, wanted: str, maker: str) -> NoReturn:
        raise StudyError(
            f"{self!r} is a {type(self.source).__name__} and has no {wanted}: only what {maker} "
            "made does. Read it as what it is."
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


# ---------------------------------------------------------------- content in memory
def held_array(array: np.ndarray) -> np.ndarray:
    """Copy an array to one memory layout, read-only, so that sums do not depend on the layout."""
    native = array.dtype if array.dtype.isnative else array.dtype.newbyteorder("=")
    held = np.array(array, dtype=native, order="C", copy=True)
    held.setflags(write=False)
    return held


def held_frame(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Copy a frame to one memory layout, without the attributes that its hash does not cover."""
    import pandas as pd

    columns = {i: _held_column(frame.iloc[:, i]) for i in range(frame.shape[1])}
    held = pd.DataFrame(columns, index=range(len(frame)))
    held.index, held.columns = frame.index.copy(deep=True), frame.columns.copy(deep=True)
    return held


def _held_column(column: "pd.Series[Any]") -> "pd.Series[Any]":
    import pandas as pd

    dtype: Any = column.dtype
    native = dtype.newbyteorder("=") if isinstance(dtype, np.dtype) else dtype
    return pd.Series(column.array.copy(), dtype=native)


# ---------------------------------------------------------------- content of files
def _read_table(file: BinaryIO, path: str, options: dict[str, Any]) -> "pd.DataFrame":
    """Read a table by the file's ending; the first column is no index, unless `index_col` is set.

    Raises
    ------
    StudyError
        If the ending is not that of a table, or a column would be lost.
    """
    import pandas as pd

    ending = ending_of(path)
    if ending == ".parquet":
        return pd.read_parquet(file, **options)
    if ending != ".csv":
        raise StudyError(
            f"{path} is read as a table only if it ends in .csv or .parquet, compressed or not. "
            "Read it with .bytes() or .text() and take it apart."
        )
    usual = {"index_col": False, "compression": COMPRESSED.get(Path(path).suffix)}
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Length of header", pd.errors.ParserWarning)
        try:
            return cast("pd.DataFrame", parsed_csv(file, **{**usual, **options}))
        except pd.errors.ParserWarning as warning:
            raise StudyError(
                f"rows have more values than the header has names ({warning}), so that a column "
                "would be lost. Give each column a name, or say with index_col which ones are "
                "labels of rows."
            ) from None


def _read_npy(file: BinaryIO) -> np.ndarray:
    """Read a `.npy` file, read-only; pickled objects are refused."""
    array: np.ndarray = np.load(file, allow_pickle=False)
    array.setflags(write=False)
    return array


# ---------------------------------------------------------------- in scenarios, and kept
def data_parts(part: object) -> Iterator[Data]:
    """Each `Data` within a scenario, or a part of one, at any depth, in the order of the fields."""
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
    """Content from the cache, or loaded into it; the least recently used is dropped if full."""
    with _lock:
        if key not in _cache:
            _cache[key] = load()
        _cache.move_to_end(key)
        while len(_cache) > MAX_KEPT:
            _cache.popitem(last=False)
        return cast(Content, _cache[key])
