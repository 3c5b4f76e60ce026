"""Completion: what may stand where one types, and the script that bash evaluates."""

import os
import subprocess
import sys

import pytest

from simstudy.cli.completion import QUERY, shell_completion
from simstudy.cli.experiments import experiment_names
from simstudy.cli.project import Project
from tests.support import ROOT, command_line

PROJECT = Project(ROOT, "simstudy")
NEW = ["two_sample", "two_stage", "two_stage_robustness"]


def answers(line: str, **environment: str) -> list[str]:
    """What bash is told of a line with the cursor at its end."""
    typed = {"COMP_LINE": line, "COMP_POINT": str(len(os.fsencode(line)))}
    return shell_completion(QUERY, PROJECT, typed | environment).splitlines()


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
        ("simstudy --ver", ["--version"]),
        ("simstudy --c", ["--cfg=job"]),
        ("simstudy experiment=two_stage experiment.n", ["experiment.n1=", "experiment.n2=",
                                                        "experiment.n_rep="]),
        ("simstudy experiment=two_stage experiment.draws=", ["raw", "sufficient"]),
        ("simstudy experiment=no_such experiment.", []),
    ],
)  # fmt: skip
def test_what_may_stand_where_one_types(line, found):
    assert answers(line) == found


def test_every_experiment_is_offered():
    assert answers("simstudy experiment=") == experiment_names(ROOT)
    whole = answers("simstudy experiment=", COMP_WORDBREAKS=" :")
    assert whole == [f"experiment={name}" for name in experiment_names(ROOT)]


def test_only_what_stands_before_the_cursor_counts():
    assert answers("simstudy scale=s and more", COMP_POINT="16") == ["smoke"]


def test_a_folder_without_studies_has_verbs_and_settings(tmp_path):
    bare = Project(tmp_path, "simstudy")
    assert shell_completion(QUERY, bare, {"COMP_LINE": "simstudy experiment="}) == ""
    assert shell_completion(QUERY, bare, {"COMP_LINE": "simstudy lis"}) == "list\n"


def test_another_shell_is_one_line(capsys):
    for asked in (["-sc", "install=zsh"], ["-sc"], ["--shell-completion=nothing"]):
        assert command_line(asked) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.count("\n") == 1
        assert "completion is there for bash; say install=bash or uninstall=bash" in told.err


def test_bash_asks_and_is_answered(capsys, tmp_path):
    """The script, evaluated; scripts of others are not run because somebody pressed a key."""
    assert command_line(["-sc", "install=bash"]) == 0
    install = capsys.readouterr().out
    assert command_line(["-sc", "uninstall=bash"]) == 0
    remove = capsys.readouterr().out
    (tmp_path / "other.py").write_text("open('it_ran', 'w')")
    ask = """
try() { COMP_LINE="$1 $2 $3" COMP_POINT=1000 COMP_WORDS=("$1" "$2" "$3"); COMPREPLY=(old)
        _simstudy_complete "$1"; echo "${COMPREPLY[*]}"; }
"""
    said = subprocess.run(
        ["bash", "--norc", "-c", f"{install}{ask}try {sys.executable} {ROOT}/run.py scale=sm\n"
         f"try {sys.executable} other.py scale=sm\n{remove}complete -p simstudy"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert said.stdout.splitlines() == ["smoke", ""]
    assert "no completion specification" in said.stderr
    assert not (tmp_path / "it_ran").exists()
