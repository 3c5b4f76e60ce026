"""Files are there whole or not at all; a URL is used as a path is, and shows no secret."""

import errno
import json
import os
import stat
import uuid
from pathlib import Path
from types import SimpleNamespace

import pytest

from simstudy import places
from simstudy.errors import LONGEST_SAID, ConfigError, UnreachableError
from simstudy.places import (
    atomic_write,
    forget_unfinished,
    list_sizes,
    mask_secrets,
    place_of,
    read_json,
    translated_errors,
    without_passwords,
    write_bytes,
    write_json,
)
from tests.file_systems import Cut, fsspec


@pytest.fixture(params=["memory", "cut"])
def folder(request):
    return place_of(f"{request.param}://{uuid.uuid4().hex}/results")


# ---------------------------------------------------------------- which place is meant
def test_a_text_with_a_scheme_is_a_url_and_any_other_is_a_path():
    assert place_of("results") == Path("results")
    assert place_of("file:///tmp/results") == Path("/tmp/results")
    place = place_of("s3://bucket/results/")
    assert str(place / "toy") == "s3://bucket/results/toy"
    assert place_of(place) == place
    assert str(place_of("s3://bucket/my results")) == "s3://bucket/my results"
    assert str((place / "toy" / "1.png").relative_to(place)) == "toy/1.png"


@pytest.mark.parametrize("out", ["a/s3:b:c@d", "/data/10:30@lab", "C:/data", "me@host/a", "#1;2"])
def test_what_only_looks_like_a_url_is_a_folder(out):
    assert place_of(out) == Path(out)


