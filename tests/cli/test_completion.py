"""Completion: what bash is told, and the script that it evaluates."""

import subprocess
import sys

from simstudy.cli.help import shell_completion
from simstudy.cli.project import Project
from tests.cli.projects import ENTRY_POINT
from tests.support import ROOT, command_line


def test_a_folder_without_studies_has_verbs_and_settings(tmp_path):
    words = shell_completion("query=bash", Project(tmp_path)).splitlines()
    assert {"list", "experiment=", "n_rep=", "smoke", "threads"} <= {*words}
    assert "two_stage" not in words


def test_bash_asks_and_is_answered(capsys, tmp_path):
    """The script, evaluated, with `simstudy` on the path: in bash `=` ends a word."""
    assert command_line(["-sc", "install=bash"]) == 0
    install = capsys.readouterr().out
    assert command_line(["-sc", "install=zsh"]) == 2
    program = f"simstudy() {{ {sys.executable} -c '{ENTRY_POINT}' \"$@\"; }}"
    ask = 'try() { _simstudy_complete simstudy "$1" "="; echo "${COMPREPLY[*]}"; }'
    words = "try two_s; try sm; try ru; try no_such"
    told = subprocess.run(
        ["bash", "--norc", "-c", f"{program}\n{install}\n{ask}\n{words}"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.stdout.splitlines() == [
        "two_sample two_stage two_stage_robustness", "smoke", "run", "",
    ]  # fmt: skip
