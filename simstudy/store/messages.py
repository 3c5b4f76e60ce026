"""Errors and warnings of replicates, from stored rows or from stored moments.

Beside the moments of a block stand, where anything went wrong in it, the replicates, cells and
texts: few enough to keep where all numbers are not.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from simstudy.store.arrow_schema import CELL_ERROR, ERROR, WARNING, Block, has_text
from simstudy.store.blocks import Store
from simstudy.store.columns import texts_of

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
    names = sorted(store.column_names() & message_columns(name))
    if not names or not n_rep:
        return
    n_rows = n_rep if store.rows_per_block == block_size else n_rep // block_size
    table = store.read(key, n_rows, names)
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


def failed_replicates(store: Store, key: str, n_blocks: int, block_size: int) -> np.ndarray:
    """The replicates that failed in a scenario's first blocks; those before the first gap."""
    n_rep = min(n_blocks, store.n_blocks(key)) * block_size
    failed = {at.rep for at in stored_messages(store, key, n_rep, block_size, ERROR)}
    return np.array(sorted(failed), dtype=int)
