"""The Python examples of every page run, and their figures can be drawn."""

import re
import sys
from types import ModuleType

import pytest

from tests.pages import blocks, figures_of, run_examples
from tests.support import ROOT

pytestmark = pytest.mark.filterwarnings("error:no code of the study reads")

WITH_FILES_AND_COMMANDS = ("applied",)  # tests/test_applied.py
PAGES = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if blocks(page, "python") and page.stem not in WITH_FILES_AND_COMMANDS
]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = ModuleType(page.stem)
    monkeypatch.setitem(sys.modules, page.stem, module)
    run_examples(page, module)
    made = figures_of(module)
    for figure in made.values():
        figure.draw()
    shown = re.findall(r"\]\(figures/(\w+)\.png\)", page.read_text(encoding="utf-8"))
    saved = {path.stem for path in tmp_path.glob("figures/*.png")}
    assert set(shown) <= saved | set(made), "a picture without an example that draws it"


def test_a_mistake_in_an_example_names_the_line_of_its_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\nx = 1\n```\n\nText\n\n```python\nassert x == 2\n```\n")
    with pytest.raises(AssertionError) as raised:
        run_examples(page, ModuleType("page"))
    assert raised.traceback[-1].lineno + 1 == 10
