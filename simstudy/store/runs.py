"""Runs of a study: their folders, and the blocks that they use or that no run uses."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from simstudy.atomic_files import forget_unfinished, read_json
from simstudy.errors import StoreError, in_one_line
from simstudy.provenance.scenario_id import short_hash
from simstudy.remote import Place
from simstudy.store.block_files import BlockRange
from simstudy.store.blocks import files_at
from simstudy.store.compaction import Removed, remove_blocks
from simstudy.store.files import DAMAGED, ENDING, REPLICATES
from simstudy.store.provenance import UNKNOWN, Provenance
from simstudy.store.run_records import FOLDER

MANIFEST = "manifest.json"
PROTOCOL = "protocol.json"  # the plan, in the same folder


NAMES: dict[tuple[type, ...], str] = {
    (str,): "study question code digest design made",
    (dict,): "config made_from versions files captions alt_texts data seconds_per_replicate",
    (dict, type(None)): "part",
    (list,): "git origins noticed notes drawn figures_failed tables_failed",
    (int,): "scenarios replicates failed_replicates blocks_computed warnings",
    (int, dict): "replicates_per_scenario",
    (int, type(None)): "seed",
    (int, float, type(None)): "largest_mcse wall_seconds core_seconds publish_seconds",
}
TYPES = {name: types for types, names in NAMES.items() for name in names.split()}
"""Types of a manifest's values by name; each value may be missing."""
RUN_AGAIN = "Run the study again, or delete the file"


def read_manifest(folder: Place) -> dict[str, Any] | None:
    """Read the manifest of a folder; None if there is none.

    Raises
    ------
    StoreError
        If it cannot be read, or a value has a wrong type, in one line.
    """
    path = folder / MANIFEST
    if not path.exists():
        return None
    content = read_json(path)
    if content is None:
        raise StoreError(f"{path} is damaged: it is not a JSON object. {RUN_AGAIN}")
    for name, types in TYPES.items():
        value = content.get(name)
        if name in content and not _is_one(value, types):
            shown = in_one_line(repr(value))[:60]
            raise StoreError(f"{path} is damaged: {name} is {shown}. {RUN_AGAIN}")
    return content


def _is_one(value: Any, types: tuple[type, ...]) -> bool:
    """Whether a value has one of the types and is neither NaN nor a text with a zero byte."""
    if isinstance(value, dict):
        return dict in types and not any("\0" in name for name in value)
    if isinstance(value, bool) or not isinstance(value, types):
        return False
    return "\0" not in value if isinstance(value, str) else value == value


def listed_files(manifest: Mapping[str, Any], folder: Place) -> dict[str, str]:
    """List the files of a manifest that are below the folder, with their hashes.

    A manifest from an untrusted source may name other files, or reach them through a link.
    """
    files = manifest.get("files")
    named = files.items() if isinstance(files, dict) else ()
    return {name: str(digest) for name, digest in named if is_below(folder, name)}


def is_below(folder: Place, name: str) -> bool:
    """Whether a relative path leads to a place below a folder, after all links are resolved."""
    path = PurePosixPath(name)
    if not name or "\0" in name or path.is_absolute() or ".." in path.parts:
        return False
    if not isinstance(folder, Path):
        return True
    try:
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            (folder / name).stat()  # refuses a loop of links, which resolve() accepts since 3.13
        return (folder / name).resolve().is_relative_to(folder.resolve())
    except OSError:
        return False


def file_hash(path: Place) -> str:
    """Hash a file; the hash is empty if it does not exist or is not a regular file."""
    if isinstance(path, Path) and not path.is_file():
        return ""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except OSError:
        return ""


RUNS = "runs"  # folder in a study's folder, with a folder for each run with other settings
SCENARIOS = "scenarios.parquet"  # file with the scenarios of a run
UNLIMITED = 1 << 62  # blocks
UNFINISHED = "unfinished"  # folder of records of runs that have not finished
ORIGINS = "origins"  # manifest entry: hashes of settings and code of the run's blocks


def study_folder(run: Place) -> Place:
    """Return the folder of the study to which a folder of outputs belongs."""
    is_study = run.parent.name != RUNS or (run / REPLICATES).exists()
    return run if is_study else run.parent.parent


def is_used(manifest: Mapping[str, Any], provenance: Provenance, key: str) -> bool:
    """Whether a run uses blocks of a scenario or method with this provenance.

    Manifests of older versions do not state the code: their runs use all blocks of their seed.
    """
    settings, origins = provenance.settings, manifest.get(ORIGINS)
    if settings.get("study") != manifest.get("study"):
        return False
    if isinstance(origins, list):
        return provenance.origin(key) in origins
    return manifest.get("seed") in (None, settings.get("seed"))


