"""The examples of the pages on own data run, in order, and print what the pages show."""

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


@pytest.mark.parametrize("page", ["applied.md", "from_a_model_to_a_trial.md"])
def test_the_page_does_as_it_says(page, here, capsys):
    """Its files are written, its commands and examples run, its texts are what they print."""
    if page == "from_a_model_to_a_trial.md":
        pytest.importorskip("sklearn", reason="needs pip install -e '.[models]'")
    text = (DOCS / page).read_text()
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
            exec(compile(text, page, "exec"), vars(module))
    assert [language for language, _ in blocks].count("bash") >= 2
