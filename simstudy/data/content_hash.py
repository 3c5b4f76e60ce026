"""SHA-256 of the content of arrays and tables, the same in every process and on every machine.

The hashed bytes are defined in this module: shapes, types and names as text with their length
before them, numbers as little-endian bytes in the order of the rows, NaN as one pattern, texts as
UTF-8 with their length. The hash therefore does not depend on the memory layout, on the library
that stores a column of text, or on the machine's byte order.
"""

import hashlib
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from simstudy.errors import DesignError

if TYPE_CHECKING:
    import pandas as pd

_AT_ONCE = 1 << 16  # texts encoded together; bounds the memory used
_MISSING = {"NAType": b"a", "NaTType": b"t", "NoneType": b"0"}


def hash_of_array(array: np.ndarray) -> str:
    """Hash an array's type, shape and values.

    Parameters
    ----------
    array
        Any array of numbers, truth values, texts or times.

    Returns
    -------
    str
        SHA-256 as 64 hexadecimal digits.

    Raises
    ------
    DesignError
        If the type has no values (objects), or values that depend on the machine (long doubles).
    """
    digest = hashlib.sha256(b"simstudy array 1\n")
    _array(digest, array, "the array")
    return digest.hexdigest()


def hash_of_frame(frame: "pd.DataFrame") -> str:
    """Hash a table's column names, types, index and values.

    Parameters
    ----------
    frame
        Any frame.

    Returns
    -------
    str
        SHA-256 as 64 hexadecimal digits.

    Raises
    ------
    DesignError
        If a column has a type for which no bytes are defined.
    """
    digest = hashlib.sha256(b"simstudy frame 2\n")
    _put(digest, f"{frame.shape}")
    _labels(digest, frame.columns, "the column names", as_objects=True)
    _labels(digest, frame.index, "the index", as_objects=False)
    for place, label in enumerate(frame.columns):
        _column(digest, frame.iloc[:, place], f"column {label!r}")
    return digest.hexdigest()


def _put(digest: "hashlib._Hash", text: str) -> None:
    encoded = text.encode("utf-8", "surrogatepass")
    digest.update(struct.pack("<q", len(encoded)) + encoded)


# ---------------------------------------------------------------- arrays
def _array(digest: "hashlib._Hash", array: np.ndarray, where: str) -> None:
    _put(digest, f"{array.shape}")
    dtype = array.dtype
    if dtype.kind not in "biufcmMSU" or dtype.char in "gG":
        raise DesignError(
            f"{where} is of type {dtype}, whose values have no bytes that are the same on every "
            "machine, so its content cannot be told from another's. Convert it to numbers, truth "
            "values or text first: array.astype(float), say."
        )
    _put(digest, dtype.newbyteorder("<").str)
    digest.update(_bytes(array))


def _bytes(array: np.ndarray) -> memoryview:
    """Values in row order, little-endian, with one kind of NaN."""
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    if plain.dtype.kind == "c":
        plain = plain.reshape(-1).view(f"<f{plain.dtype.itemsize // 2}")
    if plain.dtype.kind == "f" and (missing := np.isnan(plain)).any():
        plain = plain.copy()
        plain[missing] = np.nan
    return plain.reshape(-1).view(np.uint8).data if plain.nbytes else memoryview(b"")


# ---------------------------------------------------------------- tables
def _labels(
    digest: "hashlib._Hash", index: "pd.Index[Any]", where: str, *, as_objects: bool
) -> None:
    """The names of the levels, then each level."""
    _put(digest, f"{index.nlevels} levels")
    _objects(digest, list(index.names), f"the name of {where}")
    for level in range(index.nlevels):
        values = index.get_level_values(level)
        if as_objects:
            _objects(digest, values.tolist(), where)
        else:
            _column(digest, values, where)


def _column(digest: "hashlib._Hash", values: "pd.Series[Any] | pd.Index[Any]", where: str) -> None:
    """Type and values: NumPy's as bytes, categories and their codes, all others as objects."""
    import pandas as pd

    dtype: Any = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = pd.Categorical(values).codes
        _put(digest, f"category ordered={bool(dtype.ordered)}")
        _column(digest, dtype.categories, f"the categories of {where}")
        _array(digest, np.asarray(codes, dtype="<i8"), where)
    elif isinstance(dtype, np.dtype) and dtype.kind != "O":
        _array(digest, np.asarray(values), where)
    else:
        objects = pd.Series(values.array.astype(object), dtype=object)
        is_plain = isinstance(dtype, np.dtype)
        is_text = pd.api.types.infer_dtype(objects, skipna=True) == "string"
        if is_text or not is_plain:  # what is missing is one thing
            objects = objects.where(objects.notna(), None)
        _put(digest, "str" if is_plain and is_text else str(dtype))
        _objects(digest, objects.to_numpy(), where)


def _objects(digest: "hashlib._Hash", values: Any, where: str) -> None:
    """Texts, numbers, times and missing values, each with its type."""
    _put(digest, f"{len(values)}")
    for start in range(0, len(values), _AT_ONCE):
        digest.update(b"".join(_tagged(values[start : start + _AT_ONCE], where)))


def _tagged(values: Iterable[Any], where: str) -> Iterable[bytes]:
    for given in values:
        value = given.item() if isinstance(given, np.generic) else given
        kind = type(value)
        if kind is str:
            encoded = value.encode("utf-8", "surrogatepass")
            yield b"s" + struct.pack("<q", len(encoded)) + encoded
        elif kind is float:
            yield b"n" if value != value else b"f" + struct.pack("<d", value)
        elif kind is bool:
            yield b"b1" if value else b"b0"
        elif kind is int:
            yield b"i" + f"{value};".encode()
        elif kind.__name__ in _MISSING:
            yield _MISSING[kind.__name__]
        elif hasattr(value, "isoformat"):
            yield b"t" + f"{kind.__name__} {value.isoformat()};".encode()
        else:
            raise DesignError(
                f"{where} holds a {kind.__name__}, for which no bytes are defined, so its content "
                "cannot be told from another's. Convert it to numbers, dates, categories or text, "
                "or write the table to a file and give that: Data.file('data.parquet')."
            )
