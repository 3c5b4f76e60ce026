"""Projects in folders of their own, each with processes of its own, as a user has them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from simstudy.cli import main
from tests.support import ROOT

ENTRY_POINT = "import sys; from simstudy.cli import main; sys.exit(main())"  # of the script


STUDY = """
from dataclasses import dataclass
from simstudy import Study, grid, option
from simstudy.measures import mean

@dataclass
class Config:
    n_obs: list[int] = option("sample size", default=[5, 10], at_least=2)
    label: str = option("a word", default="one")

@dataclass(frozen=True)
class Normal:
    n_obs: int

    def simulate(self, streams, n_rep):
        return {"x": streams("data").standard_normal((n_rep, self.n_obs)).mean(axis=1)}

def study(config):
    return Study("fine", grid(Normal, n_obs=config.n_obs), [mean("x")], block_size=50, n_rep=100)
"""


def python(
    folder: Path, *arguments: str, path: Path = ROOT, timeout: float = 300
) -> "subprocess.CompletedProcess[str]":
    """Python in a folder, which finds simstudy at `path` first."""
    paths = filter(None, [str(path), os.environ.get("PYTHONPATH")])
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=env,
        capture_output=True, text=True, check=False, timeout=timeout,
    )  # fmt: skip


def simstudy(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command `simstudy`, given in a folder."""
    return python(folder, "-c", ENTRY_POINT, *arguments)


def give(*arguments: str, script: str | None = None) -> int:
    """The exit status of a command in this process."""
    return main(list(arguments), script=script)


def contracts(folder: Path, path: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    """The tests of a project; each that failed is a line that begins with FAILED."""
    return python(folder, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", path=path)


def write(folder: Path, files: dict[str, str]) -> None:
    """Files of a project, by their paths in it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def wait_for(condition: Callable[[], object], seconds: float = 300.0) -> None:
    """Wait until something holds, on a machine that does other things too."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def alive(group: int) -> list[str]:
    """States of the processes of a session, without those that have ended."""
    listed = subprocess.run(["ps", "-o", "stat=", "-g", str(group)], capture_output=True, text=True)
    return [state for state in listed.stdout.split() if not state.startswith("Z")]


@contextmanager
def inside(folder: Path) -> Iterator[Path]:
    """Stand in a project whose experiments this process loads, and in no other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(str(folder))
        patch.setattr(sys, "dont_write_bytecode", True)
        forget_experiments()
        yield folder
    forget_experiments()


def forget_experiments() -> None:
    """Modules of another project's experiments, which go by the same names.

    This project's own are put back when the tests of a file are done.
    """
    for name in [name for name in sys.modules if name.partition(".")[0] == "experiments"]:
        del sys.modules[name]
