"""Outputs that take ASCII only, nothing more, or nothing at all."""

import io
import sys

import pytest

from simstudy.cli import main
from simstudy.cli.exit_status import complain_of
from simstudy.errors import ConfigError
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
        ([*QUICK, "out=\udcc3"], 2, "has letters that the locale's encoding, utf-8, does not know"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_every_command_is_understood_where_there_is_only_ascii(
    arguments, status, text, project, monkeypatch
):
    taken = ascii_only(monkeypatch)
    assert main(arguments) == status
    assert text in b"".join(stream.getvalue() for stream in taken.values()).decode("ascii")


class Full(io.StringIO):
    """A disk that takes no letter more."""

    def write(self, text):
        raise OSError(28, "No space left on device")


def test_a_complaint_that_cannot_be_written_leaves_its_status(project, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Full())
    assert main(["experiment=fin"]) == 2


def test_a_refusal_repeats_the_first_letters_of_a_long_value(capsys):
    value = "[" * 2000
    assert complain_of(ConfigError(f"cannot read out={value}: no")) == 2
    assert capsys.readouterr().err == f"cannot read out={'[' * 116}… no\n"
