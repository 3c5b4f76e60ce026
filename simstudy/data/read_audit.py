"""Notices files that a study reads without declaring them.

A file that `simulate` or a module of the project reads is part of what its numbers depend on, and
no fingerprint of code can see it. Python announces every file that it opens to an audit hook; the
one installed here asks whose code wanted the file, which is the nearest frame that belongs neither
to the standard library, nor to an installed package, nor to simstudy.

Noticed is what opens its files in Python: `open`, `pathlib`, `json`, `gzip`, `zipfile`,
`numpy.load`, `numpy.fromfile`, `numpy.memmap`, `pandas.read_csv` and its other text formats,
`pandas.read_feather`. Not noticed are libraries that open them in C without a word to Python:
everything that pyarrow opens by name, `pandas.read_parquet` among it, and others of the kind such
as HDF5 and SQLite; what a subprocess reads; what simulate's own threads read; what comes over the
network; and whatever was read before simstudy was imported. Reading these as `simstudy.Data` needs
no noticing.

Files are passed over that no study owns: those of the system and of the Python installation, those
that the import system opens, compiled code, and what this very process wrote in the temporary
folder.
"""

import contextlib
import functools
import linecache
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

AnyPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]

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


def _made_folder(_frame: FrameType, path: AnyPath, *_: object) -> None:
    if not os.path.exists(path):  # one that was there already may hold what others wrote
        note_written(path)


_HANDLERS: dict[str, Callable[..., None]] = {
    "open": _opened,
    "os.mkdir": _made_folder,
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


_ENGINE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LIBRARY, _SIMSTUDY, _IMPORT, _PROJECT = "library", "simstudy", "import", "project"


def reader_of(frame: FrameType | None) -> FrameType | None:
    """The project's nearest frame.

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


def importing_module(frame: FrameType | None) -> str | None:
    """Name of the project's module whose statements are being executed."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and _kind(frame) is _PROJECT:
            return str(frame.f_globals.get("__name__"))
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
    full = os.path.abspath(filename)
    if inside(full, _ENGINE) or filename == linecache.__file__:
        return _SIMSTUDY
    return _LIBRARY if is_library(full) else _PROJECT


_STANDARD = os.path.dirname(os.path.abspath(os.__file__))
_PREFIXES = tuple({sys.prefix, sys.base_prefix, sys.exec_prefix})
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/lib", "/usr/lib", "/usr/share")  # time zones, locales
_COMPILED = (".pyc", ".pyo", ".so", ".pyd", ".nbi", ".nbc")  # the last two are numba's

_ours: set[str] = set()  # files and folders that this process made in the temporary folder


def is_unowned(full: str, reader: str) -> bool:
    """Whether a file is none that a study could declare.

    Parameters
    ----------
    full
        The file's whole path.
    reader
        That of the source which reads it.
    """
    return (
        full.endswith(_COMPILED)
        or any(inside(full, folder) for folder in _SYSTEM)
        or is_library(full)
        or _is_installed(full, reader)
        or _is_our_own_temporary(full)
    )


def _is_installed(full: str, reader: str) -> bool:
    """Whether a file belongs to the Python installation; a project may lie in the same folder."""
    return any(inside(full, prefix) and not inside(reader, prefix) for prefix in _PREFIXES)


def note_written(path: AnyPath) -> None:
    """Note a file or folder that this process made; it is its own in the temporary folder only."""
    full = _real(path)
    if inside(full, _temporary_folder()):
        _ours.add(full)


def written_here() -> tuple[str, ...]:
    """What this process made in the temporary folder."""
    return tuple(_ours)


def _is_our_own_temporary(full: str) -> bool:
    real, top = _real(full), _temporary_folder()
    while inside(real, top):
        if real in _ours:
            return True
        real = os.path.dirname(real)
    return False


def _temporary_folder() -> str:
    """Where `tempfile` puts files, without importing it in the middle of opening one."""
    chosen = getattr(sys.modules.get("tempfile"), "tempdir", None)
    asked = (os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    return _real_folder(os.fsdecode(chosen or next(filter(None, asked), "/tmp")))


@functools.cache
def _real_folder(folder: str) -> str:
    return os.path.realpath(folder)


def _real(path: AnyPath) -> str:
    return os.path.realpath(os.fsdecode(path))


def inside(path: str, folder: str) -> bool:
    """Whether a path is below a folder."""
    return path.startswith(folder) and path[len(folder) : len(folder) + 1] == os.sep


def is_library(full: str) -> bool:
    """Whether a file is of an installed package or of the standard library."""
    return any(folder in full for folder in _PACKAGES) or inside(full, _STANDARD)
