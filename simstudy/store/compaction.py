"""Many small files to one, and nothing lost on the way.

A source is deleted only after everything in it stands, synced, in the new file; so any number of
runs may compact at once, and a crash leaves duplicates, never a gap.
"""

import itertools
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa

from simstudy.store.blocks import Store
from simstudy.store.header import Group, metadata_for
from simstudy.store.places import Piece, Place
from simstudy.store.write import in_one_piece, joint_schema, rows_together, write_tables

ROWS_PER_GROUP = 1 << 17  # of one value, in a compacted row group: fast to read, small in memory
BYTES_AT_HAND = 100_000_000  # of shared row groups kept in memory during a compaction
LEAVE_ALONE_BYTES = 1 << 30  # a compacted file of this size is not rewritten
STALE_SECONDS = 86_400.0  # a temporary file of this age has no writer left


class _Chunk(NamedTuple):
    """A group as it will be written, and the pieces that it is made of."""

    group: Group
    pieces: list[Piece]


def compact(store: Store, *, recent_only: bool = False) -> None:
    """Gather all blocks into one file, scenario by scenario; delete the files it replaces.

    Parameters
    ----------
    recent_only
        Leave alone what is larger than all smaller files together: over a long run every
        block is then rewritten a number of times that grows as the logarithm of their number.
    """
    store.scan()
    sources = _sources(store.sizes(), recent_only=recent_only)
    if len(sources) < 2 and (recent_only or _is_compact(store, sources)):
        return
    try:
        target = _merge(store, sources)
    except FileNotFoundError:  # another run is compacting the same files
        store.scan()
        return
    store.close()  # some systems keep a file that is open
    for name in sources - {target}:
        store.files.delete(name)
    store.files.forget_unfinished(STALE_SECONDS)
    store.scan()


def _sources(sizes: Mapping[str, int], *, recent_only: bool) -> set[str]:
    chosen = _recent(sizes) if recent_only else set(sizes)
    return {name for name in chosen if sizes[name] < LEAVE_ALONE_BYTES}


def _recent(sizes: Mapping[str, int]) -> set[str]:
    """The smaller files, up to the largest that is no larger than those before it together."""
    names = sorted(sizes, key=lambda name: (sizes[name], name))
    before = [0, *itertools.accumulate(sizes[name] for name in names)]
    last = max((i for i, name in enumerate(names) if sizes[name] <= before[i]), default=-1)
    return set(names[: last + 1])


def _is_compact(store: Store, sources: set[str]) -> bool:
    """Whether a lone file has its groups as a compaction would lay them out."""
    made = [chunk.group for chunk in _chunks(store, sources)]
    return all(made == store.headers[name].groups for name in sources)


def _merge(store: Store, sources: set[str]) -> str | None:
    """The file that replaces the sources; None where other files hold all that they do."""
    chunks = list(_chunks(store, sources))
    if not chunks:
        return None
    files = sorted({piece.place.file for chunk in chunks for piece in chunk.pieces})
    headers = [store.headers[path] for path in files]
    said = metadata_for(
        [chunk.group for chunk in chunks],
        store.owner,
        rank=max(header.rank for header in headers),
        width=max(header.width for header in headers),
    )
    schema = joint_schema(header.schema for header in headers).with_metadata(said)
    read = _Reader(store)
    return write_tables(store.files, schema, (_gathered(store, c, read) for c in chunks))


def _gathered(store: Store, chunk: _Chunk, read: "_Reader") -> pa.Table:
    """The blocks of a chunk."""
    return in_one_piece([store.cut(read(piece.place), piece) for piece in chunk.pieces])


class _Reader:
    """Row groups of a store; those that several groups share are remembered for a while."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.tables: OrderedDict[tuple[str, int], pa.Table] = OrderedDict()
        self.n_bytes = 0

    def __call__(self, place: Place) -> pa.Table:
        at = place.file, place.row_group
        if not self._is_shared(place):
            return self.store.row_group(*at)
        if at in self.tables:
            self.tables.move_to_end(at)
        else:
            self._remember(at, self.store.row_group(*at))
        return self.tables[at]

    def _is_shared(self, place: Place) -> bool:
        width = self.store.headers[place.file].width
        return place.group.n * self.store.rows_per_block < rows_together(width)

    def _remember(self, at: tuple[str, int], table: pa.Table) -> None:
        self.tables[at] = table
        self.n_bytes += table.nbytes
        while self.n_bytes > BYTES_AT_HAND and len(self.tables) > 1:
            _, oldest = self.tables.popitem(last=False)
            self.n_bytes -= oldest.nbytes


# ---------------------------------------------------------------- the new layout
def _chunks(store: Store, sources: set[str]) -> Iterator[_Chunk]:
    """New groups, aligned so that they do not depend on the files they come from."""
    width = max((store.headers[path].width for path in sources), default=1)
    step = max(1, ROWS_PER_GROUP // width // store.rows_per_block)
    for key in sorted(store.places):
        blocks = list(_each_block(store.places[key], sources))
        for start, end in itertools.pairwise(_cuts([block for _, block in blocks], step)):
            yield _chunk(key, blocks[start:end])


def _cuts(blocks: list[int], step: int) -> list[int]:
    """Where chunks begin in a list of blocks, and its end: at gaps, and at multiples of a step."""
    begins = [
        at
        for at, block in enumerate(blocks)
        if at == 0 or block % step == 0 or block != blocks[at - 1] + 1
    ]
    return [*begins, len(blocks)]


def _chunk(key: str, blocks: list[tuple[Place, int]]) -> _Chunk:
    pieces: list[Piece] = []
    for place, block in blocks:
        _extend(pieces, place, block - place.group.first)
    return _Chunk(Group(key, blocks[0][1], len(blocks)), pieces)


def _extend(pieces: list[Piece], place: Place, offset: int) -> None:
    """Add one block to some pieces, growing the last where it goes on."""
    last = pieces[-1] if pieces else None
    if last and last.place is place and last.end == offset:
        pieces[-1] = last._replace(end=offset + 1)
    else:
        pieces.append(Piece(place, offset, offset + 1))


def _each_block(places: list[Place], sources: set[str]) -> Iterator[tuple[Place, int]]:
    """Blocks that lie in the sources, each once; what another file holds before is left there."""
    done = -1
    for place in places:
        start, end = max(place.group.first, done + 1), place.group.end
        if place.file in sources:
            yield from ((place, block) for block in range(start, end))
        done = max(done, end - 1)
