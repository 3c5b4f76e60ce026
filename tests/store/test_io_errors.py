"""What a disk refuses, in words; and one process at a time in a folder."""

import errno
import resource
import tempfile

import pytest

from simstudy.engine.workers import Workers
from simstudy.errors import StoreError
from simstudy.remote.paths import place_of
from simstudy.store.io_errors import translate_io_errors
from tests import toy


def test_trouble_with_the_disk_is_said_in_words(tmp_path):
    for number, says in [
        (errno.ENOSPC, "is full. Every finished block is kept"),
        (errno.EACCES, "Choose another out"),
        (errno.EFBIG, "a file would be larger than .*ulimit -f unlimited"),
    ]:
        with pytest.raises(StoreError, match=says), translate_io_errors(tmp_path):
            raise OSError(number, "trouble")
    with pytest.raises(OSError, match="weather"), translate_io_errors(tmp_path):
        raise OSError(99, "weather")


def test_a_folder_that_has_gone_is_told_and_any_other_missing_file_is_not(tmp_path):
    pytest.importorskip("s3fs", reason="needs pip install -e '.[dev]'")
    gone = tmp_path / "gone"
    said = f"{gone} has gone while this run wrote"
    with pytest.raises(StoreError, match=said), translate_io_errors(gone):
        tempfile.mkstemp(dir=gone)
    for place in (tmp_path, place_of("s3://bucket/a")):
        with pytest.raises(FileNotFoundError), translate_io_errors(place):
            (gone / "x").read_bytes()


def test_a_file_that_may_not_grow_is_one_line_of_a_command(tmp_path, monkeypatch):
    was = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, was[1]))
    try:
        with pytest.raises(StoreError, match="a file would be larger than"):
            toy.study((3,)).run(50, out=tmp_path, workers=Workers("inline", 1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, was)
    assert not list(tmp_path.rglob("*.parquet"))
