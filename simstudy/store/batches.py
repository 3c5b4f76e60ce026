"""Rows of many scenarios, in the order of files; what is read at once opens its file once."""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple, Protocol, TypeVar

import pyarrow as pa

from simstudy.store.blocks import LOOKS, PAUSE_SECONDS, LastOpened, Store, keep_changing
from simstudy.store.places import Piece, pieces_until
from simstudy.store.types import below_each_other

Reading = TypeVar("Reading")
Found = TypeVar("Found")
Made = TypeVar("Made")

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


class Each(Protocol):
    """What `map` does, in order; be it side by side."""

    def __call__(
        self, work: Callable[[Reading], Found], items: Iterable[Reading], /
    ) -> Iterable[Found]: ...


class _GoneError(Exception):
    """A file is not there any more."""


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
    return made_of_each(lambda batch: batch, store, n_rows, columns)


def made_of_each(
    work: Callable[[Batch], Made],
    store: Store,
    n_rows: Mapping[str, int],
    columns: Sequence[str] | None = None,
    each: Each = map,
) -> Iterator[Made]:
    """What work makes of the first rows of many scenarios, some read together, in files' order.

    Parameters
    ----------
    work
        Of a batch.
    each
        Reads and works on batches, which may be side by side: each opens its file for itself.

    Raises
    ------
    StoreError
        Where a block is missing, or the files never stay for a look.
    """
    left = dict(n_rows)

    def made(reading: _Reading) -> tuple[_Reading, Made]:
        return reading, work(reading.batch(store, columns))

    for _ in range(LOOKS):
        try:
            for reading, found in each(made, _readings(store, dict(left))):
                yield found
                for key in reading.keys:
                    del left[key]
            return
        except _GoneError:  # another run has compacted: look again
            time.sleep(PAUSE_SECONDS)
            store.scan()
    raise keep_changing(store)


class _Reading(NamedTuple):
    """Rows to be read: of one scenario wherever they lie, or of several in one file."""

    keys: tuple[str, ...]
    n_rows: int  # of each scenario
    pieces: tuple[tuple[Piece, ...], ...]  # of each scenario

    def batch(self, store: Store, columns: Sequence[str] | None) -> Batch:
        """What is read, by whichever thread."""
        try:
            with closing(_LastRead(store)) as last:
                tables = [self._rows(store, last, some, columns) for some in self.pieces]
        except FileNotFoundError as error:
            raise _GoneError from error
        table = tables[0] if len(tables) == 1 else pa.concat_tables(tables)
        return Batch(self.keys, self.n_rows, table)

    def _rows(
        self,
        store: Store,
        last: "_LastRead",
        pieces: Sequence[Piece],
        columns: Sequence[str] | None,
    ) -> pa.Table:
        """One scenario's."""
        rows = [store.cut(last.row_group(piece, columns), piece) for piece in pieces]
        return (rows[0] if len(rows) == 1 else below_each_other(rows)).slice(0, self.n_rows)


class _LastRead:
    """The row group that one reading read last, of a file that it opened for itself."""

    def __init__(self, store: Store) -> None:
        self._store, self._open = store, LastOpened()
        self._where = ("", -1)
        self._rows: pa.Table | None = None

    def row_group(self, piece: Piece, columns: Sequence[str] | None) -> pa.Table:
        """That of a piece; neighbours lie in the same one."""
        where = piece.place.file, piece.place.row_group
        if self._rows is None or where != self._where:
            file = self._open.of(self._store, piece.place.file)
            self._where, self._rows = where, file.read(piece.place.row_group, columns)
        return self._rows

    def close(self) -> None:
        """Let go of the file."""
        self._open.close()


def _readings(store: Store, n_rows: Mapping[str, int]) -> Iterator[_Reading]:
    lone = {key: _lone_piece(store, key, n) for key, n in n_rows.items()}
    for key, piece in lone.items():
        if piece is None:
            yield _Reading((key,), n_rows[key], (tuple(store.pieces(key, n_rows[key])),))
    found = {key: piece for key, piece in lone.items() if piece is not None}
    in_order = sorted(found, key=lambda key: found[key].place.where)
    for name, keys in itertools.groupby(in_order, key=lambda key: found[key].place.file):
        for some in _alike(list(keys), n_rows, store.headers[name].width):
            yield _Reading(tuple(some), n_rows[some[0]], tuple((found[key],) for key in some))


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
