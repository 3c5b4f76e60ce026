"""The stored blocks and their rows.

Every file states the provenance of its blocks. Blocks of other provenance are neither read nor
changed.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simstudy.design.plan import Plan
from simstudy.errors import StoreError
from simstudy.store import arrow_schema, block_files
from simstudy.store.arrow_schema import ERROR, MESSAGE_COLUMNS, REP, Message
from simstudy.store.files import Files, files_at, is_of_another_share
from simstudy.store.provenance import NO_PROVENANCE, Provenance

SCANS = 5  # attempts to read files while another run merges them
PAUSE_SECONDS = 0.05  # pause between two scans
VALUES_AT_ONCE = 1 << 19  # values of all columns in a batch of scenarios: 4 MB, for a core's cache
CACHE_BYTES = 1 << 27  # size of the cache of row groups


class StoredFile(NamedTuple):
    """A file in the store's index."""

    name: str
    number: int
    schema: pa.Schema
    width: int  # average number of values in a row of a column
    generation: int
    is_own: bool  # whether it holds no blocks of other provenance


@dataclass
class Store:
    """The blocks of one study in one folder.

    Parameters
    ----------
    place
        Folder of the files, which is created if it does not exist, or `Files`.
    rows_per_block
        Rows of every block: the block size.
    provenance
        Provenance of the blocks; all others are ignored.
    only_files
        Names of the files to use; None for all files in the folder.
    label
        Label of the share whose store this is; empty for a run of all blocks. Files of other shares
        are not opened. New files have the label in their names.
    read_only
        Whether a damaged file raises an error; otherwise it is moved away.
    accepted
        Origins of blocks by other versions of libraries that count as well, by key.

    Attributes
    ----------
    damaged
        Files that were quarantined, each with the reason.
    others
        Provenances of blocks with the same settings and other code, by scenario key.
    index
        Index of the blocks in the files.
    """

    place: Path | Files
    rows_per_block: int
    provenance: Provenance = NO_PROVENANCE
    only_files: Collection[str] | None = None
    label: str = ""
    read_only: bool = False
    accepted: Mapping[str, Collection[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.files = files_at(self.place)
        self.damaged: list[str] = []
        self.others: dict[str, list[Provenance]] = {}
        self.index = block_files.BlockIndex()
        self._known: dict[str, StoredFile | None] = {}  # None for files without our blocks
        self._by_number: list[StoredFile] = []
        self._headers: dict[str, pq.FileMetaData] = {}
        self._row_groups: dict[tuple[Any, ...], pa.Table] = {}  # a cache
        self._n_bytes = 0  # its size
        self._lock = threading.RLock()
        self.scan()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the cache."""
        return vars(self) | {"_headers": {}, "_row_groups": {}, "_n_bytes": 0, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    def reopened(self, **changes: Any) -> Store:
        """Open the same files, with other provenance, files or accepted origins."""
        return replace(self, place=self.files, **changes)

    # ---------------------------------------------------------------- scanning the folder
    def scan(self) -> None:
        """Index the files that exist now; damaged files are moved to `_damaged/`."""
        with self._lock:
            for _ in range(SCANS):
                if self._index_all_listed():
                    break
                time.sleep(PAUSE_SECONDS)  # another run merges listed files into a new one
            self.close()
            self.__dict__.pop("schema", None)

    def _index_all_listed(self) -> bool:
        """Index the listed files; return False if one of them has been deleted meanwhile.

        Files of other shares, which hold no blocks of this run, are left out.
        """
        listed = [n for n in self.files.names() if not is_of_another_share(n, self.label)]
        names = [n for n in listed if self.only_files is None or n in self.only_files]
        known = self._still_valid(names)
        numbers = [file.number for file in known.values() if file is not None]
        parts = [self.index.slices[np.isin(self.index.slices["file"], numbers)]]
        is_complete = True
        for name, parquet in self.files.metadata([n for n in names if n not in known]):
            try:
                if isinstance(parquet, Exception):
                    raise parquet
                known[name], slices = self._file_and_slices(
                    name, block_files.file_metadata(parquet)
                )
                parts.append(slices)
            except FileNotFoundError:  # another run has merged it
                is_complete = False
            except OSError as error:  # the file itself may be undamaged
                raise StoreError(
                    f"cannot read {name} in {self.files}: {error.strerror or error}. It may hold "
                    "finished blocks: make it readable, or choose another out=..."
                ) from error
            except (StoreError, LookupError, ValueError, TypeError, pa.ArrowInvalid) as odd:
                if self.read_only:
                    raise damaged_file_error(self.files, name) from odd
                self.files.quarantine(name)  # its blocks count as missing
                reason = (str(odd) or type(odd).__name__).splitlines()[0]
                self.damaged.append(f"{name} ({reason[:120]})")
        self._known = known
        self.index.rebuild(parts)
        return is_complete

    def _still_valid(self, names: Sequence[str]) -> dict[str, StoredFile | None]:
        """Find the files that need not be read again.

        If a file has been deleted and some blocks were in several files, all files are read again:
        the index may have left out a remaining copy of the deleted blocks.
        """
        known = {name: self._known[name] for name in names if name in self._known}
        if len(known) == len(self._known) or not self.index.has_duplicates:
            return known
        self.index.has_duplicates = False
        return {}

    def _file_and_slices(
        self, name: str, content: block_files.FileMetadata
    ) -> tuple[StoredFile | None, np.ndarray]:
        """Make the index entries of a file; if it has other provenance, note only that."""
        made_from = content.provenance
        is_of_study = made_from.settings == self.provenance.settings
        keys = {each.key for each in content.ranges} if is_of_study else set()
        exact = {key for key in keys if made_from.matches(self.provenance, key)}
        ours = exact | {key for key in keys if self._accepts(made_from, key)}
        for key in keys - exact:
            self.others.setdefault(key, []).append(made_from)
        if not ours:
            return None, self.index.slices[:0]
        number = len(self._by_number)
        slices = block_files.slices_of_file(
            [(self.index.number_of(each.key), each.first, each.n) for each in content.ranges],
            content.row_groups,
            self.rows_per_block,
            file=number,
            generation=content.generation,
        )
        if ours != keys:
            slices = slices[np.isin(slices["key"], [*map(self.index.number_of, ours)])]
        schema, width, generation = content.schema, content.width, content.generation
        file = StoredFile(name, number, schema, width, generation, is_own=exact == keys)
        self._by_number.append(file)
        return file, slices

    def _accepts(self, made_from: Provenance, key: str) -> bool:
        """Whether blocks of other versions count: those of the same values and data alone."""
        same_values = made_from.values.get(key) == self.provenance.values.get(key)
        return same_values and made_from.origin(key) in self.accepted.get(key, ())

    def origins(self, keys: Iterable[str]) -> dict[str, list[str]]:
        """List the keys of blocks by the hash of their settings and code."""
        found: dict[str, list[str]] = {}
        for key in keys:
            others = (each for each in self.others.get(key, ()) if self._accepts(each, key))
            for origin in {each.origin(key): None for each in (self.provenance, *others)}:
                found.setdefault(origin, []).append(key)
        return found

    # ---------------------------------------------------------------- content
    @property
    def referenced_files(self) -> list[StoredFile]:
        """The files from which blocks are read."""
        return [self._by_number[at] for at in np.unique(self.index.slices["file"]).tolist()]

    @property
    def has_own_duplicates(self) -> bool:
        """Whether several files hold the same blocks, all of them by the same versions."""
        files = (file for file in self._known.values() if file is not None)
        return self.index.has_duplicates and all(file.is_own for file in files)

    def own_sizes(self) -> dict[str, int]:
        """Return the size of each file that holds only this study's blocks.

        Files that another run has just merged are left out.
        """
        sizes = {}
        for file in self._known.values():
            if file is not None and file.is_own:
                with contextlib.suppress(FileNotFoundError):
                    sizes[file.name] = self.files.size(file.name)
        return sizes

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of all blocks, in common types."""
        return block_files.joint_schema({file.schema: None for file in self.referenced_files})

    def column_names(self) -> set[str]:
        """Return the names of all columns."""
        return set(self.schema.names)

    def schema_of(self, key: str) -> pa.Schema:
        """Return the columns of the file with a scenario's first blocks; empty without blocks."""
        slices = self.index.of(key)
        return self._by_number[slices["file"][0]].schema if len(slices) else pa.schema([])

    def has_blocks(self, key: str, n_blocks: int, *, retries: bool = False) -> np.ndarray:
        """Find out which of a scenario's first blocks are stored; shape `(n_blocks,)`.

        Parameters
        ----------
        retries
            Whether blocks count that failed by the machine's fault, which a later run draws again.
        """
        return self.index.has(key, n_blocks, least=block_files.RETRY_GENERATION + (not retries))

    @property
    def highest_generation(self) -> int:
        """The highest generation of all blocks."""
        return int(self.index.slices["generation"].max(initial=0))

    def block_numbers(self, key: str) -> np.ndarray:
        """Return the numbers of a scenario's blocks, which may have gaps; shape `(block,)`."""
        slices = self.index.of(key)
        ranges = zip(slices["first"].tolist(), slices["n"].tolist(), strict=True)
        return np.concatenate([np.zeros(0, int), *(np.arange(at, at + n) for at, n in ranges)])

    def n_blocks(self, key: str) -> int:
        """Count a scenario's blocks before the first gap."""
        return self.index.n_blocks(key)

    # ---------------------------------------------------------------- reading
    def read(self, key: str, n_rows: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Read a scenario's first rows, in order of replicate; missing columns are left out.

        Raises
        ------
        StoreError
            If a block is missing, or other runs keep changing the files.
        """
        n_blocks = -(-n_rows // self.rows_per_block)
        table = self.rows_between(key, 0, n_blocks, columns)
        if table.num_rows < n_rows:
            missing = self.n_blocks(key)
            raise StoreError(f"block {missing} of scenario {key} is not in {self.files}.")
        return table.slice(0, n_rows)

    def rows_between(
        self, key: str, first: int, end: int, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Read the rows of a scenario's stored blocks from `first` to before `end`.

        Raises
        ------
        StoreError
            If other runs keep changing the files.
        """
        for _ in range(SCANS):
            try:
                schema = self._selected(columns)
                pieces = self.index.between(key, first, end)
                tables = [self._rows_of(piece, schema) for piece in pieces]
                return pa.concat_tables(tables or [schema.empty_table()])
            except FileNotFoundError:  # another run has merged files meanwhile
                time.sleep(PAUSE_SECONDS)
                self.scan()
        raise StoreError(f"files in {self.files} keep changing during this run; run it again.")

    def _rows_of(self, piece: np.void, schema: pa.Schema) -> pa.Table:
        """Read some columns of a slice, and keep its row group in the cache.

        No file stays open: some systems cannot delete it then.

        Raises
        ------
        FileNotFoundError
            If its file has been deleted.
        """
        file, row_group = self._by_number[piece["file"]], int(piece["row_group"])
        at = file.name, row_group, tuple(schema.names)
        with self._lock:
            if at not in self._row_groups:
                names = [name for name in schema.names if name in file.schema.names]
                with self.files.open(file.name) as source:
                    parquet = pq.ParquetFile(source, metadata=self._headers.get(file.name))
                    stored = parquet.read_row_group(row_group, columns=names, use_threads=False)
                self._headers[file.name] = parquet.metadata
                table = arrow_schema.with_schema(stored, schema)
                if self._n_bytes + table.nbytes > CACHE_BYTES:
                    self._row_groups, self._n_bytes = {}, 0
                self._row_groups[at] = table
                self._n_bytes += table.nbytes
            rows = self._row_groups[at]
        return rows.slice(*(int(piece[n]) * self.rows_per_block for n in ("offset", "n")))

    def gather(self, slices: np.ndarray) -> pa.Table:
        """Read all rows of some slices, in order; each row group is read once."""
        order = np.lexsort((slices["offset"], slices["row_group"], slices["file"]))
        tables = {at: self._rows_of(slices[at], self.schema) for at in order.tolist()}
        return pa.concat_tables([tables[at] for at in range(len(slices))]).combine_chunks()

    def _selected(self, columns: Sequence[str] | None) -> pa.Schema:
        if columns is None:
            return self.schema
        chosen = [column for column in self.schema if column.name in columns]
        counted = [column for column in self.schema if column.name == REP]
        return pa.schema(chosen or counted)  # a table without columns would have no rows

    def close(self) -> None:
        """Clear the cache of rows."""
        with self._lock:
            self._headers, self._row_groups, self._n_bytes = {}, {}, 0


def damaged_file_error(files: Files, name: str) -> StoreError:
    """Make the error for a damaged file in a folder that is only read."""
    return StoreError(
        f"{name} in {files} is damaged, or not a file of blocks, so not all replicates can be "
        "read. Run the study again to draw its blocks again."
    )


# ---------------------------------------------------------------- many scenarios
Made = TypeVar("Made")


class Batch(NamedTuple):
    """The rows of several scenarios, the same number for each."""

    keys: tuple[str, ...]
    n_rows: int  # rows per scenario
    table: pa.Table

    def each(self) -> Iterator[tuple[str, pa.Table]]:
        """Iterate over the scenarios: key and rows."""
        for at, key in enumerate(self.keys):
            yield key, self.table.slice(at * self.n_rows, self.n_rows)


def map_batches(
    work: Callable[[Batch], Made],
    store: Store,
    n_rows: Mapping[str, int],
    columns: Sequence[str] | None = None,
    mapped: Callable[[Callable[[Any], Made], Iterable[Any]], Iterable[Made]] = map,
) -> Iterator[Made]:
    """Apply a function to the first rows of many scenarios, in batches, in the order of the files.

    Parameters
    ----------
    n_rows
        Number of rows to read, by scenario key.
    columns
        Columns to read, if they exist. Default: all.
    mapped
        The function `map`, or one like it that uses threads and keeps the order.

    Raises
    ------
    StoreError
        If a block is missing, or other runs keep changing the files.
    """

    def made(keys: tuple[str, ...]) -> Made:
        n = n_rows[keys[0]]
        tables = [store.read(key, n, columns) for key in keys]
        return work(Batch(keys, n, pa.concat_tables(tables)))

    yield from mapped(made, _batches(store, n_rows))


def _batches(store: Store, n_rows: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """Group keys of equal size into batches that fit into memory."""
    width = max((file.width * len(file.schema) for file in store.referenced_files), default=1)
    batch: list[str] = []
    place = {k: store.index.of(k)[["file", "row_group", "offset"]][:1].tolist() for k in n_rows}
    for key in sorted(place, key=place.__getitem__):
        n = n_rows[key]
        if batch and (n != n_rows[batch[0]] or (len(batch) + 1) * n * width > VALUES_AT_ONCE):
            yield tuple(batch)
            batch = []
        batch.append(key)
    if batch:
        yield tuple(batch)


# ---------------------------------------------------------------- errors and warnings
def stored_messages(plan: Plan, store: Store, key: str, n_rep: int, name: str) -> Iterator[Message]:
    """Yield the messages of a scenario's first replicates, in order.

    Parameters
    ----------
    name
        Kind of message: `error` or `warning`.
    """
    names = [column for column in MESSAGE_COLUMNS[name] if column in store.schema.names]
    if not names or not n_rep:
        return
    table = store.read(key, n_rep, names)
    for column in names:
        texts = arrow_schema.texts_of(table, column)
        if name == ERROR:
            texts = arrow_schema.counted_errors(plan, texts)
        yield from arrow_schema.messages_in(texts)


def failed_replicates(plan: Plan, store: Store, key: str, n_blocks: int) -> np.ndarray:
    """List the failed replicates in a scenario's first blocks, up to the first missing block."""
    n_rep = min(n_blocks, store.n_blocks(key)) * plan.block_size
    failed = {at.rep for at in stored_messages(plan, store, key, n_rep, ERROR)}
    return np.array(sorted(failed), dtype=int)
