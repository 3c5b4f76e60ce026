"""What a disk refuses, in words; and one process at a time in a folder."""

import fcntl
import os

import pytest

from simstudy.errors import StoreError
from simstudy.store.disk import alone_in, trouble_in_words


def test_trouble_with_the_disk_is_said_in_words(tmp_path):
    for number, says in [(28, "is full. Every finished block is kept"), (13, "Choose another out")]:
        with pytest.raises(StoreError, match=says), trouble_in_words(tmp_path):
            raise OSError(number, "trouble")
    with pytest.raises(OSError, match="weather"), trouble_in_words(tmp_path):
        raise OSError(99, "weather")


def test_one_process_at_a_time_in_a_folder(tmp_path):
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        with alone_in(tmp_path), pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(handle)
