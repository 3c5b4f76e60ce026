"""What replicates said: errors and warnings, from rows of replicates or from moments of blocks.

Beside the moments of a block stand, where anything went wrong in it, the replicates, cells and
texts: few enough to keep where all numbers are not.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from simstudy.store.blocks import Store
from simstudy.store.columns import texts_of
from simstudy.store.layout import CELL_ERROR, ERROR, WARNING, Block, has_text

WHOLE = -1  # the cell of what was said of a replicate, and of none of its cells
NAMES = {ERROR: (ERROR, CELL_ERROR), WARNING: (WARNING,)}
PARTS = ("rep", "cell", "text")  # of what was said in a block, each a list beside its moments


class Said(NamedTuple):
    """What was said of a replicate, in one cell of its axes."""

    rep: int
    cell: int
    text: str


def texts_of_block(block: Block) -> dict[str, np.ndarray]:
    """By the name of a stored column, the replicates, cells and texts of a block."""
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


def stored_texts(name: str) -> set[str]:
    """Stored columns that may say something: of replicates, or of blocks."""
    return {*NAMES[name], *(f"{name}.{part}" for part in PARTS)}


def said(store: Store, key: str, n_rep: int, block_size: int, name: str) -> Iterator[Said]:
    """What the first replicates of a scenario said, in order: errors, or warnings."""
    n_rows = n_rep if store.rows_per_block == block_size else n_rep // block_size
    table = store.read(key, n_rows, sorted(stored_texts(name)))
    if f"{name}.{PARTS[0]}" in table.column_names:
        yield from _said_in_blocks(table, name)
    for column in NAMES[name]:
        if column in table.column_names:
            yield from _said_in_rows(table, column)


def _said_in_blocks(table: pa.Table, name: str) -> Iterator[Said]:
    lists = (table.column(f"{name}.{part}").to_pylist() for part in PARTS)
    for parts in zip(*lists, strict=True):
        if parts[0]:
            yield from map(Said, *parts)


def _said_in_rows(table: pa.Table, column: str) -> Iterator[Said]:
    texts = texts_of(table, column)
    cells = texts.reshape(len(table), -1)
    for rep, cell in np.argwhere(has_text(cells)).tolist():
        yield Said(rep, cell if texts.ndim > 1 else WHOLE, cells[rep, cell])
