"""Many small files to one, and nothing lost on the way.

A source is deleted only after everything in it stands, synced, in the new file; so any number of
runs may compact at once, and a crash leaves duplicates, never a gap.
"""

import functools
import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from simstudy.store.blocks import Store
from simstudy.store.header import Group
from simstudy.store.places import Piece, Place
from simstudy.store.write import ROWS_TOGETHER, in_one_piece, joint_schema, write_tables
from simstudy.whole_files import BEING_WRITTEN

ROWS_PER_GROUP = 1 << 17  # of a compacted row group: large enough to read fast, small in memory
TABLES_AT_HAND = 512  # shared row groups kept in memory during a compaction: about 100 MB
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
    for path in sources - {target}:
        path.unlink(missing_ok=True)
    _remove_stale(store.folder)
    store.scan()


def _sources(sizes: Mapping[Path, int], *, recent_only: bool) -> set[Path]:
    chosen = _recent(sizes) if recent_only else set(sizes)
    return {path for path in chosen if sizes[path] < LEAVE_ALONE_BYTES}


def _recent(sizes: Mapping[Path, int]) -> set[Path]:
    """The smaller files, up to the largest that is no larger than those before it together."""
    paths = sorted(sizes, key=lambda path: (sizes[path], path))
    before = [0, *itertools.accumulate(sizes[path] for path in paths)]
    last = max((i for i, path in enumerate(paths) if sizes[path] <= before[i]), default=-1)
    return set(paths[: last + 1])


def _is_compact(store: Store, sources: set[Path]) -> bool:
    """Whether a lone file has its groups as a compaction would lay them out."""
    made = [chunk.group for chunk in _chunks(store, sources)]
    return all(made == store.headers[path].groups for path in sources)


def _merge(store: Store, sources: set[Path]) -> Path | None:
    """The file that replaces the sources; None where other files hold all that they do."""
    chunks = list(_chunks(store, sources))
    if not chunks:
        return None
    files = {piece.place.file for chunk in chunks for piece in chunk.pieces}
    schemas = (store.headers[path].parquet.schema.to_arrow_schema() for path in sorted(files))
    rank = max(store.headers[path].rank for path in files)
    schema = joint_schema(schemas, [chunk.group for chunk in chunks], store.owner, rank)
    remembered = functools.lru_cache(TABLES_AT_HAND)(store.row_group)
    return write_tables(
        store.folder, schema, (_gathered(store, chunk, remembered) for chunk in chunks)
    )


def _gathered(store: Store, chunk: _Chunk, remembered: Callable[[Path, int], pa.Table]) -> pa.Table:
    """The blocks of a chunk; only a row group that others share is worth remembering."""
    tables = []
    for piece in chunk.pieces:
        is_shared = piece.place.group.n * store.rows_per_block < ROWS_TOGETHER
        read = remembered if is_shared else store.row_group
        tables.append(store.cut(read(piece.place.file, piece.place.row_group), piece))
    return in_one_piece(tables)


# ---------------------------------------------------------------- the new layout
def _chunks(store: Store, sources: set[Path]) -> Iterator[_Chunk]:
    """New groups, aligned so that they do not depend on the files they come from."""
    step = max(1, ROWS_PER_GROUP // store.rows_per_block)
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


def _each_block(places: list[Place], sources: set[Path]) -> Iterator[tuple[Place, int]]:
    """Blocks that lie in the sources, each once; what another file holds before is left there."""
    done = -1
    for place in places:
        start, end = max(place.group.first, done + 1), place.group.end
        if place.file in sources:
            yield from ((place, block) for block in range(start, end))
        done = max(done, end - 1)


def _remove_stale(folder: Path) -> None:
    for path in folder.glob(f"{BEING_WRITTEN}*"):
        try:
            if time.time() - path.stat().st_mtime > STALE_SECONDS:
                path.unlink()
        except FileNotFoundError:
            continue
