"""A page as readers have it: on a telephone, on a desk, on paper, by day and by night."""

import itertools
import json
import re
import shutil

import pandas as pd
import pytest

from simstudy.output.report import write_index
from simstudy.tables import Table
from tests.output.report.browser import PROGRAM, Browser
from tests.output.report.published import write_page_of
from tests.support import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium to show pages in"),
]
PUBLISHED = "regression_trial_prices"  # of the published results those with the most columns
N_ROWS = 432  # of its summary
N_COLUMNS = 40  # of a table wider than any of them
TELEPHONE, DESK = 390, 1280
PAPER = {"upright": 695, "lengthwise": 1031}  # the style's A4 within its margins, at 96 to an inch
LEFT_OUT = "document.querySelectorAll('#summary-section, #times-section')"  # on paper
SUMMARY = "document.querySelector('[aria-label=Summary] table')"
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
def browser(tmp_path_factory):
    try:
        browser = Browser(tmp_path_factory.mktemp("browser"))
    except AssertionError as silent:
        pytest.skip(f"no browser that works here: {silent}")
    try:
        yield browser
    finally:
        browser.close()


@pytest.fixture
def shown(browser, page):
    """The page in a window of a width, and what the browser had to say of it is nothing."""
    browser.complaints.clear()
    browser.requests.clear()
    yield lambda width, **how: browser.show(page, width=width, **how) or browser
    assert browser.strangers == []
    assert browser.complaints == []


@pytest.mark.parametrize(
    ("width", "mode"), [*itertools.product((TELEPHONE, DESK), ("light", "dark"))]
)
def test_nothing_is_wider_than_the_window(width, mode, shown):
    browser = shown(width, mode=mode)
    assert browser.says("matchMedia('(prefers-color-scheme: dark)').matches") == (mode == "dark")
    assert not browser.says(TOO_WIDE)
    browser.says(UNFOLD)
    boxes = browser.says(
        "[...document.querySelectorAll('.box')].map(b => b.scrollWidth > b.clientWidth)"
    )
    assert any(boxes), "what is wider scrolls in a box of its own"
    assert not browser.says(TOO_WIDE)


def test_that_test_catches_what_is_wider(shown):
    browser = shown(TELEPHONE)
    browser.says("document.querySelector('.wide').style.overflow = 'visible'")
    assert browser.says(TOO_WIDE)


CLIPPED = """
(width) => [...document.querySelectorAll("th, td")].filter((cell) => {
  const { left, right, height } = cell.getBoundingClientRect();
  const box = cell.closest(".box");
  const isHidden = height === 0 || box.scrollHeight > box.clientHeight + 1;
  return isHidden || left < 0 || right > width + 1 || cell.scrollWidth > cell.clientWidth + 1;
}).length
"""

BROKEN = """
[...document.querySelectorAll("td.number, th.number[scope=row]")].filter((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return range.getClientRects().length > 1;
}).length
"""


@pytest.mark.parametrize(("way", "tables"), [("upright", ":not(.wide)"), ("lengthwise", ".wide")])
def test_paper_has_every_row_and_every_column(way, tables, shown):
    browser = shown(PAPER[way], medium="print")
    browser.says(f"{LEFT_OUT}.forEach(section => section.remove())")
    others = browser.says(
        f"[...document.querySelectorAll('.box')].filter(b => !b.matches('{tables}'))"
        ".map(b => b.remove()).length"
    )
    assert others > 0
    n_cells = browser.says("document.querySelectorAll('th, td').length")
    assert n_cells > {"upright": 20, "lengthwise": 3 * N_COLUMNS}[way]
    assert browser.says(f"({CLIPPED})({PAPER[way]})") == 0
    assert browser.says(BROKEN) == 0


def test_that_test_catches_a_box_that_clips(shown):
    browser = shown(PAPER["lengthwise"], medium="print")
    browser.says("document.querySelector('.wide').style = 'overflow: auto; max-height: 3rem'")
    assert browser.says(f"({CLIPPED})({PAPER['lengthwise']})") > 0


def test_that_test_catches_a_number_that_is_broken(shown):
    browser = shown(PAPER["lengthwise"], medium="print")
    browser.says(
        "document.querySelectorAll('.wide td').forEach("
        "cell => cell.style = 'overflow-wrap: anywhere; white-space: normal; font-size: 20pt')"
    )
    assert browser.says(BROKEN) > 0


def test_paper_has_no_dead_links(shown):
    """A file's name leads nowhere there."""
    words = "document.querySelector('main').innerText"
    on_screen = shown(DESK).says(words)
    assert "SVG" in on_screen
    assert "As a file" in on_screen
    on_paper = shown(DESK, medium="print").says(words)
    assert "SVG" not in on_paper
    assert "As a file" not in on_paper
    assert "Figure" in on_paper


def test_paper_opens_what_is_folded_and_leaves_out_the_raw_summary_and_sources(shown):
    browser = shown(DESK)
    design = "document.querySelector('#design-section .protocol').offsetHeight"
    assert not browser.says("document.querySelector('#design-section details').open")
    pages = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", browser.paper())
    n_lengthwise = sum(float(width) > float(height) for width, height in pages)
    assert 30 > len(pages) > n_lengthwise > 0, "the wide table lies lengthwise"
    browser = shown(PAPER["upright"], medium="print")
    assert browser.says(design) > 50
    for left_out in ("#summary-section", "#times-section", ".source"):
        heights = f"[...document.querySelectorAll('{left_out}')].map(e => e.offsetHeight)"
        assert set(browser.says(heights)) <= {0}


