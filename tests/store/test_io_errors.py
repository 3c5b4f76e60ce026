"""What a disk refuses, in words."""

import errno
import os

import pytest

from simstudy.errors import StoreError
from simstudy.store.files import Folder
from simstudy.store.io_errors import translate_io_errors
from tests.factories import mean_study


def test_trouble_with_the_disk_is_said_in_words(tmp_path):
    for number, says in [
        (errno.ENOSPC, "is full. Every finished block is kept"),
        (errno.EACCES, "Choose another out"),
        (errno.EFBIG, "trouble. Raise the limit .*ulimit -f unlimited"),
    ]:
        with pytest.raises(StoreError, match=says), translate_io_errors(tmp_path):
            raise OSError(number, "trouble")
    for name in ("EIO", "ESTALE", "EMFILE", "EBUSY", "ETIMEDOUT", "ENOTCONN", "ENAMETOOLONG"):
        error = OSError(getattr(errno, name), "trouble")
        expected = r"cannot write .*: trouble.*block is kept"
        with pytest.raises(StoreError, match=expected) as said, translate_io_errors(tmp_path):
            raise error
        assert "\n" not in str(said.value)
    with pytest.raises(OSError, match="weather"), translate_io_errors(tmp_path):
        raise OSError(99, "weather")


def test_a_folder_that_is_deleted_is_told_from_a_file_of_the_studys_own(tmp_path):
    for path, kind in ((tmp_path / "x.parquet", StoreError), ("prices.csv", FileNotFoundError)):
        with pytest.raises(kind), translate_io_errors(tmp_path):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))


@pytest.mark.parametrize("name", ["EIO", "ESTALE", "EMFILE", "EBUSY"])
def test_a_run_that_cannot_write_a_block_ends_with_one_line(name, tmp_path, monkeypatch):
    number = getattr(errno, name)

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Folder, "write", refuse)
    with pytest.raises(StoreError, match="every finished block is kept"):
        mean_study((3,)).run(60, out=tmp_path)
    monkeypatch.undo()
    assert mean_study((3,)).run(60, out=tmp_path).n_failed == 0
