"""Files that no study owns: of the system, of Python, compiled code, and what we wrote."""

import functools
import os
import sys

_STANDARD = os.path.dirname(os.path.abspath(os.__file__))
_PREFIXES = tuple({sys.prefix, sys.base_prefix, sys.exec_prefix})
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/lib", "/usr/lib", "/usr/share")  # time zones, locales
_COMPILED = (".pyc", ".pyo", ".so", ".pyd", ".nbi", ".nbc")  # the last two are numba's

AnyPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]

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


def was_written(path: AnyPath) -> bool:
    """Whether this process wrote that very file."""
    return _real(path) in _ours


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
