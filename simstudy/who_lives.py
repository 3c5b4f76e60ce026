"""Processes told apart: which of those that left something behind are still there."""

import contextlib
import os
import platform
import zlib
from functools import cache
from pathlib import Path


@cache
def machine() -> str:
    """The machine since it was last started, in eight hexadecimal digits."""
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


def began(process: int) -> str | None:
    """When a process began, in the system's own ticks; None where it does not say.

    Numbers of processes are used again: number and beginning together are not.
    """
    said = _stat(process)
    return said[19] if said else None


def is_stopped(process: int) -> bool:
    """Whether a process waits to be told to go on; False where the system does not say."""
    said = _stat(process)
    return bool(said) and said[0] == "T"


def _stat(process: int) -> list[str]:
    """What Linux says of a process, from its state on; else nothing."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return []
