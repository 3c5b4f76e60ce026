"""Blocks on disk: Parquet, whole or absent, named by what they contain.

A file holds whole blocks and is named by the hash of its own bytes. So a file that is there under
its name is undamaged, two runs that compute the same block do no harm, and the name of a finished
study's file is the same on every machine that computed the same bits.
"""

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simstudy.errors import StoreError

METADATA_KEY = b"simstudy.groups"
ROWS_PER_GROUP = 1 << 17  # of a compacted row group: large enough to read fast, small in memory
LEAVE_ALONE_BYTES = 1 << 30  # a compacted file of this size is not rewritten
STALE_SECONDS = 86_400.0  # a temporary file of this age has no writer left


class Group(NamedTuple):
    """Consecutive whole blocks of one scenario: `n` of them, from `first` on."""

    key: str
    first: int
    n: int

    @property
    def end(self) -> int:
        """The block after the last."""
        return self.first + self.n


class Part(NamedTuple):
    """A group and its rows."""

    group: Group
    table: pa.Table


class _Place(NamedTuple):
    """Where a group lies."""

    group: Group
    file: Path
    row_group: int


def write_parts(folder: Path, parts: Sequence[Part]) -> Path:
    """Write blocks as one file: to a temporary name, synced, then renamed to the content's hash.

    Safe to call from any number of processes and machines at once.
    """
    schema = _joint_schema([part.table.schema for part in parts], [part.group for part in parts])
    return _write(folder, schema, (part.table for part in parts))


def _joint_schema(schemas: Sequence[pa.Schema], groups: Sequence[Group]) -> pa.Schema:
    """All columns of some tables, in an order that does not depend on the tables' order."""
    joint = pa.unify_schemas(
        [one.remove_metadata() for one in schemas], promote_options="permissive"
    )
    joint = pa.schema(
        sorted(joint, key=lambda one: (one.name not in ("scenario", "rep"), one.name))
    )
    return joint.with_metadata({METADATA_KEY: json.dumps([list(group) for group in groups])})


