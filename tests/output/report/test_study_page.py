"""The report is one page: it needs nothing else, and says what it was told and no more."""

import base64
import itertools
import math
import re

import pandas as pd
import pytest
from matplotlib.figure import Figure

from simstudy.claims import Claim, Finding, WrongValue
from simstudy.figures import save_figure
from simstudy.measures import bias, coverage
from simstudy.output.folder import publish
from simstudy.output.report.pages import (
    SHOWN_ROWS,
    WIDE,
    figures_to_show,
    html_grid,
    html_table,
    summary_of,
    title_of,
)
from simstudy.study import Study
from simstudy.tables import Table
from tests.factories import INTERVALS, mean_study
from tests.output.report.parsing import Page

NASTY = '<script>alert("x")</script> & <b>bold</b>'


def drawn(result):
    figure = Figure(figsize=(3, 2))
    figure.add_subplot()
    figure.suptitle(f"Bars: {NASTY}")
    return figure


def nowhere(result):
    raise LookupError(f"not here {NASTY}")


CLAIMS = [
    Claim("a", f"Coverage {NASTY}", "table 1", lambda r: Finding(0.9, 0.001), 0.95,
          expected="differs", note=NASTY),
    Claim("b", "It holds", "text", lambda r: Finding(1.0), published=True,
          wrong_value=WrongValue("the other way", lambda r: Finding(0.0))),
    Claim("c", "Elsewhere", "text", lambda r: Finding(math.nan), published=2.0),
    Claim("d", "It holds not", "text", lambda r: Finding(0.0, detail="at 3"), published=True),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    study = Study(
        "toy", mean_study((3,)).scenarios,
        [bias("estimate", truth="truth", name="bias <of> it"),
         coverage("lower", "upper", truth="truth")],
        axes={"method": INTERVALS}, block_size=50, figures={"1": drawn, "2": nowhere},
        claims=CLAIMS,
    )  # fmt: skip
    out = tmp_path_factory.mktemp("report")
    publish(study.run(60, out=out), about=f"What is it?\n\nAims  {NASTY}")
    return out / "toy"


@pytest.fixture(scope="module")
def page(folder):
    return Page((folder / "report.html").read_text())


def test_it_needs_nothing_from_outside(page):
    assert not {"iframe", "object", "embed"} & {tag for tag, _ in page.tags}
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.attributes("src"))
    assert [link["href"] for link in page.named("link")] == ["data:,"], "an icon to look for"
    assert page.named("script") == [{}], "its own, and it stands there"


def test_its_links_lead_below_its_folder_or_into_itself(page, folder):
    links = {link["href"] for link in page.named("a")}
    own = {link[1:] for link in links if link.startswith("#")}
    assert own <= set(page.attributes("id"))
    files = {link for link in links if not link.startswith("#")}
    assert files >= {"./figures/1.svg", "./tables/summary.csv"}
    assert all((folder / link).exists() for link in files)


def test_what_is_written_in_it_is_text_and_no_markup(page):
    assert page.text.count(NASTY) == 4, "docstring, statement, note, figure not drawn"
    assert {"script", "b"} == {tag for tag, _ in page.tags} & {"script", "b"}, "its own"
    assert not [text for text in page.texts["b"] if "bold" in text]
    assert "bias <of> it" in page.text


def test_it_can_be_read_without_being_seen(page):
    assert page.named("html") == [{"lang": "en"}]
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1 == min(levels)
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert {header["scope"] for header in page.named("th")} == {"col", "row"}
    assert len(page.named("table")) == len(page.named("caption")) > 4
    (picture,) = page.named("img")
    assert picture["alt"] == f"Bars: {NASTY}.", "a title is all that this figure has"


def test_the_contents_name_every_section(page):
    linked = [link["href"][1:] for link in page.named("a") if link["href"].startswith("#")]
    sections = [tag["aria-labelledby"] for tag in page.named("section") if "aria-labelledby" in tag]
    assert linked == ["main", *sections], "after a link that skips them"
    shown = ["findings", "figures", "claims", "tables"]
    assert sections == [*shown, "design", "summary", "again", "made"]
    folded = [tag["aria-labelledby"] for tag in page.named("section") if "id" in tag]
    assert folded == sections[4:], "how it was made"


def test_a_claim_has_its_verdict_in_colour_and_labelled_remarks(page):
    verdicts = [tag["class"] for tag in page.named("span") if "kind" in tag.get("class", "")]
    assert verdicts == [f"kind {kind}" for kind in ("differs", "reproduced", "too-few", "differs")]
    for words in ("differs", "reproduced", "no data", "differs, unexpected"):
        assert words in page.texts["span"]
    assert page.has_words("4 claims of the source: 1 reproduced, 2 differ, 1 no data; 1 unexp")
    assert {"0.95", "holds"} <= {text.strip() for text in page.texts["td"]}
    asked = ["Note", "Detail", "Aims"]
    assert [text for text in page.texts["dt"] if text in asked] == asked
    assert {NASTY, "at 3"} <= set(page.texts["dd"])
    assert "the other way (fails): differs" in page.texts["td"]


