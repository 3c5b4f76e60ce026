"""Many small files to few, and nothing lost on the way.

A source is deleted only after everything in it stands, synced, in a new file; so any number of
runs may compact at once, and a crash leaves duplicates, never a gap.
"""

import itertools
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa

from simstudy.atomic_files import ABANDONED_SECONDS
from simstudy.store.blocks import RowGroups, Store
from simstudy.store.places import Place
from simstudy.store.turns import turn_at
from simstudy.store.volumes import Chunk, Volume, chunk_length, one_volume, volumes
from simstudy.store.write import Form, in_one_piece, joint_schema, write_laid_out

BYTES_AT_HAND = 100_000_000  # of row groups that several chunks share, kept while files are made
OPEN_AT_ONCE = 256  # files, by all threads together
SMALL_BYTES = 1 << 26  # a file that is larger is not rewritten while a run goes on


def compact(store: Store, *, n_threads: int = 1) -> None:
    """Lay all blocks out in files that depend on nothing but the blocks; delete what they replace.

    Files that are already as they are to be stay.

    Parameters
    ----------
    n_threads
        Files that are made at once; which has no part in what they hold.
    """
    with turn_at(store.files, alone=True, wait=True):
        _lay_out(store, n_threads)


def _lay_out(store: Store, n_threads: int) -> None:
    store.scan()
    sources = set(store.sizes())
    if not sources & store.files_in_use:
        return
    common = _Common.of(store, sources)
    there: set[str] = set()
    lacking: list[Volume] = []
    for volume in volumes(store.places, sources, common.step):
        name = common.stands(volume, sources)
        there.update([name] if name else [])
        lacking += [] if name else [volume]
    _replace(common, sources - there, lacking, n_threads)


def gather(store: Store, *, wait: bool = False) -> int:
    """Make one file of a store's small ones, while a run goes on; gives how many are small then.

    Left alone is what is larger than all smaller files together: over a long run every block is
    then rewritten a number of times that grows as the logarithm of their number.

    Parameters
    ----------
    store
        Of files that nobody but this run, or one that draws the same, has written.
    wait
        Whether to wait while somebody lays the whole folder out; else nothing is done then.
    """
    with turn_at(store.files, alone=False, wait=wait) as is_ours:
        store.scan()
        sizes = {name: size for name, size in store.sizes().items() if size < SMALL_BYTES}
        sources = _recent(sizes)
        if not is_ours or len(sources) < 2:
            return len(sizes)
        _make_one(store, sources)
    return len(sizes) - len(sources) + 1


def _make_one(store: Store, sources: set[str]) -> None:
    """Gather what the sources hold in one file; that may be nothing, where others hold it too."""
    if not sources & store.files_in_use:
        return
    common = _Common.of(store, sources)
    volume = one_volume(store.places, sources, common.step)
    _replace(common, sources, [volume] if volume else [], 1)


def _recent(sizes: Mapping[str, int]) -> set[str]:
    """The smaller files, up to the largest that is no larger than those before it together."""
    names = sorted(sizes, key=lambda name: (sizes[name], name))
    before = [0, *itertools.accumulate(sizes[name] for name in names)]
    last = max((i for i, name in enumerate(names) if sizes[name] <= before[i]), default=-1)
    return set(names[: last + 1])


def _replace(common: "_Common", sources: set[str], made: Sequence[Volume], n_threads: int) -> None:
    """Write files, and then delete their sources."""
    if not sources:
        return
    store, n_threads = common.store, max(1, min(n_threads, len(made)))
    store.close()  # some systems keep a file that is open
    try:
        with ThreadPoolExecutor(n_threads) as threads:
            targets = set(threads.map(lambda volume: _write(common, volume, n_threads), made))
    except FileNotFoundError:  # another run is compacting the same files
        store.scan()
        return
    for name in sources - targets:
        store.files.delete(name)
    store.files.forget_unfinished(ABANDONED_SECONDS)
    store.among = None if store.among is None else {*store.among, *targets}
    store.scan()


@dataclass(frozen=True)
class _Common:
    """What the files of a compaction have in common, whatever each of them holds.

    Parameters
    ----------
    form
        That of all their sources together.
    """

    store: Store
    form: Form

    @classmethod
    def of(cls, store: Store, sources: Collection[str]) -> "_Common":
        """Of the sources that hold any block."""
        headers = [store.headers[name] for name in store.files_in_use.intersection(sources)]
        distinct = {header.schema: None for header in headers}
        rank = max(header.rank for header in headers)
        width = max(header.width for header in headers)
        return cls(store, Form(joint_schema(distinct), rank, width))

    @property
    def step(self) -> int:
        """Blocks of a chunk."""
        return chunk_length(self.form.width, self.store.rows_per_block)

    def stands(self, volume: Volume, sources: Collection[str]) -> str | None:
        """The name of a source that is just what a file with these chunks would be."""
        name = volume[0].pieces[0].place.file
        header = self.store.headers[name]
        is_alike = (header.rank, header.width) == (self.form.rank, self.form.width)
        as_planned = header.groups == [chunk.group for chunk in volume]
        is_final = is_alike and as_planned and header.schema.equals(self.form.schema)
        return name if is_final and name in sources else None


def _write(common: _Common, volume: Volume, n_threads: int) -> str:
    groups = [chunk.group for chunk in volume]
    store, read = common.store, _Reader(common.store, n_threads)
    try:
        tables = (_gathered(chunk, read) for chunk in volume)
        return write_laid_out(store.files, groups, tables, common.form, owner=store.owner)
    finally:
        read.close()


def _gathered(chunk: Chunk, read: "_Reader") -> pa.Table:
    """The blocks of a chunk."""
    return in_one_piece([read.store.cut(read(piece.place), piece) for piece in chunk.pieces])


class _Reader:
    """Row groups of a store, for one thread; those read last are remembered, and files kept open.

    Parameters
    ----------
    n_threads
        That share what memory and open files there are.
    """

    def __init__(self, store: Store, n_threads: int) -> None:
        self.store = store
        self.most_bytes, self.most_open = BYTES_AT_HAND // n_threads, OPEN_AT_ONCE // n_threads
        self.tables: OrderedDict[tuple[str, int], pa.Table] = OrderedDict()
        self.files: OrderedDict[str, RowGroups] = OrderedDict()
        self.n_bytes = 0

    def __call__(self, place: Place) -> pa.Table:
        at = place.file, place.row_group
        if at in self.tables:
            self.tables.move_to_end(at)
        else:
            self._remember(at, self._opened(place.file).read(place.row_group, None))
        return self.tables[at]

    def close(self) -> None:
        """Nothing more is read."""
        while self.files:
            self.files.popitem()[1].close()

    def _opened(self, name: str) -> RowGroups:
        if name not in self.files:
            if len(self.files) >= self.most_open:
                self.files.popitem(last=False)[1].close()
            self.files[name] = RowGroups.of(self.store.files, name, self.store.headers.get(name))
        self.files.move_to_end(name)
        return self.files[name]

    def _remember(self, at: tuple[str, int], table: pa.Table) -> None:
        self.tables[at] = table
        self.n_bytes += table.nbytes
        while self.n_bytes > self.most_bytes and len(self.tables) > 1:
            _, oldest = self.tables.popitem(last=False)
            self.n_bytes -= oldest.nbytes
