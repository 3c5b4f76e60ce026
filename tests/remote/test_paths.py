"""A place beyond this machine is used as a path is, and is nothing but its URL."""

import pickle
import uuid
from pathlib import Path

import pytest

from simstudy.errors import ConfigError, UnreachableError
from simstudy.remote.paths import RemotePath, name_below, place_of
from simstudy.remote.urls import without_passwords
from simstudy.whole_files import read_json, write_bytes, write_json
from tests.remote.file_systems import Cut


@pytest.fixture(params=["memory", "cut", "file"])
def folder(request, tmp_path):
    here = str(tmp_path) if request.param == "file" else uuid.uuid4().hex
    return RemotePath(f"{request.param}://{here}/results")


def test_names_are_those_of_a_path():
    place = RemotePath("s3://bucket/results/toy/figures/1B.png")
    assert (place.name, place.stem, place.suffix) == ("1B.png", "1B", ".png")
    assert str(place.parent.parent) == "s3://bucket/results/toy"
    assert place.parent / "1B.png" == place
    assert name_below(RemotePath("s3://bucket/results/toy"), place) == "figures/1B.png"
    assert RemotePath("s3://bucket").parent == RemotePath("s3://bucket")


def test_what_is_written_is_read_listed_found_and_deleted(folder):
    assert not folder.exists()
    assert folder.listed() == {}
    write_json(folder / "toy" / "manifest.json", {"seed": 1})
    write_bytes(folder / "toy" / "figures" / "1.png", b"pixels")
    assert read_json(folder / "toy" / "manifest.json") == {"seed": 1}
    assert (folder / "toy" / "figures").is_dir()
    assert (folder / "toy" / "figures").listed() == {"1.png": 6}
    assert [str(p) for p in folder.glob("*/manifest.json")] == [f"{folder}/toy/manifest.json"]
    (image,) = folder.rglob("*.png")
    with image.open("rb") as file:
        assert file.read() == b"pixels"
    image.unlink()
    image.unlink(missing_ok=True)
    assert not image.exists()
    assert read_json(folder / "none.json") is None


def test_what_is_written_again_is_the_new_one(folder):
    for content in (b"old and long", b"new"):
        write_bytes(folder / "a.txt", content)
        assert (folder / "a.txt").read_bytes() == content
    assert folder.listed() == {"a.txt": 3}


def test_an_upload_that_is_cut_leaves_nothing_under_its_name(monkeypatch):
    folder = RemotePath(f"cut://{uuid.uuid4().hex}")
    write_bytes(folder / "a.txt", b"before")
    monkeypatch.setattr(Cut, "after", 3)
    with pytest.raises(UnreachableError, match=r"does not answer.*the other end has gone.*tried"):
        write_bytes(folder / "a.txt", b"after")
    assert (folder / "a.txt").read_bytes() == b"before"
    assert [name for name in folder.listed() if not name.startswith(".writing-")] == ["a.txt"]


def test_a_text_with_a_scheme_is_a_url_and_any_other_is_a_path():
    assert place_of("results") == Path("results")
    assert place_of("file:///tmp/results") == Path("/tmp/results")
    assert place_of("s3://bucket/results") == RemotePath("s3://bucket/results")
    assert pickle.loads(pickle.dumps(RemotePath("s3://bucket/a"))) == RemotePath("s3://bucket/a")


@pytest.mark.parametrize(
    ("out", "says"),
    [
        (Path("s3://bucket/a"), "out='s3://bucket/a'"),
        ("file:/tmp/x", "out='file:///tmp/x'"),
        ("://x", "does not say what kind of store that is"),
        ("S3://b/x", r"small letters; did you mean 's3://b/x'\?"),
        ("s3://b/../x", r"know no folder above \(\.\.\)"),
        ("file://relative/x", r"write file:///relative/x, with three slashes"),
        ("file://", "is one URL with a bucket or a folder"),
        ("s3://", "is one URL with a bucket or a folder"),
        ("simplecache::s3://bucket/a", r"one behind another \(::\)"),
        ("sftp://me:hunter2hunter2@host/a", r"out=sftp://\*\*\*@host/... holds a password"),
        ("s3:/user:hunter2@bkt/x", r"out=s3://\*\*\*@bkt/... holds a password"),
        ("s3://user:secret/hunter2@bkt/x", r"out=s3://\*\*\*@bkt/... holds a password"),
        ("s3://user:hun@hunter2@bkt/x", r"out=s3://\*\*\*@bkt/... holds a password"),
        ("s3://user:hun hunter2@bkt/x", r"out=s3://\*\*\*@bkt/... holds a password"),
        ("s3://user%3Ahunter2@bkt/x", "holds a password"),
        ("s3:///user:hunter2@bkt/x", "holds a password"),
        ("s3:user:hunter2@bkt/x", "holds a password"),
        ("file://user:hunter2@host/x", "holds a password"),
        ("https://host/a?sig=hunter2hunter2", r"out=https://host/a\?\*\*\* asks for more"),
        ("s3://b/x#tok=hunter2", r"out=s3://b/x#\*\*\* asks for more than a place"),
        ("s3://b/x;sig=hunter2", r"out=s3://b/x;\*\*\* asks for more than a place"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_secret(out, says):
    with pytest.raises(ConfigError, match=says) as refused:
        place_of(out)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("out", ["a/s3:b:c@d", "/data/10:30@lab", "C:/data", "me@host/a", "#1;2"])
def test_what_only_looks_like_a_url_is_a_folder(out):
    assert place_of(out) == Path(out)


def test_a_message_about_a_url_shows_no_password():
    said = "cannot read out=[s3://u:hunter2@b/x]: no; out=s3:/u:hunter2@b,y is none, sftp://u@h is"
    assert without_passwords(said) == (
        "cannot read out=[s3://***@b/x]: no; out=s3://***@b,y is none, sftp://u@h is"
    )
