"""Pages agree with the committed results; mistakes in templates are reported with their line."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simstudy.claims.verdict import PUBLISHED_VERDICTS
from simstudy.output.report.index_page import write_index
from tests.support import needs_results
from write import main
from writing.callables import agrees, holds
from writing.numbers import decimals, number, percent, plus_minus, written
from writing.pages import Page, pages
from writing.refusals import PageError
from writing.results import Claim, Row, Rows, Study
from writing.scoreboard import counted, entry, misprints, tally

ROOT = Path(__file__).parents[1]
INDEX = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
DOCUMENTS = sorted((ROOT / "docs" / "documents").glob("*.md"))
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / name / "README.md" for name in ("benchmarks", "examples", "tests/independent")),
]


def row(estimate: float, mcse: float = 0.0, **others: float) -> Row:
    return Row({"estimate": estimate, "mcse": mcse, **others}, what="a row")


@pytest.fixture(scope="module")
def as_written() -> list[Page | PageError]:
    return list(pages(ROOT))


@needs_results
def test_every_page_is_what_its_template_gives(as_written):
    refused = [str(page) for page in as_written if isinstance(page, PageError)]
    assert refused == []
    stale = [page.path.name for page in as_written if not page.is_current()]
    assert stale == [], "run `python docs/write.py`"


@needs_results
def test_every_page_of_a_document_is_written_and_says_so(as_written):
    assert {page.path for page in as_written} >= {ROOT / "README.md", *DOCUMENTS}
    for page in DOCUMENTS:
        first = page.read_text().splitlines()[0]
        template = re.search(r"docs/templates/\S+", first)
        assert template, page
        assert (ROOT / template[0].rstrip(":")).exists()


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


@needs_results
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_and_figure_of_a_page_leads_somewhere(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"https?:|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), target


@pytest.mark.parametrize(
    ("error", "places"), [(0.0004, 4), (0.015, 3), (0.02, 2), (0.099, 2), (0.1, 2), (250.0, 0)]
)
def test_an_error_leaves_its_leading_digit_and_one_more_after_a_one(error, places):
    assert decimals(error) == places


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (1234567.0, 0, "1,234,567"),
        (-0.5, 1, "−0.5"),
        (-0.04, 1, "0.0"),
        (0.0, 2, "0.00"),
        (2.0, 0, "2"),
    ],
)
def test_prose_has_a_minus_sign_thousands_and_no_negative_zero(value, digits, text):
    assert written(value, digits) == text


def test_a_number_is_rounded_to_two_standard_errors():
    assert number(row(0.93512, 0.0012)) == "0.935"
    assert number(row(0.93512, 0.0009)) == "0.9351"
    assert percent(row(0.049274, 0.000306)) == "4.93%"
    assert percent(row(0.049274, 0.000306), 0) == "5%"
    assert number(row(0.5, 0.01), signed=True) == "+0.50"
    assert number(399.0) == "399"
    assert number(np.array(-1703.8), 0) == "−1,704"


def test_plus_minus_is_two_standard_errors():
    assert plus_minus(row(0.0647, 0.00745)) == "0.065 ± 0.015"
    assert plus_minus(row(-0.0084, 0.0002), scale=100) == "−0.84 ± 0.04"
    assert plus_minus(row(0.8412, 0.0113), digits=2) == "0.84 ± 0.02"


def test_several_numbers_are_their_range_once_where_they_print_the_same():
    both = Rows([row(0.87, 0.01), row(0.85, 0.01)])
    assert percent(both, 0) == "85 to 87%"
    assert percent([0.871, 0.869], 0) == "87%"
    assert number([-0.5, -2.0], 0) == "−2 to 0"


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda: number(0.123), "0.123 has no error that says how far to round it: give the"),
        (lambda: number(math.nan, 2), "nan is no number to print: nan has none here"),
        (
            lambda: number(Claim({"kind": "statement", "reproduced": 1.0}, what="the claim 'x'")),
            "the claim 'x' is a statement, which has no number: print its verdict.",
        ),
    ],
)
def test_what_cannot_be_written_is_refused(write, words):
    with pytest.raises(PageError, match=re.escape(words)):
        write()


SUMMARY = pd.DataFrame(
    [
        ("a", "50", 0.25, "power", 0.8, 0.01, 0.81),
        ("a", "200", 0.25, "power", 0.9, 0.01, math.nan),
        ("b", "50", math.nan, "power", 0.7, 0.02, 0.71),
        ("b", "200", math.nan, "power", math.nan, math.nan, math.nan),
        ("a", "50", 0.25, "size", 0.05, 0.002, 0.05),
    ],
    columns=["method", "n_test", "share", "measure", "estimate", "mcse", "exact"],
)
CLAIMS = pd.DataFrame(
    [
        ("right", "It is so | really", "number", 0.8, 0.8, 0.01, "reproduced", ""),
        ("wrong", "It is so", "number", 0.8, 0.7, 0.01, "differs", "why"),
        ("open", "It is so", "statement", 1.0, math.nan, math.nan, "too few replicates", ""),
    ],
    columns=[*("claim", "statement", "kind", "published", "reproduced", "mcse", "verdict", "note")],
)
REGION = "<!-- count: written by `python docs/write.py` -->\nold\n<!-- end of count -->"


def project(root: Path, template: str, summary: pd.DataFrame = SUMMARY) -> Path:
    folder = root / "results" / "trial"
    (folder / "figures").mkdir(parents=True)
    (folder / "figures" / "1.png").write_bytes(b"")
    manifest = {"replicates_per_scenario": 5000, "scenarios": 4, "config": {"n": [50, 200]}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    summary.to_parquet(folder / "summary.parquet")
    CLAIMS.to_parquet(folder / "claims.parquet")
    (root / "docs" / "templates" / "README").mkdir(parents=True)
    (root / "docs" / "templates" / "page.md.jinja").write_text(template)
    (root / "docs" / "templates" / "README" / "count.md.jinja").write_text(
        "{{ study('trial').n_rep | number }} replicates\n"
    )
    (root / "README.md").write_text(f"# Title\n\n{REGION}\n\nby hand\n")
    return root


@pytest.fixture(scope="module")
def trial(tmp_path_factory) -> Study:
    return Study(project(tmp_path_factory.mktemp("project"), "") / "results", "trial")


def test_a_row_is_found_by_its_factors_sizes_also_as_numbers(trial):
    assert trial.row("power", method="a", n_test=50).estimate == 0.8
    assert trial.row("power", n_test=50, share=None).exact == 0.71
    assert trial.where(method="a", n_test=50).row("size").exact == 0.05
    assert trial.where(n_test=50).row("power", n_test=200, method="a").estimate == 0.9
    assert math.isnan(trial.row("power", method="b", n_test=200).estimate)


def test_a_claim_is_found_by_its_name_and_counted_by_its_verdict(trial):
    assert percent(trial.claim("wrong")) == "70%"
    assert (trial.claim("wrong").has("note"), trial.claim("right").has("note")) == (True, False)
    assert trial.n_verdict("differs") == 1
    found = trial.rows("power", method=["a", "b"])
    assert (found.least.estimate, len(found)) == (0.7, 3), (
        "a row without an estimate is in no range"
    )


OF_CLAIM = {"kind": "number", "published": 0.8, "reproduced": 0.8, "mcse": 0.001, "note": "why",
            "source": "table 1", "detail": "d", "missing": "", "scored": True, "right_name": "",
            "allowed": 0.01, "criterion": "", "misprint": False, "expected": "reproduced",
            **dict.fromkeys(("right_published", "right_value", "right_mcse"), math.nan),
            }  # fmt: skip
APART = {"right_name": "exact power", "right_published": 0.8, "right_value": 0.788}
KINDS = {
    "as printed": {"verdict": "reproduced"},
    "apart": {"verdict": "true as written, not as meant", "right_mcse": 0.001, **APART},
    "off": {"verdict": "differs", "reproduced": 0.7, "misprint": True},
    "seedless": {"verdict": "cannot be checked", "missing": "the seed", "reproduced": math.nan,
                 "mcse": math.nan},
    "open": {"verdict": "too few replicates"},
    "derived": {"verdict": "reproduced", "scored": False},
}  # fmt: skip


def with_claims(root: Path, rows: pd.DataFrame) -> Study:
    folder = project(root, "") / "results"
    rows.to_parquet(folder / "trial" / "claims.parquet")
    return Study(folder, "trial")


def test_every_published_entry_is_counted_once_and_has_one_verdict(tmp_path):
    rows = [OF_CLAIM | {"claim": name, "statement": name} | of for name, of in KINDS.items()]
    study = with_claims(tmp_path, pd.DataFrame(rows))
    found = counted([study])
    assert (tally(found), misprints(found)) == ([1, 1, 1, 1, 1], 1)
    shown = [entry(claim) for claim in found]
    assert [row.statement for row in shown] == list(KINDS)[:5]  # not what is ours
    assert shown[1].why == "Exact power: 0.788 ± 0.002; the document implies 0.8. why"
    assert (shown[2].verdict, shown[2].ours) == ("differs (misprint)", "0.700 ± 0.002")


def test_no_published_entry_is_left_out_unseen(tmp_path):
    absent = OF_CLAIM | {"claim": "broken", "statement": "a", "verdict": "no data"}
    beside = absent | {"claim": "derived", "scored": False}  # which nobody counts
    with pytest.raises(PageError, match="no data for 'broken of trial', which the scoreboard"):
        counted([with_claims(tmp_path, pd.DataFrame([absent, beside]))])


@needs_results
def test_readme_scoreboard_and_index_count_the_same(tmp_path):
    titles = set()
    for manifest in ROOT.glob("results/*/manifest.json"):
        part = json.loads(manifest.read_text())["part"]
        titles |= {part["title"]} if part["page"] else set()
        for name in ("manifest.json", "claims.parquet"):
            target = tmp_path / manifest.parent.name / name
            target.parent.mkdir(exist_ok=True)
            target.write_bytes((manifest.parent / name).read_bytes())
    write_index(tmp_path)
    index = json.loads((tmp_path / "index.json").read_text())["studies"]
    documents = [study["claims"] for study in index if study["document"] in titles]
    by_index = [sum(row.get(v, 0) for row in documents) for v in PUBLISHED_VERDICTS]
    counts = (ROOT / "docs/reading_claims.md").read_text()
    (total,) = re.findall(r"^\| all \| (.*) \|$", counts, re.MULTILINE)
    entries, *by_verdict, n_misprints = map(int, total.split(" | "))
    assert by_verdict == by_index
    assert entries == sum(by_verdict)
    assert 0 < n_misprints < by_verdict[PUBLISHED_VERDICTS.index("differs")]
    (readme,) = re.findall(r"Of \d+ numbers and statements .*", (ROOT / "README.md").read_text())
    reproduced, in_print, differs, unchecked, _ = by_verdict
    said = [entries, reproduced, in_print, differs, n_misprints, unchecked]
    assert [int(number) for number in re.findall(r"\d+", readme)] == said
    ends = "".join(page.read_text().split("## Entries that do not")[1] for page in DOCUMENTS)
    rows = [line.strip("| ").split(" | ") for line in ends.splitlines() if line[:2] == "| "]
    listed_there = [row[3].removesuffix(" (misprint)") for row in rows]
    of_studies = re.findall(r"(\d+) of \d+ in `", ends)
    listed_there += ["reproduced"] * sum(map(int, of_studies))
    assert [listed_there.count(verdict) for verdict in PUBLISHED_VERDICTS] == by_index


def test_a_sentence_that_no_longer_holds_stops_its_page():
    holds(True, "a holds")
    with pytest.raises(PageError, match="no longer bear out that power is kept: rewrite"):
        holds(False, "power is kept")


def test_a_verdict_that_turned_stops_its_page_and_an_open_one_does_not(trial):
    agrees("reproduced", trial, "right", "open")
    agrees("differs", trial, "wrong", "open")
    with pytest.raises(PageError, match="says 'reproduced' of 'wrong' of trial, and the verdict"):
        agrees("reproduced", trial, "right", "wrong")
    with pytest.raises(PageError, match="the verdict is 'reproduced': rewrite the passage"):
        agrees("true as written, not as meant", trial, "right")


PAGE = "Power is {{ study('trial').row('power', method='a', n_test=50) | percent(1) }}.\n"


def test_the_command_writes_pages_and_regions_and_then_finds_nothing_to_do(tmp_path, capsys):
    root = project(tmp_path, PAGE)
    assert main(["--check"], root) == 1
    assert not (root / "docs" / "page.md").exists()
    said = capsys.readouterr().out
    assert said.splitlines() == [
        "docs/page.md differs: run `python docs/write.py`",
        "README.md differs: run `python docs/write.py`",
    ]
    assert main([], root) == 0
    assert (root / "docs" / "page.md").read_text() == (
        "<!-- Written by `python docs/write.py` from docs/templates/page.md.jinja: edit that. -->"
        "\n\nPower is 80.0%.\n"
    )
    assert (
        "\n5,000 replicates\n<!-- end of count -->\n\nby hand\n" in (root / "README.md").read_text()
    )
    capsys.readouterr()
    assert main(["--check"], root) == 0
    assert capsys.readouterr().out == ""


def test_a_page_of_other_numbers_differs(tmp_path, capsys):
    """The comparison can fail: another digit of the results is another page."""
    assert main([], project(tmp_path / "one", PAGE)) == 0
    moved = project(tmp_path / "other", PAGE, SUMMARY.replace({"estimate": {0.8: 0.801}}))
    for name in ("README.md", "docs/page.md"):
        (moved / name).write_text((tmp_path / "one" / name).read_text())
    capsys.readouterr()
    assert main(["--check"], moved) == 1
    assert capsys.readouterr().out == "docs/page.md differs: run `python docs/write.py`\n"


def _section(page: str, heading: str) -> str:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert f"{page}#{heading.strip('# ').lower().replace(' ', '-')})" in INDEX
    return text.partition(f"{heading}\n")[2].partition("\n## ")[0]


def test_the_pages_name_every_option_of_a_run_and_every_reserved_name():
    from dataclasses import fields

    from simstudy import RunOptions
    from simstudy.study.spec import RESERVED_NAMES, SUMMARY_COLUMNS

    options = _section("command_line.md", "## Options of a run")
    names = _section("recipes.md", "### Names")
    for declared in fields(RunOptions):
        assert not declared.init or f"`{declared.name}`" in options, declared.name
    for name in (*RESERVED_NAMES, *SUMMARY_COLUMNS):
        assert f"`{name}`" in names, name
