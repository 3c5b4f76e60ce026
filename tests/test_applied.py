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


SECOND_PART = "## Is the new model worse?"  # what is above it needs scikit-learn


@pytest.mark.parametrize("start", ["# ", SECOND_PART], ids=["all", "second"])
def test_the_page_does_as_it_says(start, here, capsys):
    """In one folder: files are written, commands and examples run, texts are what they print."""
    if start != SECOND_PART:
        pytest.importorskip("sklearn", reason="needs pip install -e '.[models]'")
    page = (DOCS / "applied.md").read_text(encoding="utf-8")
    page = page[page.index(start) :]
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    module = ModuleType("applied")
    for language, text in blocks:
        if language == "bash":
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
