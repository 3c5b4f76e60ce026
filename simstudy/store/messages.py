"""Errors and warnings of replicates, from stored rows or from stored moments.

Beside the moments of a block stand, where anything went wrong in it, the replicates, cells and
texts: few enough to keep where all numbers are not.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from simstudy.lazy import pc
from simstudy.store.arrow_schema import CELL_ERROR, ERROR, N_FAILED, WARNING, Block, has_text
from simstudy.store.blocks import Store
from simstudy.store.columns import rows_with_error, texts_of

WHOLE = -1  # the cell of what was said of a replicate, and of none of its cells
NAMES = {ERROR: (ERROR, CELL_ERROR), WARNING: (WARNING,)}
PARTS = ("rep", "cell", "text")  # of what was said in a block, each a list beside its moments


class Message(NamedTuple):
    """An error or a warning of a replicate, in one cell."""

    rep: int
    cell: int
    text: str


def messages_of_block(block: Block) -> dict[str, np.ndarray]:
    """By stored column, the replicates, cells and texts of a block's messages."""
    found: dict[str, np.ndarray] = {}
    for name in (ERROR, WARNING):
        if name in block.columns:
            found |= _listed(name, block.number, block.columns[name])
    return found


def _listed(name: str, number: int, column: np.ndarray) -> dict[str, np.ndarray]:
    texts = np.reshape(column, (len(column), -1))
    rep, cell = np.nonzero(has_text(texts))
    if not rep.size:
        return {}
    cells = cell if column.ndim > 1 else np.full(len(cell), WHOLE)
    parts = number * len(column) + rep, cells, texts[rep, cell].astype(object)
    return {f"{name}.{part}": values for part, values in zip(PARTS, parts, strict=True)}


def message_columns(name: str) -> set[str]:
    """The stored columns that hold messages, of replicates or of blocks."""
    return {*NAMES[name], *(f"{name}.{part}" for part in PARTS)}


def stored_messages(
    store: Store, key: str, n_rep: int, block_size: int, name: str
) -> Iterator[Message]:
    """The messages of a scenario's first replicates, in order."""
    n_rows = n_rep if store.rows_per_block == block_size else n_rep // block_size
    table = store.read(key, n_rows, sorted(message_columns(name)))
    if f"{name}.{PARTS[0]}" in table.column_names:
        yield from _messages_of_moments(table, name)
    for column in NAMES[name]:
        if column in table.column_names:
            yield from _messages_of_rows(table, column)


def _messages_of_moments(table: pa.Table, name: str) -> Iterator[Message]:
    lists = (table.column(f"{name}.{part}").to_pylist() for part in PARTS)
    for parts in zip(*lists, strict=True):
        if parts[0]:
            yield from map(Message, *parts)


def _messages_of_rows(table: pa.Table, column: str) -> Iterator[Message]:
    texts = texts_of(table, column)
    cells = texts.reshape(len(table), -1)
    for rep, cell in np.argwhere(has_text(cells)).tolist():
        yield Message(rep, cell if texts.ndim > 1 else WHOLE, cells[rep, cell])


# ---------------------------------------------------------------- blocks with failures
LISTED = f"{ERROR}.rep"  # replicates that failed, beside the moments of a block


def failed_blocks(store: Store, key: str, n_blocks: int) -> np.ndarray:
    """Which of a scenario's first blocks have a failure; shape `(n_blocks,)`."""
    failed = np.zeros(n_blocks, dtype=bool)
    at = 0
    for rows in _failed_rows(store, key, min(n_blocks, store.n_blocks(key))):
        failed[at : at + len(rows)] = rows.any(axis=1)
        at += len(rows)
    return failed


def n_failed_rows(store: Store, key: str, n_blocks: int) -> int:
    """The number of failed rows in a scenario's first blocks."""
    n_known = min(n_blocks, store.n_blocks(key))
    return sum(int(rows.sum()) for rows in _failed_rows(store, key, n_known))


def _failed_rows(store: Store, key: str, n_blocks: int) -> Iterator[np.ndarray]:
    """Iterate over parts of whole blocks: which rows failed, `(block, row)`."""
    names = [name for name in store.column_names() if _tells_of_failure(name)]
    if names:
        for table in store.read_in_parts(key, n_blocks * store.rows_per_block, names):
            yield _rows_with_failure(table).reshape(-1, store.rows_per_block)


def _tells_of_failure(name: str) -> bool:
    return name in (ERROR, CELL_ERROR) or name.endswith(f".{N_FAILED}") or name == LISTED


def _rows_with_failure(table: pa.Table) -> np.ndarray:
    """Rows with an error text or, for moments, with a count of failures."""
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
