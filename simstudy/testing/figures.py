"""Draws figures from stored results only."""

import functools
import linecache
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

from simstudy.analysis.result import Result
from simstudy.figures.save import save_figure
from simstudy.provenance.modules import file_kind, is_own_file
from simstudy.provenance.streams import Streams
from simstudy.study import Study


class DrawsReplicatesError(BaseException):
    """A figure simulates; a `BaseException`, so that the figure cannot catch it."""


_noted: list[tuple[list[str], list[str]]] = []  # files read and folders listed, while watched


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    """Note what the project's code reads or lists: an audit hook, which must not raise."""
    if not _noted or event not in ("open", "os.listdir", "os.scandir"):
        return
    with suppress(Exception):
        if _is_by_the_project(sys._getframe(1)):
            read, listed = _noted[-1]
            path = os.path.abspath(os.fsdecode(arguments[0] or "."))
            if event != "open":
                listed.append(path)
            elif not arguments[2] & os.O_CREAT and file_kind(Path(path)) == "project":
                read.extend([path] if os.path.isfile(path) else [])


def _is_by_the_project(frame: FrameType | None) -> bool:
    """Whether the nearest frame outside of libraries is the project's, and imports nothing."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith("<frozen importlib") or is_own_file(os.path.abspath(name)):
            return False
        if not name.startswith("<") and file_kind(Path(name)) == "project":
            return name != linecache.__file__
        frame = frame.f_back
    return False


@functools.cache
def _install_hook() -> None:
    """Install the audit hook, once: it cannot be removed."""
    sys.addaudithook(_note)


def check_drawn_again(result: Result, name: str, published: Path, folder: Path) -> None:
    """Fail if a figure differs from the published one, or uses more than the result."""
    before, again = saved(published, name), drawn_alone(result, name, folder)
    if again != before:  # of other settings, or of a figure that is never the same
        before, again = again, drawn_alone(result, name, folder)
    assert again == before, (
        f"figure {name} is another when drawn again from the same result: a figure is a "
        "function of what is stored. Draw random numbers in simulate, and keep nothing "
        "between figures"
    )


def drawn_alone(result: Result, name: str, folder: Path) -> tuple[bytes, bytes]:
    """Draw a figure with access to the result only."""
    with _only_what_is_stored(name, {type(each) for each in result.plan.scenarios}):
        save_figure(result.figure(name), folder, name)
    return saved(folder, name)


def saved(folder: Path, name: str) -> tuple[bytes, bytes]:
    png, svg = (folder / f"{name}.{ending}" for ending in ("png", "svg"))
    return png.read_bytes(), svg.read_bytes()


@contextmanager
def _only_what_is_stored(figure: str, kinds: set[type]) -> Iterator[None]:
    """Context that forbids to simulate, to run, and to read files.

    What is read in C without a word to Python (by pyarrow, say) is not seen.
    """
    drawing: list[str] = []
    listed: list[str] = []
    refused = [
        *((kind, "draw" if hasattr(kind, "draw") else "simulate") for kind in kinds),
        (Study, "run"),
        (Streams, "__call__"),
    ]
    read: list[str] = []
    _install_hook()
    with ExitStack() as patches:
        for kind, method in refused:
            refusing = functools.partial(_refuse_drawing, drawing, f"{kind.__name__}.{method}")
            patches.enter_context(mock.patch.object(kind, method, refusing))
        _noted.append((read, listed))
        patches.callback(_noted.pop)
        with suppress(DrawsReplicatesError):  # it is noted, and said below
            yield
    assert not drawing, (
        f"figure {figure} draws replicates again, by {drawing[0]}: a figure is a function of what "
        "is stored. Return what it needs as columns of simulate"
    )
    assert not read, (
        f"figure {figure} reads {read[0]}, which is not part of the result: its pictures would "
        "change with that file, unnoticed. Return what it needs as columns of simulate"
    )
    assert not listed, (
        f"figure {figure} lists the folder {listed[0]}: its pictures would change with what lies "
        "there, unnoticed. Use nothing but the result"
    )


def _refuse_drawing(noted: list[str], name: str, *_: object, **__: object) -> None:
    noted.append(name)
    raise DrawsReplicatesError(name)
