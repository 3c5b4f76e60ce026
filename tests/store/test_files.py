"""A store on anything that keeps whole files by name: a folder, a shelf, places by URL."""

import io
import tempfile
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simstudy.errors import StoreError
from simstudy.remote.paths import place_of
from simstudy.store import compaction
from simstudy.store.block_files import write_blocks
from simstudy.store.block_index import BlockRange
from simstudy.store.blocks import Store, files_at
from simstudy.store.compaction import compact
from simstudy.store.files import Folder, is_named_by_content
from simstudy.store.object_store import ObjectStore
from tests.store.samples import BLOCKS, OWNER, ROWS, assert_holds, rows


class Shelf:
    """No more than the protocol asks for: list, read, put whole, delete."""

    def __init__(self):
        self.there, self.aside = {}, {}

    def __str__(self):
        return "the shelf"

    def names(self):
        return sorted(self.there)

    def open(self, name):
        return pa.BufferReader(self._bytes(name))

    def metadata(self, names, *, verify=True):
        for name in names:
            try:
                file = io.BytesIO(self._bytes(name))
                if verify and not is_named_by_content(file, name):
                    raise StoreError("its bytes are others")
                yield name, pq.read_metadata(file)
            except (OSError, StoreError) as error:
                yield name, error

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

    def quarantine(self, name):
        self.aside[name] = self.there.pop(name, b"")

    def forget_unfinished(self, older_than):
        """Nothing is ever unfinished here."""


def in_memory(*, at_once=True):
    return ObjectStore(place_of(f"memory://{uuid.uuid4().hex}/blocks"), at_once)


PLACES = {
    "shelf": lambda tmp_path: Shelf(),
    "folder": lambda tmp_path: Folder(tmp_path / "blocks"),
    "url of memory": lambda tmp_path: in_memory(),
    "url of memory, read as wanted": lambda tmp_path: in_memory(at_once=False),
}


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    if "url" in request.param:
        pytest.importorskip("upath", reason="needs pip install -e '.[dev]'")
    return PLACES[request.param](tmp_path)


@pytest.fixture
def shelf():
    return Shelf()


def put(files, *groups):
    table = pa.concat_tables([rows(*group) for group in groups], promote_options="permissive")
    return write_blocks(files, [BlockRange(*group) for group in groups], table, provenance=OWNER)


def content(files):
    found = {}
    for name in files.names():
        with files.open(name) as file:
            found[name] = file.read()
    return found


def test_blocks_are_read_and_merged_wherever_they_lie(place, tmp_path, monkeypatch):
    monkeypatch.setattr(compaction, "MANY_FILES", 0)
    usual = Folder(tmp_path / "usual")
    for group in BLOCKS:
        assert put(place, group) == put(usual, group)
    assert content(place) == content(usual), "the same bytes, wherever they lie"
    store = Store(place, ROWS, OWNER)
    assert store.n_files == len(BLOCKS)
    for _ in range(2):
        for key, n_blocks in {"a": 4, "b": 6, "c": 1}.items():
            assert_holds(store, key, n_blocks)
        compact(store)
    compact(Store(usual, ROWS, OWNER))
    assert len(place.names()) == 1
    assert content(place) == content(usual)


def test_what_is_not_there_is_missed_in_every_way(place):
    with pytest.raises(FileNotFoundError):
        place.size("gone.parquet")
    with pytest.raises(FileNotFoundError):
        place.open("gone.parquet")
    place.delete("gone.parquet")
    place.quarantine("gone.parquet")
    assert place.names() == []


def test_what_is_quarantined_is_not_among_the_names(place):
    name = put(place, ("a", 0, 1))
    place.quarantine(put(place, ("b", 0, 1)))
    assert place.names() == [name]
    place.delete(name)
    assert place.names() == []


def test_what_vanishes_from_a_shelf_is_missed_in_words(shelf):
    put(shelf, ("a", 0, 1))
    store = Store(shelf, ROWS, OWNER)
    shelf.there.clear()
    with pytest.raises(StoreError, match="block 0 of scenario a is not in the shelf"):
        store.read("a", 1)


def test_a_url_is_a_place_beyond_this_machine():
    pytest.importorskip("s3fs", reason="needs pip install -e '.[dev]'")
    place = place_of("s3://bucket/blocks")
    assert files_at("s3://bucket/blocks") == files_at(place) == ObjectStore(place)
