"""Compaction, which merges many small files into few, and the removal of unused blocks.

A source is deleted only after all its blocks are in a new file on disk. So a crash may leave
duplicates, but no block is lost.
"""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simstudy.errors import StoreError
from simstudy.places import Place, forget_unfinished
from simstudy.store import block_files
from simstudy.store.block_files import RANGES_KEY, RETRY_GENERATION, FileMetadata, file_metadata
from simstudy.store.blocks import Store
from simstudy.store.files import DAMAGED, ENDING, REPLICATES, Files, Folder, files_at
from simstudy.store.provenance import UNKNOWN
from simstudy.store.runs import list_runs

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
        in_use = {file.name: file for file in store.referenced_files}
        waiting = {name for name, f in in_use.items() if f.generation == RETRY_GENERATION}
        sizes = {name: n for name, n in store.own_sizes().items() if name not in waiting}
        sources = {name for name, n_bytes in sizes.items() if n_bytes < SMALL_BYTES}
        if len(sources) <= (MANY_FILES if most_files is None else most_files):
            sources = set()
        odd = {name for name, file in in_use.items() if not file.schema.equals(store.schema)}
        sources |= sizes.keys() if store.has_own_duplicates else odd & sizes.keys()
        if sources:
            _merge(store, {name: sizes[name] for name in sources})


def _merge(store: Store, sources: Mapping[str, int]) -> None:
    """Rewrite the blocks of some files, and delete the files.

    Parameters
    ----------
    sources
        Sizes of the files, which hold only this study's blocks, by name.
    """
    numbers = [file.number for file in store.referenced_files if file.name in sources]
    slices = store.index.slices[np.isin(store.index.slices["file"], numbers)]
    slices = slices[np.argsort(slices["generation"], kind="stable")]
    with contextlib.suppress(FileNotFoundError):  # without locks, another run may merge them, too
        targets = {_write_slices(store, some) for some in _batches(slices, sum(sources.values()))}
        for name in sources.keys() - targets:
            store.files.delete(name)
        if store.only_files is not None:
            store.only_files = {*store.only_files, *targets}
    store.scan()


def _batches(slices: np.ndarray, n_bytes: int) -> Iterator[np.ndarray]:
    """Group slices into files: one generation each, up to a number of bytes."""
    bytes_before = np.cumsum(slices["n"]) * (n_bytes / max(1, slices["n"].sum()))
    parts = np.stack([slices["generation"], bytes_before // BATCH_BYTES])
    changes = np.flatnonzero((np.diff(parts) != 0).any(axis=0)) + 1
    yield from (part for part in np.split(slices, changes) if len(part))


def _write_slices(store: Store, slices: np.ndarray) -> str:
    names = {number: key for key, number in store.index.keys.items()}
    places = slices[["key", "first", "n"]].tolist()
    rows = store.gather(slices)
    store.close()  # frees the cache: only these rows are needed
    return block_files.write_blocks(
        store.files,
        block_files.joined_ranges((names[key], first, n) for key, first, n in places),
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
    with contextlib.ExitStack() as opened:
        if isinstance(folder, Path) and os.name == "posix":
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            opened.callback(os.close, handle)  # releases the lock, as does the end of the process
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield


# ---------------------------------------------------------------- blocks that no run uses
CLEAN_SECONDS = 7 * 24 * 3600.0  # age from which on `clean` deletes blocks


@dataclass
class Removed:
    """Blocks that were or would be removed."""

    n_blocks: int = 0
    n_bytes: int = 0


def clean(study: Place, *, dry_run: bool = False, older_than: float = CLEAN_SECONDS) -> Removed:
    """Remove the files without a block that a run of a study uses, and damaged or unfinished files.

    Blocks of other studies are kept, and those of settings and code of which a younger file has
    blocks as well: a run may be drawing them. Blocks of older versions that do not state their
    provenance count as unused.

    Parameters
    ----------
    study
        Folder of the study, such as `results/NAME`.
    dry_run
        Whether to count the blocks without removing them.
    older_than
        Age in seconds from which on files are removed.

    Returns
    -------
    Removed
        Numbers of blocks and bytes.

    Raises
    ------
    StoreError
        If the folder has no run, so that all blocks would be removed.
    """
    runs, blocks = list_runs(study), study / REPLICATES
    if not runs:
        raise StoreError(
            f"{study} has no finished run, so all blocks would be removed. Finish a run first, or "
            "delete the folder."
        )
    removed = Removed()
    if not blocks.is_dir():
        return removed
    ours = runs[0].manifest.get("study"), UNKNOWN
    files = files_at(blocks)
    with folder_lock(blocks):
        old, young = _by_age(blocks, files, time.time() - older_than)
        for name, content in old:
            made_from = content.provenance
            is_used = any(
                made_from.origin(each.key) in young
                or any(run.uses(made_from, each.key) for run in runs)
                for each in content.ranges
            )
            if is_used or made_from.settings.get("study") not in ours:
                continue
            removed.n_blocks += sum(each.n for each in content.ranges)
            removed.n_bytes += files.size(name)
            if not dry_run:
                files.delete(name)
    if not dry_run:
        forget_unfinished(blocks)
        for path in (blocks / DAMAGED).glob(f"*{ENDING}"):
            path.unlink(missing_ok=True)
    return removed


def _by_age(
    blocks: Place, files: Files, moment: float
) -> tuple[list[tuple[str, FileMetadata]], set[str]]:
    """List the files that are older than a moment, and the origins of blocks in all others."""
    old: list[tuple[str, FileMetadata]] = []
    young: set[str] = set()
    for name, parquet in files.metadata(files.names()):
        if isinstance(parquet, Exception) or RANGES_KEY not in (parquet.metadata or {}):
            continue
        content = file_metadata(parquet)
        if (blocks / name).stat().st_mtime <= moment:
            old.append((name, content))
        else:
            young.update(content.provenance.origin(each.key) for each in content.ranges)
    return old, young
