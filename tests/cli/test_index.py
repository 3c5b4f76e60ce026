"""`simstudy index`: any folder of results has its page."""

import json
import shutil

import pytest

from tests.cli.projects import STUDY, inside, write
from tests.support import ROOT, needs_results

SWEEP = ("experiment=fine", "backend=inline", "progress=false")


def test_it_lists_the_studies_of_a_project_whatever_else_is_there(tmp_path, said):
    broken = {"experiments/broken.py": "1 / 0", "results/broken/manifest.json": "{"}
    write(tmp_path, {"experiments/__init__.py": "", "experiments/fine.py": STUDY, **broken})
    with inside(tmp_path):
        said(*SWEEP)
        said("-m", *SWEEP, "seed=1,2", "report=false", "figures=false")
        assert said("index") == "results/index.html\n"
    listed = json.loads((tmp_path / "results" / "index.json").read_text())
    assert [study["warnings"] for study in listed["studies"]] == [[]]
    (other,) = listed["others"]
    assert other["folder"] == "broken"


@needs_results
def test_any_folder_will_do_from_anywhere(tmp_path, monkeypatch, said):
    shutil.copytree(ROOT / "results" / "regression_trial_inner", tmp_path / "sent" / "one")
    monkeypatch.chdir(tmp_path)
    assert said("index", "sent") == "sent/index.html\n"
    assert "one/" in (tmp_path / "sent" / "index.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["gone"], "gone is not a folder with the results of several studies"),
        (["taken"], "cannot use taken/"),
        (["study"], "study is not a folder with the results of several studies"),
    ],
)
def test_what_is_no_folder_of_results_is_refused_in_a_line(
    arguments, line, tmp_path, monkeypatch, refused
):
    write(tmp_path, {"study/manifest.json": "{}", "taken/index.html/x": ""})
    monkeypatch.chdir(tmp_path)
    assert refused("index", *arguments).startswith(line)
