"""Whatever a store refuses is one line that says what to do, and holds no secret."""

import builtins

import fsspec.config
import pytest

from simstudy.errors import UnreachableError
from simstudy.remote.paths import RemotePath
from simstudy.remote.trouble import in_words, masked

URL = "s3://bucket/results"


class NoCredentialsError(Exception):
    """As that of botocore, which is no OSError."""


class EndpointConnectionError(Exception):
    """As that of botocore."""


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (NoCredentialsError("Unable to locate credentials"), "no credentials were found"),
        (PermissionError("Access Denied"), "refuses the credentials that were found: Access"),
        (EndpointConnectionError("Could not connect"), r"does not answer: .* \(tried for 9 s\)"),
        (TimeoutError(), r"does not answer: TimeoutError \(tried for 9 s\)"),
        (ImportError("Install s3fs to access S3"), r"Install s3fs .*pip install 'simstudy\[s3\]'"),
        (ValueError("Protocol not known: x"), "fsspec knows no store of that kind"),
        (NotImplementedError(), "cannot be used: NotImplementedError: NotImpl"),
    ],
)
def test_trouble_is_told_in_one_line(error, says):
    told = in_words(error, URL, 9.0)
    with pytest.raises(UnreachableError, match=says):
        raise told
    assert str(told).startswith(URL)
    assert "\n" not in str(told)


@pytest.mark.parametrize(
    ("scheme", "says"),
    [
        ("gs", "pip install gcsfs; without it, choose a folder"),
        ("hf", "pip install huggingface-hub;"),
        ("sftp", "Install what it names;"),
        ("s3", "pip install 'simstudy[s3]';"),
    ],
)
def test_each_kind_of_store_says_what_brings_it(scheme, says):
    assert says in str(in_words(ImportError("something is missing"), f"{scheme}://a/b"))


def test_a_protocol_that_nobody_knows_is_refused():
    with pytest.raises(UnreachableError, match="fsspec knows no store of that kind"):
        RemotePath("nosuch://bucket/a").exists()


def test_without_fsspec_a_url_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **keywords):
        if name.startswith("fsspec"):
            raise ModuleNotFoundError(f"No module named {name!r}")
        return real(name, *rest, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UnreachableError, match=r"needs a package.*No module named 'fsspec"):
        RemotePath("memory://a/b").exists()


def test_secrets_that_this_process_knows_are_blanked(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "sesame-sesame")
    monkeypatch.setenv("SFTP_PASSWORD", "a")
    kept = {"client_kwargs": {"aws_session_token": "toktoktok"}}
    monkeypatch.setitem(fsspec.config.conf, "s3", kept)
    assert masked("signed with sesame-sesame, toktoktok: a no") == "signed with ***, ***: a no"
    assert "sesame" not in str(in_words(OSError("key sesame-sesame is odd"), URL))
