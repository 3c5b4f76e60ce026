"""`simstudy index`: any folder of results has its page, which knows whose sources have changed."""

import json
import shutil

import pytest

from simstudy.cli import main
from tests.cli.projects import STUDY, python, write
from tests.support import ROOT

THRICE = """
from pathlib import Path
from simstudy.cli import main

def remarks():
    import json
    main(["index"])
    return [study["remarks"] for study in json.load(open("results/index.json"))["studies"]]

main(["experiment=fine", "backend=inline", "progress=false"])
print(remarks())
path = Path("experiments/fine.py")
path.write_text(path.read_text() + "# edited")
print(remarks())
"""


def test_it_says_whose_sources_have_changed(tmp_path):
    broken = {"experiments/broken.py": "1 / 0", "results/broken/manifest.json": "{"}
    write(tmp_path, {"experiments/__init__.py": "", "experiments/fine.py": STUDY, **broken})
    done = python(tmp_path, "-c", THRICE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-4:] == [
        "results/index.html",
        "[[]]",
        "results/index.html",
        "[['its sources have changed since it was made']]",
    ]
    (other,) = json.loads((tmp_path / "results" / "index.json").read_text())["others"]
    assert other["folder"] == "broken"
    assert other["run"] == "simstudy run experiment=broken"


def test_any_folder_will_do_from_anywhere(tmp_path, monkeypatch, capsys):
    shutil.copytree(ROOT / "results" / "regression_trial_inner", tmp_path / "sent" / "one")
    monkeypatch.chdir(tmp_path)
    assert main(["index", "sent"]) == 0
    assert capsys.readouterr().out == "sent/index.html\n"
    assert "simstudy run experiment=regression_trial_inner" in (
        tmp_path / "sent" / "index.html"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["a", "b"],
            "index takes one folder of results, and was given a b: simstudy index results",
        ),
        (["n_rep=3"], "index takes one folder of results, and was given n_rep=3: "),
        (["gone"], "gone is no folder, so it has no index. Name one that holds results, as in "),
        (["taken"], "the index of taken cannot be written: [Errno 21] Is a directory: "),
        (["study"], "study is the folder of one study; the index is that of the folder around "),
    ],
)
def test_what_is_no_folder_of_results_is_refused_in_a_line(
    arguments, line, tmp_path, monkeypatch, capsys
):
    write(tmp_path, {"study/manifest.json": "{}", "taken/index.html/x": ""})
    monkeypatch.chdir(tmp_path)
    assert main(["index", *arguments]) == 2
    told = capsys.readouterr()
    assert told.err.startswith(line)
    assert (told.out, told.err.count("\n")) == ("", 1)
