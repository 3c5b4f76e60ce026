"""The blocks that are there, and what they hold.

A file also says whose blocks it holds: those of another owner are left where they are and never
read.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simstudy.errors import StoreError
from simstudy.store.files import Files, files_at
from simstudy.store.header import TENTATIVE, Header, verified_header
from simstudy.store.owner import NOBODY, Owner
from simstudy.store.places import Piece, Place, highest, pieces_until, places_in
from simstudy.store.types import below_each_other

LOOKS = 5  # at files that another run gathers meanwhile, before a read gives up
PAUSE_SECONDS = 0.05  # between two of them


@dataclass
class RowGroups:
    """The row groups of an open file.

    Parameters
    ----------
    names
        Of its columns.
    """

    source: pa.NativeFile
    file: pq.ParquetFile
    names: Container[str]

    @classmethod
    def of(cls, files: Files, name: str, header: Header | None) -> RowGroups:
        """Those of a file, whose header may be known."""
        header = header or verified_header(files, name)
        source = files.open(name)
        return cls(source, pq.ParquetFile(source, metadata=header.parquet), {*header.schema.names})

    def read(self, index: int, columns: Sequence[str] | None) -> pa.Table:
        """One of them, with all of its columns or those of some that there are."""
        if columns is not None:
            columns = [name for name in columns if name in self.names]
        return self.file.read_row_group(index, columns=columns, use_threads=False)

    def close(self) -> None:
        """No more is read of it."""
        self.source.close()


class LastOpened(dict[str, RowGroups]):
    """By name, the file that was read last; it stays open, since opening takes in all it says."""

    def of(self, store: Store, name: str) -> RowGroups:
        """A file of a store, in place of the one before."""
        if name not in self:
            self.close()
            self[name] = RowGroups.of(store.files, name, store.headers.get(name))
        return self[name]

    def close(self) -> None:
        """Let go of it."""
        for file in self.values():
            file.close()
        self.clear()


@dataclass
class Store:
    """The blocks of one study in one folder.

    Parameters
    ----------
    place
        Where the files lie: a folder's path, which is made if it is not there, or `Files`.
    rows_per_block
        Rows of every block: the block size, or 1 where only summaries of blocks are kept.
    owner
        Whose blocks these are; those of anyone else are left alone.
    among
        Names of the only files to look at; None means all that are there.

    Attributes
    ----------
    damaged
        Files that were set aside, each with the reason.
    others
        By scenario key, the other owners that have blocks of that scenario here.
    places
        By scenario key, where its blocks lie, in order.
    headers
        What each file says of itself.
    own
        Files that hold blocks of this owner and of nobody else.
    """

    place: Path | Files
    rows_per_block: int
    owner: Owner = NOBODY
    among: Collection[str] | None = None
    damaged: list[str] = field(default_factory=list)
    others: dict[str, list[Owner]] = field(default_factory=dict, repr=False)
    places: dict[str, list[Place]] = field(default_factory=dict, repr=False)
    headers: dict[str, Header] = field(default_factory=dict, repr=False)
    own: set[str] = field(default_factory=set, repr=False)
    _open: LastOpened = field(default_factory=LastOpened, repr=False)

    def __post_init__(self) -> None:
        self.files = files_at(self.place)
        self.scan()

    def __getstate__(self) -> dict[str, Any]:
        """Without the file that is open, which is this process's."""
        return {**self.__dict__, "_open": LastOpened()}

    # ---------------------------------------------------------------- looking
    def scan(self) -> None:
        """Read what is there; set aside what is damaged, under `_damaged/`."""
        self.close()
        for _ in range(LOOKS):
            if self._saw_all():
                break
            time.sleep(PAUSE_SECONDS)  # another run gathers what was listed: its file is new
        for key, places in self.places.items():
            self.places[key] = highest(places, self.rows_per_block)

    def _saw_all(self) -> bool:
        """Look at what is listed; gives whether all of it was still there."""
        names = [name for name in self.files.names() if self.among is None or name in self.among]
        self.headers = {name: self.headers[name] for name in names if name in self.headers}
        self.places, self.others, self.own = {}, {}, set()
        n_gone = 0
        for name in names:
            try:
                for place in self._checked_places(name):
                    self.places.setdefault(place.group.key, []).append(place)
            except FileNotFoundError:
                n_gone += 1
        return not n_gone

    def _checked_places(self, name: str) -> list[Place]:
        try:
            if name not in self.headers:
                self.headers[name] = verified_header(self.files, name)
            return self._places_of_ours(name)
        except FileNotFoundError:  # which is nothing odd: another run has compacted
            raise
        except OSError as error:  # which says nothing about what it holds
            raise StoreError(
                f"cannot read {name} in {self.files}: {error.strerror or error}. It may hold "
                "finished blocks: make it readable, or choose another out=..."
            ) from error
        except (StoreError, LookupError, ValueError, TypeError, pa.ArrowInvalid) as odd:
            self._set_aside(name, str(odd) or type(odd).__name__)
            return []

    def _places_of_ours(self, name: str) -> list[Place]:
        """Places of the groups that are this owner's; another's groups are only noted."""
        header = self.headers[name]
        if not header.holds_blocks:
            raise StoreError("it belongs to nobody: it does not say which blocks it holds")
        keys = dict.fromkeys(group.key for group in header.groups)
        ours = {key for key in keys if header.owner.serves(self.owner, key)}
        for key in keys:
            if key not in ours:
                self.others.setdefault(key, []).append(header.owner)
        if not ours:
            return []
        if len(ours) == len(keys) and header.owner.settings == self.owner.settings:
            self.own.add(name)
        places = places_in(name, header, self.rows_per_block)
        return [place for place in places if place.group.key in ours]

    def _set_aside(self, name: str, reason: str) -> None:
        """Move a file out of the way, so that its blocks count as missing."""
        self.files.set_aside(name)
        self.headers.pop(name, None)
        self.damaged.append(f"{name} ({reason.splitlines()[0][:120]})")

    # ---------------------------------------------------------------- what is there
    @property
    def files_in_use(self) -> set[str]:
        """Files from which any block is read."""
        return {place.file for places in self.places.values() for place in places}

    @property
    def n_files(self) -> int:
        return len(self.files_in_use)

    @property
    def n_bytes(self) -> int:
        """Size of all files that are this owner's alone."""
        return sum(self.sizes().values())

    def sizes(self) -> dict[str, int]:
        """Bytes of each file that is this owner's alone and may be rewritten.

        Left out: one that another run has just compacted, and blocks to be drawn again, unless
        they were and nothing of them holds any more.
        """
        sizes, in_use = {}, self.files_in_use
        for name in self.own:
            if self.headers[name].rank == TENTATIVE and name in in_use:
                continue
            with contextlib.suppress(FileNotFoundError):
                sizes[name] = self.files.size(name)
        return sizes

    def column_names(self) -> set[str]:
        """Names of the columns that any block has."""
        return {name for file in self.files_in_use for name in self.headers[file].schema.names}

    def schema_of(self, key: str) -> pa.Schema:
        """The columns of the file that holds a scenario's first blocks; none, if none does."""
        places = self.places.get(key)
        return self.headers[places[0].file].schema if places else pa.schema([])

    def have(self, key: str, n_blocks: int, *, tentative: bool = False) -> np.ndarray:
        """Which of a scenario's first blocks are there; shape `(n_blocks,)`.

        Parameters
        ----------
        tentative
            Whether blocks that the machine made fail count, which a later run draws again.
        """
        have = np.zeros(n_blocks, dtype=bool)
        for place in self.places.get(key, ()):
            if tentative or place.rank > TENTATIVE:
                have[place.group.first : place.group.end] = True
        return have

    def ranks(self, key: str, n_blocks: int) -> np.ndarray:
        """What each of a scenario's first blocks outranks; NaN where there is none."""
        ranks = np.full(n_blocks, np.nan)
        for place in self.places.get(key, ()):
            ranks[place.group.first : place.group.end] = place.rank
        return ranks

    @property
    def highest_rank(self) -> int:
        """Of any block that is there."""
        ranks = (place.rank for places in self.places.values() for place in places)
        return max(ranks, default=0)

    def n_blocks(self, key: str) -> int:
        """Blocks that a scenario has without a gap, from the first."""
        end = max((place.group.end for place in self.places.get(key, ())), default=0)
        have = self.have(key, end, tentative=True)
        return int(end if have.all() else have.argmin())

    # ---------------------------------------------------------------- reading
    def read(self, key: str, n_rows: int, columns: Sequence[str] | None = None) -> pa.Table:
        """A scenario's first rows, in order of replicate; columns not stored are left out."""
        for _ in range(LOOKS):
            try:
                pieces = self.pieces(key, n_rows)
                tables = [self._rows_of(piece, columns) for piece in pieces]
                return below_each_other(tables).slice(0, n_rows)
            except FileNotFoundError:  # another run has compacted: look again
                time.sleep(PAUSE_SECONDS)
                self.scan()
        raise keep_changing(self)

    def read_in_parts(
        self, key: str, n_rows: int, columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        """The same rows, some whole blocks at a time, of which each fits into memory."""
        first, n_blocks = 0, -(-n_rows // self.rows_per_block)
        for _ in range(LOOKS):
            try:
                for piece in self.pieces(key, n_rows, first):
                    yield self._rows_of(piece, columns)
                    first = piece.place.group.first + piece.end
            except FileNotFoundError:
                time.sleep(PAUSE_SECONDS)
                self.scan()
            if first >= n_blocks:
                return
        raise keep_changing(self)

    def pieces(self, key: str, n_rows: int, first: int = 0) -> list[Piece]:
        """Where the blocks of a scenario's first rows lie, from some block on.

        Raises
        ------
        StoreError
            Where one is missing.
        """
        n_blocks = -(-n_rows // self.rows_per_block)
        pieces = list(pieces_until(self.places.get(key, []), n_blocks, first))
        at = pieces[-1].place.group.first + pieces[-1].end if pieces else first
        if at < n_blocks:
            raise StoreError(f"block {at} of scenario {key} is not in {self.files}.")
        return pieces

    def _rows_of(self, piece: Piece, columns: Sequence[str] | None) -> pa.Table:
        file = self._open.of(self, piece.place.file)
        return self.cut(file.read(piece.place.row_group, columns), piece)

    def close(self) -> None:
        """Let go of the file that was read last."""
        self._open.close()

    def cut(self, row_group: pa.Table, piece: Piece) -> pa.Table:
        """The rows of a piece, from the row group that it lies in."""
        rows = self.rows_per_block
        return row_group.slice(
            piece.place.row + piece.first * rows, (piece.end - piece.first) * rows
        )


def keep_changing(store: Store) -> StoreError:
    """The refusal of a store that other runs never leave alone for a look."""
    return StoreError(f"the files of {store.files} keep changing under this run; run it again.")
