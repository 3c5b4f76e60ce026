"""Which stored blocks hold a failure."""

import numpy as np
import pyarrow as pa

from simstudy.store.blocks import Store
from simstudy.store.columns import rows_with_error
from simstudy.store.layout import CELL_ERROR, ERROR
from simstudy.store.moments import N_FAILED


def failed_blocks(store: Store, key: str, n_blocks: int) -> np.ndarray:
    """Which of a scenario's first blocks hold one; shape `(n_blocks,)`."""
    names = [name for name in store.column_names() if _tells_of_failure(name)]
    n_known = min(n_blocks, store.n_blocks(key))
    failed = np.zeros(n_blocks, dtype=bool)
    if names and n_known:
        table = store.read(key, n_known * store.rows_per_block, names)
        rows = _rows_with_failure(table).reshape(n_known, store.rows_per_block)
        failed[:n_known] = rows.any(axis=1)
    return failed


def _tells_of_failure(name: str) -> bool:
    return name in (ERROR, CELL_ERROR) or name.endswith(f".{N_FAILED}")


def _rows_with_failure(table: pa.Table) -> np.ndarray:
    """Rows with an error's text, or of moments with a count of failures."""
    failed = rows_with_error(table)
    for name in set(table.column_names) - {ERROR, CELL_ERROR}:
        failed |= [any(counts or ()) for counts in table.column(name).to_pylist()]
    return failed
