"""Commands in this process: what they print, and the line in which they are refused."""

import pytest

from simstudy.cli import main
from tests.support import ROOT

OURS = str(ROOT / "run.py")


@pytest.fixture
def said(capsys):
    """What a command prints that ends with this status, or complains of if it is refused."""

    def run(*arguments, status=0, script=None):
        found = main(list(arguments), script=script)
        told = capsys.readouterr()
        assert found == status, told
        return told.err if status == 2 else told.out

    return run


@pytest.fixture
def refused(capsys):
    """The one line in which a command is refused, with status 2 and without output."""

    def run(*arguments, script=None, status=2):
        assert main(list(arguments), script=script) == status
        told = capsys.readouterr()
        assert (told.out, told.err.count("\n")) == ("", 1)
        return told.err.removesuffix("\n")

    return run


@pytest.fixture
def ours(said):
    """What `python run.py` of this project says."""
    return lambda *arguments, status=0: said(*arguments, status=status, script=OURS)


@pytest.fixture
def refused_here(refused):
    """The one line in which `python run.py` of this project is refused."""
    return lambda *arguments, status=2: refused(*arguments, script=OURS, status=status)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty current folder, in which nothing is written."""
    here = tmp_path / "cwd"
    here.mkdir()
    monkeypatch.chdir(here)
    yield
    assert list(here.iterdir()) == []
