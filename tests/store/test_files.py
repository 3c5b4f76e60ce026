"""A store in a folder and at a URL: the same files, the same bytes; what a disk refuses."""

import errno
import uuid

import pytest

from simstudy.errors import DiskFullError, StoreError
from simstudy.places import place_of
from simstudy.store import compaction
from simstudy.store.blocks import Store
from simstudy.store.compaction import compact
from simstudy.store.files import Folder, ObjectStore, files_at, translate_io_errors
from tests.store.samples import BLOCKS, OWNER, ROWS, assert_holds, put

PLACES = {
    "folder": lambda tmp_path: Folder(tmp_path / "blocks"),
    "url": lambda _: ObjectStore(place_of(f"memory://{uuid.uuid4().hex}/blocks")),
}


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    if request.param == "url":
        pytest.importorskip("upath", reason="needs pip install -e '.[dev]'")
    return PLACES[request.param](tmp_path)


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
    assert len(store.referenced_files) == len(BLOCKS)
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


def test_what_is_quarantined_or_deleted_is_not_among_the_names(place):
    name = put(place, ("a", 0, 1))
    place.quarantine(put(place, ("b", 0, 1)))
    assert place.names() == [name]
    store = Store(place, ROWS, OWNER)
    place.delete(name)
    assert place.names() == []
    store.scan()
    with pytest.raises(StoreError, match="block 0 of scenario a is not in "):
        store.read("a", 1)


def test_a_url_is_a_place_beyond_this_machine():
    pytest.importorskip("s3fs", reason="needs pip install -e '.[dev]'")
    place = place_of("s3://bucket/blocks")
    assert files_at("s3://bucket/blocks") == files_at(place) == ObjectStore(place)


# ---------------------------------------------------------------- what a disk refuses
@pytest.mark.parametrize("file", [None, "/var/tmp/x"])
def test_a_full_disk_is_named(file, tmp_path):
    with (
        pytest.raises(DiskFullError, match=rf"the disk that holds {file or tmp_path} is full"),
        translate_io_errors(tmp_path),
    ):
        raise OSError(errno.ENOSPC, "No space left on device", file)


def test_other_trouble_with_the_disk_is_said_in_words(tmp_path):
    expected = r"cannot write to .*: trouble.*block is kept"
    with pytest.raises(StoreError, match=expected), translate_io_errors(tmp_path):
        raise OSError(errno.EIO, "trouble")


def test_a_time_out_is_no_trouble_with_the_disk(tmp_path):
    with pytest.raises(TimeoutError, match="no answer"), translate_io_errors(tmp_path):
        raise TimeoutError("no answer")


def test_a_folder_that_is_deleted_is_told_from_a_file_of_the_studys_own(tmp_path):
    for path, kind in ((tmp_path / "x.parquet", StoreError), ("prices.csv", FileNotFoundError)):
        with pytest.raises(kind), translate_io_errors(tmp_path):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
