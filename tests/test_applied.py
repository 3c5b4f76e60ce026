"""The examples of the page on own data run, in order, and print what the page shows."""

import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

from simstudy.cli import main

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


SECOND_PART = "## Is the new model worse?"  # the first needs scikit-learn


@pytest.mark.parametrize("part", [0, 1])
def test_the_page_does_as_it_says(part, here, capsys):
    """Its files are written, its commands and examples run, its texts are what they print."""
    if part == 0:
        pytest.importorskip("sklearn", reason="needs pip install -e '.[models]'")
    text = (DOCS / "applied.md").read_text().split(SECOND_PART)[part]
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    module, files = ModuleType("applied"), iter(["scores.csv", "tasks.csv"])
    for language, text in blocks:
        if language == "csv":
            (here / next(files)).write_text(text)
        elif language == "bash":
            capsys.readouterr()
            for line in text.splitlines():
                (program, *arguments) = shlex.split(line)
                assert program == "simstudy"
                assert main(arguments) == 0
        elif language == "text":
            assert capsys.readouterr().out == text
        else:
            exec(compile(text, "applied.md", "exec"), vars(module))
    assert [language for language, _ in blocks].count("bash") >= 2
