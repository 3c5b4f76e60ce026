"""The examples of docs/elsewhere.md run, and its commands can be given."""

import re
import shlex

import pytest

from simstudy.cli.summarize_file import read_arguments
from tests.support import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:method new has no row", "ignore:no truth is")

PAGE = (ROOT / "docs" / "elsewhere.md").read_text(encoding="utf-8")


def test_the_examples_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for each in re.finditer(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE):
        code = "\n" * PAGE[: each.start(1)].count("\n") + each.group(1)
        exec(compile(code, "docs/elsewhere.md", "exec"), names)
    assert "interval_score" in names


@pytest.mark.parametrize("line", re.findall(r"^simstudy summarize .*", PAGE, flags=re.MULTILINE))
def test_every_command_can_be_given(line):
    file, settings = read_arguments(shlex.split(line)[2:])
    assert file.startswith("rows.")
    assert settings.estimate == "b"
