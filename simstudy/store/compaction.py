"""Compaction: merges many small files into few.

A source is deleted only after all its blocks are in a new file on disk. So a crash may leave
duplicates, but no block is lost.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from simstudy.atomic_files import ABANDONED_SECONDS
from simstudy.remote import Place
from simstudy.store.block_files import (
    RETRY_GENERATION,
    joined_ranges,
    write_blocks,
)
from simstudy.store.blocks import Store
from simstudy.store.files import Folder

MANY_FILES = 256  # number of small files above which they are merged
SMALL_BYTES = 1 << 24  # size from which a file is not merged
BATCH_BYTES = 1 << 25  # compressed size of small files merged into one; about 4 times in memory


def compact(store: Store, *, most_files: int | None = None) -> None:
    """Merge small files if there are many, ordered by scenario and block.

    Other software expects the same columns in all files, and each replicate only once. So files
    with other columns or types than the rest are rewritten, and all files are rewritten if some
    hold the same blocks.

    Parameters
    ----------
    most_files
        Number of small files that may remain. Default: `MANY_FILES`.
    """
    folder = store.files.path if isinstance(store.files, Folder) else None
    with folder_lock(folder):
        store.scan()
        sizes = store.own_sizes()
        in_use = {file.name: file for file in store.referenced_files}
        waiting = {name for name, f in in_use.items() if f.generation == RETRY_GENERATION}
        sources = {name for name in sizes.keys() - waiting if sizes[name] < SMALL_BYTES}
        if len(sources) <= (MANY_FILES if most_files is None else most_files):
            sources = set()
        odd = {name for name, file in in_use.items() if not file.schema.equals(store.schema)}
        sources |= sizes.keys() if store.has_own_duplicates else odd & sizes.keys()
        sources -= waiting
        if sources:
            _merge(store, sources, sizes)


def _merge(store: Store, sources: set[str], sizes: Mapping[str, int]) -> None:
    try:
        targets = _rewrite(store, sources, sizes)
    except FileNotFoundError:  # without locks, another run may merge the same files
        store.scan()
        return
    store.files.forget_unfinished(ABANDONED_SECONDS)
    if store.only_files is not None:
        store.only_files = {*store.only_files, *targets}
    store.scan()


def _rewrite(store: Store, sources: set[str], sizes: Mapping[str, int]) -> set[str]:
    """Rewrite the blocks of some files, delete the files, and return the names of the new ones.

    Parameters
    ----------
    sizes
        Sizes of the files that hold only this study's blocks, by name: only these are deleted.
    """
    n_bytes = max(1, sum(sizes.get(name, 0) for name in sources))
    batches = _batches(_slices_in(store, sources), n_bytes)
    targets = {write_slices(store, slices) for slices in batches}
    for name in (sources & sizes.keys()) - targets:
        store.files.delete(name)
    return targets


def _slices_in(store: Store, sources: set[str]) -> np.ndarray:
    """Return the slices in some files, ordered by generation, scenario and block."""
    numbers = [file.number for file in store.referenced_files if file.name in sources]
    slices = store.index.slices[np.isin(store.index.slices["file"], numbers)]
    return slices[np.argsort(slices["generation"], kind="stable")]


def _batches(slices: np.ndarray, n_bytes: int) -> Iterator[np.ndarray]:
    """Group slices into files: one generation each, up to a number of bytes."""
    bytes_before = np.cumsum(slices["n"]) * (n_bytes / max(1, slices["n"].sum()))
    parts = np.stack([slices["generation"], bytes_before // BATCH_BYTES])
    changes = np.flatnonzero((np.diff(parts) != 0).any(axis=0)) + 1
    yield from (part for part in np.split(slices, changes) if len(part))


def write_slices(store: Store, slices: np.ndarray) -> str:
    names = {number: key for key, number in store.index.keys.items()}
    places = slices[["key", "first", "n"]].tolist()
    rows = store.gather(slices)
    store.close()  # frees the cache: only these rows are needed
    return write_blocks(
        store.files,
        joined_ranges((names[key], first, n) for key, first, n in places),
        rows,
        provenance=store.provenance,
        generation=int(slices["generation"][0]),
        label=store.label,
    )


# ---------------------------------------------------------------- locking
@contextlib.contextmanager
def folder_lock(folder: Place | None) -> Iterator[None]:
    """Lock a folder for the context: other processes that take the lock wait.

    Remote stores, some file systems and Windows have no such locks, so two processes may work there
    at the same time. Mixed outputs are then detected by the hashes in the manifest, and a lost
    block is drawn again by the next run.
    """
    handle = _locked(folder) if isinstance(folder, Path) and os.name == "posix" else None
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)  # releases the lock, as does the end of the process


def _locked(folder: Path) -> int:
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(handle, fcntl.LOCK_EX)
    return handle
