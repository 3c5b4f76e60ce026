"""What a process that draws blocks is at, where its parent reads it whatever has become of it.

Some bytes of shared memory: the block that is being drawn, and until when it may take. A process
that was killed, is stopped, or hangs in the system says nothing any more; they are still there.
"""

import contextlib
import mmap
import os
import re
import signal
import struct
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simstudy.atomic_files import began, is_stopped, temporary_folder
from simstudy.errors import StoreError

UNTIL, PLACE = struct.Struct("<d"), struct.Struct("<q32s")
SIZE = UNTIL.size + PLACE.size
NAME = re.compile(r"\d+-\w+")  # the number of a process, and when it began
NOWHERE = PLACE.pack(-1, b"")

Spot = tuple[str, int]
"""A block, by the key of its scenario and its number."""


class Mark:
    """What one process is at.

    Parameters
    ----------
    memory
        Shared with whoever reads it; None makes some that copies of this process share with it.
    """

    def __init__(self, memory: mmap.mmap | None = None) -> None:
        self._memory = mmap.mmap(-1, SIZE) if memory is None else memory
        self.leave()

    def set(self, until: float) -> None:
        """To be done at so many seconds of the monotonic clock, the same everywhere; 0 for none."""
        UNTIL.pack_into(self._memory, 0, until)

    def at(self, key: str, block: int) -> None:
        """A block is begun."""
        PLACE.pack_into(self._memory, UNTIL.size, block, key.encode())

    def leave(self) -> None:
        """No block is being drawn."""
        self._memory[UNTIL.size : SIZE] = NOWHERE

    @property
    def read(self) -> "Read":
        """What it says now."""
        return Read.of(self._memory[:SIZE])


@dataclass(frozen=True)
class Read:
    """What a mark said when it was read."""

    until: float
    spot: Spot | None

    @classmethod
    def of(cls, content: bytes) -> "Read":
        (until,), (block, key) = UNTIL.unpack_from(content), PLACE.unpack_from(content, UNTIL.size)
        text = key.rstrip(b"\0").decode(errors="replace")
        return cls(until, None if block < 0 else (text, block))

    def is_past(self, grace: float = 0.0) -> bool:
        """Whether the block was to have ended, so many seconds ago, and who draws it with it."""
        return 0 < self.until < time.monotonic() - grace


@dataclass
class _Own:
    """The mark of this process, if anybody reads one."""

    mark: Mark | None = None


_own = _Own()


def own_mark() -> Mark | None:
    """The mark of this process; None where nobody would read it."""
    return _own.mark


def keep(mark: Mark) -> None:
    """From now on this process says there what it is at."""
    _own.mark = mark


def note_block(key: str, block: int) -> None:
    """From now on this process draws a block. It takes a fifth of a microsecond."""
    if _own.mark is not None:
        _own.mark.at(key, block)


def note_no_block() -> None:
    """From now on this process draws none."""
    if _own.mark is not None:
        _own.mark.leave()


class Stopped:
    """Since when processes were seen to be stopped, by their numbers."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}

    def seconds(self, process: int) -> float:
        """For how long every look has found a process stopped; 0 where this one does not."""
        if not is_stopped(process):
            self._since.pop(process, None)
            return 0.0
        now = time.monotonic()
        return now - self._since.setdefault(process, now)


# ---------------------------------------------------------------- of processes that import anew
def keep_in(folder: str) -> None:
    """Keep the mark of this process in a file, in a folder that it was told of.

    Where it cannot, it does without: its parent then knows less.
    """
    if not folder:
        return
    name = f"{os.getpid()}-{began(os.getpid())}"
    with contextlib.suppress(OSError), Path(folder, name).open("w+b") as file:
        file.write(bytes(SIZE))
        file.flush()
        keep(Mark(mmap.mmap(file.fileno(), SIZE)))


class Marks:
    """The marks of processes that were told of this folder.

    Where there is no place for one, or somebody clears it away, nothing is known of them.

    Attributes
    ----------
    folder
        Its path; empty where there is none.
    """

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.folder = ""
        with contextlib.suppress(StoreError):
            self._folder = temporary_folder()
            self.folder = self._folder.name
        self._stopped = Stopped()

    def spots(self) -> tuple[Spot, ...]:
        """The blocks that are being drawn, or were when their process ended."""
        return tuple(said.spot for _, said in self._all() if said.spot)

    def overdue(self) -> list[Spot]:
        """The blocks among these whose time is over, and that of who draws them with it."""
        return [said.spot for _, said in self._all() if said.spot and said.is_past()]

    def forget(self) -> None:
        """Of processes that have ended, or are about to, nothing is known any more."""
        for path, _ in self._all():
            with contextlib.suppress(OSError):
                path.unlink()

    def end_overdue(self, limit: float, grace: float) -> list[Spot | None]:
        """End processes whose block has had its time, or that are stopped, all for so many seconds.

        Returns
        -------
        list
            What each of them was at.
        """
        ended = list[Spot | None]()
        for path, said in self._all():
            if said.is_past(grace) or self._stopped.seconds(_process(path)) > limit + grace:
                _kill(path)
                ended.append(said.spot)
        return ended

    def close(self) -> None:
        """Leave nothing behind."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                self._folder.cleanup()

    def _all(self) -> Iterator[tuple[Path, Read]]:
        for path in self._paths():
            with contextlib.suppress(OSError):
                content = path.read_bytes()
                if len(content) == SIZE:
                    yield path, Read.of(content)

    def _paths(self) -> list[Path]:
        """Those of marks, and nothing else that a file system leaves there."""
        with contextlib.suppress(OSError):
            found = Path(self.folder).iterdir() if self.folder else ()
            return sorted(path for path in found if NAME.fullmatch(path.name))
        return []


def _process(path: Path) -> int:
    return int(path.name.partition("-")[0])


def _kill(path: Path) -> None:
    """End the process whose mark it is, and no other that has its number by now."""
    process = _process(path)
    if str(began(process)) == path.name.partition("-")[2]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, getattr(signal, "SIGKILL", signal.SIGTERM))
