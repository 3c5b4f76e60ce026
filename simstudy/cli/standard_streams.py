"""Standard output and error, whatever they take: ASCII only, nothing more, or nothing at all."""

import codecs
import contextlib
import io
import os
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any

PLAIN = "simstudy.plain"
ASCII = {
    "μ": "u",
    "–": "-",
    "—": "-",
    "─": "-",
    "━": "-",
    "·": ".",
    "×": "x",
    "’": "'",
    "“": '"',
    "”": '"',
}
GREEK = "GREEK SMALL LETTER "


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """Characters that an encoding does not have, by others that every one has."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(map(_plain, lost)), error.end


def _plain(character: str) -> str:
    """`é` as e, `–` as -, `σ` as sigma; a question mark for what has no such form."""
    if character in ASCII:
        return ASCII[character]
    name = unicodedata.name(character, "")
    if name.startswith(GREEK):
        return name.removeprefix(GREEK).split()[0].lower()
    return unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode() or "?"


@contextlib.contextmanager
def any_character() -> Iterator[None]:
    """Within it, a character that an output does not have is written as one that it has."""
    codecs.register_error(PLAIN, _plainly)
    streams = [each for each in (sys.stdout, sys.stderr) if isinstance(each, io.TextIOWrapper)]
    before = [stream.errors for stream in streams]
    for stream in streams:
        stream.reconfigure(errors=PLAIN)
    try:
        yield
    finally:
        for stream, errors in zip(streams, before, strict=True):
            with contextlib.suppress(OSError, ValueError):  # closed, or broken, meanwhile
                stream.reconfigure(errors=errors)


def open_what_is_closed() -> None:
    """Give a program streams that go nowhere where it was started without, as by `>&-`.

    Else a file that it opens would get their number, and whatever C code prints.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8"))


def complain(text: str) -> None:
    """A line on standard error, where anybody hears it."""
    try:
        print(text, file=sys.stderr)
    except OSError:
        mute(sys.stderr)


def mute(stream: Any) -> None:
    """Nobody takes what waits to be written to a stream: it must not fail again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
