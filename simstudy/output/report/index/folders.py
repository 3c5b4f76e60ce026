"""The folders below one of results: which of the files that the index reads lie in each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simstudy.output.up_to_date import FIGURES
from simstudy.remote.paths import Place, name_below
from simstudy.store.home import FOLDERS
from simstudy.store.manifest import MANIFEST

INDEX = "index.html"
MOST_BYTES = 100_000_000  # of a file that is read whole: no manifest, figure or table has more
BLOCKS = ".parquet"


class CannotBeRead(Exception):
    """A file has nothing to say: why, in words that follow its name."""


@dataclass(frozen=True)
class Folder:
    """A folder below results.

    Parameters
    ----------
    files
        Its own, and those of its figures, by their names below it: nothing but files that can be
        read to an end.
    has_blocks
        Whether replicates or moments lie there; looked for only where there is no manifest.
    trouble
        Why it could not be looked into.
    """

    path: Place
    files: frozenset[str] = frozenset()
    has_blocks: bool = False
    trouble: str = ""

    @property
    def name(self) -> str:
        return self.path.name

    def content(self, file: str) -> bytes:
        """The bytes of a file.

        Raises
        ------
        CannotBeRead
            Saying why.
        """
        if file not in self.files:
            raise CannotBeRead("is missing")
        path = self.path / file
        try:
            if isinstance(path, Path) and path.stat().st_size > MOST_BYTES:
                raise CannotBeRead(f"is larger than {MOST_BYTES // 10**6} MB")
            return path.read_bytes()
        except OSError as error:
            raise CannotBeRead(f"cannot be read: {reason(error)}") from None


def reason(error: OSError) -> str:
    """What a file system said, without its paths."""
    return (error.strerror or type(error).__name__).lower()


def folders_below(results: Place) -> list[Folder]:
    """Those that are not hidden, by name.

    Raises
    ------
    OSError
        Where the folder itself cannot be read.
    """
    found = _local(results) if isinstance(results, Path) else _remote(results)
    return sorted(found, key=lambda folder: folder.name)


# ---------------------------------------------------------------- of this machine
def _local(results: Path) -> Iterator[Folder]:
    with os.scandir(results) as entries:
        for entry in entries:
            if not entry.name.startswith("."):
                yield from _entered(results, entry)


def _entered(results: Path, entry: os.DirEntry[str]) -> Iterator[Folder]:
    path = results / entry.name
    try:
        if entry.is_dir():
            yield _inside(results, path)
        elif entry.is_symlink() and not path.exists():
            yield Folder(path, trouble="is a link that leads nowhere")
    except OSError as error:
        yield Folder(path, trouble=f"cannot be read: {reason(error)}")


def _inside(results: Path, path: Path) -> Folder:
    if results.resolve().is_relative_to(path.resolve()):
        return Folder(path, trouble="is a link to a folder that it lies in")
    files = {*_files_in(path), *(f"{FIGURES}/{name}" for name in _figures_in(path))}
    has_blocks = MANIFEST not in files and any(map(_holds_blocks, _kinds(path)))
    return Folder(path, frozenset(files), has_blocks)


def _files_in(path: Path) -> list[str]:
    with os.scandir(path) as entries:
        return [entry.name for entry in entries if entry.is_file()]  # no pipe: it has no end


def _figures_in(path: Path) -> list[str]:
    return _files_in(path / FIGURES) if (path / FIGURES).is_dir() else []


def _kinds(path: Path) -> list[Path]:
    return [path / kind for kind in FOLDERS.values() if (path / kind).is_dir()]


def _holds_blocks(path: Path) -> bool:
    with os.scandir(path) as entries:
        return any(entry.name.endswith(BLOCKS) for entry in entries)


# ---------------------------------------------------------------- beyond it
def _remote(results: Place) -> Iterator[Folder]:
    """By two questions, however many studies there are, and one for each without a manifest."""
    found: dict[str, set[str]] = {}
    for pattern in ("*/*", f"*/{FIGURES}/*"):
        for path in results.glob(pattern):
            study, _, file = name_below(results, path).partition("/")
            if file and not study.startswith("."):
                found.setdefault(study, set()).add(file)
    for study, files in found.items():
        path = results / study
        yield Folder(path, frozenset(files), MANIFEST not in files and _any_blocks(path, files))


def _any_blocks(path: Place, files: set[str]) -> bool:
    kinds = (kind for kind in FOLDERS.values() if kind in files)
    return any(next(iter((path / kind).glob(f"*{BLOCKS}")), None) for kind in kinds)
