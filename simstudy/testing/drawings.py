"""What figures were drawn from, noted as they are drawn, so that another drawing can be saved."""

import hashlib
import pickle
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np

from simstudy.data.reads import watching
from simstudy.figures import save
from simstudy.identity.streams import Streams
from simstudy.study import Study

Drawings = dict[str, str]
"""By the digest of a PNG and its SVG, that of the figure that they were drawn from."""


@contextmanager
def drawings_noted() -> Iterator[Drawings]:
    """Note what is drawn within it, where drawing follows from the figure and from nothing else."""
    noted: Drawings = {}
    with mock.patch.object(save, "_png_and_svg", _noting(noted, save._png_and_svg)):
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