def _write(folder: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> Path:
    handle, temporary = tempfile.mkstemp(prefix=".writing-", dir=folder)
    try:
        with os.fdopen(handle, "w+b") as file:
            with pq.ParquetWriter(file, schema, compression="zstd", compression_level=1) as writer:
                for table in tables:
                    writer.write_table(_conform(table, schema), row_group_size=table.num_rows)
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            name = hashlib.file_digest(file, "sha256").hexdigest()[:32]
        os.chmod(temporary, 0o644)
        target = folder / f"{name}.parquet"
        os.replace(temporary, target)
        _sync_folder(folder)
        return target
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with the schema's columns; those that it lacks are null."""
    columns = [
        table.column(name) if name in table.column_names else pa.nulls(table.num_rows, type_)
        for name, type_ in zip(schema.names, schema.types, strict=True)
    ]
    return pa.table(columns, schema=schema)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass
class Store:
    """The blocks of one study in one folder.

    Parameters
    ----------
    folder
        Where the files lie; made if it is not there.
    rows_per_block
        Rows of every block: the block size, or 1 where only summaries of blocks are kept.
    """

    folder: Path
    rows_per_block: int
    damaged: list[str] = field(default_factory=list)
    _places: dict[str, list[_Place]] = field(default_factory=dict, repr=False)
    _known: set[str] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.scan()

    def scan(self) -> None:
        """Read what is there; set aside what is damaged, under `damaged/`."""
        files = {path.name: path for path in self.folder.glob("*.parquet")}
        self._places = {}
        for name in sorted(files):
            for place in self._checked_places(files[name]):
                self._places.setdefault(place.group.key, []).append(place)
        self._known = set(files)
        for places in self._places.values():
            places.sort(key=lambda place: (place.group.first, -place.group.n))

    def _checked_places(self, path: Path) -> list[_Place]:
        try:
            if path.name not in self._known:
                with path.open("rb") as file:
                    if hashlib.file_digest(file, "sha256").hexdigest()[:32] != path.stem:
                        raise StoreError("its bytes are not the ones that were written")
            text = pq.read_metadata(path).metadata[METADATA_KEY]
            groups = [Group(*group) for group in json.loads(text)]
        except FileNotFoundError:  # compacted by another run since it was listed
            return []
        except (StoreError, OSError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
            self.set_aside(path, str(error) or type(error).__name__)
            return []
        return [_Place(group, path, i) for i, group in enumerate(groups)]

    def set_aside(self, path: Path, reason: str) -> None:
        """Move a file out of the way, so that its blocks count as missing."""
        aside = self.folder / "damaged"
        aside.mkdir(exist_ok=True)
        os.replace(path, aside / path.name)
        self.damaged.append(f"{path.name} ({reason.splitlines()[0][:120]})")

    @property
    def n_files(self) -> int:
        return len({place.file for places in self._places.values() for place in places})

    @property
    def n_bytes(self) -> int:
        """Size of all files."""
        return sum(path.stat().st_size for path in self._files())

    def stored_names(self) -> set[str]:
        """Names of the columns that any block has."""
        return {name for path in self._files() for name in pq.read_schema(path).names}

    def have(self, key: str, n_blocks: int) -> np.ndarray:
        """Which of a scenario's first blocks are there; shape `(n_blocks,)`."""
        have = np.zeros(n_blocks, dtype=bool)
        for place in self._places.get(key, ()):
            have[place.group.first : place.group.end] = True
        return have

    def n_blocks(self, key: str) -> int:
        """Blocks that a scenario has without a gap, from the first."""
        end = max((p.group.end for p in self._places.get(key, ())), default=0)
        have = self.have(key, end)
        return int(end if have.all() else have.argmin())

    def read(self, key: str, n_rows: int, columns: Sequence[str] | None = None) -> pa.Table:
        """A scenario's first rows, in order of replicate; columns not stored are left out."""
        for _ in range(5):
            try:
                slices = list(self._slices(key, -(-n_rows // self.rows_per_block)))
                tables = [self._read_slice(place, a, b, columns) for place, a, b in slices]
                table = pa.concat_tables(tables, promote_options="permissive")
                return table.slice(0, n_rows)
            except FileNotFoundError:  # another run has compacted: look again
                time.sleep(0.05)
                self.scan()
        raise StoreError(f"the files of {self.folder} keep changing under this run; run it again.")

    def _slices(self, key: str, n_blocks: int) -> Iterator[tuple[_Place, int, int]]:
        """Places and the blocks to take from each, so that every block comes once, in order."""
        at = 0
        for place in self._places.get(key, ()):
            end = min(place.group.end, n_blocks)
            if place.group.first <= at < end:
                yield place, at - place.group.first, end - place.group.first
                at = end
        if at < n_blocks:
            raise StoreError(f"block {at} of scenario {key} is not in {self.folder}.")

    def _read_slice(
        self, place: _Place, first: int, end: int, columns: Sequence[str] | None
    ) -> pa.Table:
        with pq.ParquetFile(place.file) as file:
            if columns is not None:
                columns = [name for name in columns if name in file.schema_arrow.names]
            table = file.read_row_group(place.row_group, columns=columns, use_threads=False)
        rows = self.rows_per_block
        return table.slice(first * rows, (end - first) * rows)

    def compact(self) -> None:
        """Gather all blocks into one file, scenario by scenario; delete the files it replaces.

        A source is deleted only after everything in it stands, synced, in the new file; so any
        number of runs may compact at once, and a crash leaves duplicates, never a gap.
        """
        self.scan()
        large = {path for path in self._files() if path.stat().st_size >= LEAVE_ALONE_BYTES}
        sources = self._files() - large
        if len(sources) < 2:
            return
        try:
            target = self._merge(large)
        except FileNotFoundError:  # another run is compacting the same files
            self.scan()
            return
        for path in sources - {target}:
            path.unlink(missing_ok=True)
        self._remove_stale()
        self._known.add(target.name)
        self.scan()

    def _files(self) -> set[Path]:
        return {place.file for places in self._places.values() for place in places}

    def _merge(self, large: set[Path]) -> Path:
        chunks = list(self._chunks(large))
        files = {place.file for _, cut in chunks for place, _, _ in cut}
        schemas = [pq.read_schema(path) for path in sorted(files)]
        schema = _joint_schema(schemas, [group for group, _ in chunks])
        return _write(self.folder, schema, (self._gather(cut) for _, cut in chunks))

    def _gather(self, cut: list[tuple[_Place, int, int]]) -> pa.Table:
        tables = [self._read_slice(*piece, columns=None) for piece in cut]
        return pa.concat_tables(tables, promote_options="permissive").combine_chunks()

    def _chunks(self, large: set[Path]) -> Iterator[tuple[Group, list[tuple[_Place, int, int]]]]:
        """New row groups, aligned so that they do not depend on the files they come from."""
        step = max(1, ROWS_PER_GROUP // self.rows_per_block)
        for key in sorted(self._places):
            chunk: list[tuple[_Place, int, int]] = []
            first = at = 0
            for place, block in self._each_block(key, large):
                if chunk and (block != at or block % step == 0):
                    yield Group(key, first, at - first), chunk
                    chunk = []
                if not chunk:
                    first = block
                _extend(chunk, place, block - place.group.first)
                at = block + 1
            if chunk:
                yield Group(key, first, at - first), chunk

    def _each_block(self, key: str, large: set[Path]) -> Iterator[tuple[_Place, int]]:
        done = -1
        for place in self._places[key]:
            start = max(place.group.first, done + 1)
            end = place.group.end
            if place.file not in large:
                yield from ((place, block) for block in range(start, end))
            done = max(done, end - 1)

    def _remove_stale(self) -> None:
        for path in self.folder.glob(".writing-*"):
            try:
                if time.time() - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink()
            except FileNotFoundError:
                continue


def _extend(chunk: list[tuple[_Place, int, int]], place: _Place, offset: int) -> None:
    """Add one block to the pieces of a chunk, growing the last piece where it goes on."""
    if chunk and chunk[-1][0] is place and chunk[-1][2] == offset:
        chunk[-1] = (place, chunk[-1][1], offset + 1)
    else:
        chunk.append((place, offset, offset + 1))
