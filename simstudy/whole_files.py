"""Files that are there whole or not at all."""

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from io import BufferedRandom
from pathlib import Path
from typing import Any

BEING_WRITTEN = ".writing-"  # begins the name of a file that is not whole yet


def write_whole(folder: Path, fill: Callable[[BufferedRandom], str]) -> Path:
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
    handle, temporary = tempfile.mkstemp(prefix=BEING_WRITTEN, dir=folder)
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
    return target


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, in a folder that is made if it is not there."""

    def fill(file: BufferedRandom) -> str:
        file.write(content)
        return path.name

    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path.parent, fill)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write an object; what JSON does not know is written as its `str`."""
    write_bytes(path, (json.dumps(content, indent=2, default=str) + "\n").encode())


def read_json(path: Path) -> dict[str, Any] | None:
    """The file's object; None where there is no such file or it is damaged."""
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None
