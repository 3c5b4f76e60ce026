"""The examples of docs/applied.md run, in order, and print what the page shows."""

import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

from simstudy.cli import main

PAGE = (Path(__file__).parents[1] / "docs" / "applied.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_does_as_it_says(here, capsys):
    """Its files are written, its commands and examples run, its texts are what they print."""
    module, files = ModuleType("applied"), iter(["scores.csv", "tasks.csv"])
    for language, text in BLOCKS:
        if language == "csv":
            (here / next(files)).write_text(text)
        elif language == "bash":
            (program, *arguments) = shlex.split(text)
            assert program == "simstudy"
            capsys.readouterr()
            assert main(arguments) == 0
        elif language == "text":
            assert capsys.readouterr().out == text
        else:
            exec(compile(text, "docs/applied.md", "exec"), vars(module))
    assert [language for language, _ in BLOCKS].count("bash") > 2
