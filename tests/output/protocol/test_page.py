"""The examples of docs/preregistration.md run, and its commands can be given."""

import re
import shlex
import sys
from types import ModuleType

import pytest

from simstudy.cli.compose import read_requests
from simstudy.cli.overrides import readable
from simstudy.cli.project import Project
from simstudy.cli.verbs import split_verb
from tests.support import ROOT

PAGE = (ROOT / "docs" / "preregistration.md").read_text(encoding="utf-8")


def test_the_examples_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = ModuleType("preregistration_page")
    monkeypatch.setitem(sys.modules, "preregistration_page", module)
    for each in re.finditer(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE):
        code = "\n" * PAGE[: each.start(1)].count("\n") + each.group(1)
        exec(compile(code, "docs/preregistration.md", "exec"), vars(module))
    assert (tmp_path / "results" / "skewed_means" / "protocol.md").exists()


@pytest.mark.parametrize("line", re.findall(r"^simstudy .*", PAGE, flags=re.MULTILINE))
def test_every_command_can_be_given(line):
    project = Project(ROOT, "simstudy")
    verb, rest = split_verb(project, shlex.split(line, comments=True)[1:])
    (request,) = read_requests(readable([*rest, "protocol=true"], project), project)
    assert verb == "protocol"
    assert request.settings.protocol