CELLS = (
    f"[...{SUMMARY}.tBodies[0].rows].filter(row => !row.hidden)"
    ".map(row => [...row.cells].map(cell => cell.textContent.trim()))"
)
HEADERS = f"[...{SUMMARY}.tHead.rows[0].cells]"


def test_a_click_on_a_header_sorts_and_another_turns_it_round(shown):
    browser = shown(DESK)
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


def test_words_and_choices_leave_the_rows_that_have_them(shown):
    browser = shown(TELEPHONE)
    tools = "document.querySelector('[aria-label=Summary]').previousElementSibling"
    assert browser.says(f"{tools}.querySelector('output').value") == f"{N_ROWS} rows"
    browser.says(
        f"{{ const box = {tools}.querySelector('input'); box.value = 'FOREST power';"
        " box.dispatchEvent(new Event('input')); }"
    )
    found = browser.says(CELLS)
    assert (
        browser.says(f"{tools}.querySelector('output').value") == f"{len(found)} of {N_ROWS} rows"
    )
    assert found == [row for row in found if "random forest" in row and "power" in row]
    browser.says(
        f"{{ const size = {tools}.querySelectorAll('select')[2]; size.value = '=50';"
        " size.dispatchEvent(new Event('input')); }"
    )
    assert browser.says(CELLS) == [row for row in found if row[2] == "50"] != []


def test_without_scripts_all_of_it_is_there(shown, browser):
    browser("Emulation.setScriptExecutionDisabled", value=True)
    try:
        shown(TELEPHONE)
        browser("Emulation.setScriptExecutionDisabled", value=False)  # those that ask may run
        assert len(browser.says(CELLS)) == N_ROWS
        assert browser.says("document.querySelectorAll('button, select, input').length") == 0
    finally:
        browser("Emulation.setScriptExecutionDisabled", value=False)


def test_a_stranger_or_a_complaint_would_be_noticed(browser, page, tmp_path):
    """That the fixture can fail: a page without our policy asks for another file, and throws."""
    odd = tmp_path / "odd.html"
    odd.write_text('<!doctype html><img src="http://127.0.0.1:9/x.png"><script>throw 1</script>')
    browser.show(odd, width=DESK)
    assert browser.strangers == ["http://127.0.0.1:9/x.png"]
    assert browser.complaints


# ---------------------------------------------------------------- the index
@pytest.fixture(scope="module")
def index(tmp_path_factory):
    results = tmp_path_factory.mktemp("index")
    for at, name in enumerate(("regression_trial", "predictive_pvalue")):
        part = {"part": {"title": f"Document {at}", "group": "", "page": "", "order": [at, 0]}}
        shutil.copytree(ROOT / "results" / name, results / name)
        manifest = json.loads((results / name / "manifest.json").read_text())
        (results / name / "manifest.json").write_text(json.dumps(manifest | part))
    return write_index(results)


UNSEEN = "[...document.images].filter(i => !(i.complete && i.naturalWidth && i.width > 150)).length"


@pytest.mark.parametrize("width", [TELEPHONE, 800, 1400, PAPER["upright"]])
def test_the_index_fits_and_all_of_its_figures_are_seen(width, browser, index):
    on_paper = width == PAPER["upright"]
    browser.complaints.clear()
    browser.requests.clear()
    browser.show(index, width=width, mode="dark", medium="print" if on_paper else "")
    browser.says(f"{UNFOLD}; [...document.images].forEach(image => image.loading = 'eager')")
    browser.says("Promise.all([...document.images].map(image => image.decode()))", waits=True)
    assert not browser.says(TOO_WIDE)
    n_figures = len([*index.parent.glob("*/figures/*.png")])
    assert browser.says("document.images.length") == n_figures > 4
    assert browser.says(UNSEEN) == 0
    if on_paper:
        assert browser.says(f"({CLIPPED})({width})") == 0
    assert (browser.complaints, browser.strangers) == ([], [])


def test_claims_unfold_by_their_count_and_sort_by_our_numbers(browser, index):
    browser.show(index, width=DESK)
    (first, *_) = browser.says("[...document.querySelectorAll('.scores td a')].map(a => a.hash)")
    is_open = f"document.querySelector('{first}').open"
    assert not browser.says(is_open)
    browser.says(
        "document.querySelector('.scores td a').click(); new Promise(setTimeout)", waits=True
    )
    assert browser.says(is_open)
    ours = f"[...document.querySelectorAll('{first} [data-label^=ours]')]"
    cells = f"{ours}.map(cell => cell.dataset.value)"
    in_print = browser.says(cells)
    browser.says(f"document.querySelectorAll('{first} thead button')[2].click()")
    numbers = [text for text in in_print if text not in ("holds", "fails", "–")]
    assert len(numbers) > 2
    in_order = [text for text in browser.says(cells) if text in numbers]
    assert in_order == sorted(numbers, key=lambda text: float(text.replace(",", "")))
    assert browser.says("document.querySelectorAll('button.copy').length") == 2, "of each command"
