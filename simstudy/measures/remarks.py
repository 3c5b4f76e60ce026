"""What is said of estimates, cell by cell, put together."""

import numpy as np

from simstudy.shapes import Shaped


def joined(*remarks: np.ndarray | None) -> Shaped[np.ndarray, " *cells"]:
    """Remarks of each cell, one after the other; each once."""
    found: np.ndarray = np.asarray("", dtype=object)
    for remark in remarks:
        if remark is not None:
            further = np.asarray(remark, dtype=object)
            further = np.where(found == further, "", further)
            between = np.where((found != "") & (further != ""), "; ", "").astype(object)
            found = np.asarray(found + between + further, dtype=object)
    return found


def of_both(
    first: np.ndarray | None, second: np.ndarray | None
) -> Shaped[np.ndarray, " *cells"] | None:
    """Remarks on either side of a contrast; None where there are none at all."""
    found = joined(first, second)
    return found if (found != "").any() else None
