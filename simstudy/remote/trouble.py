"""What a store beyond this machine may refuse, in one line and without any secret."""

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from simstudy.errors import SimstudyError, UnreachableError, in_one_line
from simstudy.remote.urls import without_passwords

TELLS_A_SECRET = re.compile(
    r"secret|passw|token|access_?key|connection_?string|(^|_)key$", re.IGNORECASE
)
KEY_IN_A_TEXT = re.compile(r"(?:AccountKey|SharedAccessSignature)=([^;]+)")  # of Azure's settings
OF_OURS = dict.fromkeys(("s3", "s3a"), "pip install 'simstudy[s3]'")
SOUGHT = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws/credentials",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, or what `gcloud auth application-default login` leaves",
    "abfs": "AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT_NAME with "
    "AZURE_STORAGE_ACCOUNT_KEY",
}
"""Where programs for a store look for credentials, by the first of its protocols."""
SAME = {"s3a": "s3", "gcs": "gs", "abfss": "abfs", "az": "abfs", "adl": "abfs"}
DENIED = (401, 403)  # what a server says of credentials that are none, or not enough
SHORTEST_SECRET = 6  # characters: to blank out a shorter value would garble words


@contextlib.contextmanager
def reached(url: str) -> Iterator[tuple[Any, str]]:
    """The file system behind a URL, and the path in it; its troubles are said in words.

    What was listed before is forgotten: other machines write there, too.

    Raises
    ------
    UnreachableError
        Where the store cannot be used; a file that is not there is a `FileNotFoundError`.
    """
    start = time.monotonic()
    try:
        import fsspec.core

        system, path = fsspec.core.url_to_fs(url)
        system.invalidate_cache()
        yield system, path
    except (SimstudyError, FileNotFoundError):
        raise
    except Exception as error:
        raise in_words(error, url, time.monotonic() - start) from None


def in_words(error: Exception, url: str, seconds: float = 0.0) -> UnreachableError:
    """The refusal of a store, which may have been tried for many seconds."""
    words = next((text for applies, text in TROUBLES if applies(error)), ANY_TROUBLE)
    kind, scheme = type(error).__name__, url.partition("://")[0]
    sought = SOUGHT.get(SAME.get(scheme, scheme))
    return UnreachableError(
        words.format(
            url=url,
            said=_said(error) or kind,
            kind=kind,
            seconds=seconds,
            sought=f" (for {scheme}://, {sought})" if sought else "",
            install=_installation(scheme),
        )
    )


def _installation(scheme: str) -> str:
    """What brings a kind of store to Python."""
    with contextlib.suppress(ImportError):
        from fsspec.registry import known_implementations

        package, _, _ = known_implementations.get(scheme, {}).get("class", "").partition(".")
        if package not in ("", "fsspec", "s3fs"):
            return f"pip install {package.replace('_', '-')}"
    return OF_OURS.get(scheme, "Install what it names")


def no_such_place(url: str, error: Exception) -> UnreachableError:
    """The refusal of a bucket that is not there: blocks could be put nowhere."""
    return UnreachableError(
        f"{url} cannot be written: {_said(error)}. Make the bucket first, or correct its name; "
        "folders in it need not be made."
    )


def _said(error: Exception) -> str:
    return in_one_line(masked(" ".join(str(error).split()).rstrip(".")))


def _is_named(*parts: str) -> Callable[[Exception], bool]:
    """Whether the name of an error's class, or of one above it, has one of these parts."""
    return lambda error: any(
        part in base.__name__ for base in type(error).__mro__ for part in parts
    )


def _is_denied(error: Exception) -> bool:
    """Whether a server answered that these credentials will not do."""
    answers = (getattr(error, name, None) for name in ("status_code", "code"))
    return isinstance(error, PermissionError) or any(answer in DENIED for answer in answers)


def _lacks_credentials(error: Exception) -> bool:
    named = _is_named("Credential", "ProfileNotFound", "TokenRetrieval", "SSOToken")
    return named(error) or (isinstance(error, ValueError) and "credentials" in str(error))


TROUBLES: tuple[tuple[Callable[[Exception], bool], str], ...] = (
    (
        lambda error: isinstance(error, ImportError),
        "{url} needs a package that is not installed: {said}. {install}; without "
        "it, choose a folder.",
    ),
    (
        lambda error: isinstance(error, ValueError) and "Protocol not known" in str(error),
        "{url}: fsspec knows no store of that kind ({said}). Choose a folder, s3://..., or another "
        "that fsspec lists.",
    ),
    (
        _lacks_credentials,
        "{url}: no credentials were found ({said}), so nothing can be read or written there. Give "
        "them where programs for that store look for them{sought}, not in the URL.",
    ),
    (
        _is_denied,
        "{url} refuses the credentials that were found: {said}. They must allow listing, reading, "
        "writing and deleting there.",
    ),
    (
        _is_named(
            "Connect",
            "Timeout",
            "Endpoint",
            "Disconnected",
            "gaierror",
            "ServiceRequest",
            "ServiceResponse",
        ),
        "{url} does not answer: {said} (tried for {seconds:.0f} s). Every finished block is kept; "
        "run the same command again when the network is back.",
    ),
)
ANY_TROUBLE = (
    "{url} cannot be used: {kind}: {said}. Every finished block is kept; mend that and run the "
    "same command again, or choose a folder."
)


def masked(text: str) -> str:
    """A text without secrets that this process knows from its environment or fsspec's settings."""
    for secret in sorted(_secrets(), key=len, reverse=True):
        text = text.replace(secret, "***")
    return without_passwords(text)


def _secrets() -> set[str]:
    found = {value for name, value in os.environ.items() if TELLS_A_SECRET.search(name)}
    with contextlib.suppress(ImportError):
        from fsspec.config import conf

        found |= set(_secrets_in(conf))
    found |= {part for text in found for part in KEY_IN_A_TEXT.findall(text)}
    return {secret for secret in found if len(secret) >= SHORTEST_SECRET}


def _secrets_in(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _secrets_in(value)
        elif isinstance(value, str) and TELLS_A_SECRET.search(str(name)):
            yield value
