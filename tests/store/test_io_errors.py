"""What a disk refuses, in words."""

import errno
import os
from types import SimpleNamespace

import pytest

from simstudy.errors import DiskFullError, StoreError
from simstudy.store.files import Folder, translate_io_errors
from tests.factories import mean_study


@pytest.mark.parametrize(
    ("full", "file", "said"),
    [
        ("store", None, r"the disk that holds \S+store is full"),
        ("/dev/shm", None, r"/dev/shm \(shared memory, which workers need\) is full"),
        ("both", None, r"the disk that holds \S+store is full"),
        ("none", "/var/tmp/x", r"the disk that holds /var/tmp/x is full"),
    ],
)
def test_a_full_disk_is_named(full, file, said, tmp_path, monkeypatch):
    """An error without a file, as of a semaphore, does not say which place it is."""
    store = tmp_path / "store"

    def usage(place):
        is_full = full == "both" or str(place).endswith(full)
        return SimpleNamespace(free=0 if is_full else 10**9)

    monkeypatch.setattr("simstudy.store.files.shutil.disk_usage", usage)
    with pytest.raises(DiskFullError, match=said), translate_io_errors(store):
        raise OSError(errno.ENOSPC, "No space left on device", file)


def test_trouble_with_the_disk_is_said_in_words(tmp_path):
    with pytest.raises(StoreError, match="is full"), translate_io_errors(tmp_path):
        raise OSError(errno.ENOSPC, "trouble")
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


@pytest.mark.parametrize("name", ["EIO", "EMFILE"])
def test_a_run_that_cannot_write_a_block_ends_with_one_line(name, tmp_path, monkeypatch):
    number = getattr(errno, name)

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Folder, "write", refuse)
    with pytest.raises(StoreError, match="every finished block is kept"):
        mean_study((3,)).run(60, out=tmp_path)
    monkeypatch.undo()
    assert mean_study((3,)).run(60, out=tmp_path).n_failed == 0
