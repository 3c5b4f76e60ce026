"""Detects files that a study reads without declaring them.

A file that `simulate` reads is part of what its numbers depend on, and no fingerprint of code can
see it. Python announces every file that it opens to an audit hook; the one installed here at the
first draw asks, while a block is drawn, whose code wanted the file: that of the nearest frame that
belongs neither to the standard library, nor to an installed package, nor to simstudy. What modules
read while they are imported is seen in the values that they keep of it.

Noticed is what opens its files in Python: `open`, `pathlib`, `json`, `gzip`, `zipfile`,
`numpy.load`, `numpy.fromfile`, `numpy.memmap`, `pandas.read_csv` and its other text formats,
`pandas.read_feather`. Not noticed are libraries that open them in C without a word to Python:
everything that pyarrow opens by name, `pandas.read_parquet` among it, and others of the kind such
as HDF5 and SQLite; what a subprocess reads; what simulate's own threads read; what comes over the
network. Reading these as `simstudy.Data` needs no noticing.

Files are passed over that no study owns: those of the system and of the Python installation, those
that the import system opens, compiled code, and what this very process wrote while drawing.
"""

import contextlib
import functools
import linecache
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from simstudy.data.sources import DECLARED
from simstudy.provenance.modules import file_kind, is_own_file

AnyPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]

_ACCESS = os.O_RDONLY | os.O_WRONLY | os.O_RDWR


class _Here(threading.local):
    """The state of this thread."""

    watchers: tuple[list[str], ...] = ()


_here = _Here()


@functools.cache
def _install() -> None:
    """Install the audit hook, once: it cannot be removed."""
    sys.addaudithook(_hook)


@contextlib.contextmanager
def watching() -> Iterator[list[str]]:
    """Context that collects undeclared files which this thread reads."""
    _install()
    found: list[str] = []
    before, _here.watchers = _here.watchers, (*_here.watchers, found)
    try:
        yield found
    finally:
        _here.watchers = before


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if _here.watchers and event in _HANDLERS:
        with contextlib.suppress(Exception):  # whatever it is, the file must still open
            _HANDLERS[event](sys._getframe(1), *args)


def _opened(frame: FrameType, path: AnyPath | int, _mode: object, flags: int) -> None:
    if isinstance(path, int):
        return
    if flags & os.O_TRUNC or (flags & os.O_CREAT and not os.path.exists(path)):
        _note_written(path)
    elif not flags & os.O_CREAT and flags & _ACCESS != os.O_WRONLY:  # who makes a file, writes
        _note_read(frame, path)


def _made_folder(_frame: FrameType, path: AnyPath, *_: object) -> None:
    if not os.path.exists(path):  # one that was there already may hold what others wrote
        _note_written(path)


_HANDLERS: dict[str, Callable[..., None]] = {
    "open": _opened,
    "os.mkdir": _made_folder,
}


def _note_read(frame: FrameType, path: AnyPath) -> None:
    reader = reader_of(frame)
    if reader is None:
        return
    full = os.path.abspath(os.fsdecode(path))
    if not os.path.isfile(full) or full in DECLARED:
        return
    if not is_unowned(full, os.path.abspath(reader.f_code.co_filename)):
        for found in _here.watchers:
            if full not in found:
                found.append(full)


_LIBRARY, _SIMSTUDY, _IMPORT, _PROJECT = "library", "simstudy", "import", "project"


def reader_of(frame: FrameType | None) -> FrameType | None:
    """The nearest frame of the project.

    None where there is none, or where simstudy itself (a cache, a part of data), `linecache` (lines
    for a traceback) or the import system opened the file on its behalf. A loader's `get_data`
    outside an import reads data for somebody.
    """
    while frame is not None:
        kind = _kind(frame)
        if kind is _PROJECT:
            return frame
        if kind is _SIMSTUDY or (kind is _IMPORT and frame.f_code.co_name != "get_data"):
            return None
        frame = frame.f_back
    return None


def _kind(frame: FrameType) -> str:
    filename = frame.f_code.co_filename
    if filename.startswith("<") and not filename.startswith("<frozen"):  # typed in, or generated
        return _PROJECT if frame.f_globals.get("__name__") == "__main__" else _LIBRARY
    return _kind_of_file(filename)


@functools.cache
def _kind_of_file(filename: str) -> str:
    if filename.startswith("<frozen importlib"):
        return _IMPORT
    if filename.startswith("<frozen"):
        return _LIBRARY
    if is_own_file(os.path.abspath(filename)) or filename == linecache.__file__:
        return _SIMSTUDY
    return _PROJECT if _is_project(os.path.abspath(filename)) else _LIBRARY


_PREFIXES = tuple({sys.prefix, sys.base_prefix, sys.exec_prefix})
_SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/lib", "/usr/lib", "/usr/share")  # time zones, locales
_COMPILED = (".pyc", ".pyo", ".so", ".pyd", ".nbi", ".nbc")  # the last two are numba's
_COMPILER_CACHE = f"{os.sep}compiledir_"  # begins the name of PyTensor's folder, and so PyMC's

_written: set[str] = set()  # files and folders that this process made while drawing


def is_unowned(full: str, reader: str) -> bool:
    """Whether no study could declare a file (devices, caches, installed files).

    Parameters
    ----------
    full
        The file's whole path.
    reader
        That of the source which reads it.
    """
    return (
        full.endswith(_COMPILED)
        or _COMPILER_CACHE in full
        or any(inside(full, folder) for folder in _SYSTEM)
        or not _is_project(full)
        or _is_installed(full, reader)
        or _is_written(full)
    )


def _is_installed(full: str, reader: str) -> bool:
    """Whether a file belongs to the Python installation and not to a project inside it."""
    return any(inside(full, prefix) and not inside(reader, prefix) for prefix in _PREFIXES)


def _note_written(path: AnyPath) -> None:
    _written.add(os.path.realpath(os.fsdecode(path)))


def _is_written(full: str) -> bool:
    """Whether this process wrote a file, or the folder that holds it."""
    real = os.path.realpath(full)
    return any(real == made or inside(real, made) for made in _written)


def inside(path: str, folder: str) -> bool:
    """Whether a path is below a folder."""
    return path.startswith(folder) and path[len(folder) : len(folder) + 1] == os.sep


def _is_project(full: str) -> bool:
    """Whether a file is neither installed nor in the standard library."""
    return file_kind(Path(full)) == "project"
