"""Files read as tables and arrays, by their endings."""

import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from simstudy.data.sources import COMPRESSED, ending_of
from simstudy.errors import StudyError

if TYPE_CHECKING:
    import pandas as pd

TABLES = (".csv", ".parquet")


def reader_of_tables(place: str) -> "partial[pd.DataFrame]":
    """What reads it, and with what options."""
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
    """A table whose first column is a column, unless `index_col` says something else."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Length of header", pd.errors.ParserWarning)
        try:
            table = pd.read_csv(file, **{"index_col": False, **options})
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
    array: np.ndarray = np.load(file, allow_pickle=False)
    array.setflags(write=False)
    return array
