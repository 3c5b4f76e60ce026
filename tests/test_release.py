"""What a release says of itself in several places says the same in all of them."""

import re
import tomllib

import yaml

import simstudy
from tests.support import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())


def test_the_version_is_the_same_everywhere():
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert simstudy.__version__ == CITATION["version"] == newest[1]
    assert PROJECT["dynamic"] == ["version"]


def test_license_and_authors_are_the_same_everywhere():
    (author,) = PROJECT["authors"]
    assert CITATION["authors"] == [author]
    text = (ROOT / "LICENSE").read_text()
    assert author["name"] in text
    assert PROJECT["license"] == CITATION["license"] == "BSD-3-Clause"
    assert text.startswith("BSD 3-Clause License")


def test_contributing_runs_what_the_readme_runs():
    commands = set(
        re.findall(
            r"^(?:pip|python -m pytest|python3 -m venv).*$",
            (ROOT / "CONTRIBUTING.md").read_text(),
            re.MULTILINE,
        )
    )
    readme = (ROOT / "README.md").read_text()
    assert commands
    assert all(command in readme for command in commands), commands
