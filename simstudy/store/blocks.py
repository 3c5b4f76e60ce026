"""Blocks on disk: Parquet, whole or absent, named by what they contain.

A file holds whole blocks and is named by the hash of its own bytes. So a file that is there under
its name is undamaged, two runs that compute the same block do no harm, and the name of a finished
study's file is the same on every machine that computed the same bits. It also says whose blocks
they are: those of another owner are left where they are and never read.
"""

import contextlib
import functools
import hashlib
import itertools
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simstudy.errors import StoreError, StudyError
from simstudy.store.owner import NOBODY, Owner

METADATA_KEY = b"simstudy.groups"
OWNER_KEY = b"simstudy.owner"
RANK_KEY = b"simstudy.rank"
TENTATIVE = -1  # rank of blocks that failed by the machine's fault: kept until they are drawn
ROWS_PER_GROUP = 1 << 17  # of a compacted row group: large enough to read fast, small in memory
ROWS_TOGETHER = 1 << 11  # groups with fewer rows share a row group: each costs a millisecond
TABLES_AT_HAND = 512  # shared row groups kept in memory during a compaction: about 100 MB
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


class _Place(NamedTuple):
    """Where a group lies: in a row group of a file, from a row of it on.

    Of two files with the same block that of the higher rank holds.
    """

    group: Group
    file: Path
    row_group: int
    row: int
    rank: int = 0

    def part(self, first: int, end: int, rows_per_block: int) -> "_Place":
        """Some of its blocks."""
        row = self.row + (first - self.group.first) * rows_per_block
        return self._replace(group=Group(self.group.key, first, end - first), row=row)


class _File(NamedTuple):
    """What a file says of itself."""

    parquet: Any
    owner: Owner
    rank: int

    @property
    def names(self) -> list[str]:
        """Of its columns; a column of lists has a path of several parts for each."""
        return list(self.parquet.schema.to_arrow_schema().names)

    @property
    def groups(self) -> list[Group]:
        return [Group(*one) for one in json.loads(self.parquet.metadata[METADATA_KEY])]


def write_blocks(
    folder: Path,
    groups: Sequence[Group],
    table: pa.Table,
    *,
    owner: Owner = NOBODY,
    rank: int = 0,
) -> Path:
    """Write blocks as one file: to a temporary name, synced, then renamed to the content's hash.

    Safe to call from any number of processes and machines at once.

    Parameters
    ----------
    groups
        What the rows of the table are, in order; every block has as many rows as any other.
    owner
        Whose blocks these are; a `Store` believes only those of its own.
    rank
        Above that of blocks which these replace; `TENTATIVE` for blocks to be drawn again.
    """
    rows_per_block = table.num_rows // sum(group.n for group in groups)
    lengths = [group.n * rows_per_block for group in groups]
    starts = [0, *itertools.accumulate(lengths)]
    parts = (table.slice(*piece) for piece in zip(starts, lengths, strict=False))
    return _write(folder, _joint_schema([table.schema], groups, owner, rank), parts)


def _joint_schema(
    schemas: Iterable[pa.Schema], groups: Sequence[Group], owner: Owner, rank: int
) -> pa.Schema:
    """All columns of some tables, in an order that does not depend on the tables' order."""
    bare = [one.remove_metadata() for one in schemas]
    try:
        joint = pa.unify_schemas(bare, promote_options="permissive")
    except pa.ArrowTypeError as error:
        raise StudyError(
            f"simulate returns a column that is of one type in some blocks and of another in "
            f"others: {error}. Return the same type always, such as column.astype(float)."
        ) from None
    joint = pa.schema(
        sorted(joint, key=lambda one: (one.name not in ("scenario", "rep"), one.name))
    )
    listed = json.dumps([list(group) for group in groups])
    whose = owner.text(group.key for group in groups)
    return joint.with_metadata({METADATA_KEY: listed, OWNER_KEY: whose, RANK_KEY: str(rank)})


