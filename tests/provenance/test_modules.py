"""Whose modules are, what their sources import, and what an experiment's outputs depend on."""

import importlib
import sys
import warnings
from types import ModuleType

import pytest

from simstudy.output.report.pages import TEMPLATES
from simstudy.provenance.modules import (
    files_in,
    hash_of_source,
    imported_modules,
    is_below,
    is_project,
    modules_behind,
    source_files,
    sources_digest,
)
from tests.provenance import forget

SOURCES = {
    "placed/__init__.py": "",
    "placed/kernel.py": "from numba.extending import overload\nimport os\nuse = os.getcwd\n",
    "placed/model.py": "import json, numpy as np\nfrom . import kernel\nfrom .deep import draw\n",
    "placed/deep/__init__.py": "from ..model import np\ndraw = (1, 2)\n",
    "placed/late.py": "def f():\n    import placed.kernel\n    from scipy import stats\n",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A package on the path; gives a function that writes a file into it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(place, text):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        forget("placed")
        return path

    for place, text in SOURCES.items():
        write(place, text)
    yield write
    forget("placed")


def test_whose_a_module_is(project):
    assert is_project("placed.model")
    assert is_project("simstudy.design")
    assert is_project("__main__")
    assert not is_project("numpy.random")
    assert not is_project("no_such_module")
    assert not is_project("json.decoder")
    assert is_below("placed", "deep")
    assert not is_below("placed", "json")


def test_what_a_source_imports(project):
    found = ["placed", "json", "numpy", "placed.kernel", "placed.deep"]
    assert imported_modules("placed.model") == found
    assert imported_modules("placed.late")[:3] == ["placed", "placed.kernel", "scipy"]
    behind = ["placed", "placed.deep", "placed.kernel", "placed.model"]
    assert modules_behind("placed.deep") == behind


@pytest.mark.parametrize("text", ["x = (", "\0"])
def test_a_source_that_cannot_be_read_says_nothing(text, project):
    project("placed/model.py", text)
    assert imported_modules("placed.model") == ["placed"]


MADE = """
from dataclasses import dataclass
from simstudy import Study, grid
from simstudy.measures import mean

@dataclass(frozen=True)
class Normal:
    n: int

    def simulate(self, streams, n_rep):
        return {"m": streams("data").normal(size=(n_rep, self.n)).mean(axis=1)}

study = Study("normal", grid(Normal, n=[2, 3]), [mean("m")], block_size=50)
"""


def made(text, monkeypatch):
    """The study of a module that code makes, without a file, as some notebooks do."""
    module = ModuleType("made")
    monkeypatch.setitem(sys.modules, "made", module)
    exec(compile(text, "cell-1", "exec"), vars(module))
    return module.study


def test_code_in_a_module_without_a_file_counts(monkeypatch, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # `n` is read
        made(MADE, monkeypatch).run(100, out=tmp_path)
    edited = made(MADE.replace("normal(", "standard_t(3, "), monkeypatch)
    with pytest.warns(UserWarning, match=r"Normal\.simulate has changed"):
        edited.run(100, out=tmp_path)


def test_the_files_of_a_folder_are_its_modules_and_packages_and_not_an_environment(tmp_path):
    """Code that looks up names by text counts with all of them: `getattr(stats, self.law)`."""
    for name in ("s.py", "own/__init__.py", "own/part.py", "own/deep/__init__.py", "notes.txt",
                 ".venv/lib/python3/site-packages/scipy/__init__.py", "data/old.py"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = {str(path.relative_to(tmp_path)) for path in files_in(tmp_path)}
    assert found == {"s.py", "own/__init__.py", "own/part.py", "own/deep/__init__.py"}


def test_the_hash_of_a_whole_module_is_that_of_its_code_not_of_its_layout():
    written = "FACTOR = 2.0\n\n\ndef scaled(x):\n    return FACTOR * x\n"
    moved = "# as before\nFACTOR = 2.0\ndef scaled( x ):\n    return (FACTOR * x)  # so\n"
    assert hash_of_source(moved) == hash_of_source(written)
    assert hash_of_source(written.replace("2.0", "3.0")) != hash_of_source(written)
    assert hash_of_source("def scaled(") != hash_of_source("def  scaled(")  # no Python: as it is


# ---------------------------------------------------------------- sources of an experiment
def test_the_digest_of_the_sources_follows_what_the_experiment_imports(tmp_path, monkeypatch):
    """Its own file, the neighbour whose measures it borrows, and what that one imports in turn."""
    names = ("digest_near", "digest_next", "digest_far", "digest_mine")
    near, nextdoor, far, mine = (tmp_path / f"{name}.py" for name in names)
    mine.write_text("from digest_near import MEASURES\n")
    near.write_text("import digest_next\nMEASURES = digest_next.MEASURES\n")
    nextdoor.write_text("MEASURES = []\n")
    far.write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("digest_mine")
    before = sources_digest(str(mine))
    assert before != sources_digest(None)
    far.write_text("x = 2\n")
    assert sources_digest(str(mine)) == before
    for path in (mine, near, nextdoor):
        path.write_text(path.read_text() + "X = 1\n")
        after = sources_digest(str(mine))
        assert after != before
        before = after
    forget(*names)


def test_templates_are_sources_of_outputs():
    assert set(TEMPLATES.iterdir()) < set(source_files(None))


def test_a_link_to_nowhere_beside_an_experiment_is_passed_over(tmp_path):
    """As editors lock a file with."""
    file = tmp_path / "mine.py"
    file.write_text("import importlib\n")
    before = sources_digest(str(file))
    (tmp_path / ".#mine.py").symlink_to("somebody@somewhere.1234")
    assert sources_digest(str(file)) == before
