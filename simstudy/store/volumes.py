"""Which blocks a compaction puts into which file: a function of the blocks alone.

However blocks were drawn, gathered and moved about before, the same blocks end in the same files. A
chunk is a row group: blocks of one scenario between two multiples of a step. A file holds one chunk
of a scenario, and far on several, as many as are an eighth of those before: so a file that is full
stands as it is however long the run goes on, one task can draw all of it, and no scenario has to be
far ahead of another for that. What is no half of a chunk shares files with that of other scenarios,
in order.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from simstudy.store.header import Group
from simstudy.store.places import Piece, Place

VALUES_PER_CHUNK = 1 << 17  # of a column: fast to read, small in memory
CHUNKS_PER_FILE = 1 << 3  # at most: 8 MB of a column of numbers; a thousand million are 960 files
CHUNKS_SHARING = 1 << 1  # in a file of what is left
PART_OF_DONE = 8  # chunks of a file: at most this part of those before them, or one


class Chunk(NamedTuple):
    """A group as it will be written, and the pieces that it is made of."""

    group: Group
    pieces: list[Piece]


Volume = list[Chunk]
"""What one file is to hold, in order."""


def chunk_length(width: int, rows_per_block: int) -> int:
    """Blocks of a chunk, where a row has so many values."""
    return max(1, VALUES_PER_CHUNK // width // rows_per_block)


def volumes(
    places: Mapping[str, list[Place]], sources: Collection[str], step: int
) -> Iterator[Volume]:
    """All blocks that lie in the sources, as the files that are to hold them.

    Parameters
    ----------
    step
        Blocks of a whole chunk.
    """
    rest: list[Chunk] = []
    for chunks in _chunks_of_each(places, sources, step):
        for _, part in itertools.groupby(
            chunks, key=lambda chunk: _file_at(chunk.group.first // step)
        ):
            some = list(part)
            if 2 * _n_blocks(some) >= step:
                yield some
            else:
                rest += some
    yield from _shared(rest, step * CHUNKS_SHARING)


def own_file(key: str, n_blocks: int, block: int, step: int) -> list[Group]:
    """What the file around a block is to hold, of a scenario with so many first blocks.

    None where that is so little that it shares a file.
    """
    first_chunk, n_chunks = _file_at(block // step)
    first, end = first_chunk * step, min((first_chunk + n_chunks) * step, n_blocks)
    if 2 * (end - first) < step:
        return []
    return [Group(key, at, min(at + step, end) - at) for at in range(first, end, step)]


def shared_files(n_blocks: Mapping[str, int], step: int) -> Iterator[list[Group]]:
    """The files that scenarios with so many first blocks are to share, by their keys."""
    places: dict[str, list[Place]] = {}
    for key, n in n_blocks.items():
        if n and not own_file(key, n, n - 1, step):
            first = (n - 1) // step * step
            places[key] = [Place(Group(key, first, n - first), "", 0, 0)]
    for volume in volumes(places, {""}, step):
        yield [chunk.group for chunk in volume]


def _file_at(number: int) -> tuple[int, int]:
    """A scenario's first chunk in the file with one of its chunks, and how many there are to be."""
    so_many = min(1 << max(0, (number // PART_OF_DONE).bit_length() - 1), CHUNKS_PER_FILE)
    return number - number % so_many, so_many


def one_volume(places: Mapping[str, list[Place]], sources: Collection[str], step: int) -> Volume:
    """All blocks that lie in the sources, as one file."""
    return [*itertools.chain.from_iterable(_chunks_of_each(places, sources, step))]


def _shared(chunks: Iterable[Chunk], n_blocks: int) -> Iterator[Volume]:
    """Files that are closed as soon as they hold so many blocks."""
    volume: Volume = []
    for chunk in chunks:
        volume.append(chunk)
        if _n_blocks(volume) >= n_blocks:
            yield volume
            volume = []
    if volume:
        yield volume


def _n_blocks(chunks: Iterable[Chunk]) -> int:
    return sum(chunk.group.n for chunk in chunks)


def _chunks_of_each(
    places: Mapping[str, list[Place]], sources: Collection[str], step: int
) -> Iterator[Iterator[Chunk]]:
    for key in sorted(places):
        yield _chunks(key, _ranges(places[key], sources), step)


def _chunks(key: str, ranges: Iterable[tuple[Place, int, int]], step: int) -> Iterator[Chunk]:
    """Cut at gaps, and at multiples of the step."""
    pieces: list[Piece] = []
    first = at = 0
    for place, start, end in ranges:
        for begin, stop in _windows(start, end, step):
            if pieces and (begin != at or begin % step == 0):
                yield Chunk(Group(key, first, at - first), pieces)
                pieces = []
            first = begin if not pieces else first
            pieces.append(Piece(place, begin - place.group.first, stop - place.group.first))
            at = stop
    if pieces:
        yield Chunk(Group(key, first, at - first), pieces)


def _windows(start: int, end: int, step: int) -> Iterator[tuple[int, int]]:
    """A range cut at multiples of a step."""
    cuts = [start, *range((start // step + 1) * step, end, step), end]
    return itertools.pairwise(cuts)


def _ranges(places: list[Place], sources: Collection[str]) -> Iterator[tuple[Place, int, int]]:
    """Blocks that lie in the sources, each once; what another file holds before is left there."""
    done = 0
    for place in places:
        start, end = max(place.group.first, done), place.group.end
        if place.file in sources and start < end:
            yield place, start, end
        done = max(done, end)
