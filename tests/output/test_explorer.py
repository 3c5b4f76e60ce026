"""The page that draws what a reader chooses: what it holds, and what a browser makes of it."""

import base64
import csv
import gzip
import io
import json
import math
import re
from dataclasses import dataclass
from types import SimpleNamespace
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest

from simstudy import Study, each_replicate, grid, publish
from simstudy.measures import bias, coverage, mse
from simstudy.output import explorer
from simstudy.output.explorer import write_explorer
from tests.output.report.browser import PROGRAM
from tests.support import ROOT, needs_results

SUMMARY = pd.DataFrame({
    "n": [20, 5] * 4, "method": ["t", "t", "</script>", "</script>"] * 2,
    "measure": ["coverage"] * 4 + ["bias"] * 4,
    "estimate": [0.95, 0.9, 0.94, math.nan, -2122.0, 3.0, 0.5, 1.25], "mcse": 0.01,
    "lower": 0.8, "upper": math.inf, "exact": math.nan, "n_rep": 100, "warning": "odd",
})  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """The mean of normal or exponential values, less its expectation."""

    n: int
    shape: str

    def draw(self, streams, n_rep):
        rng = streams("data")
        if self.shape == "normal":
            return {"x": rng.standard_normal((n_rep, self.n)), "truth": np.zeros(n_rep)}
        return {"x": rng.standard_exponential((n_rep, self.n)) - 1, "truth": np.zeros(n_rep)}

    def exact(self):
        """The coverage of the first method, which is exact for normal values."""
        known = 0.95 if self.shape == "normal" else np.nan
        return {"coverage": np.array([known, np.nan, np.nan])}


def interval(center, x, times):
    half = times * x.std(ddof=1) / math.sqrt(len(x))
    return {"estimate": center, "lower": center - half, "upper": center + half}


@each_replicate
def wide(x):
    return interval(x.mean(), x, 2.5)


@each_replicate
def narrow(x):
    if x[0] > 1.2:
        raise ArithmeticError("no convergence")
    return interval(x.mean(), x, 1.5)


@each_replicate
def far(x):
    return interval(x.mean() + 30, x, 2.0)