@pytest.mark.parametrize(
    ("out", "shown"),
    [
        (Path("s3://bucket/a"), "s3:/bucket/a"),
        ("file:/tmp/x", "file:/tmp/x"),
        ("://x", "://x"),
        ("S3://b/x", "S3://b/x"),
        ("s3://b/../x", r"s3://b/\.\./x"),
        ("file://relative/x", "file://relative/x"),
        ("s3://", "s3://"),
        ("simplecache::s3://bucket/a", "simplecache::s3://bucket/a"),
        (5, "5"),
        ("sftp://me:hunter2hunter2@host/a", r"sftp://\*\*\*@host/a"),
        ("s3:/user:hunter2@bkt/x", r"s3://\*\*\*@bkt/x"),
        ("s3://user:secret/hunter2@bkt/x", r"s3://\*\*\*@bkt/x"),
        ("s3://user:hun@hunter2@bkt/x", r"s3://\*\*\*@bkt/x"),
        ("s3://user:hun hunter2@bkt/x", r"s3://\*\*\*@bkt/x"),
        ("s3://user%3Ahunter2@bkt/x", r"s3://\*\*\*@bkt/x"),
        ("s3:user:hunter2@bkt/x", r"s3://\*\*\*@bkt/x"),
        ("https://host/a?sig=hunter2hunter2", r"https://host/a\?\*\*\*"),
        ("s3://b/x#tok=hunter2", r"s3://b/x#\*\*\*"),
        ("s3://b/x;sig=hunter2", r"s3://b/x;\*\*\*"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_secret(out, shown):
    with pytest.raises(ConfigError, match=f"{shown} names no place for files") as refused:
        place_of(out)
    assert "hunter2" not in str(refused.value)


def test_a_host_belongs_into_fsspecs_settings():
    with pytest.raises(ConfigError, match=r"FSSPEC_SFTP_HOST=.*write sftp:///a"):
        place_of("sftp://me@host/a")
    assert str(place_of("sftp:///a") / "b") == "sftp:///a/b"


def test_a_message_about_a_url_shows_no_password():
    said = "cannot read out=[s3://u:hunter2@b/x]: no; out=s3:/u:hunter2@b,y is none, sftp://u@h is"
    assert without_passwords(said) == (
        "cannot read out=[s3://***@b/x]: no; out=s3://***@b,y is none, sftp://u@h is"
    )


# ---------------------------------------------------------------- reading and writing
def test_what_is_written_is_read_listed_found_and_deleted(folder):
    assert not folder.exists()
    assert list_sizes(folder) == {}
    write_json(folder / "toy" / "manifest.json", {"seed": 1})
    write_bytes(folder / "toy" / "figures" / "1.png", b"pixels")
    assert read_json(folder / "toy" / "manifest.json") == {"seed": 1}
    assert (folder / "toy" / "figures").is_dir()
    assert list_sizes(folder / "toy" / "figures") == {"1.png": 6}
    assert [str(p) for p in folder.glob("*/manifest.json")] == [f"{folder}/toy/manifest.json"]
    (image,) = folder.rglob("*.png")
    with image.open("rb") as file:
        assert file.read() == b"pixels"
    image.unlink()
    image.unlink(missing_ok=True)
    assert not image.exists()
    assert read_json(folder / "none.json") is None


def test_an_upload_that_is_cut_leaves_nothing_under_its_name(monkeypatch):
    folder = place_of(f"cut://{uuid.uuid4().hex}")
    write_bytes(folder / "a.txt", b"before")
    monkeypatch.setattr(Cut, "after", 3)
    with pytest.raises(UnreachableError, match=r"does not answer.*the other end has gone.*tried"):
        write_bytes(folder / "a.txt", b"after")
    assert (folder / "a.txt").read_bytes() == b"before"
    assert [name for name in list_sizes(folder) if not name.startswith(".writing-")] == ["a.txt"]


# ---------------------------------------------------------------- what a store refuses
def refusal(error, url="s3://bucket/results"):
    with pytest.raises(UnreachableError) as refused, translated_errors(url):
        raise error
    return str(refused.value)


class NoCredentialsError(Exception):
    """As that of botocore, which is no OSError."""


class EndpointConnectionError(Exception):
    """As that of botocore."""


class ServiceRequestError(Exception):
    """As that of azure.core, where nobody answers."""


class Answered(Exception):
    """As those of azure.core and gcsfs, which have the status of an answer."""

    def __init__(self, **status):
        super().__init__("AuthorizationFailure " + "<Content/>\n" * 1000)
        self.__dict__ |= status


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (NoCredentialsError("Unable to locate"), "no credentials were found"),
        (ValueError("account_name with credentials!!"), "AZURE_STORAGE_CONNECTION_STRING"),
        (PermissionError("Access Denied"), "refuses the credentials that were found: Permission"),
        (Answered(status_code=403), "refuses the credentials that were found"),
        (Answered(code=401), "refuses the credentials that were found"),
        (Answered(code=404), "cannot be used: Answered"),
        (EndpointConnectionError("Could not connect"), "Could not connect (tried for 0 s)"),
        (TimeoutError(), "does not answer: TimeoutError (tried for 0 s)"),
        (ServiceRequestError("Cannot connect to host"), "does not answer"),
        (ImportError("Install s3fs to access S3"), "not installed: ImportError: Install s3fs"),
        (NotImplementedError(), "cannot be used: NotImplementedError."),
    ],
)
def test_trouble_is_told_in_one_line(error, says):
    said = refusal(error)
    assert said.startswith("s3://bucket/results ")
    assert says in said
    assert "\n" not in said
    assert len(said) < LONGEST_SAID + 500


def test_a_protocol_that_nobody_knows_is_refused():
    with pytest.raises(UnreachableError, match=r"nosuch://bucket/a cannot be used: .*nosuch"):
        place_of("nosuch://bucket/a")


def test_each_use_of_a_place_and_of_those_below_it_is_translated(monkeypatch):
    place = place_of(f"cut://{uuid.uuid4().hex}")
    for name in ("exists", "ls", "cat_file", "glob", "cat_ranges"):
        monkeypatch.setattr(Cut, name, lambda *_, **__: 1 / 0)
    for use in (
        (place / "a").exists,
        (place / "a").read_bytes,
        place.parent.read_text,
        lambda: list(place.glob("*")),
        lambda: list_sizes(place),
    ):
        with pytest.raises(UnreachableError, match="cannot be used: ZeroDivisionError"):
            use()


def test_secrets_that_this_process_knows_are_blanked(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "sesame-sesame")
    monkeypatch.setenv("SFTP_PASSWORD", "a")
    kept = {"client_kwargs": {"aws_session_token": "toktoktok"}}
    monkeypatch.setitem(fsspec.config.conf, "s3", kept)
    said = mask_secrets("signed with sesame-sesame, toktoktok: a no")
    assert said == "signed with ***, ***: a no"
    assert "sesame" not in refusal(OSError("key sesame-sesame is odd"))


def test_of_azures_connection_string_the_key_alone_is_blanked_too(monkeypatch):
    text = "AccountName=me;AccountKey=c2VzYW1lCg==;EndpointSuffix=core"
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", text)
    assert mask_secrets(f"not with {text}") == "not with ***"
    assert mask_secrets("signed with c2VzYW1lCg==") == "signed with ***"


# ---------------------------------------------------------------- atomic writes
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


def test_unfinished_files_are_deleted_when_they_are_a_day_old(tmp_path):
    child = os.fork()
    if not child:
        atomic_write(tmp_path, lambda _: os._exit(9))
    os.waitpid(child, 0)
    (left,) = tmp_path.iterdir()
    forget_unfinished(tmp_path)
    assert left.exists(), "somebody may still write it"
    os.utime(left, (0, 0))
    forget_unfinished(tmp_path)
    assert list(tmp_path.iterdir()) == []
