"""Bytes of files beyond this machine: many asked for at once, in the order in which they are read.

A round trip takes tens of milliseconds and a small file's bytes take less, so a file that is
wanted brings the next ones of the list along.
"""

import io
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from simstudy.remote.paths import translated_errors

if TYPE_CHECKING:
    from upath import UPath

FILES_AHEAD = 64  # asked for at once: as many connections as servers like to see from a client
BYTES_AHEAD = 64_000_000  # of them held in memory
WHOLE_AT_MOST = 1 << 20  # bytes that take no longer than the round trip that asks for an end
END_BYTES = 1 << 16  # of a file, in which what it says of itself mostly lies


@dataclass
class Fetched:
    """What was fetched and not yet taken.

    Parameters
    ----------
    whole
        Whether large files are wanted whole, too; else only their ends.

    Attributes
    ----------
    listed
        Bytes of each file, as it was listed last, in the order of reading.
    taken
        Names that need not be brought along any more.
    """

    place: "UPath"
    whole: bool
    listed: dict[str, int] = field(default_factory=dict)
    ahead: dict[str, bytes | Exception] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def is_whole(self, name: str) -> bool:
        """Whether all of a file is fetched when it is asked for."""
        return self.whole or self.listed.get(name, 0) <= WHOLE_AT_MOST

    def to_file(self, name: str, target: Path) -> None:
        """Write all bytes of a file to one of this machine."""
        self.taken.add(name)
        n_bytes = self.listed.get(name)
        if n_bytes is None or n_bytes > BYTES_AHEAD or not self.is_whole(name):
            self.place.fs.get_file((self.place / name).path, str(target))
        else:
            target.write_bytes(self._content(name))

    def end(self, name: str) -> "End":
        """The end of a file, whose beginning is fetched only where somebody reads it."""
        self.taken.add(name)
        if name not in self.listed:
            self.listed[name] = (self.place / name).stat().st_size
        return End(self.place, name, self._content(name), self.listed[name])

    def _content(self, name: str) -> bytes:
        if name not in self.ahead:
            self._fetch([name, *self._after(name)])
        content = self.ahead.pop(name)
        return _content_or_error(self.place, content)

    def _after(self, name: str) -> Iterator[str]:
        """The files of the list after this one, as many as are asked for at once."""
        later = itertools.dropwhile(lambda other: other != name, iter(self.listed))
        left = (n for n in later if n not in self.taken and n not in self.ahead)
        n_bytes = self._n_bytes(name)
        for other in itertools.islice(left, FILES_AHEAD - 1):
            n_bytes += self._n_bytes(other)
            if n_bytes > BYTES_AHEAD:
                return
            yield other

    def _n_bytes(self, name: str) -> int:
        start, end = self._range(name)
        return end - start

    def _range(self, name: str) -> tuple[int, int]:
        end = self.listed[name]
        return (0 if self.is_whole(name) else max(0, end - END_BYTES)), end

    def _fetch(self, names: list[str]) -> None:
        ranges = {name: self._range(name) for name in names}
        some = {name: (start, end) for name, (start, end) in ranges.items() if end > start}
        self.ahead |= dict.fromkeys(names, b"") | _read_ranges(self.place, some)


class End(io.RawIOBase):
    """A file of which the last bytes are here, and others are fetched when they are read.

    Parameters
    ----------
    tail
        The last of its `n_bytes` bytes.
    """

    def __init__(self, place: "UPath", name: str, tail: bytes, n_bytes: int) -> None:
        super().__init__()
        self.place, self.file, self.tail, self.n_bytes = place, name, tail, n_bytes
        self.at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.n_bytes}[whence]
        self.at = max(0, start + offset)
        return self.at

    def read(self, size: int | None = -1) -> bytes:
        begin, end = self.at, self.n_bytes
        if size is not None and size >= 0:
            end = min(begin + size, end)
        self._have_from(begin)
        first = self.n_bytes - len(self.tail)
        self.at = max(begin, end)
        return self.tail[begin - first : max(begin, end) - first]

    def _have_from(self, begin: int) -> None:
        first = self.n_bytes - len(self.tail)
        if begin < first:
            found = _read_ranges(self.place, {self.file: (begin, first)})[self.file]
            self.tail = _content_or_error(self.place, found) + self.tail


def _read_ranges(
    place: "UPath", ranges: Mapping[str, tuple[int, int]]
) -> dict[str, bytes | Exception]:
    """Fetch bytes of many files of a place side by side, where the store can.

    Parameters
    ----------
    ranges
        From which byte, and to before which, by a file's name.

    Returns
    -------
    dict
        By name the bytes, or the error that came of it.
    """
    starts, ends = ([pair[at] for pair in ranges.values()] for at in (0, 1))
    paths = [(place / name).path for name in ranges]
    parts = place.fs.cat_ranges(paths, starts, ends, on_error="return")
    return dict(zip(ranges, parts, strict=True))


def _content_or_error(place: "UPath", part: bytes | Exception) -> bytes:
    if isinstance(part, Exception):
        with translated_errors(str(place)):
            raise part
    return bytes(part)
