"""Methods and scenario classes are found in folders, and a grid of parameters makes methods."""

import importlib
import sys

import pytest

from simstudy import discover
from simstudy.errors import StudyError
from simstudy.provenance.modules import experiment_files
from tests.cli.projects import write


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A function that writes files of a folder `found_parts`, and discovers what they define."""
    monkeypatch.syspath_prepend(tmp_path)
    write(tmp_path, {"found_helper.py": ""})

    def discovered(**files):
        write(tmp_path, {f"found_parts/{name}.py": text for name, text in files.items()})
        importlib.invalidate_caches()
        return discover("found_parts")

    yield discovered
    for name in [name for name in sys.modules if name.startswith("found_")]:
        del sys.modules[name]


def test_each_file_gives_the_object_that_is_named_like_it(folder):
    found = folder(
        ridge="import numpy\ndef helper(): ...\ndef ridge(x): ...",
        heavy_tails="class HeavyTails: ...",
        lasso="def fit(x, by): ...\nlasso = {'lasso_1': fit, 'lasso_2': fit}",
        _shared="def other(): ...",
    )
    assert list(found) == ["heavy_tails", "lasso_1", "lasso_2", "ridge"]
    assert found["heavy_tails"].__name__ == "HeavyTails"
    assert found["ridge"].__module__ == "found_parts.ridge"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"ridge": "def rigde(x): ..."}, "ridge.py defines no objects named ridge"),
        ({"ridge": "def ridge(x): ...\nclass Ridge: ..."}, "defines 2 objects named ridge"),
        ({"a": "a = {'b': 1}", "b": "b = 2"}, "b.py defines b, which another file"),
        ({"_none": ""}, "the folder has no Python file"),
    ],
    ids=["another name", "two", "twice", "empty"],
)
def test_what_is_not_one_method_of_one_name_is_refused(files, said, folder):
    with pytest.raises(StudyError, match=said):
        folder(**files)


def test_files_that_a_study_discovers_are_among_its_sources(folder, tmp_path):
    folder(ridge="import found_helper\ndef ridge(x): ...")
    text = "from simstudy import discover\nMETHODS = discover('found_parts')"
    write(tmp_path, {"found_study.py": text})
    study = importlib.import_module("found_study")
    names = [path.relative_to(tmp_path).as_posix() for path in experiment_files(study.__file__)]
    assert names == ["found_helper.py", "found_parts/ridge.py", "found_study.py"]
