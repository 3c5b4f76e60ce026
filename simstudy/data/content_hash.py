"""SHA-256 of the content of arrays and tables, the same in every process and on every machine.

The hashed bytes are defined in this module: shapes, types and names as text with their length
before them, numbers as little-endian bytes in the order of the rows, NaN as one pattern, texts as
UTF-8 with their length. The hash therefore does not depend on the memory layout, on the library
that stores a column of text, or on the machine's byte order.
"""

import hashlib
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

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
    digest = hashlib.sha256(b"simstudy frame 1\n")
    _put(digest, f"{frame.shape}")
    _labels(digest, frame.columns, "the column names", names=True)
    _labels(digest, frame.index, "the index", names=False)
    for place, label in enumerate(frame.columns):
        _column(digest, frame.iloc[:, place].array, f"column {label!r}")
    return digest.hexdigest()


def _put(digest: "hashlib._Hash", text: str) -> None:
    encoded = text.encode("utf-8", "surrogatepass")
    digest.update(struct.pack("<q", len(encoded)) + encoded)


# ---------------------------------------------------------------- arrays
def _array(digest: "hashlib._Hash", array: np.ndarray, where: str) -> None:
    _put(digest, f"{array.shape}")
    dtype = array.dtype
    if dtype.names:
        _put(digest, f"{len(dtype.names)} fields")
        for name in dtype.names:
            _put(digest, name)
            _array(digest, array[name], f"field {name!r} of {where}")
        return
    if dtype.kind not in "biufcmMSU" or dtype.char in "gG":
        _refuse_dtype(dtype, where)
    _put(digest, dtype.newbyteorder("<").str)
    digest.update(_bytes(array))


def _refuse_dtype(dtype: np.dtype[Any], where: str) -> NoReturn:
    why = {
        "O": "which are places in memory and no values",
        "f": "which other machines keep in other bits",
        "c": "which other machines keep in other bits",
    }.get(dtype.kind, "for which no bytes are defined")
    raise DesignError(
        f"{where} is of type {dtype}, {why}, so its content cannot be told from another's. "
        "Convert it to numbers, truth values or text first: array.astype(float), say."
    )


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
def _labels(digest: "hashlib._Hash", index: "pd.Index[Any]", where: str, *, names: bool) -> None:
    """The names of the levels, then each level."""
    import pandas as pd

    _put(digest, f"{index.nlevels} levels")
    _objects(digest, list(index.names), f"the name of {where}")
    for level in range(index.nlevels):
        values = index.get_level_values(level)
        if names and (isinstance(values.dtype, pd.StringDtype) or values.dtype.kind in "Oi"):
            _put(digest, "names")
            _objects(digest, values.tolist(), where)
        else:
            _column(digest, values.array, where)


def _column(digest: "hashlib._Hash", values: Any, where: str) -> None:
    import pandas as pd

    if type(values) is pd.arrays.NumpyExtensionArray:  # includes Python strings
        values = values.to_numpy()
    if isinstance(values.dtype, np.dtype):
        _plain(digest, np.asarray(values), where)
    elif isinstance(values.dtype, pd.CategoricalDtype):
        _categories(digest, values, where)
    else:
        _extension(digest, values, where)


def _categories(digest: "hashlib._Hash", values: "pd.Categorical[Any]", where: str) -> None:
    dtype = values.dtype
    _put(digest, f"category ordered={bool(dtype.ordered)}")
    _put(digest, f"{len(dtype.categories)}")
    _column(digest, dtype.categories.array, f"the categories of {where}")
    _array(digest, np.asarray(values.codes, dtype="<i8"), where)


def _extension(digest: "hashlib._Hash", values: Any, where: str) -> None:
    """A column of a pandas extension type."""
    import pandas as pd

    dtype = values.dtype
    nullable = pd.arrays.IntegerArray | pd.arrays.FloatingArray | pd.arrays.BooleanArray
    if isinstance(dtype, pd.DatetimeTZDtype):
        _put(digest, f"zone {dtype.tz}")
        _array(digest, np.asarray(values, dtype=f"M8[{dtype.unit}]"), where)
    elif isinstance(dtype, pd.StringDtype):
        _put(digest, "string" if dtype.na_value is pd.NA else "str")
        _objects(digest, values.to_numpy(dtype=object, na_value=None), where)
    elif isinstance(dtype, pd.ArrowDtype):
        _arrow(digest, values, where)
    elif isinstance(values, nullable):
        _put(digest, "nullable")
        _array(digest, np.asarray(values.isna()), where)
        _array(digest, values.to_numpy(dtype=dtype.type, na_value=0), where)
    else:
        _refuse_column(dtype, where)


def _refuse_column(kind: object, where: str) -> NoReturn:
    raise DesignError(
        f"{where} holds {kind}, for which no bytes are defined, so its content cannot be told "
        "from another's. Convert it to numbers, dates, categories or text, or write the table to "
        "a file and give that: Data.file('data.parquet')."
    )


def _plain(digest: "hashlib._Hash", array: np.ndarray, where: str) -> None:
    import pandas as pd

    if array.dtype != object:
        _array(digest, array, where)
    elif pd.api.types.infer_dtype(array, skipna=True) == "string":  # text, before pandas 3
        _put(digest, "str")
        _objects(digest, np.where(pd.isna(array), None, array), where)
    else:
        _put(digest, "object")
        _objects(digest, array, where)


def _arrow(digest: "hashlib._Hash", values: Any, where: str) -> None:
    """A column stored by Arrow: type, missing values, values."""
    import pyarrow as pa

    kind, whole = values.dtype.pyarrow_dtype, values.__arrow_array__()
    _put(digest, f"arrow {kind}")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        _objects(digest, values.to_numpy(dtype=object, na_value=None), where)
        return
    if pa.types.is_temporal(kind):
        whole = whole.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        _refuse_column(values.dtype, where)
    _array(digest, np.asarray(whole.is_null()), where)
    empty = pa.scalar(0, pa.int8()).cast(whole.type)
    _array(digest, np.asarray(whole.fill_null(empty)), where)


def _objects(digest: "hashlib._Hash", values: Any, where: str) -> None:
    """Texts, numbers and missing values, each with its type."""
    _put(digest, f"{len(values)}")
    for start in range(0, len(values), _AT_ONCE):
        digest.update(b"".join(_tagged(values[start : start + _AT_ONCE], where)))


def _tagged(values: Iterable[Any], where: str) -> Iterable[bytes]:
    for value in values:
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
        elif value is None or str(kind.__module__).startswith("pandas."):
            yield _missing(kind, where)
        else:
            _refuse_column(f"a {kind.__name__}", where)


def _missing(kind: type, where: str) -> bytes:
    if kind.__name__ not in _MISSING:
        _refuse_column(f"a {kind.__name__}", where)
    return _MISSING[kind.__name__]
