"""Shapes in annotations are executed, and nothing a test does reaches beyond it.

Kernels are compiled and check nothing at run time; in every other module of the statistics and the
data-generating processes the shapes that the annotations of functions state hold on each call.
"""

import signal
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from beartype import beartype
from jaxtyping import AbstractArray, install_import_hook

from simstudy.data import named

PACKAGE = Path(__file__).parents[1] / "simstudy"
CHECKED = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for folder in ("stats", "dgps")
    for path in sorted((PACKAGE / folder).rglob("*.py"))
    if not path.name.startswith("_") and path.parent.name != "compiled"
    # it wraps functions, and a checker of the wrapper would hide from fingerprints what it does
    if path.stem != "reading"
]


def has_shape(hint: Any) -> bool:
    """Whether an annotation states the shape of an array."""
    is_shape = isinstance(hint, type) and issubclass(hint, AbstractArray)
    return is_shape or any(map(has_shape, typing.get_args(hint)))


def or_scalar(hint: Any) -> Any:
    """Where any number of axes will do, a NumPy scalar stands for an array without axes."""
    any_shape = isinstance(hint, type) and "..." in getattr(hint, "dim_str", "")
    return hint | np.generic if any_shape else hint


def shapes_checked(function: Callable[..., Any]) -> Any:
    """The function with its shapes checked; scalars may be of any kind that NumPy takes."""
    hints = function.__annotations__
    stated = {name: or_scalar(hint) for name, hint in hints.items() if has_shape(hint)}
    function.__annotations__ = stated
    return beartype(function)


checker: Any = ModuleType("simstudy_shapes")  # the hook wants a function that it can import
checker.shapes_checked = shapes_checked
sys.modules[checker.__name__] = checker
install_import_hook(CHECKED, f"{checker.__name__}.shapes_checked")


@pytest.fixture(scope="session")
def smoke_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where every experiment runs at smoke scale, once for all tests that look at it."""
    return tmp_path_factory.mktemp("smoke")


@pytest.fixture(scope="session", autouse=True)
def no_download() -> Iterator[None]:
    """No data set is fetched: an experiment that needs one is skipped, unless it is at hand."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(named, "BOSTON_SOURCES", ())
        yield


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The command line leaves neither its arguments nor its Ctrl-C behind; no cluster is near."""
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)
