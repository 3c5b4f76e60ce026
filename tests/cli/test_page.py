"""The page on the command line says what the code says."""

import re
import shlex

import pytest

from simstudy.cli import exit_status
from simstudy.cli.dispatch import read_flags, split_verb
from simstudy.cli.file_commands import names_file, read_arguments
from simstudy.cli.hydra_compose import compose_runs
from simstudy.cli.project import Project
from simstudy.cli.subcommands import CommandLine, with_experiments
from tests.support import ROOT

PAGE = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")


def test_every_status_is_told():
    told = re.findall(r"^\| ([\d, ]+) \|", PAGE, flags=re.MULTILINE)
    statuses = {int(number) for row in told for number in row.split(",")}
    known = {
        0,
        exit_status.DEFECT,
        exit_status.REFUSED,
        exit_status.FAILED,
        exit_status.BROKEN_PIPE,
    }
    assert known <= statuses


@pytest.mark.slow
def test_every_command_of_the_page_can_be_given():
    project = Project(ROOT)
    lines = [line for line in PAGE.splitlines() if line.startswith("simstudy ")]
    assert len(lines) > 4
    for line in lines:
        flags, arguments = read_flags(shlex.split(line, comments=True)[1:])
        verb, rest = split_verb(project, arguments)
        if verb == "merge":
            assert len(rest) == 2  # a folder and an experiment
            continue
        if verb == "summarize" and names_file(rest):
            assert read_arguments(rest)
            continue
        typed = with_experiments(CommandLine(project, verb, tuple(rest), is_sweep="-m" in flags))
        assert compose_runs(typed.arguments, project, is_sweep=typed.is_sweep)
