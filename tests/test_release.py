"""What a release says of itself in several places says the same in all of them."""

import re
import tomllib

import pytest
import yaml

import simstudy
from tests.support import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
COUNTS = (ROOT / "docs/reading_claims.md").read_text()


def test_the_version_is_the_same_everywhere():
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert simstudy.__version__ == CITATION["version"] == newest[1]
    assert PROJECT["dynamic"] == ["version"]


def test_every_study_of_a_document_is_in_the_scope_of_one():
    pages = {
        name: part.get("page")
        for group in ("documents", "beyond")
        for part in yaml.safe_load((ROOT / f"conf/group/{group}.yaml").read_text())["parts"]
        for name in part["experiments"]
    }
    scopes = [ref["scope"].replace(",", " ").split() for ref in CITATION["references"]]
    named = [name for scope in scopes for name in scope]
    assert sorted(named) == sorted(name for name, page in pages.items() if page)
    titles = [reference["title"] for reference in CITATION["references"]]
    assert [title for title in titles if title not in COUNTS] == []
    assert len(titles) == 5


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", ".ci/run"])
def test_every_test_file_that_is_named_exists(page):
    named = re.findall(r"(?<![\w/])(tests/)?((?:\w+/)*test_\w+\.py)", (ROOT / page).read_text())
    folders = {"tests/": ROOT / "tests", "": ROOT / "tests/guarantees"}
    assert named
    assert [name for at, name in named if not (folders[at] / name).is_file()] == []
