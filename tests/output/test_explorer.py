"""The page that draws what a reader chooses: its data, and what a browser makes of them."""

import json
import math

import pandas as pd
import pytest

from simstudy.output.explorer import write_explorer
from tests.output.report.browser import PROGRAM, Browser

SUMMARY = pd.DataFrame({
    "n": [20, 5] * 4, "method": ["t", "t", "</script>", "</script>"] * 2,
    "measure": ["coverage"] * 4 + ["bias"] * 4,
    "estimate": [0.95, 0.9, 0.94, math.nan, -2122.0, 3.0, 0.5, 1.25], "mcse": 0.01,
    "lower": 0.8, "upper": math.inf, "exact": math.nan, "n_rep": 100, "warning": "odd",
})  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / "explore.html"
    return write_explorer(SUMMARY, path, "Which <interval>?", report="./report.html")


def test_the_page_holds_levels_in_order_and_only_finite_numbers(path):
    text = path.read_text()
    assert "Which &lt;interval&gt;?" in text
    content = text.partition('id="content">')[2].partition("</script>")[0]
    data = json.loads(content)
    n, method, measure = data["factors"]
    assert (n["levels"], n["numbers"]) == (["5", "20"], [5, 20])
    assert (method["levels"], method["numbers"]) == (["t", "</script>"], None)
    assert measure["levels"] == ["coverage", "bias"]
    assert data["places"][0] == [1, 0] * 4
    columns = dict(zip(data["values"], data["columns"], strict=True))
    assert columns["estimate"] == [0.95, 0.9, 0.94, None, -2122.0, 3.0, 0.5, 1.25]
    assert columns["upper"] == columns["exact"] == [None] * 8


@pytest.mark.slow
@pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium to show pages in")
@pytest.mark.parametrize("width", [390, 1280])
def test_a_reader_chooses_and_the_address_keeps_it(path, width, tmp_path):
    browser = Browser(tmp_path)

    def count(selector):
        return browser.says(f"document.querySelectorAll({selector!r}).length")

    def choose(name, value):
        browser.says(
            f"(() => {{ const menu = document.forms[0].elements[{name!r}]; menu.value = {value!r};"
            "menu.dispatchEvent(new Event('change')); })()"
        )
        browser.says("new Promise((done) => setTimeout(done, 50))", waits=True)

    try:
        browser.show(path, width=width)
        assert count("#plots svg") == 1
        assert count("#plots g") == 3, "one estimate is not finite"
        choose("measure", "bias")
        choose("panel", "method")
        assert count("#plots svg") == 2
        assert count("tbody tr") == 4
        assert "measure=bias" in browser.says("location.hash")
        browser.reload()
        browser.says("new Promise((done) => setTimeout(done, 50))", waits=True)
        assert browser.says("document.forms[0].elements.measure.value") == "bias"
        assert count("#plots svg") == 2
        assert not browser.says("document.documentElement.scrollWidth > innerWidth")
        assert browser.says(
            "[...document.querySelectorAll('select')].every((s) => s.labels.length)"
        )
        assert (browser.complaints, browser.strangers) == ([], [])
    finally:
        browser.close()
