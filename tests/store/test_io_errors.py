"""What a disk refuses, in words."""

import errno
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
        (errno.EFBIG, "trouble. Raise the limit .*ulimit -f unlimited"),
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


def test_a_machine_without_a_temporary_folder_is_told_what_to_set(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(StoreError, match=r"no temporary folder can be made .* Set TMPDIR"):
        toy.study((3,)).run(50, workers=Workers("inline", 1))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "none")])
    said = r"No usable temporary directory.* Set TMPDIR"
    with pytest.raises(StoreError, match=said), translate_io_errors(tmp_path):
        tempfile.mkdtemp()
