"""Checks that figures are drawn from stored results only."""

import functools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from unittest import mock

from simstudy.analysis.result import Result
from simstudy.figures.save import save_figure
from simstudy.provenance.streams import Streams
from simstudy.study import Study


class DrawsReplicatesError(BaseException):
    """Raised if a figure simulates; a `BaseException`, so that the figure does not catch it."""


def check_drawn_again(result: Result, name: str, published: Path, folder: Path) -> None:
    """Fail if a figure is not reproducible, or uses more than the result."""
    before, again = saved(published, name), drawn_alone(result, name, folder)
    if again != before:  # published with other settings, or not reproducible
        before, again = again, drawn_alone(result, name, folder)
    assert again == before, (
        f"figure {name} differs when drawn again from the same result: a figure must depend "
        "on stored results only. Draw random numbers in simulate, and keep nothing "
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
    """Context in which an assertion fails if a figure simulates or runs a study."""
    drawing: list[str] = []
    refused = [
        *((kind, "draw" if hasattr(kind, "draw") else "simulate") for kind in kinds),
        (Study, "run"),
        (Streams, "__call__"),
    ]
    with ExitStack() as patches:
        for kind, method in refused:
            refusing = functools.partial(_refuse_drawing, drawing, f"{kind.__name__}.{method}")
            patches.enter_context(mock.patch.object(kind, method, refusing))
        with suppress(DrawsReplicatesError):  # reported by the assertion below
            yield
    assert not drawing, (
        f"figure {figure} draws replicates again, by {drawing[0]}: a figure must depend on "
        "stored results only. Return what it needs as columns of simulate"
    )


def _refuse_drawing(noted: list[str], name: str, *_: object, **__: object) -> None:
    noted.append(name)
    raise DrawsReplicatesError(name)
