"""What a store beyond this machine may refuse, in one line and without any secret."""

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from simstudy.errors import SimstudyError, UnreachableError
from simstudy.remote.urls import without_passwords

TELLS_A_SECRET = re.compile(r"secret|passw|token|access_?key|(^|_)key$", re.IGNORECASE)
OF_OURS = dict.fromkeys(("s3", "s3a"), "pip install 'simstudy[s3]'")
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
    kind = type(error).__name__
    return UnreachableError(
        words.format(
            url=url,
            said=_said(error) or kind,
            kind=kind,
            seconds=seconds,
            install=_installation(url.partition("://")[0]),
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
    return masked(" ".join(str(error).split()).rstrip("."))


def _is_named(*parts: str) -> Callable[[Exception], bool]:
    """Whether the name of an error's class, or of one above it, has one of these parts."""
    return lambda error: any(
        part in base.__name__ for base in type(error).__mro__ for part in parts
    )


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
        _is_named("Credential", "ProfileNotFound", "TokenRetrieval", "SSOToken"),
        "{url}: no credentials were found ({said}), so nothing can be read or written there. Give "
        "them where programs for that store look for them (for s3://, AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY, or ~/.aws/credentials), not in the URL.",
    ),
    (
        lambda error: isinstance(error, PermissionError),
        "{url} refuses the credentials that were found: {said}. They must allow listing, reading, "
        "writing and deleting there.",
    ),
    (
        _is_named("Connect", "Timeout", "Endpoint", "Disconnected", "gaierror"),
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
    return {secret for secret in found if len(secret) >= SHORTEST_SECRET}


def _secrets_in(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _secrets_in(value)
        elif isinstance(value, str) and TELLS_A_SECRET.search(str(name)):
            yield value
