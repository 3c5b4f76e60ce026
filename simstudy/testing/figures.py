"""Figures drawn from what is stored alone, and a record of what each was drawn from."""

import functools
import hashlib
import os
import pickle
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from simstudy.analysis.result import Result
from simstudy.data.read_audit import reader_of, watching
from simstudy.figures import save
from simstudy.figures.save import save_figure
from simstudy.identity.streams import Streams
from simstudy.study import Study


class DrawsReplicatesError(BaseException):
    """Raised in a figure that simulates; no `except Exception` of the figure's own holds it."""


_listed_by: list[list[str]] = []  # folders that the project's code lists, while somebody watches


def _note_listing(event: str, arguments: tuple[Any, ...]) -> None:
    if _listed_by and event in ("os.listdir", "os.scandir") and reader_of(sys._getframe(1)):
        _listed_by[-1].append(os.path.abspath(os.fsdecode(arguments[0] or ".")))


@functools.cache
def _install_listing() -> None:
    """Once: an audit hook cannot be taken away."""
    sys.addaudithook(_note_listing)


def made_alone(result: Result, name: str) -> Any:
    """A figure that is not drawn yet, made where nothing but the result may be used."""
    with _only_what_is_stored(name, {type(each) for each in result.plan.scenarios}):
        return result.figure(name)


def drawn_alone(result: Result, name: str, folder: Path) -> tuple[bytes, bytes]:
    """A figure's files, made and drawn where nothing but the result may be used."""
    with _only_what_is_stored(name, {type(each) for each in result.plan.scenarios}):
        save_figure(result.figure(name), folder, name)
    return saved(folder, name)


def saved(folder: Path, name: str) -> tuple[bytes, bytes]:
    png, svg = (folder / f"{name}.{ending}" for ending in ("png", "svg"))
    return png.read_bytes(), svg.read_bytes()


@contextmanager
def _only_what_is_stored(figure: str, kinds: set[type]) -> Iterator[None]:
    """Refuse to simulate, to run, and to read; also where the figure swallows the error.

    What is read in C without a word to Python (by pyarrow, say) is not seen.
    """
    drawing: list[str] = []
    listed: list[str] = []
    refused = [
        *((kind, "draw" if hasattr(kind, "draw") else "simulate") for kind in kinds),
        (Study, "run"),
        (Streams, "__call__"),
    ]
    _install_listing()
    with ExitStack() as patches, watching() as read:
        for kind, method in refused:
            refusing = functools.partial(_refuse_drawing, drawing, f"{kind.__name__}.{method}")
            patches.enter_context(mock.patch.object(kind, method, refusing))
        _listed_by.append(listed)
        patches.callback(_listed_by.remove, listed)
        with suppress(DrawsReplicatesError):  # it is noted, and said below
            yield
    assert not drawing, (
        f"figure {figure} draws replicates again, by {drawing[0]}: a figure is a function of what "
        "is stored. Return what it needs as columns of simulate"
    )
    assert not read, (
        f"figure {figure} reads {read[0]}, which is no part of the result: its pictures would "
        "change with that file, unnoticed. Return what it needs as columns of simulate"
    )
    assert not listed, (
        f"figure {figure} lists the folder {listed[0]}: its pictures would change with what lies "
        "there, unnoticed. Use nothing but the result"
    )


def _refuse_drawing(noted: list[str], what: str, *_: object, **__: object) -> None:
    noted.append(what)
    raise DrawsReplicatesError(what)


Drawings = dict[str, str]
"""By the digest of a PNG and its SVG, that of the figure that they were drawn from."""


@contextmanager
def drawings_noted() -> Iterator[Drawings]:
    """Note what is drawn within it, where drawing follows from the figure and from nothing else."""
    noted: Drawings = {}
    with mock.patch.object(save, "_rendered", _noting(noted, save._rendered)):
        yield noted


def is_drawn_from(figure: Any, files: tuple[bytes, bytes], noted: Drawings) -> bool:
    """Whether these files were drawn from such a figure; False where that cannot be said."""
    made_from = noted.get(_digest(*files))
    return made_from is not None and made_from == specification(figure)


def specification(figure: Any) -> str | None:
    """Digest of all that a figure says: data, layers, look; None where something has no bytes.

    Figures that are the same may differ in it, where they hold their parts in another order.
    """
    from joblib.externals.loky.backend import reduction  # also takes functions without a name

    try:
        return _digest(bytes(reduction.dumps(figure)))
    except Exception:  # whatever a part raises that is not made for it
        return None


def _noting(noted: Drawings, render: Callable[[Any, int], list[bytes]]) -> Callable[..., Any]:
    def rendered(figure: Any, dpi: int) -> list[bytes]:
        made_from, chance = specification(figure), _chance()
        with _noticing_use() as used:
            files = render(figure, dpi)
        if made_from is not None and not used and _chance() == chance:
            noted[_digest(*files)] = made_from
        return files

    return rendered


@contextmanager
def _noticing_use() -> Iterator[list[str]]:
    """What is read or simulated while a figure is drawn, by functions that it carries, say."""
    with watching() as used, ExitStack() as patches:
        for kind, method in ((Study, "run"), (Streams, "__call__")):
            noticed = _noticed(used, getattr(kind, method))
            patches.enter_context(mock.patch.object(kind, method, noticed))
        yield used


def _noticed(used: list[str], method: Callable[..., Any]) -> Callable[..., Any]:
    def called(*arguments: Any, **named: Any) -> Any:
        used.append(method.__qualname__)
        return method(*arguments, **named)

    return called


def _chance() -> bytes:
    """Where the generators are that all of a process shares: jittered points come from these."""
    return pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002


def _digest(*contents: bytes) -> str:
    return hashlib.sha256(b"".join(contents)).hexdigest()
