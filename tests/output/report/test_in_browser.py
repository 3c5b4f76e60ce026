"""A page as readers have it: on a telephone, on a desk, on paper, by day and by night."""

import json
import re
import shutil

import pandas as pd
import pytest

from simstudy.output.report import write_index
from simstudy.tables import Table
from tests.output.report.browser import PROGRAM
from tests.output.report.published import write_page_of
from tests.support import ROOT, needs_results

pytestmark = [
    pytest.mark.slow,
    needs_results,
    pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium to show pages in"),
]
PUBLISHED = "regression_trial_prices"  # of the published results those with the most columns
N_ROWS = 432  # of its summary
N_COLUMNS = 40  # of a table wider than any of them
TELEPHONE, DESK = 390, 1280
PAPER = 695  # the style's A4 within its margins, at 96 to an inch
SUMMARY = """document.querySelector('[aria-label="Table: Summary"] table')"""
UNFOLD = "document.querySelectorAll('details').forEach(folded => folded.open = true)"
TOO_WIDE = "document.documentElement.scrollWidth > innerWidth"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / PUBLISHED
    folder.mkdir()
    wide = pd.DataFrame([[0.125] * N_COLUMNS] * 3).rename(columns="column_{}".format)
    error = pd.DataFrame({"error": ["x" * 2000], "n": 1, "where": "here"})
    tables = {"wide": Table(wide, "Wide"), "error": Table(error, "Long")}
    return write_page_of(PUBLISHED, folder, tables)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    results = tmp_path_factory.mktemp("index")
    for at, name in enumerate(("regression_trial", "predictive_pvalue")):
        part = {"part": {"title": f"Document {at}", "group": "", "page": "", "order": [at, 0]}}
        shutil.copytree(ROOT / "results" / name, results / name)
        manifest = json.loads((results / name / "manifest.json").read_text())
        (results / name / "manifest.json").write_text(json.dumps(manifest | part))
    return write_index(results)


def test_a_stranger_or_a_complaint_would_be_noticed(chromium, tmp_path):
    """That the fixture can fail: a page without our policy asks for another file, and throws."""
    odd = tmp_path / "odd.html"
    odd.write_text('<!doctype html><img src="http://127.0.0.1:9/x.png"><script>throw 1</script>')
    chromium.show(odd, width=DESK)
    assert chromium.strangers == ["http://127.0.0.1:9/x.png"]
    assert chromium.complaints


@pytest.mark.parametrize(("width", "mode"), [(TELEPHONE, "light"), (DESK, "dark")])
def test_nothing_is_wider_than_the_window(width, mode, browser, page):
    browser.show(page, width=width, mode=mode)
    assert browser.says("matchMedia('(prefers-color-scheme: dark)').matches") == (mode == "dark")
    assert not browser.says(TOO_WIDE)
    browser.says(UNFOLD)
    boxes = browser.says(
        "[...document.querySelectorAll('.box')].map(b => b.scrollWidth > b.clientWidth)"
    )
    assert any(boxes), "what is wider scrolls in a box of its own"
    assert not browser.says(TOO_WIDE)
    browser.says("document.querySelector('.wide').style.overflow = 'visible'")
    assert browser.says(TOO_WIDE), "the test can fail"


def test_paper_opens_what_is_folded_and_has_no_dead_links_or_raw_summary(browser, page):
    words = "document.querySelector('main').innerText"
    dead = ("SVG", "As a file")  # a file's name leads nowhere on paper
    browser.show(page, width=DESK)
    assert all(text in browser.says(words) for text in dead)
    assert not browser.says("document.querySelector('#design-section details').open")
    pages = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", browser.paper())
    n_lengthwise = sum(float(width) > float(height) for width, height in pages)
    assert 30 > len(pages) > n_lengthwise > 0, "the wide table lies lengthwise"
    browser.show(page, width=PAPER, medium="print")
    assert not any(text in browser.says(words) for text in dead)
    assert browser.says("document.querySelector('#design-section .protocol').offsetHeight") > 50
    assert not browser.says(TOO_WIDE)
    assert browser.says("document.querySelector('#summary-section').offsetHeight") == 0


CELLS = (
    f"[...{SUMMARY}.tBodies[0].rows].filter(row => !row.hidden)"
    ".map(row => [...row.cells].map(cell => cell.textContent.trim()))"
)
HEADERS = f"[...{SUMMARY}.tHead.rows[0].cells]"


def test_a_click_on_a_header_sorts_and_another_turns_it_round(browser, page):
    browser.show(page, width=DESK)
    names = browser.says(f"{HEADERS}.map(h => h.textContent.trim())")
    for name in ("exact", "model"):
        at = names.index(name)
        before = [row[at] for row in browser.says(CELLS)]
        there = [text for text in before if text != "–"]
        up = sorted(there, key=float if name == "exact" else str)
        for order, how in ((up, "ascending"), (up[::-1], "descending")):
            browser.says(f"{HEADERS}[{at}].querySelector('button').click()")
            assert len(there) < len(before) or name != "exact", "some have no theory"
            missing = ["–"] * (len(before) - len(there))
            assert [row[at] for row in browser.says(CELLS)] == order + missing, "last either way"
            assert browser.says(f"{HEADERS}[{at}].ariaSort") == how
    assert browser.says("document.querySelectorAll('[aria-sort]').length") == 1


def test_words_and_choices_leave_the_rows_that_have_them(browser, page):
    browser.show(page, width=TELEPHONE)
    tools = """document.querySelector('[aria-label="Table: Summary"]').previousElementSibling"""

    def enter(field, value):
        typed = f"field.value = '{value}'; field.dispatchEvent(new Event('input'))"
        browser.says(f"{{ const field = {tools}.{field}; {typed}; }}")
        return browser.says(CELLS), browser.says(f"{tools}.querySelector('output').value")

    assert browser.says(f"{tools}.querySelector('output').value") == f"{N_ROWS} rows"
    found, said = enter("querySelector('input')", "FOREST power")
    assert said == f"{len(found)} of {N_ROWS} rows"
    assert found == [row for row in found if "random forest" in row and "power" in row]
    fewer, _ = enter("querySelectorAll('select')[2]", "=50")
    assert fewer == [row for row in found if row[2] == "50"] != []


def test_without_scripts_all_of_it_is_there(browser, page):
    browser("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.show(page, width=TELEPHONE)
    finally:
        browser("Emulation.setScriptExecutionDisabled", value=False)  # those that ask may run
    assert len(browser.says(CELLS)) == N_ROWS
    assert browser.says("document.querySelectorAll('button, select, input').length") == 0


# ---------------------------------------------------------------- the index
UNSEEN = "[...document.images].filter(i => !(i.complete && i.naturalWidth && i.width > 150)).length"


@pytest.mark.parametrize(("width", "medium"), [(TELEPHONE, ""), (1400, ""), (PAPER, "print")])
def test_the_index_fits_and_all_of_its_figures_are_seen(width, medium, browser, index):
    browser.show(index, width=width, mode="dark", medium=medium)
    browser.says(f"{UNFOLD}; [...document.images].forEach(image => image.loading = 'eager')")
    browser.says("Promise.all([...document.images].map(image => image.decode()))", waits=True)
    assert not browser.says(TOO_WIDE)
    n_figures = len([*index.parent.glob("*/figures/*.png")])
    assert browser.says("document.images.length") == n_figures > 4
    assert browser.says(UNSEEN) == 0


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_report_is_accessible(browser, page, mode):
    browser.show(page, width=TELEPHONE, mode=mode)
    browser.says("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    found = browser.violations()
    if found is None:
        pytest.skip("axe-core is not installed")
    assert found == []
