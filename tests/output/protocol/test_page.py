"""The commands of docs/preregistration.md can be given."""

import re
import shlex

import pytest

from simstudy.cli.compose import read_requests
from simstudy.cli.overrides import readable
from simstudy.cli.project import Project
from simstudy.cli.verbs import split_verb
from tests.support import ROOT

PAGE = (ROOT / "docs" / "preregistration.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("line", re.findall(r"^simstudy .*", PAGE, flags=re.MULTILINE))
def test_every_command_can_be_given(line):
    project = Project(ROOT, "simstudy")
    verb, rest = split_verb(project, shlex.split(line, comments=True)[1:])
    (request,) = read_requests(readable([*rest, "protocol=true"], project), project)
    assert verb == "protocol"
    assert request.settings.protocol
