"""Atomic writes: a file exists completely or not at all."""

import contextlib
import errno
import json
import os
import platform
import shutil
import tempfile
import time
import uuid
import weakref
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from io import BufferedRandom
from pathlib import Path
from typing import Any

from simstudy.remote import BEING_WRITTEN, Place, put_file

ABANDONED_SECONDS = 86_400.0  # age from which an unfinished file counts as abandoned
CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def atomic_write(folder: Path, fill: Callable[[BufferedRandom], str]) -> Path:
    """Write a file under a temporary name, sync it, and rename it.

    If the process stops on the way, there is no file of that name, or the earlier one. The folder
    is synced last, so that the new name is on disk as well.

    Parameters
    ----------
    fill
        Function that writes the content, which it may read again, and returns the file's name.

    Returns
    -------
    Path
        Path of the file.
    """
    name = f"{BEING_WRITTEN}{machine()}-{os.getpid()}-{uuid.uuid4().hex}"
    temporary = str(folder / name)
    _own.add(temporary)
    try:
        with open(temporary, "x+b") as file:  # not tempfile: that ignores the user's umask
            target = folder / fill(file)
            file.flush()
            _sync(file.fileno())
        os.replace(temporary, target)
        _sync_folder(folder)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    finally:
        _own.discard(temporary)
    return target


_own: set[str] = set()  # unfinished files of this process


def forget_own() -> None:
    """Delete this process's unfinished files, before it ends."""
    for temporary in list(_own):
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def forget_unfinished(folder: Place, older_than: float = ABANDONED_SECONDS) -> None:
    """Delete unfinished files of ended processes of this machine, and old ones of any machine.

    Remote folders have no unfinished files.

    Parameters
    ----------
    older_than
        Age in seconds from which a file is deleted, even if another machine wrote it.
    """
    begun = folder.glob(f"{BEING_WRITTEN}*") if isinstance(folder, Path) else []
    for path in begun:
        with contextlib.suppress(OSError):
            is_old = time.time() - path.stat().st_mtime > older_than
            if is_old or not _has_writer(path.name):
                path.unlink()


def _has_writer(name: str) -> bool:
    """Whether the writer of a file may still run; true for writers on other machines."""
    where, _, rest = name.removeprefix(BEING_WRITTEN).partition("-")
    process = rest.partition("-")[0]
    if where != machine() or not process.isdecimal():
        return True
    import psutil

    return bool(psutil.pid_exists(int(process)))


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # Windows opens no folder
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        _sync(handle)
    finally:
        os.close(handle)


def _sync(handle: int) -> None:
    """Sync a file or folder, if its file system supports that."""
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in CANNOT_SYNC:
            raise


def write_bytes(path: Place, content: bytes) -> None:
    """Write a file and create its folder if necessary; a URL gets the file in one piece."""

    def fill(file: BufferedRandom) -> str:
        file.write(content)
        return path.name

    if isinstance(path, Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path.parent, fill)
        return
    with TemporaryFolder() as folder:
        put_file(atomic_write(Path(folder), fill), path)


def write_json(path: Place, content: Mapping[str, Any]) -> None:
    """Write an object as JSON, with values of unknown types as `str`."""
    write_bytes(path, (json.dumps(content, indent=2, default=str) + "\n").encode())


def read_json(path: Place) -> dict[str, Any] | None:
    """Read a JSON object; None if the file is missing, damaged or not a regular file."""
    if isinstance(path, Path) and not path.is_file():  # reading a FIFO or device might never end
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


# ---------------------------------------------------------------- processes that write
@cache
def machine() -> str:
    """Return an identifier of the machine since its last start, 8 hexadecimal digits."""
    name = platform.node()
    with contextlib.suppress(OSError):
        name += Path("/proc/sys/kernel/random/boot_id").read_text()
    return f"{zlib.crc32(name.encode()):08x}"


# ---------------------------------------------------------------- temporary folders
class TemporaryFolder:
    """A folder below `TMPDIR` that is deleted with its last reference, which is no mistake here.

    `tempfile.TemporaryDirectory` issues a ResourceWarning then.
    """

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="simstudy-")
        self._delete = weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_: object) -> None:
        self._delete()
