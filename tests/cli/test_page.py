"""The page on the command line says what the code says."""

import re
import shlex

import pytest

from simstudy.cli import command, endings
from simstudy.cli.compose import read_requests
from simstudy.cli.flags import read_flags
from simstudy.cli.overrides import readable
from simstudy.cli.project import Project
from simstudy.cli.summarize_file import names_file, read_arguments
from simstudy.cli.verbs import Asked, split_verb, with_all
from tests.support import ROOT

PAGE = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")


def test_every_status_is_told():
    told = re.findall(r"^\| ([\d, ]+) \|", PAGE, flags=re.MULTILINE)
    statuses = {int(number) for row in told for number in row.split(",")}
    known = {0, endings.DEFECT, endings.REFUSED, endings.FAILED, command.BROKEN_PIPE}
    assert known <= statuses


@pytest.mark.slow
def test_every_command_of_the_page_can_be_given():
    project = Project(ROOT, "simstudy")
    lines = [line for line in PAGE.splitlines() if line.startswith("simstudy ")]
    assert len(lines) > 4
    for line in lines:
        arguments = read_flags(shlex.split(line, comments=True)[1:])
        verb, rest = split_verb(project, arguments)
        if verb == "summarize" and names_file(rest):
            assert read_arguments(rest)
            continue
        meant = with_all(Asked(project, rest)).arguments
        texts = [text for text in meant if not text.startswith("--cfg")]
        assert read_requests(readable(texts, project), project)
