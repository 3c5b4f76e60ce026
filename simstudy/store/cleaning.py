"""Removes the blocks that no run uses."""

import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from simstudy.atomic_files import forget_unfinished
from simstudy.errors import StoreError
from simstudy.remote import Place
from simstudy.store.block_files import RANGES_KEY, FileMetadata, file_metadata
from simstudy.store.blocks import Store
from simstudy.store.compaction import folder_lock, write_slices
from simstudy.store.files import DAMAGED, ENDING, REPLICATES, Files, files_at, label_of
from simstudy.store.provenance import UNKNOWN
from simstudy.store.runs import INPUTS, StoredRun, list_runs

MAX_UNUSED_BYTES = 10**9  # bytes of unused blocks from which on a run says so
REPORTED_BYTES = 10**7  # bytes of unused blocks below which a run never says so
CLEAN_SECONDS = 7 * 24 * 3600.0  # age from which on `clean` deletes blocks


@dataclass
class Removed:
    """Blocks that were or would be removed; `n_bytes` is an estimate for files kept in part."""

    n_blocks: int = 0
    n_bytes: int = 0


def describe_unused(study: Place, store: Store) -> str:
    """Say in one line if blocks that no run uses take much of a store; empty otherwise.

    Parameters
    ----------
    store
        The store of the current run, whose blocks are in use.
    """
    with suppress(FileNotFoundError, StoreError):  # another run merges files; no run has ended
        n_bytes = sum(map(store.files.size, store.files.names()))
        limit = min(MAX_UNUSED_BYTES, max(n_bytes / 2, REPORTED_BYTES))
        if n_bytes - store.n_bytes <= limit:
            return ""
        origins = {"blocks": store.origins(store.provenance.codes)}
        manifest = {"study": store.provenance.settings["study"], INPUTS: origins}
        unused = clean(study, dry_run=True, older_than=0.0, also=StoredRun("", study, manifest))
        if unused.n_bytes > limit:
            return (
                f"{unused.n_bytes / 1e6:,.0f} of {n_bytes / 1e6:,.0f} MB in {store.files} are "
                f"blocks that no run uses: simstudy clean {study.name} counts them, and with "
                "delete=true deletes those older than 7 days"
            )
    return ""


def clean(
    study: Place,
    *,
    dry_run: bool = False,
    older_than: float = CLEAN_SECONDS,
    also: StoredRun | None = None,
) -> Removed:
    """Remove the blocks that no run of a study uses, and damaged or unfinished files.

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
        Age in seconds from which on blocks are removed.
    also
        A run that has not ended, whose blocks are in use.

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
    runs += [also] if also else []
    if not runs:
        raise StoreError(
            f"{study} has no finished run, so all blocks would be removed. Finish a run first, or "
            "delete the folder."
        )
    removed = Removed()
    if not blocks.is_dir():
        return removed
    ours = runs[0].manifest.get("study"), UNKNOWN
    files = files_at(blocks, at_once=False)
    with folder_lock(blocks):
        old, young = _by_age(files, time.time() - older_than)
        for name, content in old:
            keys = {each.key for each in content.ranges}
            kept = {
                key
                for key in keys
                if content.provenance.settings.get("study") not in ours
                or content.provenance.origin(key) in young
                or any(run.uses(content.provenance, key) for run in runs)
            }
            n = sum(each.n for each in content.ranges)
            n_removed = sum(each.n for each in content.ranges if each.key not in kept)
            removed.n_blocks += n_removed
            removed.n_bytes += files.size(name) * n_removed // n
            if n_removed and not dry_run:
                if kept:
                    _write_part(files, name, content, kept)
                files.delete(name)
    if not dry_run:
        forget_unfinished(blocks)
        for path in (blocks / DAMAGED).glob(f"*{ENDING}"):
            path.unlink(missing_ok=True)
    return removed


def _by_age(files: Files, moment: float) -> tuple[list[tuple[str, FileMetadata]], set[str]]:
    """List the files that are older than a moment, and the origins of blocks in all others."""
    old: list[tuple[str, FileMetadata]] = []
    young: set[str] = set()
    for name, content in _readable(files):
        if files.modified(name) <= moment:
            old.append((name, content))
        else:
            young.update(content.provenance.origin(each.key) for each in content.ranges)
    return old, young


def _readable(files: Files) -> Iterator[tuple[str, FileMetadata]]:
    for name, parquet in files.metadata(files.names(), verify=False):
        if not isinstance(parquet, Exception) and RANGES_KEY in (parquet.metadata or {}):
            yield name, file_metadata(parquet)


def _write_part(files: Files, name: str, content: FileMetadata, keys: Collection[str]) -> None:
    """Write the blocks of some keys in a file to a new file."""
    size = sum(content.row_groups) // sum(each.n for each in content.ranges)
    label = label_of(name)
    store = Store(files, size, content.provenance, only_files=[name], label=label, read_only=True)
    write_slices(store, np.concatenate([store.index.of(key) for key in sorted(keys)]))
