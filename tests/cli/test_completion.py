"""Completion: what may stand where one types, and the script that bash evaluates."""

import subprocess
import sys

import pytest

from simstudy.cli.completion import shell_completion
from simstudy.cli.project import Project
from tests.support import ROOT, command_line

PROJECT = Project(ROOT)
NEW = ["two_sample", "two_stage", "two_stage_robustness"]


def answers(line: str) -> list[str]:
    """What bash is told of a line up to its cursor."""
    return shell_completion("query=bash", PROJECT, {"COMP_LINE": line}).splitlines()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("simstudy ru", ["run"]),
        ("simstudy run ru", []),
        ("simstudy experiment=two_s", NEW),
        ("python run.py experiment=two_s", NEW),
        ("/usr/bin/python3.11 run.py plan experiment=two_s", NEW),
        ("simstudy scale=s", ["smoke"]),
        ("simstudy backend=thr", ["threads"]),
        ("simstudy keep=", ["replicates", "summary"]),
        ("simstudy report=t", ["true"]),
        ("simstudy n_rep=", []),
        ("simstudy precision.power=", []),
        ("simstudy max", ["max_rep="]),
        ("simstudy run two_s", NEW),
        ("simstudy experiment=two_stage experiment.n", ["experiment.n1=", "experiment.n2=",
                                                        "experiment.n_rep="]),
        ("simstudy experiment=two_stage experiment.draws=", ["raw", "sufficient"]),
        ("simstudy experiment=no_such experiment.", []),
    ],
)  # fmt: skip
def test_what_may_stand_where_one_types(line, found):
    assert answers(line) == found


def test_a_folder_without_studies_has_verbs_and_settings(tmp_path):
    bare = Project(tmp_path)
    assert shell_completion("query=bash", bare, {"COMP_LINE": "simstudy experiment="}) == ""
    assert shell_completion("query=bash", bare, {"COMP_LINE": "simstudy lis"}) == "list\n"


def test_bash_asks_and_is_answered(capsys, tmp_path):
    """The script, evaluated; scripts of others are not run because somebody pressed a key."""
    assert command_line(["-sc", "install=bash"]) == 0
    install = capsys.readouterr().out
    assert command_line(["-sc", "install=zsh"]) == 2
    (tmp_path / "other.py").write_text("open('it_ran', 'w')")
    ask = """
try() { COMP_LINE="$1 $2 $3" COMP_POINT=1000 COMP_WORDS=("$1" "$2" "$3"); COMPREPLY=(old)
        _simstudy_complete "$1"; echo "${COMPREPLY[*]}"; }
"""
    said = subprocess.run(
        ["bash", "--norc", "-c", f"{install}{ask}try {sys.executable} {ROOT}/run.py scale=sm\n"
         f"try {sys.executable} other.py scale=sm\n"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert said.stdout.splitlines() == ["smoke", ""]
    assert not (tmp_path / "it_ran").exists()
