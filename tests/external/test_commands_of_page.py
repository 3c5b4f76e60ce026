"""The commands of docs/elsewhere.md can be given."""

import re
import shlex

import pytest

from simstudy.cli.file_commands import read_arguments
from tests.support import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:method new has no row", "ignore:no truth is")

PAGE = (ROOT / "docs" / "elsewhere.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("line", re.findall(r"^simstudy summarize .*", PAGE, flags=re.MULTILINE))
def test_every_command_can_be_given(line):
    file, settings = read_arguments(shlex.split(line)[2:])
    assert file.startswith("rows.")
    assert settings.estimate == "b"
