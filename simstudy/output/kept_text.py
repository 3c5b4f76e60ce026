"""What is printed, kept to be printed by somebody else, as it would be on the same terminal."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple


class Text(NamedTuple):
    """What was written to the standard output, and to the standard error."""

    out: str = ""
    err: str = ""

    def print(self) -> None:
        """Write it where it was meant to go."""
        for stream, text in ((sys.stderr, self.err), (sys.stdout, self.out)):
            if text:
                stream.write(text)
                stream.flush()


class _Kept(io.StringIO):
    """Keeps what is written, and takes after the stream in whose place it stands."""

    def __init__(self, like: Any) -> None:
        super().__init__()
        self._like = like

    def isatty(self) -> bool:
        return bool(self._like.isatty())

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return str(self._like.encoding)


class Keeping:
    """Two streams, and what they have been told so far."""

    def __init__(self) -> None:
        self.out, self.err = _Kept(sys.stdout), _Kept(sys.stderr)

    @property
    def text(self) -> Text:
        """All of it."""
        return Text(self.out.getvalue(), self.err.getvalue())


@contextlib.contextmanager
def text_kept() -> Iterator[Keeping]:
    """Within it, what Python prints is kept."""
    kept = Keeping()
    with contextlib.redirect_stdout(kept.out), contextlib.redirect_stderr(kept.err):
        yield kept
