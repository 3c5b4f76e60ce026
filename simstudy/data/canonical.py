"""Tables and arrays in one canonical memory layout."""

import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from simstudy.data.sources import COMPRESSED, ending_of
from simstudy.errors import StudyError
from simstudy.read_table import parsed_csv

if TYPE_CHECKING:
    import pandas as pd


TABLES = (".csv", ".parquet")


def reader_of_tables(place: str) -> "partial[pd.DataFrame]":
    """Return the pandas reader for a table, by the file's ending.

    Parameters
    ----------
    place
        Path or URL of the table.

    Returns
    -------
    partial[pd.DataFrame]
        A function that reads the open file.

    Raises
    ------
    StudyError
        If the ending is not that of a table.
    """
    ending = ending_of(place)
    if ending not in TABLES:
        raise StudyError(
            f"{place} is read as a table only if it ends in {' or '.join(TABLES)}, compressed or "
            "not. Read it with .bytes() or .text() and take it apart."
        )
    if ending == ".parquet":
        return partial(_parquet)
    return partial(_csv, compression=COMPRESSED.get(Path(place).suffix))


def _csv(file: BinaryIO, **options: Any) -> "pd.DataFrame":
    """Read a CSV file; the first column is no index, unless `index_col` says so."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Length of header", pd.errors.ParserWarning)
        try:
            table = parsed_csv(file, **{"index_col": False, **options})
        except pd.errors.ParserWarning as warning:
            raise StudyError(
                f"rows have more values than the header has names ({warning}), so that a column "
                "would be lost. Give each column a name, or say with index_col which ones are "
                "labels of rows."
            ) from None
    if not isinstance(table, pd.DataFrame):
        raise StudyError(
            f"with {', '.join(options)} pandas.read_csv gives a {type(table).__name__}, which "
            "reads on later, when nobody checks. Leave out iterator and chunksize."
        )
    return table


def _parquet(file: BinaryIO, **options: Any) -> "pd.DataFrame":
    import pandas as pd

    return pd.read_parquet(file, **options)


def read_npy(file: BinaryIO) -> np.ndarray:
    """Read an array from a `.npy` file; pickled objects are refused.

    Parameters
    ----------
    file
        The open file.

    Returns
    -------
    np.ndarray
        The array, read-only.
    """
    array: np.ndarray = np.load(file, allow_pickle=False)
    array.setflags(write=False)
    return array


def held_array(array: np.ndarray) -> np.ndarray:
    """Copy an array to a fixed memory layout, read-only, so that sums do not depend on the layout.

    Parameters
    ----------
    array
        Any array.

    Returns
    -------
    np.ndarray
        The copy, in C order and native byte order.
    """
    native = array.dtype if array.dtype.isnative else array.dtype.newbyteorder("=")
    held = np.array(array, dtype=native, order="C", copy=True)
    held.setflags(write=False)
    return held


def held_frame(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Copy a frame to a fixed memory layout.

    Attributes, flags and the frequency of an index are dropped, since the hash does not cover them.

    Parameters
    ----------
    frame
        Any frame.

    Returns
    -------
    pd.DataFrame
        The copy.
    """
    import pandas as pd

    columns = {i: _held_column(frame.iloc[:, i]) for i in range(frame.shape[1])}
    held = pd.DataFrame(columns, index=range(len(frame)))
    held.index = _held_index(frame.index)
    held.columns = _held_index(frame.columns)
    return held


def _held_column(column: "pd.Series[Any]") -> "pd.Series[Any]":
    import pandas as pd

    dtype: Any = column.dtype
    native = dtype.newbyteorder("=") if isinstance(dtype, np.dtype) else dtype
    return pd.Series(column.array.copy(), dtype=native)


def _held_index(index: "pd.Index[Any]") -> "pd.Index[Any]":
    import pandas as pd

    held: Any = index.copy(deep=True)
    if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex):
        held.freq = None
    return cast("pd.Index[Any]", held)
