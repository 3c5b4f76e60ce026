"""Shapes in annotations are executed, and nothing a test does reaches beyond it.

Kernels are compiled and check nothing at run time; in every other module of the statistics and the
data-generating processes the shapes that the annotations of functions state hold on each call.
"""

import importlib.util
import inspect
import os
import signal
import sys
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import jaxtyping
import numpy as np
import pytest
from beartype import beartype
from jaxtyping import AbstractArray, install_import_hook

from simstudy.errors import SimstudyError

# No test fails because other processes keep the machine busy.
hypothesis.settings.register_profile("no deadline", deadline=None)
hypothesis.settings.load_profile("no deadline")

PACKAGE = Path(__file__).parents[1] / "simstudy"
CHECKED = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for folder in ("documents/stats", "documents/dgps")
    for path in sorted((PACKAGE / folder).rglob("*.py"))
    if not path.name.startswith("_")
]


def has_shape(hint: Any) -> bool:
    is_shape = isinstance(hint, type) and issubclass(hint, AbstractArray)
    return is_shape or any(map(has_shape, typing.get_args(hint)))


def or_scalar(hint: Any) -> Any:
    """Where any number of axes will do, a NumPy scalar stands for an array without axes."""
    any_shape = isinstance(hint, type) and "..." in getattr(hint, "dim_str", "")
    return hint | np.generic if any_shape else hint


def shapes_of(function: Callable[..., Any]) -> dict[str, Any]:
    return {name: hint for name, hint in function.__annotations__.items() if has_shape(hint)}


def shapes_checked(function: Callable[..., Any]) -> Any:
    """The function with its shapes checked; scalars may be of any kind that NumPy takes."""
    hints = function.__annotations__
    function.__annotations__ = {name: or_scalar(at) for name, at in shapes_of(function).items()}
    checked = beartype(function)
    function.__annotations__ = hints  # whoever reads arguments by annotation needs all of them
    return checked


def where_stated(jaxtyped: Callable[..., Any], *made: Any, **checks: Any) -> Any:
    """As `jaxtyped`, but functions that state no shape stay as they are: they are called most."""
    if not made:
        return partial(where_stated, jaxtyped, **checks)
    (one,) = made
    return one if inspect.isfunction(one) and not shapes_of(one) else jaxtyped(one, **checks)


checker: Any = ModuleType("simstudy_shapes")  # the hook wants a function that it can import
checker.shapes_checked = shapes_checked
jaxtyping.jaxtyped = partial(where_stated, jaxtyping.jaxtyped)
sys.modules[checker.__name__] = checker
install_import_hook(CHECKED, f"{checker.__name__}.shapes_checked")


HAS_NUMBA = importlib.util.find_spec("numba") is not None


NEEDS_NUMBA = ("simstudy[kernels]", "No module named 'numba'")
REASON = "needs pip install -e '.[kernels]'"


def skip_without_numba(error: Exception) -> None:
    """Skip a test of compiled code where numba is not installed; nothing is hidden where it is."""
    if not HAS_NUMBA and any(text in str(error) for text in NEEDS_NUMBA):
        pytest.skip(REASON)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    report: Any = yield
    missing = not HAS_NUMBA and any(text in str(report.longrepr) for text in NEEDS_NUMBA)
    if report.failed and missing:
        report.outcome, report.longrepr = "skipped", (str(collector.path), 1, REASON)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    try:
        return (yield)
    except (SimstudyError, ModuleNotFoundError) as error:
        skip_without_numba(error)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Iterator[None]:
    try:
        return (yield)
    except (SimstudyError, ModuleNotFoundError) as error:
        skip_without_numba(error)
        raise


def is_worker() -> bool:
    return "PYTEST_XDIST_WORKER" in os.environ


@dataclass(frozen=True)
class SmokeRuns:
    """Where every experiment runs at smoke scale, once for all tests and workers of a session."""

    folder: Path

    @contextmanager
    def alone(self, experiments: Sequence[str]) -> Iterator[Path]:
        """Have no other worker run these experiments meanwhile."""
        import fcntl  # absent on Windows, where all other tests can run

        with ExitStack() as files:
            for name in experiments:
                path = self.folder.with_name(f"{self.folder.name}.{name}")
                fcntl.flock(files.enter_context(path.open("w")), fcntl.LOCK_EX)
            yield self.folder


@pytest.fixture(scope="session")
def smoke_runs(tmp_path_factory: pytest.TempPathFactory) -> SmokeRuns:
    """Blocks that the sweep over all experiments drew are those that their contracts look at."""
    here = tmp_path_factory.getbasetemp()
    folder = (here.parent if is_worker() else here) / "smoke"
    folder.mkdir(exist_ok=True)
    return SmokeRuns(folder)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The command line leaves neither its arguments nor its Ctrl-C behind; no cluster is near."""
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    from simstudy.engine.second_draw import Findings

    # no other process for short runs
    monkeypatch.setattr("simstudy.engine.loop.check_repeatable", lambda *_, **__: Findings())
    monkeypatch.setattr("simstudy.engine.loop.draw_pilot", lambda *_, **__: None)
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)


def _experiments_loaded() -> dict[str, ModuleType]:
    return {name: sys.modules[name] for name in sys.modules if name.split(".")[0] == "experiments"}


@pytest.fixture(autouse=True, scope="module")
def _experiments_of_this_project() -> Iterator[None]:
    """Projects that tests lay out have experiments too: none stays loaded, or is found later.

    This project's are the same modules again, which other tests have imported from.
    """
    paths, own = list(sys.path), _experiments_loaded()
    yield
    sys.path[:] = paths
    here = str(Path(__file__).parents[1])
    for name, module in _experiments_loaded().items():
        file = getattr(module, "__file__", None) or here
        if not file.startswith(here):
            del sys.modules[name]
    sys.modules.update(own)