def _packed(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """One table for each row group: the rows of a large group, or of several small ones."""
    pack: list[pa.Table] = []
    for part in parts:
        if pack and (part.num_rows >= ROWS_TOGETHER or _n_rows(pack) >= ROWS_TOGETHER):
            yield _joined(pack)
            pack = []
        pack.append(part)
    if pack:
        yield _joined(pack)


def _n_rows(tables: Sequence[pa.Table]) -> int:
    return sum(table.num_rows for table in tables)


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    """In one piece, so that the bytes written do not depend on the pieces."""
    return pa.concat_tables(tables, promote_options="permissive").combine_chunks()


def _write(folder: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> Path:
    handle, temporary = tempfile.mkstemp(prefix=".writing-", dir=folder)
    try:
        with os.fdopen(handle, "w+b") as file:
            with _writer(file, schema) as writer:
                for table in _packed(tables):
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


def _writer(file: Any, schema: pa.Schema) -> Any:
    """Only text is worth a dictionary: numbers would take a third longer and more room."""
    text = [one.name for one in schema if pa.types.is_string(one.type)]
    return pq.ParquetWriter(
        file, schema, compression="zstd", compression_level=1, use_dictionary=text
    )


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
    owner
        Whose blocks these are; those of anyone else are left alone.

    Attributes
    ----------
    others
        By scenario key, the other owners that have blocks of that scenario here.
    """

    folder: Path
    rows_per_block: int
    owner: Owner = NOBODY
    damaged: list[str] = field(default_factory=list)
    others: dict[str, list[Owner]] = field(default_factory=dict, repr=False)
    _places: dict[str, list[_Place]] = field(default_factory=dict, repr=False)
    _said: dict[Path, _File] = field(default_factory=dict, repr=False)
    _own: set[Path] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.scan()

    def scan(self) -> None:
        """Read what is there; set aside what is damaged, under `_damaged/`."""
        files = sorted(self.folder.glob("*.parquet"))
        self._said = {path: self._said[path] for path in files if path in self._said}
        self._places, self.others, self._own = {}, {}, set()
        for path in files:
            for place in self._checked_places(path):
                self._places.setdefault(place.group.key, []).append(place)
        for key, places in self._places.items():
            self._places[key] = _highest(places, self.rows_per_block)

    def _checked_places(self, path: Path) -> list[_Place]:
        try:
            if path not in self._said:
                self._said[path] = _verified(path)
            return self._places_of_ours(path)
        except FileNotFoundError:  # compacted by another run since it was listed
            return []
        except OSError as error:  # which says nothing about what it holds
            raise StoreError(
                f"cannot read {path}: {error.strerror or error}. It may hold finished blocks: make "
                "it readable, or choose another out=..."
            ) from error
        except (StoreError, LookupError, ValueError, TypeError, pa.ArrowInvalid) as odd:
            self.set_aside(path, str(odd) or type(odd).__name__)
            return []

    def _places_of_ours(self, path: Path) -> list[_Place]:
        """Places of the groups that are this owner's; another's groups are only noted."""
        said = self._said[path]
        if said.parquet.metadata is None or METADATA_KEY not in said.parquet.metadata:
            raise StoreError("it belongs to nobody: it does not say which blocks it holds")
        keys = dict.fromkeys(group.key for group in said.groups)
        ours = {key for key in keys if said.owner.serves(self.owner, key)}
        for key in keys:
            if key not in ours:
                self.others.setdefault(key, []).append(said.owner)
        if not ours:
            return []
        if len(ours) == len(keys) and said.owner.settings == self.owner.settings:
            self._own.add(path)
        places = _places_in(path, said, self.rows_per_block)
        return [place for place in places if place.group.key in ours]

    def set_aside(self, path: Path, reason: str) -> None:
        """Move a file out of the way, so that its blocks count as missing."""
        aside = self.folder / "_damaged"
        aside.mkdir(exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # another run was quicker
            os.replace(path, aside / path.name)
        self._said.pop(path, None)
        self.damaged.append(f"{path.name} ({reason.splitlines()[0][:120]})")

    @property
    def n_files(self) -> int:
        return len({place.file for places in self._places.values() for place in places})

    @property
    def n_bytes(self) -> int:
        """Size of all files."""
        return sum(self._sizes().values())

    def stored_names(self) -> set[str]:
        """Names of the columns that any block has."""
        return {name for path in self._files() for name in self._said[path].names}

    def have(self, key: str, n_blocks: int, *, tentative: bool = False) -> np.ndarray:
        """Which of a scenario's first blocks are there; shape `(n_blocks,)`.

        Parameters
        ----------
        tentative
            Whether blocks that the machine made fail count, which a later run draws again.
        """
        have = np.zeros(n_blocks, dtype=bool)
        for place in self._places.get(key, ()):
            if tentative or place.rank > TENTATIVE:
                have[place.group.first : place.group.end] = True
        return have

    def failed(self, key: str, n_blocks: int) -> np.ndarray:
        """Which of a scenario's first blocks hold a failure; shape `(n_blocks,)`."""
        names = [name for name in self.stored_names() if _tells_of_failure(name)]
        n_known = min(n_blocks, self.n_blocks(key))
        failed = np.zeros(n_blocks, dtype=bool)
        if names and n_known:
            table = self.read(key, n_known * self.rows_per_block, names)
            bad = _rows_with_failure(table).reshape(n_known, self.rows_per_block)
            failed[:n_known] = bad.any(axis=1)
        return failed

    @property
    def highest_rank(self) -> int:
        """Of any block that is there."""
        ranks = (place.rank for places in self._places.values() for place in places)
        return max(ranks, default=0)

    def n_blocks(self, key: str) -> int:
        """Blocks that a scenario has without a gap, from the first."""
        end = max((p.group.end for p in self._places.get(key, ())), default=0)
        have = self.have(key, end, tentative=True)
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
        table = self._row_group(place.file, place.row_group, columns)
        return self._cut(table, place, first, end)

    def _row_group(self, path: Path, index: int, columns: Sequence[str] | None) -> pa.Table:
        with pq.ParquetFile(
            path, metadata=self._said[path].parquet if path in self._said else None
        ) as file:
            if columns is not None:
                columns = [name for name in columns if name in file.schema_arrow.names]
            return file.read_row_group(index, columns=columns, use_threads=False)

    def _cut(self, table: pa.Table, place: _Place, first: int, end: int) -> pa.Table:
        rows = self.rows_per_block
        return table.slice(place.row + first * rows, (end - first) * rows)

    def compact(self, *, recent_only: bool = False) -> None:
        """Gather all blocks into one file, scenario by scenario; delete the files it replaces.

        A source is deleted only after everything in it stands, synced, in the new file; so any
        number of runs may compact at once, and a crash leaves duplicates, never a gap.

        Parameters
        ----------
        recent_only
            Leave alone what is larger than all smaller files together: over a long run every
            block is then rewritten a number of times that grows as the logarithm of their number.
        """
        self.scan()
        sizes = self._sizes()
        sources = _recent(sizes) if recent_only else set(sizes)
        sources = {path for path in sources if sizes[path] < LEAVE_ALONE_BYTES}
        if len(sources) < 2 and (recent_only or self._is_compact(sources)):
            return
        try:
            target = self._merge(sources)
        except FileNotFoundError:  # another run is compacting the same files
            self.scan()
            return
        for path in sources - {target}:
            path.unlink(missing_ok=True)
        self._remove_stale()
        self.scan()

    def _is_compact(self, sources: set[Path]) -> bool:
        """Whether a lone file has its groups as a compaction would lay them out."""
        made = [group for group, _ in self._chunks(sources)]
        return all(made == self._said[path].groups for path in sources)

    def _sizes(self) -> dict[Path, int]:
        """Bytes of each file that is this owner's alone and may be rewritten.

        Left out: one that another run has just compacted, and blocks to be drawn again, unless
        they were and nothing of them holds any more.
        """
        sizes, in_use = {}, self._files()
        for path in self._own:
            if self._said[path].rank == TENTATIVE and path in in_use:
                continue
            with contextlib.suppress(FileNotFoundError):
                sizes[path] = path.stat().st_size
        return sizes

    def _files(self) -> set[Path]:
        return {place.file for places in self._places.values() for place in places}

    def _merge(self, sources: set[Path]) -> Path | None:
        """The file that replaces the sources; None where other files hold all that they do."""
        chunks = list(self._chunks(sources))
        if not chunks:
            return None
        files = {place.file for _, cut in chunks for place, _, _ in cut}
        schemas = (self._said[path].parquet.schema.to_arrow_schema() for path in sorted(files))
        rank = max(self._said[path].rank for path in files)
        schema = _joint_schema(schemas, [group for group, _ in chunks], self.owner, rank)
        read = functools.lru_cache(TABLES_AT_HAND)(self._row_group)
        return _write(self.folder, schema, (self._gather(cut, read) for _, cut in chunks))

    def _gather(
        self, cut: list[tuple[_Place, int, int]], read: Callable[[Path, int, None], pa.Table]
    ) -> pa.Table:
        """The blocks of a chunk; only a row group that others share is worth remembering."""
        tables = []
        for place, first, end in cut:
            shared = place.group.n * self.rows_per_block < ROWS_TOGETHER
            table = (read if shared else self._row_group)(place.file, place.row_group, None)
            tables.append(self._cut(table, place, first, end))
        return _joined(tables)

    def _chunks(self, sources: set[Path]) -> Iterator[tuple[Group, list[tuple[_Place, int, int]]]]:
        """New groups, aligned so that they do not depend on the files they come from."""
        step = max(1, ROWS_PER_GROUP // self.rows_per_block)
        for key in sorted(self._places):
            chunk: list[tuple[_Place, int, int]] = []
            first = at = 0
            for place, block in self._each_block(key, sources):
                if chunk and (block != at or block % step == 0):
                    yield Group(key, first, at - first), chunk
                    chunk = []
                if not chunk:
                    first = block
                _extend(chunk, place, block - place.group.first)
                at = block + 1
            if chunk:
                yield Group(key, first, at - first), chunk

    def _each_block(self, key: str, sources: set[Path]) -> Iterator[tuple[_Place, int]]:
        done = -1
        for place in self._places[key]:
            start = max(place.group.first, done + 1)
            end = place.group.end
            if place.file in sources:
                yield from ((place, block) for block in range(start, end))
            done = max(done, end - 1)

    def _remove_stale(self) -> None:
        for path in self.folder.glob(".writing-*"):
            try:
                if time.time() - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink()
            except FileNotFoundError:
                continue


def _verified(path: Path) -> _File:
    """What a file says, whose bytes are the ones that were written."""
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest()[:32] != path.stem:
            raise StoreError("its bytes are not the ones that were written")
    parquet = pq.read_metadata(path)
    said = parquet.metadata or {}
    owner = Owner.read(said.get(OWNER_KEY, b"").decode())
    return _File(parquet, owner, int(said.get(RANK_KEY, b"0")))


def _tells_of_failure(name: str) -> bool:
    return name.split("[")[0] == "error" or name.endswith(".n_failed")


def _rows_with_failure(table: pa.Table) -> np.ndarray:
    """Rows with an error's text, or of moments with a count of failures."""
    bad = np.zeros(len(table), dtype=bool)
    for name in table.column_names:
        for row, value in enumerate(table.column(name).to_pylist()):
            bad[row] |= bool(value if isinstance(value, str) else any(value or ()))
    return bad


def owner_in(path: Path) -> Owner:
    """Whose blocks a file holds, as it says; of a damaged file, nobody known."""
    try:
        said = pq.read_metadata(path).metadata or {}
        return Owner.read(said.get(OWNER_KEY, b"").decode())
    except (OSError, ValueError, pa.ArrowException):
        return Owner.read("")


def _places_in(path: Path, said: _File, rows_per_block: int) -> Iterator[_Place]:
    """Its groups, each in one row group, which it may share with its neighbours."""
    parquet = said.parquet
    sizes = [parquet.row_group(i).num_rows for i in range(parquet.num_row_groups)]
    index = row = 0
    for group in said.groups:
        if row == sizes[index]:
            index, row = index + 1, 0
        yield _Place(group, path, index, row, said.rank)
        row += group.n * rows_per_block
    if [row] != sizes[index:]:
        raise StoreError(f"its blocks do not have {rows_per_block} rows each")


def _highest(places: list[_Place], rows_per_block: int) -> list[_Place]:
    """In order of block; where ranks differ, of every block only the place of the highest."""
    if len({place.rank for place in places}) > 1:
        places = list(_without_outranked(places, rows_per_block))
    return sorted(places, key=lambda place: (place.group.first, -place.group.n))


def _without_outranked(places: list[_Place], rows_per_block: int) -> Iterator[_Place]:
    taken = np.zeros(max(place.group.end for place in places), dtype=bool)
    for _, level in itertools.groupby(sorted(places, key=_from_the_top), _from_the_top):
        here = list(level)
        for place in here:
            free = np.flatnonzero(~taken[place.group.first : place.group.end]) + place.group.first
            for run in np.split(free, np.flatnonzero(np.diff(free) > 1) + 1):
                if run.size:
                    yield place.part(int(run[0]), int(run[-1]) + 1, rows_per_block)
        for place in here:
            taken[place.group.first : place.group.end] = True


def _from_the_top(place: _Place) -> int:
    return -place.rank


def _recent(sizes: Mapping[Path, int]) -> set[Path]:
    """The smaller files, up to the largest that is no larger than those before it together."""
    paths = sorted(sizes, key=lambda path: (sizes[path], path))
    before = [0, *itertools.accumulate(sizes[path] for path in paths)]
    last = max((i for i, path in enumerate(paths) if sizes[path] <= before[i]), default=-1)
    return set(paths[: last + 1])


def _extend(chunk: list[tuple[_Place, int, int]], place: _Place, offset: int) -> None:
    """Add one block to the pieces of a chunk, growing the last piece where it goes on."""
    if chunk and chunk[-1][0] is place and chunk[-1][2] == offset:
        chunk[-1] = (place, chunk[-1][1], offset + 1)
    else:
        chunk.append((place, offset, offset + 1))
