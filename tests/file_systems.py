"""File systems of fsspec's, in memory, that count requests or lose their connection."""

from collections import Counter
from typing import ClassVar

import pytest

pytest.importorskip("upath.registry", reason="needs pip install -e '.[dev]'")
fsspec = pytest.importorskip("fsspec", reason="needs pip install -e '.[dev]'")
MemoryFileSystem = pytest.importorskip("fsspec.implementations.memory").MemoryFileSystem
MemoryPath = pytest.importorskip("upath.implementations.memory").MemoryPath
register_implementation = pytest.importorskip("upath.registry").register_implementation

REQUESTS = ("ls", "info", "cat_file", "put_file", "get_file", "rm_file", "cp_file")


class Counting(MemoryFileSystem):
    """Counts requests as a store over a network would get them."""

    protocol = "counting"
    asked: ClassVar[Counter] = Counter()


def counted(name):
    plain = getattr(MemoryFileSystem, name)

    def request(self, *arguments, **keywords):
        type(self).asked[name] += 1
        return plain(self, *arguments, **keywords)

    return request


for _name in REQUESTS:
    setattr(Counting, _name, counted(_name))


class Cut(MemoryFileSystem):
    """Loses its connection in the middle of an upload, when told to."""

    protocol = "cut"
    after: int | None = None  # bytes

    def put_file(self, lpath, rpath, **kwargs):
        if self.after is None:
            return super().put_file(lpath, rpath, **kwargs)
        with open(lpath, "rb") as file:
            self.pipe_file(rpath, file.read(self.after))
        raise ConnectionResetError("the other end has gone")


for _kind in (Counting, Cut):
    _kind.store = {}
    _kind.pseudo_dirs = [""]
    fsspec.register_implementation(_kind.protocol, _kind, clobber=True)
    register_implementation(_kind.protocol, MemoryPath, clobber=True)
