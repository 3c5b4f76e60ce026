"""A folder of blocks that says by itself what it holds, before anybody publishes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simstudy.analysis.result import Result
from simstudy.output.environment import program
from simstudy.output.facts import cost_of_blocks, facts_of, noticed
from simstudy.output.frames import frames_of, write_frames
from simstudy.output.origin import file_hash, hashes_of
from simstudy.output.replacing import fewer, is_unpublished
from simstudy.remote.paths import Place
from simstudy.store.disk import alone_in, trouble_in_words
from simstudy.store.manifest import MANIFEST, listed_files
from simstudy.whole_files import read_json, write_json


def explain_folder(result: Result) -> None:
    """Write scenarios, cells, summary, failures and a manifest beside a result's blocks.

    Nothing is written where results were published, or a longer run of the same says more, nor
    where the summary cannot be had: its error comes when somebody asks for it.

    Raises
    ------
    StoreError
        Where the disk cannot be written.
    """
    folder = result.folder
    if folder is None or not _has_summary(result):
        return
    with trouble_in_words(folder), alone_in(folder):
        previous = read_json(folder / MANIFEST)
        if previous is None or not _says_enough(folder, previous, result):
            _write(folder, previous or {}, result)


def _has_summary(result: Result) -> bool:
    try:
        return result.summary is not None
    except (Exception, SystemExit):  # a measure is code of a user's own
        return False


def _says_enough(folder: Place, manifest: Mapping[str, Any], result: Result) -> bool:
    if not is_unpublished(manifest):
        return True
    if manifest.get("made_from", {}).get("blocks") == _blocks(result):
        listed = listed_files(manifest)
        return all(file_hash(folder / name) == digest for name, digest in listed.items())
    is_alike = manifest.get("seed") == result.plan.seed
    return is_alike and bool(fewer(manifest, result.n_rep))


def _blocks(result: Result) -> str:
    return result.store.owner.digest(result.drawn_sizes)


def _write(folder: Place, previous: Mapping[str, Any], result: Result) -> None:
    """All of it, between the manifest that goes and the one that comes."""
    (folder / MANIFEST).unlink(missing_ok=True)
    files = write_frames(result, folder, frames_of(result))
    libraries = result.store.owner.only(result.drawn_sizes).libraries
    content = facts_of(result, _blocks(result)) | program(libraries)
    content |= cost_of_blocks(result, previous) | noticed(result, previous)
    content |= {"published": False, "files": hashes_of(folder, files)}
    write_json(folder / MANIFEST, content)
