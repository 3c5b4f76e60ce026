"""What a disk refuses, in words."""

import errno

import pytest

from simstudy.errors import StoreError
from simstudy.store.io_errors import translate_io_errors


def test_trouble_with_the_disk_is_said_in_words(tmp_path):
    for number, says in [
        (errno.ENOSPC, "is full. Every finished block is kept"),
        (errno.EACCES, "Choose another out"),
        (errno.EFBIG, "trouble. Raise the limit .*ulimit -f unlimited"),
    ]:
        with pytest.raises(StoreError, match=says), translate_io_errors(tmp_path):
            raise OSError(number, "trouble")
    with pytest.raises(OSError, match="weather"), translate_io_errors(tmp_path):
        raise OSError(99, "weather")
