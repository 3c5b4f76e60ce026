"""A store on anything that keeps whole files by name: here a shelf in memory, without renames."""

import tempfile

import pyarrow as pa
import pytest

from simstudy.errors import StoreError
from simstudy.store.blocks import Store
from simstudy.store.compaction import compact
from simstudy.store.files import Folder, files_at
from simstudy.store.header import Group
from simstudy.store.write import write_blocks
from tests.store.samples import BLOCKS, OWNER, ROWS, assert_holds, rows


class Shelf:
    """As an object store is used: list, read, put whole, delete."""

    def __init__(self):
        self.there, self.aside = {}, {}

    def __str__(self):
        return "the shelf"

    def names(self):
        return sorted(self.there)

    def open(self, name):
        return pa.BufferReader(self._bytes(name))

    def size(self, name):
        return len(self._bytes(name))

    def _bytes(self, name):
        if name not in self.there:
            raise FileNotFoundError(name)
        return self.there[name]

    def write(self, fill):
        with tempfile.TemporaryFile() as file:
            name = fill(file)
            file.seek(0)
            self.there[name] = file.read()
        return name

    def delete(self, name):
        self.there.pop(name, None)

    def set_aside(self, name):
        self.aside[name] = self.there.pop(name, b"")

    def forget_unfinished(self, older_than):
        """Nothing is ever unfinished here."""

    def below(self, *names):
        return Shelf()


@pytest.fixture
def shelf():
    return Shelf()


def put(files, *groups):
    table = pa.concat_tables([rows(*group) for group in groups], promote_options="permissive")
    return write_blocks(files, [Group(*group) for group in groups], table, owner=OWNER)


def test_blocks_on_a_shelf_are_read_and_gathered(shelf, tmp_path):
    for group in BLOCKS:
        put(shelf, group)
        put(Folder(tmp_path), group)
    store, usual = Store(shelf, ROWS, OWNER), Store(tmp_path, ROWS, OWNER)
    assert len(store.headers) == len(BLOCKS)
    for _ in range(2):
        for key, n_blocks in {"a": 4, "b": 6, "c": 1}.items():
            assert_holds(store, key, n_blocks)
        compact(store)
    compact(usual)
    (name,) = shelf.there
    assert [name] == usual.files.names(), "the same bytes, wherever they lie"


def test_what_is_damaged_on_a_shelf_is_set_aside(shelf):
    name = put(shelf, ("a", 0, 1))
    shelf.there[name] = shelf.there[name][:-1] + b"\0"
    store = Store(shelf, ROWS, OWNER)
    assert shelf.names() == []
    assert list(shelf.aside) == [name]
    assert store.n_blocks("a") == 0
    assert len(store.damaged) == 1


def test_what_vanishes_from_a_shelf_is_missed_in_words(shelf):
    put(shelf, ("a", 0, 1))
    store = Store(shelf, ROWS, OWNER)
    shelf.there.clear()
    with pytest.raises(StoreError, match="block 0 of scenario a is not in the shelf"):
        store.read("a", 1)


def test_a_path_is_a_folder(tmp_path):
    for place in (tmp_path / "a", str(tmp_path / "a")):
        assert files_at(place) == Folder(tmp_path / "a")
    assert (tmp_path / "a").is_dir()
