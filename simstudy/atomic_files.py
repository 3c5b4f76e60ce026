"""Atomic writes: a file exists completely or not at all."""

import contextlib
import json
import os
import platform
import tempfile
import time
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from io import BufferedRandom
from pathlib import Path
from typing import Any

from simstudy.remote.paths import BEING_WRITTEN, Place, put_file

ABANDONED_SECONDS = 86_400.0  # a file that is not whole after them has no writer left


def atomic_write(folder: Path, fill: Callable[[BufferedRandom], str]) -> Path:
    """Write a file under a temporary name, sync it, and rename it.

    The folder is synced last, so that after a return the name lasts too. Whatever stops it, there
    is no file of that name, or the one of before.

    Parameters
    ----------
    fill
        Writes the content, which it may read again, and gives the file's name.

    Returns
    -------
    Path
        Where the file lies.
    """
    who = f"{BEING_WRITTEN}{machine()}-{os.getpid()}-"
    handle, temporary = tempfile.mkstemp(prefix=who, dir=folder)
    _own.add(temporary)
    try:
        with os.fdopen(handle, "w+b") as file:
            target = folder / fill(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)  # as other programs make files: mkstemp keeps them to one user
        os.replace(temporary, target)
        _sync_folder(folder)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    finally:
        _own.discard(temporary)
    return target


_own: set[str] = set()  # what this process is writing


def forget_own() -> None:
    """Delete this process's unfinished files, since it ends now."""
    for temporary in list(_own):
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def forget_unfinished(folder: Place, older_than: float = ABANDONED_SECONDS) -> None:
    """Delete unfinished files of ended processes of this machine.

    Beyond this machine there is nothing half written.

    Parameters
    ----------
    older_than
        Seconds after which a file has no writer left, wherever that may have been.
    """
    begun = folder.glob(f"{BEING_WRITTEN}*") if isinstance(folder, Path) else []
    for path in begun:
        with contextlib.suppress(OSError):
            is_old = time.time() - path.stat().st_mtime > older_than
            if is_old or not _has_writer(path.name):
                path.unlink()


def _has_writer(name: str) -> bool:
    """Whether the writer of a file may still run; unknown for other machines."""
    where, _, rest = name.removeprefix(BEING_WRITTEN).partition("-")
    process = rest.partition("-")[0]
    return where != machine() or not process.isdecimal() or is_there(int(process))


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: Place, content: bytes) -> None:
    """Write a file, creating its folder; to a URL in one piece."""

    def fill(file: BufferedRandom) -> str:
        file.write(content)
        return path.name

    if isinstance(path, Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path.parent, fill)
        return
    with temporary_folder() as folder:
        put_file(atomic_write(Path(folder), fill), path)


def write_json(path: Place, content: Mapping[str, Any]) -> None:
    """Write an object as JSON; unknown types as `str`."""
    write_bytes(path, (json.dumps(content, indent=2, default=str) + "\n").encode())


def read_json(path: Place) -> dict[str, Any] | None:
    """Read a JSON object; None if the file is missing or damaged."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


# ---------------------------------------------------------------- processes that write
@cache
def machine() -> str:
    """An identifier of the machine since its last start, 8 hexadecimal digits."""
    name = platform.node()
    with contextlib.suppress(OSError):
        name += Path("/proc/sys/kernel/random/boot_id").read_text()
    return f"{zlib.crc32(name.encode()):08x}"


def is_there(process: int) -> bool:
    """Whether a process of this machine runs."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # another user's
        return True
    return True


# ---------------------------------------------------------------- temporary folders
def temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    """Make a temporary folder, below `TMPDIR`."""
    return tempfile.TemporaryDirectory(prefix="simstudy-")
