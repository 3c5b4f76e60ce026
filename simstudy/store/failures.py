"""Which stored blocks hold a failure."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from simstudy.lazy import pc
from simstudy.store.blocks import Store
from simstudy.store.columns import rows_with_error
from simstudy.store.layout import CELL_ERROR, ERROR
from simstudy.store.moments import N_FAILED

LISTED = f"{ERROR}.rep"  # replicates that failed, beside the moments of a block


def failed_blocks(store: Store, key: str, n_blocks: int) -> np.ndarray:
    """Which of a scenario's first blocks hold one; shape `(n_blocks,)`."""
    failed = np.zeros(n_blocks, dtype=bool)
    at = 0
    for rows in _failed_rows(store, key, min(n_blocks, store.n_blocks(key))):
        failed[at : at + len(rows)] = rows.any(axis=1)
        at += len(rows)
    return failed


def n_failed_rows(store: Store, key: str, n_blocks: int) -> int:
    """How many rows of a scenario's first blocks hold one."""
    n_known = min(n_blocks, store.n_blocks(key))
    return sum(int(rows.sum()) for rows in _failed_rows(store, key, n_known))


def _failed_rows(store: Store, key: str, n_blocks: int) -> Iterator[np.ndarray]:
    """Which rows hold one, some whole blocks at a time: `(block, row)`; nothing if none can."""
    names = [name for name in store.column_names() if _tells_of_failure(name)]
    if names:
        for table in store.read_in_parts(key, n_blocks * store.rows_per_block, names):
            yield _rows_with_failure(table).reshape(-1, store.rows_per_block)


def _tells_of_failure(name: str) -> bool:
    return name in (ERROR, CELL_ERROR) or name.endswith(f".{N_FAILED}") or name == LISTED


def _rows_with_failure(table: pa.Table) -> np.ndarray:
    """Rows with an error's text, or of moments with a count of failures."""
    failed = rows_with_error(table)
    for name in set(table.column_names) - {ERROR, CELL_ERROR}:
        column = table.column(name).combine_chunks()
        lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
        failed |= lengths > 0 if name == LISTED else _has_any(column, lengths)
    return failed


def _has_any(counts: pa.ListArray, lengths: np.ndarray) -> np.ndarray:
    """Which lists of counts have one above 0."""
    above = counts.flatten().to_numpy(zero_copy_only=False) != 0
    so_far = np.concatenate([[0], np.cumsum(above)])[np.cumsum(lengths)]
    return np.asarray(np.diff(so_far, prepend=0) > 0)
