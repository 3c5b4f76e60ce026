"""The folder of a study: one store of blocks for all runs, and a folder of outputs for each run.

A run of the published settings has its outputs in the study's own folder, any other run in
`runs/NAME` below it. All of them share the blocks in `replicates/`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from simstudy.atomic_files import TemporaryFolder, read_json
from simstudy.design.plan import Plan
from simstudy.errors import StoreError, in_one_line
from simstudy.remote import Place, place_of
from simstudy.store import run_records
from simstudy.store.blocks import Store
from simstudy.store.files import REPLICATES, files_at, translate_io_errors
from simstudy.store.provenance import Provenance
from simstudy.validation import is_whole

MANIFEST = "manifest.json"
PROTOCOL = "protocol.json"  # the plan, in the same folder


RUN_AGAIN = "Run the study again, or delete the file"
COUNTS = ("seed", "scenarios", "replicates", "replicates_per_scenario")  # entries of a manifest


def read_manifest(folder: Place) -> dict[str, Any] | None:
    """Read the manifest of a folder; None if there is none.

    Raises
    ------
    StoreError
        If it is no JSON object, or one of a study with impossible numbers.
    """
    path = folder / MANIFEST
    if not path.exists():
        return None
    content = read_json(path)
    if content is None:
        raise StoreError(f"{path} is damaged: it is not a JSON object. {RUN_AGAIN}")
    if not isinstance(content.get("study", ""), str):
        raise StoreError(f"{path} is damaged: study is no text. {RUN_AGAIN}")
    for name in COUNTS if "study" in content else ():
        if name not in content:
            raise StoreError(f"{path} is damaged: it lacks {name}. {RUN_AGAIN}")
        value = content[name]
        sizes = value.values() if isinstance(value, dict) else [value]
        if not all(is_whole(size) and size >= (name != "seed") for size in sizes):
            shown = in_one_line(repr(value))[:100]
            raise StoreError(f"{path} is damaged: {name} is {shown}. {RUN_AGAIN}")
    return content


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
INPUTS = "inputs"  # manifest entry: `digest` of all inputs, and keys of `blocks` by their origin


def study_folder(run: Place) -> Place:
    """Return the folder of the study to which a folder of outputs belongs."""
    is_study = run.parent.name != RUNS or (run / REPLICATES).exists()
    return run if is_study else run.parent.parent


@dataclass(frozen=True)
class StoredRun:
    """A finished run of a study.

    Parameters
    ----------
    name
        Name of the run's folder; empty for the run in the study's own folder.
    """

    name: str
    folder: Place
    manifest: Mapping[str, Any]

    @cached_property
    def blocks(self) -> dict[str, frozenset[str]]:
        """Keys of its scenarios or methods by the origin of their blocks."""
        named = self.manifest.get(INPUTS, {}).get("blocks", {})
        return {origin: frozenset(keys) for origin, keys in named.items()}

    def uses(self, provenance: Provenance, key: str) -> bool:
        """Whether it uses blocks of a scenario or method with this provenance."""
        is_same_study = provenance.settings.get("study") == self.manifest.get("study")
        return is_same_study and key in self.blocks.get(provenance.origin(key), ())


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


# ---------------------------------------------------------------- the folder of a run's blocks
@dataclass
class StudyFolder:
    """The folder of a study, local or remote.

    Parameters
    ----------
    path
        Folder of the study, such as `results/NAME`; None if it is temporary.
    temporary
        Temporary folder, deleted with this object.
    verdicts
        Comparisons of blocks of other versions or code, stored with the blocks.
    """

    path: Place | None
    store: Store
    temporary: TemporaryFolder | None = None
    verdicts: run_records.Verdicts = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        plan: Plan,
        out: str | os.PathLike[str] | Place | None,
        provenance: Provenance,
        *,
        at_once: bool = True,
        label: str = "",
    ) -> StudyFolder:
        """Open the folder of a plan below `out`, for blocks of some provenance.

        Parameters
        ----------
        at_once
            Whether all files will be read. Otherwise remote files are checked when they are read.
        label
            Label of the share of a run, as for `Store`.

        Raises
        ------
        StoreError
            If the folder holds the results of another study, or cannot be used.
        """
        if out is None:
            temporary = TemporaryFolder()
            blocks = Store(Path(temporary.name) / REPLICATES, plan.block_size, provenance)
            return cls(None, blocks, temporary=temporary)
        place = place_of(out)
        if isinstance(place, Path):
            place = place.absolute()  # a study's own code may change the working directory
        path = place / plan.name
        with translate_io_errors(path):
            check_study(plan.name, path)
            files = files_at(path / REPLICATES, at_once=at_once)
        verdicts = run_records.read_verdicts(path / REPLICATES, dict(plan.rules.rtol))
        accepted = run_records.accepted_origins(verdicts, provenance)
        store = Store(files, plan.block_size, provenance, label=label, accepted=accepted)
        return cls(path, store, verdicts=verdicts)

    @property
    def blocks(self) -> Place | None:
        """Folder of the block files, which all runs of the study share; None if it is temporary."""
        return None if self.path is None else self.path / REPLICATES

    def record(self, verdicts: run_records.Verdicts) -> None:
        """Record comparisons, and have the blocks that agree count."""
        assert self.blocks is not None  # a temporary store has no other blocks
        run_records.write_verdicts(self.blocks, verdicts)
        self.verdicts |= verdicts
        accepted = run_records.accepted_origins(self.verdicts, self.store.provenance)
        self.store = self.store.reopened(accepted=accepted)


def no_blocks_error(folder: Place) -> StoreError:
    """Make the error for a folder without blocks."""
    return StoreError(f"{folder} holds no block of this study yet: run the study first")


# ---------------------------------------------------------------- checks of the folder
def check_study(study: str, folder: Place) -> None:
    """Refuse a folder whose manifest names another study, or that is not a folder."""
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file, not a folder for results. Choose another out=...")
    owner = (read_json(folder / MANIFEST) or {}).get("study", study)
    if owner != study:
        raise StoreError(
            f"{folder} holds the results of study {owner!r}, which {study!r} would overwrite. "
            "Choose another out=..., or move that folder away."
        )
