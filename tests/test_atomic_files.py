"""Files are there whole, or not at all."""

import errno
import json
import os
import stat
from types import SimpleNamespace

import psutil
import pytest

from simstudy import places
from simstudy.places import (
    BEING_WRITTEN,
    atomic_write,
    forget_own,
    forget_unfinished,
    machine,
    read_json,
    write_bytes,
    write_json,
)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_file_is_written_whole_or_not_at_all(call, tmp_path, monkeypatch):
    """Whatever fails leaves neither half a file nor a temporary one."""
    path = tmp_path / "a" / "file.json"
    write_json(path, {"x": 1})

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(KeyboardInterrupt):
        write_bytes(path, b"half")
    assert read_json(path) == {"x": 1}
    assert [left.name for left in path.parent.iterdir()] == ["file.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1, 2]", b"3", b"\xff\xfe"])
def test_a_damaged_object_is_none(content, tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    assert read_json(path) is None
    assert read_json(tmp_path / "absent.json") is None
    assert read_json(tmp_path) is None


def test_what_json_does_not_know_is_written_as_text(tmp_path):
    write_json(tmp_path / "x.json", {"path": tmp_path, "none": None})
    assert json.loads((tmp_path / "x.json").read_text()) == {"path": str(tmp_path), "none": None}


def test_the_bytes_are_synced_before_their_name_and_the_folder_after_it(tmp_path, monkeypatch):
    """Otherwise a power cut could leave a name without its bytes, or no name after a return."""
    done = []
    for call in ("fsync", "replace"):
        original = getattr(os, call)

        def noted(*arguments, call=call, original=original):
            of_folder = call == "fsync" and stat.S_ISDIR(os.fstat(arguments[0]).st_mode)
            done.append("folder" if of_folder else call)
            return original(*arguments)

        monkeypatch.setattr(os, call, noted)
    write_bytes(tmp_path / "x", b"1")
    assert done == ["fsync", "replace", "folder"]


def test_a_name_may_follow_from_the_content(tmp_path):
    def fill(file):
        file.write(b"abc")
        file.seek(0)
        return file.read().decode()

    assert atomic_write(tmp_path, fill) == tmp_path / "abc"
    assert (tmp_path / "abc").read_bytes() == b"abc"


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o002, 0o664), (0o022, 0o644)])
def test_files_have_the_permissions_that_the_umask_leaves(umask, mode, tmp_path):
    before = os.umask(umask)
    try:
        write_bytes(tmp_path / "x", b"1")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EIO])
def test_file_systems_without_fsync_work_and_those_that_fail_are_told(
    number, tmp_path, monkeypatch
):
    def refuse(handle):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    if number == errno.EIO:
        with pytest.raises(OSError, match="Input/output error"):
            write_bytes(tmp_path / "x", b"1")
        assert not [*tmp_path.iterdir()]
    else:
        write_bytes(tmp_path / "x", b"1")
        assert (tmp_path / "x").read_bytes() == b"1"


def test_on_windows_no_folder_is_opened(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(places, "os", SimpleNamespace(**vars(os) | {"name": "nt"}))
    monkeypatch.setattr(places.os, "open", refuse)
    write_bytes(tmp_path / "x", b"1")
    assert (tmp_path / "x").read_bytes() == b"1"


def test_asking_whether_a_process_runs_sends_it_nothing(tmp_path, monkeypatch):
    """On Windows, `os.kill(pid, 0)` is Ctrl-C."""
    monkeypatch.setattr(os, "kill", None)
    monkeypatch.setattr(psutil, "pid_exists", lambda process: process == 7)
    for process in (7, 8):
        (tmp_path / f"{BEING_WRITTEN}{machine()}-{process}-x").touch()
    forget_unfinished(tmp_path)
    assert [path.name.split("-")[-2] for path in tmp_path.iterdir()] == ["7"]


# ---------------------------------------------------------------- left behind
def test_what_a_process_that_has_gone_left_half_written_is_taken_away(tmp_path):
    child = os.fork()
    if not child:
        atomic_write(tmp_path, lambda _: os._exit(9))
    os.waitpid(child, 0)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(BEING_WRITTEN)
    forget_unfinished(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_somebody_may_still_write_is_left_alone(tmp_path):
    elsewhere = tmp_path / f"{BEING_WRITTEN}00000000-1-x"
    elsewhere.touch()

    def fill(_):
        forget_unfinished(tmp_path)
        return "whole"

    atomic_write(tmp_path, fill)
    assert sorted(path.name for path in tmp_path.iterdir()) == [elsewhere.name, "whole"]
    os.utime(elsewhere, (0, 0))
    forget_unfinished(tmp_path)
    assert not elsewhere.exists()


def test_a_process_that_ends_now_takes_away_what_it_writes(tmp_path):
    def fill(_):
        forget_own()
        assert list(tmp_path.iterdir()) == []
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        atomic_write(tmp_path, fill)
