"""What a disk refuses, in words."""

import errno

import pytest

from simstudy.errors import DiskFullError, StoreError
from simstudy.store.files import translate_io_errors


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
