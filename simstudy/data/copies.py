"""What a study holds in memory: copies in one layout, in which sums add up in one order."""

from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def held_array(array: np.ndarray) -> np.ndarray:
    """A read-only copy in one layout, in which sums add up in one order."""
    native = array.dtype if array.dtype.isnative else array.dtype.newbyteorder("=")
    held = np.array(array, dtype=native, order="C", copy=True)
    held.setflags(write=False)
    return held


def held_frame(frame: "pd.DataFrame") -> "pd.DataFrame":
    """A copy in one layout, without what no hash tells: attributes, flags, an index's frequency."""
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
