"""Whatever a store refuses is one line that says what to do, and holds no secret."""

import builtins

import fsspec.config
import pytest

from simstudy.errors import LONGEST_SAID, UnreachableError
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


class ServiceRequestError(Exception):
    """As that of azure.core, where nobody answers."""


class Answered(Exception):
    """As those of azure.core and gcsfs, which have the status of an answer."""

    def __init__(self, **status):
        super().__init__("AuthorizationFailure " + "<Content/>" * 1000)
        self.__dict__ |= status


@pytest.mark.parametrize(
    ("url", "error", "says"),
    [
        ("abfs", ServiceRequestError("Cannot connect to host"), "does not answer"),
        ("abfs", Answered(status_code=403), "refuses the credentials that were found"),
        ("gs", Answered(code=401), "refuses the credentials that were found"),
        ("gs", Answered(code=404), "cannot be used: Answered"),
        ("abfs", ValueError("account_name with credentials!!"), "AZURE_STORAGE_CONNECTION_STRING"),
        ("gcs", NoCredentialsError(""), "for gcs://, GOOGLE_APPLICATION_CREDENTIALS"),
        ("sftp", NoCredentialsError(""), "look for them, not in the URL"),
    ],
)
def test_the_clients_of_other_stores_are_understood_too(url, error, says):
    said = str(in_words(error, f"{url}://bucket/results"))
    assert says in said
    assert len(said) < LONGEST_SAID + 300


def test_of_azures_connection_string_the_key_alone_is_blanked_too(monkeypatch):
    text = "AccountName=me;AccountKey=c2VzYW1lCg==;EndpointSuffix=core"
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", text)
    assert masked(f"not with {text}") == "not with ***"
    assert masked("signed with c2VzYW1lCg==") == "signed with ***"


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
