"""The Python examples of every page run, and their figures can be drawn."""

import copy
import json
import sys
from types import ModuleType

import pytest

from tests.pages import (
    DRAWN,
    blocks,
    figure_behind,
    figures_of,
    numbers_behind,
    pictures_of,
    run_examples,
)
from tests.support import ROOT

pytestmark = pytest.mark.filterwarnings("error:no code of the study reads")

WITH_FILES_AND_COMMANDS = ("applied",)  # tests/test_applied.py
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if blocks(page, "python") and page.stem not in WITH_FILES_AND_COMMANDS
]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_and_draw_its_pictures(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = ModuleType(page.stem)
    monkeypatch.setitem(sys.modules, page.stem, module)
    run_examples(page, module)
    for figure in figures_of(module).values():
        copy.deepcopy(figure).draw()  # drawing changes a plot
    for picture in pictures_of(page):
        stored = json.loads(DRAWN.read_text(encoding="utf-8"))["numbers"][picture]
        found = numbers_behind(figure_behind(picture, module))
        assert set(found) == set(stored)
        for name, value in found.items():
            same = value if isinstance(value, str) else pytest.approx(value, rel=1e-6, abs=1e-9)
            assert stored[name] == same, f"{picture}: draw it anew, python -m tests.pages"


def test_every_picture_has_its_numbers_and_its_page():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    shown = {picture for page in pages for picture in pictures_of(page)}
    assert shown == {path.stem for path in DRAWN.parent.glob("*.png")}
    assert shown == set(json.loads(DRAWN.read_text(encoding="utf-8"))["numbers"])


def test_a_mistake_in_an_example_names_the_line_of_its_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\nx = 1\n```\n\nText\n\n```python\nassert x == 2\n```\n")
    with pytest.raises(AssertionError) as raised:
        run_examples(page, ModuleType("page"))
    assert raised.traceback[-1].lineno + 1 == 10
