"""The report is one page: it needs nothing else, and says what it was told and no more."""

import json
import math
import re
from html.parser import HTMLParser

import pandas as pd
import pytest
from matplotlib.figure import Figure

from simstudy.claims import Claim, Reproduced
from simstudy.measures import bias, coverage
from simstudy.output.folder import publish
from simstudy.output.report import SHOWN_ROWS, write_index
from simstudy.output.wording import number
from simstudy.study import Study
from tests import toy

NASTY = '<script>alert("x")</script> & <b>bold</b>'
VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(HTMLParser):
    """Tags, their attributes, and the text, with every tag closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.text, self.open = "", []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text += data

    def attributes(self, *names):
        return [v for _, attrs in self.tags for n, v in attrs.items() if n in names]


def drawn(result):
    figure = Figure(figsize=(1, 1))
    figure.add_subplot()
    return figure


def nowhere(result):
    raise LookupError(f"not here {NASTY}")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    claims = [
        Claim("a", f"Coverage {NASTY}", "table 1", lambda r: Reproduced(0.9, 0.001), 0.95,
              expected="differs", note=NASTY),
        Claim("b", "It holds", "text", lambda r: Reproduced(1.0), published=True),
        Claim("c", "Elsewhere", "text", lambda r: Reproduced(math.nan), published=2.0),
    ]  # fmt: skip
    study = Study(
        "toy", toy.study((3,)).scenarios,
        [bias("estimate", truth="truth", name="bias <of> it"),
         coverage("lower", "upper", truth="truth")],
        {"method": toy.METHODS}, 50, figures={"1": drawn, "2": nowhere}, claims=claims,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("report")
    publish(study.run(60, out=folder), about=f"What is it?\n\nAims  {NASTY}")
    return Page((folder / "toy" / "report.html").read_text())


def test_it_needs_nothing_from_outside(page):
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in page.tags}
    assert all(one.startswith("data:image/png;base64,") for one in page.attributes("src"))
    links = page.attributes("href")
    assert links == ["figures/1.svg"]
    style = "".join(str(attrs) for _, attrs in page.tags)
    assert not re.search(r"https?:|//", style.replace("data:image/png;base64,", "")[:10_000])


def test_the_styles_load_nothing(tmp_path):
    from simstudy.output.report import STYLE

    assert not re.search(r"url\(|@import|https?:", STYLE)


def test_what_is_written_in_it_is_text_and_no_markup(page):
    assert page.text.count(NASTY) == 5, "docstring, statement, note, figure, manifest"
    assert "b" not in {tag for tag, _ in page.tags}
    assert "bias <of> it" in page.text


def test_claims_have_their_verdicts(page):
    verdicts = [attrs["class"] for tag, attrs in page.tags if tag == "span"]
    assert verdicts == ["differs", "reproduced", "no data"]
    assert "0.95" in page.text
    assert "holds" in page.text


def test_every_number_of_the_summary_has_its_error(page):
    for name in ("estimate", "mcse", "lower", "upper", "exact", "n_rep", "n_failed"):
        assert name in page.text


def test_it_says_how_it_was_made(page):
    for name in ("seed", "replicates_per_scenario", "versions", "digest", "wall_seconds"):
        assert name in page.text


def test_a_figure_that_was_not_drawn_is_told(page):
    assert f"Figure 2 was not drawn: not here {NASTY}" in page.text


def test_a_long_summary_is_cut_and_says_so(tmp_path):
    from simstudy.output.report import _summary_section

    frame = pd.DataFrame({"k": range(SHOWN_ROWS + 5), "estimate": 0.5, "reason": ""})
    text = _summary_section(frame)
    assert text.count("<tr>") == SHOWN_ROWS + 1
    assert "5 more rows are in summary.parquet" in text


def test_the_index_lists_every_study(tmp_path):
    for name, replicates in [("two_stage", 600_000), ("classifier", 20)]:
        (tmp_path / name).mkdir()
        manifest = {"study": name, "scenarios": 12, "replicates": replicates}
        (tmp_path / name / "manifest.json").write_text(json.dumps(manifest))
    claims = pd.DataFrame({"verdict": ["reproduced", "differs", "reproduced"]})
    claims.to_parquet(tmp_path / "two_stage" / "claims.parquet")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "manifest.json").write_text('{"name": "an app"}')
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    newest = {"newest": {"scenarios": 3, "replicates": 4}}
    page = Page(write_index(tmp_path, newest).read_text())
    names = ["classifier", "newest", "two_stage"]
    assert page.attributes("href") == [f"{name}/report.html" for name in names]
    assert "600,000" in page.text
    assert "2 of 3" in page.text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.123456, "0.1235"), (math.nan, "–"), (None, "–"), (1234567.0, "1.235e+06"), (3, "3")],
)
def test_numbers_for_people(value, text):
    assert number(value) == text
