"""Notices files that a study reads without declaring them.

A file that `simulate` or a module of the project reads is part of what its numbers depend on, and
no fingerprint of code can see it. Python announces every file that it opens to an audit hook; the
one installed here asks whose code wanted the file, which is the nearest frame that belongs neither
to the standard library, nor to an installed package, nor to simstudy.

Noticed is what opens its files in Python: `open`, `pathlib`, `json`, `gzip`, `zipfile`, `sqlite3`,
`numpy.load`, `numpy.fromfile`, `numpy.memmap`, `pandas.read_csv` and its other text formats,
`pandas.read_feather`. Not noticed are libraries that open them in C without a word to Python:
everything that pyarrow opens by name, `pandas.read_parquet` among it, and others of the kind such
as HDF5; what a subprocess reads; what simulate's own threads read; what comes over the network; and
whatever was read before simstudy was imported. Reading these as `simstudy.Data` needs no noticing.

Files are passed over that no study owns: those of the system and of the Python installation, those
that the import system opens, compiled code, and what this very process wrote in the temporary
folder.
"""

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

from simstudy.data.readers import importing_module, reader_of
from simstudy.data.unowned import AnyPath, is_unowned, note_written, was_written

_ACCESS = os.O_RDONLY | os.O_WRONLY | os.O_RDWR


class _Here(threading.local):
    """What holds in this thread."""

    quiet: int = 0
    watchers: tuple[list[str], ...] = ()


_here = _Here()
_declared: set[str] = set()
_at_import: dict[tuple[str, str], None] = {}  # (path, module), in order
_elsewhere: dict[tuple[str, str], None] = {}  # (path, definition), in order


@functools.cache
def install() -> None:
    """Start to notice, once: a hook of this kind cannot be taken away."""
    sys.addaudithook(_hook)


@contextlib.contextmanager
def watching() -> Iterator[list[str]]:
    """Collect the files that this thread reads within it, and that nobody declared."""
    found: list[str] = []
    before, _here.watchers = _here.watchers, (*_here.watchers, found)
    try:
        yield found
    finally:
        _here.watchers = before


@contextlib.contextmanager
def unwatched() -> Iterator[None]:
    """Within it nothing is noticed: for files that no number depends on, and for declared ones."""
    _here.quiet += 1
    try:
        yield
    finally:
        _here.quiet -= 1


def declare(path: str) -> None:
    """Reading this file is announced from now on: a part of a scenario gave its path away."""
    _declared.add(os.path.abspath(path))


def reads_at_import(modules: Iterable[str]) -> dict[str, str]:
    """Files that these modules read while they were imported, each with the module's name.

    A read belongs to the module whose own statements were being executed, wherever the function
    that it called for it stands.
    """
    wanted = set(modules)
    return {path: module for path, module in list(_at_import) if module in wanted}


def reads_by(definitions: set[str]) -> dict[str, str]:
    """Files that these functions, or methods of these classes, read outside of any block.

    Parameters
    ----------
    definitions
        Each as `module.qualified_name`.
    """
    return {path: reader for path, reader in list(_elsewhere) if _is_among(reader, definitions)}


def _is_among(reader: str, definitions: set[str]) -> bool:
    return reader in definitions or reader.rpartition(".")[0] in definitions


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if event in _HANDLERS:
        with contextlib.suppress(Exception):  # whatever it is, the file must still open
            _HANDLERS[event](sys._getframe(1), *args)


def _opened(frame: FrameType, path: AnyPath | int, _mode: object, flags: int) -> None:
    if isinstance(path, int):
        return
    if flags & os.O_TRUNC or (flags & os.O_CREAT and not os.path.exists(path)):
        note_written(path)
    elif not flags & os.O_CREAT and flags & _ACCESS != os.O_WRONLY:  # who makes a file, writes
        _read(frame, path)


def _connected(frame: FrameType, database: AnyPath) -> None:
    """A database of SQLite, which opens the file in C."""
    name = os.fsdecode(database)
    if name.startswith("file:"):
        name = name.removeprefix("file:").split("?")[0]
    if os.path.exists(name):
        _read(frame, name)
    else:
        note_written(name)


def _made_folder(_frame: FrameType, path: AnyPath, *_: object) -> None:
    if not os.path.exists(path):  # one that was there already may hold what others wrote
        note_written(path)


def _renamed(_frame: FrameType, source: AnyPath, target: AnyPath, *_: object) -> None:
    if was_written(source):
        note_written(target)


_HANDLERS: dict[str, Callable[..., None]] = {
    "open": _opened,
    "sqlite3.connect": _connected,
    "os.mkdir": _made_folder,
    "os.rename": _renamed,
}


def _read(frame: FrameType, path: AnyPath) -> None:
    if _here.quiet:
        return
    reader = reader_of(frame)
    if reader is None:
        return
    full = os.path.abspath(os.fsdecode(path))
    if not os.path.isfile(full) or full in _declared:
        return
    if not is_unowned(full, os.path.abspath(reader.f_code.co_filename)):
        _note_read(reader, full)


def _note_read(reader: FrameType, full: str) -> None:
    for found in _here.watchers:
        if full not in found:
            found.append(full)
    module = importing_module(reader)
    if module is not None:
        _at_import[full, module] = None
    elif not _here.watchers:
        name = f"{reader.f_globals.get('__name__')}.{reader.f_code.co_qualname}"
        _elsewhere[full, name] = None