def sample_study():
    return Study(
        "explored",
        grid(Sample, n=[10, 20, 400], shape=["normal", "skew"]),
        [
            bias("estimate", truth="truth"),
            coverage("lower", "upper", "truth"),
            mse("estimate", truth="truth"),
        ],
        methods={"wide": wide, "narrow": narrow, "far": far},
        answer=lambda result: "The wide one.",
    )  # fmt: skip


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A result with its page: three methods, failures, missing values, exact theory."""
    result = sample_study().run(60, out=tmp_path_factory.mktemp("explored"), backend="inline")
    publish(result, about="Which interval covers?", figures=False)
    return result, result.folder / "explore.html"


def bare(summary):
    """A result of so many replicates that its page has only the summary."""
    plan = SimpleNamespace(methods_axis=None, axes={}, scenarios=[])
    details = SimpleNamespace(measures=(), value_labels={}, labels={})
    return SimpleNamespace(summary=summary, plan=plan, details=details, n_rep={"a": 10**9})


def content_of(path):
    text = path.read_text()
    packed = text.partition('id="content">')[2].partition("</script>")[0]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def rows_of(table):
    """A table of the page as a frame, with limits instead of multiples of the error."""
    factors = {
        factor["name"]: [factor["levels"][at] for at in places]
        for factor, places in zip(table["factors"], table["at"], strict=True)
    }
    frame = pd.DataFrame(factors | table["values"])
    unit = frame["mcse"].where(frame["mcse"] > 0, 1.0)
    frame["lower"] = frame["estimate"] - unit * frame["_below"]
    frame["upper"] = frame["estimate"] + unit * frame["_above"]
    return frame.assign(warning=[table["texts"][at] for at in frame["warning"]])


def test_the_page_holds_levels_in_order_and_only_finite_numbers(tmp_path):
    path = write_explorer(bare(SUMMARY), tmp_path / "explore.html", "Which <interval>?")
    assert "Which &lt;interval&gt;?" in path.read_text()
    table = content_of(path)["tables"]["estimates"]
    n, method, measure = table["factors"]
    assert (n["levels"], n["numbers"]) == (["5", "20"], [5, 20])
    assert (method["levels"], method["numbers"]) == (["t", "</script>"], None)
    assert measure["levels"] == ["coverage", "bias"]
    assert table["at"][0] == [1, 0] * 4
    values = table["values"]
    assert values["estimate"] == [0.95, 0.9, 0.94, None, -2122, 3, 0.5, 1.25]
    assert values["_above"] == values["exact"] == [None] * 8
    assert set(values["nominal"][:4]) == {0.95}
    assert set(values["nominal"][4:]) == {0}
    assert list(content_of(path)["tables"]) == ["estimates"]


def test_numbers_of_the_page_are_those_of_the_summary(published):
    result, page = published
    found, summary = rows_of(content_of(page)["tables"]["estimates"]), result.summary
    for name in ("estimate", "mcse", "lower", "upper", "exact", "n_rep", "n_failed"):
        np.testing.assert_allclose(
            found[name].astype(float), summary[name].astype(float), rtol=2e-5, atol=2e-5
        )
    texts = summary[["reason", "warning"]].fillna("").agg("; ".join, axis=1).str.strip("; ")
    assert found["warning"].tolist() == texts.tolist()
    assert any(texts)


def test_differences_are_those_of_contrast(published):
    result, page = published
    found = rows_of(content_of(page)["tables"]["differences"])
    assert set(found["difference of methods"]) == {"wide − narrow", "wide − far", "narrow − far"}
    for measure, other in (("bias", "far"), ("coverage", "narrow")):
        paired = result.contrast(measure, axis="method", first="wide", second=other)
        own = found[
            (found["measure"] == measure) & (found["difference of methods"] == f"wide − {other}")
        ]
        for name in ("estimate", "mcse", "lower", "upper"):
            atol = 1e-3 * paired["mcse"].max()  # far below what an error is known to
            np.testing.assert_allclose(own[name], paired[name], rtol=1e-5, atol=atol)
    assert set(found["nominal"]) == {0}


def unpacked(table, name):
    return np.frombuffer(base64.b64decode(table["packed"][name]), "<f4")


def test_replicates_are_there(published):
    result, page = published
    table, frame = content_of(page)["tables"]["replicates"], result.replicates
    for name in ("estimate", "lower", "upper"):
        np.testing.assert_allclose(unpacked(table, name), frame[name], rtol=1e-6)


def test_stores_that_are_too_large_have_no_replicates(published, tmp_path, monkeypatch):
    result, _ = published
    monkeypatch.setattr(explorer, "MAX_REPLICATES", 1000)
    monkeypatch.setattr(explorer, "MAX_CONTRASTS", 60)
    page = write_explorer(result, tmp_path / "x.html", "x")
    content = content_of(page)
    assert list(content["tables"]) == ["estimates", "differences"]
    factors = content["tables"]["differences"]["factors"]
    levels = {factor["name"]: factor["levels"] for factor in factors}
    assert levels["difference of methods"] == ["wide − narrow", "wide − far"], "from the first"
    monkeypatch.setattr(explorer, "MAX_CONTRASTS", 10)
    page = write_explorer(result, tmp_path / "x.html", "x")
    assert list(content_of(page)["tables"]) == ["estimates"]


@needs_results
def test_the_largest_study_is_below_400_kilobytes(tmp_path):
    files = sorted((ROOT / "results").glob("*/summary.parquet"))
    largest = max(map(pd.read_parquet, files), key=len)
    assert len(largest) > 25_000
    page = write_explorer(bare(largest), tmp_path / "explore.html", "Large")
    assert page.stat().st_size < 400_000


# ---------------------------------------------------------------- in a browser
def in_chromium(test):
    """A slow test that is skipped where no browser is."""
    no_browser = pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium")
    return pytest.mark.slow(no_browser(test))


class Reader:
    """Someone who reads a page in a browser."""

    def __init__(self, browser):
        self.browser, self.says = browser, browser.says

    def wait(self, milliseconds=80):
        self.says(f"new Promise((done) => setTimeout(done, {milliseconds}))", waits=True)

    def open(self, page, address="", **how):
        self.browser.show(page, **{"width": 1280} | how)
        self.wait(150)
        if address:
            self.says(f"location.hash = {address!r}")
            self.wait()

    def go(self, **choices):
        """To these choices, all others as usual."""
        self.says(f"location.hash = {urlencode(choices)!r}")
        self.wait()

    def count(self, selector):
        return self.says(f"document.querySelectorAll({selector!r}).length")

    def texts(self, selector):
        return self.says(f"[...document.querySelectorAll({selector!r})].map((e) => e.textContent)")

    def choose(self, name, value):
        self.says(
            f"(() => {{ const menu = document.forms[0].elements[{name!r}]; menu.value = {value!r};"
            "menu.dispatchEvent(new Event('change')); })()"
        )
        self.wait()

    def chosen(self, name):
        return self.says(f"document.forms[0].elements[{name!r}]?.value")

    def options(self, name):
        return self.says(f"[...document.forms[0].elements[{name!r}].options].map((o) => o.value)")

    def drawn(self):
        return self.says("document.querySelector('#plots').innerHTML")

    def note(self):
        return self.says("document.querySelector('#note').textContent")

    def marks(self):
        """What each mark tells, with its height in the plot."""
        return self.says(
            "[...document.querySelectorAll('.mark')].map((mark) => ["
            "mark.getAttribute('aria-label'),"
            "+mark.querySelector('path').getAttribute('transform').match(/,([-\\d.e]+)\\)/)[1]])"
        )

    def ticks(self):
        """Value and height of the ticks of the y axis."""
        found = self.says(
            "[...document.querySelectorAll('#plots svg text[text-anchor=end]:not([transform])')]"
            ".map((text) => [text.textContent.replace('−', '-'), +text.getAttribute('y') - 4])"
        )
        return [(float(text), height) for text, height in found]

    def press(self, *keys):
        for key in keys:
            code = {"Tab": 9, " ": 32}.get(key, 0)
            typed = {"key": key, "code": key, "windowsVirtualKeyCode": code}
            text = {"text": key} if key == " " else {}
            self.browser("Input.dispatchKeyEvent", type="keyDown", **typed, **text)
            self.browser("Input.dispatchKeyEvent", type="keyUp", **typed)
            self.wait(20)

    def saved(self, button):
        """What a button saves, as bytes, with its type."""
        self.says(
            "globalThis.saved = null; URL.createObjectURL = (blob) => { globalThis.saved = blob;"
            "return 'data:,'; }; HTMLAnchorElement.prototype.click = () => {};"
            f"document.querySelector('#{button}').click()"
        )
        self.wait(600)
        encoded = self.says(
            "new Promise((done) => { const reader = new FileReader(); reader.onload = () =>"
            "done(reader.result); reader.readAsDataURL(globalThis.saved); })",
            waits=True,
        )
        head, _, body = encoded.partition(",")
        return base64.b64decode(body), head


@pytest.fixture
def reader(browser):
    return Reader(browser)


@in_chromium
def test_it_opens_on_the_first_measure_over_the_first_factor(reader, published):
    reader.open(published[1])
    assert reader.texts("h1") == ["Which interval covers?"]
    assert reader.texts(".answer") == ["The wide one."]
    assert [reader.chosen(name) for name in ("show", "measure", "x", "colour")] == [
        "estimates", "bias", "n", "method",
    ]  # fmt: skip
    assert {"bias", "n"} <= set(reader.texts("#plots svg text")), "both axes have titles"
    assert reader.count("#plots .level") == 1
    assert "Dashed: 0." in reader.note()
    assert "exact theory" not in reader.note(), "there is none of a bias"
    reader.choose("measure", "coverage")
    assert "Dashed: the nominal level." in reader.note()
    assert "Level marks: exact theory." in reader.note()
    reader.choose("is.shape", "skew")
    assert "exact theory" not in reader.note()


@in_chromium
def test_every_option_of_every_menu_changes_what_is_drawn(reader, published):
    reader.open(published[1])
    same = set()
    for view in reader.options("show"):
        reader.go(show=view)
        for name in reader.says("[...document.forms[0].elements].map((menu) => menu.name)"):
            if name == "show":
                continue
            seen = {reader.drawn()}
            for value in reader.options(name):
                reader.choose(name, value)
                seen.add(reader.drawn())
                reader.go(show=view)
            if len(seen) < 2:
                same.add((view, name))
    assert same == set()


@in_chromium
def test_marks_stand_where_the_summary_says(reader, published):
    result, page = published
    for measure in ("bias", "coverage"):
        reader.open(page, f"measure={measure}")
        (low, bottom), *_, (high, top) = reader.ticks()
        summary = result.summary[result.summary["measure"] == measure]
        marks = reader.marks()
        assert len(marks) == 9
        for text, height in marks:
            value = low + (height - bottom) / (top - bottom) * (high - low)
            n, method = re.match(r"n (\d+); shape normal; method (\w+)", text).groups()
            (row,) = summary[(summary["n"] == int(n)) & (summary["method"] == method)
                             & (summary["shape"] == "normal")].to_dict("records")  # fmt: skip
            assert value == pytest.approx(row["estimate"], abs=(high - low) / 400)
            if method == "narrow" and row["n_failed"]:
                assert f"{row['n_failed']} failed" in text


@in_chromium
def test_a_method_is_left_out_by_its_legend_and_the_others_fill_the_axis(reader, published):
    reader.open(published[1])
    before = reader.ticks()[-1][0]
    assert before >= 20, "the far one sets the scale"
    reader.says("document.querySelectorAll('#key button')[2].click()")
    reader.wait()
    assert reader.count(".mark") == 6
    assert reader.ticks()[-1][0] < 1
    assert "without=far" in reader.says("location.hash")
    pressed = "[...document.querySelectorAll('#key button')].map((b) => b.ariaPressed)"
    assert reader.says(pressed) == ["true", "true", "false"]
    reader.says("document.querySelectorAll('#key button')[2].click()")
    reader.wait()
    assert reader.count(".mark") == 9


@in_chromium
def test_scales_and_order(reader, published):
    reader.open(published[1], "colour=none&x=method&order=by+value")
    labels = "#plots svg text[text-anchor=middle]:not([transform])"
    by_value = [text for text in reader.texts(labels) if text in ("wide", "narrow", "far")]
    assert by_value[-1] == "far"
    reader.open(published[1], "scale=logarithmic+y")
    assert "more have no value on these axes" in reader.note(), "negative estimates"
    values = [value for value, _ in reader.ticks()]
    heights = [height for _, height in reader.ticks()]
    slopes = np.diff(np.log10(values)) / np.diff(heights)
    assert slopes == pytest.approx(slopes[0], rel=0.05)
    automatic = reader.says("location.hash = ''") or reader.wait() or reader.drawn()
    reader.choose("scale", "linear")
    assert reader.drawn() != automatic, "from 10 to 400 it is logarithmic by itself"


@in_chromium
def test_failures_and_warnings_are_hollow_told_and_filtered(reader, published):
    result, page = published
    reader.open(page, "measure=coverage")
    hollow = "document.querySelectorAll('.mark path[fill=\"var(--page)\"]').length"
    shown = result.summary[
        (result.summary["measure"] == "coverage") & (result.summary["shape"] == "normal")
    ]
    doubtful = (shown["n_failed"] > 0) | (shown["warning"].fillna("") != "")
    assert reader.says(hollow) == doubtful.sum() > 0
    assert "Hollow: with a warning or failed replicates." in reader.note()
    reader.choose("marks", "with warnings or failures")
    assert reader.count(".mark") == doubtful.sum()
    reader.choose("marks", "without warnings")
    assert reader.count(".mark") == (~doubtful).sum()
    assert "Hollow" not in reader.note()
    place = reader.says(
        "(() => { const box = document.querySelector('.mark').getBoundingClientRect();"
        "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    reader.browser("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    reader.wait()
    tip = reader.says("document.querySelector('#tip:not([hidden])')?.textContent")
    assert re.match(r"n 10; shape normal; method \w+; coverage [\d.]+ \(MCSE [\d.]+\)", tip)


@in_chromium
def test_replicates_and_method_against_method(reader, published):
    result, page = published
    frame = result.replicates
    one = frame[(frame["n"] == 10) & (frame["shape"] == "normal")]
    reader.open(page, "show=replicates&x=lower&y=upper")
    assert reader.count(".mark") == one["lower"].notna().sum()
    reader.choose("show", "method against method")
    both = one.pivot(index="rep", columns="method", values="estimate")
    assert reader.count(".mark") == both[["wide", "narrow"]].notna().all(axis=1).sum() < 60
    assert "Dashed: equality." in reader.note()


@in_chromium
def test_exports_hold_the_numbers_of_the_summary(reader, published):
    result, page = published
    reader.open(page, "measure=coverage&is.shape=all")
    content, kind = reader.saved("csv")
    assert "text/csv" in kind
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    summary = result.summary[result.summary["measure"] == "coverage"]
    assert len(rows) == len(summary) == 18
    for row, (_, own) in zip(rows, summary.iterrows(), strict=True):
        assert [row[name] for name in ("n", "shape", "method")] == [*map(str, own.iloc[:3])]
        for name in ("estimate", "lower", "upper", "mcse"):
            assert float(row[name]) == pytest.approx(own[name], rel=2e-5, abs=2e-5)
        assert float(row["n_failed"]) == own["n_failed"]
    content, kind = reader.saved("svg")
    assert "image/svg+xml" in kind
    svg = content.decode()
    assert "Which interval covers?" in svg
    assert svg.count('class="mark"') == 18
    assert "var(" not in svg
    content, kind = reader.saved("png")
    assert "image/png" in kind
    assert content.startswith(b"\x89PNG")
    assert len(content) > 10_000


@in_chromium
def test_a_link_opens_the_same_view(reader, published):
    reader.open(published[1])
    reader.choose("measure", "coverage")
    reader.choose("panels", "shape")
    reader.says("document.querySelectorAll('#key button')[0].click()")
    reader.wait()
    address, drawn = reader.says("location.hash"), reader.drawn()
    assert dict(part.split("=") for part in address[1:].split("&")) == {
        "measure": "coverage", "panels": "shape", "without": "wide",
    }, "nothing that has no meaning"  # fmt: skip
    reader.browser.reload()
    reader.wait(200)
    assert reader.drawn() == drawn
    reader.says("location.hash = 'measure=nothing&x=none&is.n=7&colour=method'")
    reader.wait()
    assert reader.chosen("measure") == "bias", "what is not there is left out"
    assert reader.says("location.hash") == "#x=none"
    reader.choose("measure", "coverage")
    reader.choose("show", "differences")
    assert reader.chosen("measure") == "coverage", "what both views have stays"
    reader.says("history.back()")
    reader.wait()
    assert reader.chosen("show") == "estimates"


@in_chromium
def test_everything_can_be_done_by_keys(reader, published):
    reader.open(published[1])
    reader.says("document.forms[0].elements.show.focus()")
    reached = []
    for _ in range(30):
        reader.press("Tab")
        focused = reader.says("document.activeElement.name || document.activeElement.id"
                              " || document.activeElement.tagName")  # fmt: skip
        reached.append(focused)
    assert {"measure", "x", "colour", "marks", "BUTTON", "svg", "png", "csv", "link"} <= set(
        reached
    )
    reader.says("document.querySelector('#key button').focus()")
    reader.press(" ")
    assert reader.count(".mark") == 6
    assert reader.says("document.activeElement.textContent.trim()") == "wide", "the focus stays"
    reader.says("document.querySelector('#plots svg').focus()")
    reader.press("ArrowRight", "ArrowRight")
    told = reader.says("document.querySelector('#tip:not([hidden])')?.textContent")
    assert told == reader.marks()[1][0]
    reader.press("Escape")
    assert reader.says("document.querySelector('#tip').hidden")


@in_chromium
@pytest.mark.parametrize(("width", "mode"), [(390, "light"), (390, "dark"), (1280, "dark")])
def test_it_fits_a_telephone_and_the_night_and_is_accessible(width, mode, reader, published):
    for view in ("estimates", "differences", "replicates"):
        reader.open(published[1], f"show={view}", width=width, mode=mode)
        assert not reader.says("document.documentElement.scrollWidth > innerWidth")
        ink = reader.says("getComputedStyle(document.querySelector('#plots text')).fill")
        assert (sum(map(int, re.findall(r"\d+", ink))) > 400) == (mode == "dark")
        assert not reader.browser.violations()