@dataclass(frozen=True)
class StoredRun:
    """A run of a study.

    Parameters
    ----------
    name
        Name of the run's folder; empty for the run in the study's own folder.
    """

    name: str
    folder: Place
    manifest: Mapping[str, Any]

    def n_blocks_used(self, provenance: Provenance, key: str) -> int:
        """Count the first blocks of a scenario or method that this run uses."""
        if not is_used(self.manifest, provenance, key) or key not in (self._keys or (key,)):
            return 0
        return self._n_blocks(provenance.settings.get("block_size"))

    def _n_blocks(self, block_size: Any) -> int:
        """Count the blocks of the scenario with the most replicates; unlimited if unknown."""
        n_rep = self.manifest.get("replicates_per_scenario")
        each = [*n_rep.values()] if isinstance(n_rep, dict) else [n_rep]
        known = [n for n in (*each, block_size) if isinstance(n, int) and n > 0]
        if not each or len(known) <= len(each):
            return UNLIMITED
        return -(-max(known[:-1]) // known[-1])

    @cached_property
    def _keys(self) -> frozenset[str]:
        """The keys of its scenarios and methods; empty if unknown."""
        try:
            with (self.folder / SCENARIOS).open("rb") as file:
                column = pq.ParquetFile(file).read(["scenario"], use_threads=False)
            return frozenset(column.column(0).to_pylist())
        except (OSError, pa.ArrowInvalid, KeyError, IndexError):
            return frozenset()


def list_runs(study: Place) -> list[StoredRun]:
    """List the finished runs of a study: first the one in its own folder, the others by name.

    Parameters
    ----------
    study
        Folder of the study, such as `results/NAME`.
    """
    below = sorted((study / RUNS).iterdir(), key=str) if (study / RUNS).is_dir() else []
    found = ((folder, read_json(folder / MANIFEST)) for folder in (study, *below))
    return [
        StoredRun("" if folder == study else folder.name, folder, manifest)
        for folder, manifest in found
        if manifest is not None
    ]


def unfinished_run(blocks: Place, requested: Mapping[str, Any]) -> Place:
    """Name the file that records an unfinished run, so that `clean` keeps its blocks.

    Parameters
    ----------
    blocks
        Folder of the blocks.
    requested
        Content of the record: `study`, `seed` and `replicates_per_scenario`, as in a manifest.
    """
    name = short_hash(json.dumps(requested, sort_keys=True), 16)
    return blocks / FOLDER / UNFINISHED / f"{name}.json"


def forget_run(record: Place) -> None:
    """Remove the record of an unfinished run, if there is one."""
    if record.exists():  # a read-only folder refuses to delete what is not there
        with suppress(FileNotFoundError):  # buckets raise it despite missing_ok
            record.unlink(missing_ok=True)


def _unfinished_runs(blocks: Place) -> list[StoredRun]:
    """List the runs that were interrupted and can be continued."""
    folder = blocks / FOLDER / UNFINISHED
    found = [read_json(path) for path in folder.glob("*.json")]
    return [StoredRun("", folder, each) for each in found if each is not None]


CLEAN_SECONDS = 7 * 24 * 3600.0  # age from which on `clean` deletes blocks


def clean(study: Place, *, dry_run: bool = False, older_than: float = CLEAN_SECONDS) -> Removed:
    """Remove the blocks that no run of a study uses, and damaged or unfinished files.

    Blocks of other studies are kept, and those of interrupted runs, which can be continued. Blocks
    of older versions that do not state their provenance count as unused.

    Parameters
    ----------
    study
        Folder of the study, such as `results/NAME`.
    dry_run
        Whether to count the blocks without removing them.
    older_than
        Age in seconds from which on blocks are removed.

    Returns
    -------
    Removed
        Numbers of blocks and bytes, and of blocks by seed.

    Raises
    ------
    StoreError
        If the folder has no run, so that all blocks would be removed.
    """
    runs = list_runs(study) + _unfinished_runs(study / REPLICATES)
    if not runs:
        raise StoreError(
            f"{study} has no finished run, so all blocks would be removed. Finish a run first, or "
            "delete the folder."
        )
    name, blocks = runs[0].manifest.get("study"), study / REPLICATES
    if not blocks.is_dir():
        return Removed()

    def kept(provenance: Provenance, blocks: BlockRange) -> BlockRange:
        if provenance.settings.get("study") not in (name, UNKNOWN):
            return blocks
        n = max(run.n_blocks_used(provenance, blocks.key) for run in runs)
        return BlockRange(blocks.key, blocks.first, min(blocks.end, n) - blocks.first)

    removed = remove_blocks(
        files_at(blocks, at_once=False), kept, dry_run=dry_run, older_than=older_than
    )
    if not dry_run:
        forget_unfinished(blocks)
        for path in (blocks / DAMAGED).glob(f"*{ENDING}"):
            path.unlink(missing_ok=True)
    return removed
