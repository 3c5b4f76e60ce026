"""Outputs that take ASCII only, nothing more, or nothing at all."""

import io
import sys

import pytest

from simstudy.cli import main
from tests.cli.projects import STUDY, inside, write

QUESTION = '"""Is a naïve mean – of σ – 3×3?"""\n'
QUICK = ["experiment=fine", "n_rep=10", "figures=false", "report=false", "progress=false",
         "backend=inline"]  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A study whose question has letters that ASCII does not have."""
    folder = tmp_path_factory.mktemp("streams")
    write(folder, {"experiments/__init__.py": "", "experiments/fine.py": QUESTION + STUDY})
    with inside(folder):
        yield folder


def ascii_only(monkeypatch):
    """Standard output and error, in bytes, which take nothing but ASCII from now on."""
    taken = {}
    for name in ("stdout", "stderr"):
        taken[name] = io.BytesIO()
        stream = io.TextIOWrapper(taken[name], encoding="ascii", write_through=True)
        monkeypatch.setattr(sys, name, stream)
    return taken


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["list"], 0, "Is a na?ve mean ? of ? ? 3?3?"),
        (["plan", *QUICK], 0, "10 replicates in each"),
        (["plan", *QUICK, "precision.mean_x=0.1"], 0, "Normal(n_obs=5)"),
        ([*QUICK, "out='é'"], 0, " files in ?/fine"),
        ([*QUICK, "scale='é'"], 2, "scale=?: no such scale"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_every_command_is_understood_where_there_is_only_ascii(
    arguments, status, text, project, monkeypatch
):
    taken = ascii_only(monkeypatch)
    assert main(arguments) == status
    assert text in b"".join(stream.getvalue() for stream in taken.values()).decode("ascii")
