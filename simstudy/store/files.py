"""Files written whole or not at all, and what a disk may refuse."""

import contextlib
import errno
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simstudy.errors import DiskFullError, StoreError


@contextlib.contextmanager
def trouble_in_words(folder: Path) -> Iterator[None]:
    """Within it, a disk that is full or must not be written is refused in one line."""
    try:
        yield
    except OSError as error:
        raise _in_words(error, folder) from error


def _in_words(error: OSError, folder: Path) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(
            f"the disk that holds {folder} is full. Every finished block is kept; free some space "
            "and run the same command again to go on."
        )
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return StoreError(f"cannot write to {folder}: {error.strerror}. Choose another out=...")
    return error


def read_json(path: Path) -> dict[str, Any] | None:
    """The file's object; None where there is no such file or it is damaged."""
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    write_bytes(path, (json.dumps(content, indent=2, default=str) + "\n").encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Whole or not at all: to a temporary name, synced, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".writing-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Within it, no other process that asks for the same is at work in a folder."""
    try:
        import fcntl
    except ImportError:  # not on Windows: the manifest's hashes still tell of a mixture
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