def test_it_says_what_figures_say_and_how_it_was_made(page, folder):
    assert page.has_words("Figure 1. SVG PNG")
    assert f"Figure 2 was not drawn: not here {NASTY}" in page.text
    told = {"seed", "replicates per scenario", "versions", "inputs", "outputs", "wall seconds"}
    assert told <= {text.strip() for text in page.texts["th"]}
    index = Page((folder.parent / "index.html").read_text())
    for words in ("What is it?", "1 claim unexpected", "1 claim has no data in these runs."):
        assert index.has_words(words)


# ---------------------------------------------------------------- tables
SUMMARY = pd.DataFrame({
    "k": [1.0, 1.0, 2.0], "alpha": 0.05, "measure": ["power", "share", "power"],
    "estimate": [0.8, 0.5, math.nan], "n_rep": 5000, "n_failed": 0, "n_given": [1200, 5000, 0],
    "reason": ["", "", "no replicate has null_is_false"],
})  # fmt: skip
FRAME = pd.DataFrame({
    "k": [0.5, -1.0, math.nan], "method": ["t_z", "z", "t_z"], "holds": [True, False, True],
    "replicates": [1000, 20_000, 3],
})  # fmt: skip


def names(table, kind="name"):
    return [column["name"] for column in table["columns"] if column[kind]]


def test_a_summary_shows_the_replicates_behind_each_number_and_what_is_the_same_once():
    said = summary_of(SUMMARY, {"k": {2.0: "two"}, "alpha": {0.05: "usual"}})
    assert (said["common"], said["has_conditions"]) == ("alpha = usual.", True)
    table = said["table"]
    assert names(table) == ["k", "measure", "estimate", "n", "replicates", "failed", "reason"]
    assert [row[0] for row in table["rows"]] == ["1", "1", "two"]
    assert [row[3] for row in table["rows"]] == ["1,200", "5,000", "0"]
    assert names(table, "is_choice") == ["k", "measure", "reason"], "factors and few texts"


def test_a_summary_leaves_out_columns_that_say_nothing():
    plain = summary_of(SUMMARY.assign(n_given=math.nan, reason="").head(1))
    assert names(plain["table"])[-3:] == ["estimate", "replicates", "failed"]
    assert plain["common"] == "", "of one row nothing is set apart"


def test_numbers_stand_to_the_right_and_a_menu_has_few_texts():
    table = html_table(FRAME, "A table")
    assert names(table, "is_number") == ["k", "replicates"]
    assert names(table, "is_choice") == ["method", "holds"]
    assert table["rows"] == [
        ["0.5", "t z", "yes", "1,000"], ["−1", "z", "no", "20,000"], ["–", "t z", "yes", "3"],
    ]  # fmt: skip
    many = pd.DataFrame({"name": [str(at) for at in range(100)], "same": "x"})
    assert names(html_table(many, ""), "is_choice") == []


def test_a_table_may_have_no_rows_many_columns_and_too_many_rows():
    assert html_table(FRAME.head(0), "")["rows"] == []
    for n in (WIDE - 1, WIDE):
        wide = html_table(pd.DataFrame([range(n)]).rename(columns=str), "")
        assert wide["is_wide"] == (n == WIDE), "on paper it lies lengthwise"
    frame = pd.DataFrame({"k": range(SHOWN_ROWS + 5)})
    for table in (html_table(frame, ""), html_grid(Table(frame, "Long").grid, "")):
        assert (len(table["rows"]), table["n_left_out"]) == (SHOWN_ROWS, 5)


# ---------------------------------------------------------------- figures
def test_a_report_shows_the_svg_or_else_the_png(tmp_path):
    paths = save_figure(drawn(None), tmp_path / "figures", "1B")
    manifest = {"captions": {"1B": "Text."}, "study": "toy"}
    (shown,) = figures_to_show(paths[:2], manifest)
    assert (shown["title"], shown["alt"], shown["has_pdf"]) == ("Figure 1B", "Text.", False)
    kind, _, data = shown["source"].partition(";base64,")
    assert kind == "data:image/svg+xml"
    assert base64.b64decode(data) == paths.svg.read_bytes()
    (bare,) = figures_to_show([paths.png], manifest | {"captions": {"1B": ""}})
    assert bare["source"].startswith("data:image/png;base64,")
    assert bare["alt"] == "Figure 1B of toy"
    assert title_of("exact_tests") == "Exact tests"
