"""Rows of many scenarios, read file by file: a file is opened once, whoever lies in it."""

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from simstudy.store.blocks import LOOKS, PAUSE_SECONDS, RowGroups, Store, keep_changing
from simstudy.store.places import Piece, pieces_until

VALUES_AT_ONCE = 1 << 20  # of a column, of the scenarios that are read together: 8 MB


class Batch(NamedTuple):
    """Rows of several scenarios below each other, as many of each."""

    keys: tuple[str, ...]
    n_rows: int  # of each scenario
    table: pa.Table

    @property
    def n(self) -> int:
        """Scenarios."""
        return len(self.keys)

    def each(self) -> Iterator[tuple[str, pa.Table]]:
        """Every scenario's rows, by its key."""
        for at, key in enumerate(self.keys):
            yield key, self.table.slice(at * self.n_rows, self.n_rows)


def read_each(
    store: Store, n_rows: Mapping[str, int], columns: Sequence[str] | None = None
) -> Iterator[Batch]:
    """The first rows of many scenarios, in the order of the files.

    Parameters
    ----------
    n_rows
        How many of each scenario, by key.
    columns
        Those to read, if they are there; all, if None.

    Raises
    ------
    StoreError
        Where a block is missing, or the files never stay for a look.
    """
    left = dict(n_rows)
    for _ in range(LOOKS):
        try:
            for batch in _batches(store, dict(left), columns):
                yield batch
                for key in batch.keys:
                    del left[key]
            return
        except FileNotFoundError:  # another run has compacted: look again
            time.sleep(PAUSE_SECONDS)
            store.scan()
    raise keep_changing(store)


def _batches(
    store: Store, n_rows: Mapping[str, int], columns: Sequence[str] | None
) -> Iterator[Batch]:
    lone = {key: _lone_piece(store, key, n) for key, n in n_rows.items()}
    for key, piece in lone.items():
        if piece is None:
            yield Batch((key,), n_rows[key], store.read(key, n_rows[key], columns))
    pieces = {key: piece for key, piece in lone.items() if piece is not None}
    in_order = sorted(pieces, key=lambda key: pieces[key].place.where)
    for name, keys in itertools.groupby(in_order, key=lambda key: pieces[key].place.file):
        for some in _alike(list(keys), n_rows, store.headers[name].width):
            of_these = [pieces[key] for key in some]
            table = _rows(store, store.opened(name), of_these, n_rows[some[0]], columns)
            yield Batch(tuple(some), n_rows[some[0]], table)


def _lone_piece(store: Store, key: str, n_rows: int) -> Piece | None:
    """Where all of a scenario's rows lie, if that is one place."""
    n_blocks = -(-n_rows // store.rows_per_block)
    pieces = list(pieces_until(store.places.get(key, []), n_blocks))
    whole = len(pieces) == 1 and pieces[0].place.group.first + pieces[0].end >= n_blocks
    return pieces[0] if whole else None


def _alike(keys: Sequence[str], n_rows: Mapping[str, int], width: int) -> Iterator[list[str]]:
    """Neighbours in a file with as many rows each, as many of them as memory has room for."""
    for n, run in itertools.groupby(keys, key=n_rows.__getitem__):
        alike, at_once = list(run), max(1, VALUES_AT_ONCE // (n * width))
        yield from (alike[at : at + at_once] for at in range(0, len(alike), at_once))


def _rows(
    store: Store,
    file: RowGroups,
    pieces: Sequence[Piece],
    n_rows: int,
    columns: Sequence[str] | None,
) -> pa.Table:
    groups = {i: file.read(i, columns) for i in sorted({p.place.row_group for p in pieces})}
    return pa.concat_tables(
        store.cut(groups[piece.place.row_group], piece).slice(0, n_rows) for piece in pieces
    )
