"""The index shows every study below a folder, whatever has become of it, and what it found."""

import json
import os
from urllib.parse import unquote, urljoin, urlsplit

import pandas as pd
import pytest

from simstudy.output.report import write_index
from simstudy.output.report.pages import MEANINGS
from tests.output.report.parsing import Page
from tests.support import ROOT

FINE = {
    "question": "How often?",
    "config": {"experiment": "fine", "n_rep": 4},
    "seed": 1,
    "scenarios": 3,
    "replicates": 12,
    "replicates_per_scenario": 4,
}


def write(folder, name, manifest, *, report=True):
    (folder / name).mkdir(parents=True)
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    (folder / name / "manifest.json").write_text(text)
    if report:
        (folder / name / "report.html").write_text("")


def part(title, order, group="documents", page=""):
    return {"part": {"title": title, "group": group, "page": page, "order": order}}


def claims_of(*verdicts, **more):
    n = len(verdicts)
    return pd.DataFrame({
        "claim": [f"claim {at}" for at in range(n)], "statement": "So it <is>", "source": "table 1",
        "kind": "number", "published": 0.05, "reproduced": 0.1242, "mcse": 0.0013, "allowed": 0.01,
        "verdict": verdicts, "expected": "reproduced", "rival": "", "detail": "", "note": "",
        "misprint": False, "criterion": "", "right_name": "at the boundary", "right_value": 0.1391,
        "right_mcse": 0.0021, "right_published": 0.05, "missing": "the seed",
        "scored": True, **more,
    })  # fmt: skip


def index(folder, **known):
    """The page, and the same as JSON."""
    page = Page(write_index(folder, **known).read_text())
    return page, json.loads((folder / "index.json").read_text())


def troubles(said):
    return {each["name"]: [*each["failures"], "/", *each["warnings"]] for each in said["studies"]}


def others(said):
    return {other["folder"]: other["why"] for other in said["others"]}


# ---------------------------------------------------------------- studies by document
def test_studies_stand_by_document_and_a_missing_report_is_no_link(tmp_path):
    write(tmp_path, "z", FINE | part("First", [0, 0], page="first"))
    write(tmp_path, "b", FINE | part("Second", [1, 1], page="gone"), report=False)
    write(tmp_path, "c", FINE | part("Second", [1, 0], page="gone"))
    write(tmp_path, "a", FINE | part("First", [0, 0], group="beyond"))
    write(tmp_path, "alone", FINE | {"command": "simstudy run experiment=fine"})
    for name, n in {"b": 1, "c": 2}.items():
        claims_of(*["reproduced"] * n).to_parquet(tmp_path / name / "claims.parquet")
    page, said = index(tmp_path)
    assert [(study["name"], study["document"]) for study in said["studies"]] == [
        *(("z", "First"), ("a", "First"), ("c", "Second"), ("b", "Second"), ("alone", None))
    ], "the group with published claims first"
    assert page.texts["h2"][2:] == ["First", "Second", "Other studies"]
    files = [link["href"] for link in page.named("a") if link["href"].startswith("./")]
    reports = [f"./{name}/report.html" for name in ("z", "a", "c", "alone")]
    assert [*dict.fromkeys(file for file in files if "#" not in file)] == reports
    assert page.texts["code"] == ["simstudy run experiment=fine"], "as typed, if it was"


def test_size_cost_and_making_are_said_as_far_as_they_are_known(tmp_path):
    timed = {"wall_seconds": 13.4, "blocks_computed": 2, "core_seconds": 26, "publish_seconds": 2}
    made = {"made": "2026-01-02 03:04 UTC", "versions": {"simstudy": "0.1.0"}}
    git = {"git": [{"commit": "ff7285d617b1", "modified": True}]}
    write(tmp_path, "timed", FINE | timed | made | git)
    write(tmp_path, "given", FINE | timed | {"blocks_computed": 0, "core_seconds": None})
    page, said = index(tmp_path)
    given, facts = (" ".join(text.split()) for text in page.texts["ul"][-2:])
    for words in (
        *("3 scenarios", "12 replicates, 4 in each scenario", "made 2026-01-02 03:04 UTC"),
        *("drawn in 13.4 s (26 s on one core)", "simstudy 0.1.0 at ff7285d with changes"),
    ):
        assert words in facts
    assert "drawn" not in given
    assert page.has_words("2 studies 0 figures 24 replicates drawn in 13.4 s published in 4 s")
    seconds = {study["name"]: study["wall_seconds"] for study in said["studies"]}
    assert seconds == {"timed": 13.4, "given": None}


def test_claims_are_counted_by_kind_and_lead_to_their_reports(tmp_path):
    for name, document in {"one": "First", "two": "First", "three": "Second"}.items():
        write(tmp_path, name, FINE | part(document, [document == "Second", 0], page=document))
    write(tmp_path, "alone", FINE)
    claims_of("reproduced").to_parquet(tmp_path / "alone" / "claims.parquet")
    claims_of(*MEANINGS, "differs", "no data").to_parquet(tmp_path / "one" / "claims.parquet")
    claims_of("reproduced", "reproduced", scored=False).to_parquet(
        tmp_path / "two" / "claims.parquet"
    )
    unexpected = claims_of("differs", "differs")
    unexpected.to_parquet(tmp_path / "three" / "claims.parquet")
    page, said = index(tmp_path)
    counts = {each["name"]: (each["claims"], each["unscored_claims"]) for each in said["studies"]}
    assert counts["one"] == (dict.fromkeys(MEANINGS, 1) | {"differs": 2, "no data": 1}, {})
    assert counts["two"] == ({}, {"reproduced": 2})
    assert page.has_words(
        "9 claims of documents: 1 reproduced, 1 true as written, not as meant, 4 differ, "
        "1 cannot be checked, 1 too few replicates, 1 no data; 5 unexpected "
        "1 claim of another source: 1 reproduced 2 extra checks: 2 reproduced"
    )
    cells = [text.strip() for text in page.texts["td"]]
    assert cells[:28] == [
        *("1", "1", "2", "1", "1", "7", "2: 2 reproduced"),
        *("0", "0", "2", "0", "0", "2", ""),
        *("1", "1", "4", "1", "1", "9", "2: 2 reproduced"),
        *("1", "0", "0", "0", "0", "1", ""),
    ]
    links = [link["href"] for link in page.named("a")]
    assert "./three/report.html#claims" in links
    assert "1 claim has no data in these runs." in page.text
    assert troubles(said)["three"] == ["2 claims unexpected: claim 0; claim 1", "/"]


def test_what_went_wrong_in_a_study_is_said(tmp_path):
    odd = {
        "failed_replicates": 1234, "warnings": [
            {"kind": "run", "place": "", "text": "the same twice", "remedy": ""},
            {"kind": "estimate", "place": "mse at n 5", "text": "skew", "remedy": "more"},
        ],
        "figures_not_drawn": {"1": "no data", "2": "ZeroDivisionError"}, "figures_failed": ["2"],
        "replicates_per_scenario": {"a": 2, "b": 3},
    }  # fmt: skip
    write(tmp_path, "odd", FINE | odd)
    write(tmp_path, "python", FINE | {"published": False}, report=False)
    page, said = index(tmp_path)
    marks = [" ".join(text.split()) for text in page.texts["h3"]]
    assert marks == ["How often? not in order", "How often? with warnings"]
    assert troubles(said) == {
        "odd": [
            "1,234 replicates failed",
            "figure 2 failed: ZeroDivisionError",
            "/",
            "2 to 3 of 4 replicates in each scenario",
            "figure 1 not drawn: no data",
            "run: the same twice",
            "estimate: mse at n 5",
        ],
        "python": ["/", "drawn from Python, and not published: no figures, claims or report"],
    }


# ---------------------------------------------------------------- whatever there is
def test_a_folder_that_shows_no_study_is_a_line(tmp_path):
    write(tmp_path, "fine", FINE)
    write(tmp_path, "truncated", json.dumps(FINE)[:40])
    write(tmp_path, "app", {"name": "an app"})
    write(tmp_path, "list", [1, 2])
    (tmp_path / "begun" / "replicates").mkdir(parents=True)
    write(tmp_path, "smoke/inner", FINE)
    (tmp_path / "smoke" / "index.html").write_text("")
    write(tmp_path, "damaged", FINE)
    (tmp_path / "damaged" / "claims.parquet").write_bytes(b"no table")
    (tmp_path / "notes.txt").write_text("of somebody")
    _, said = index(tmp_path)
    rest = others(said)
    assert troubles(said) == {"fine": ["/"]}
    for name in ("truncated", "app", "list", "damaged"):
        assert rest[name].startswith("cannot be read: ")
    assert rest["begun"] == "unfinished: blocks are there, and no manifest.json"
    assert "smoke" not in rest, "it has an index of its own"


def test_names_and_values_are_text_and_links_lead_to_their_folders(tmp_path):
    """A folder's name is a user's, and a browser would run one that begins with javascript:."""
    names = ["a#b", "a?b", "a%20b", 'a"b', "javascript:alert(1)", "<script>x", "new\nline"]
    for name in names:
        write(tmp_path, name, FINE | {"question": "<script>x</script>"} | part("<b>T", [0, 0]))
    page, _ = index(tmp_path)
    links = [each["href"] for each in page.named("a") if each["href"].startswith("./")]
    paths = {unquote(urlsplit(urljoin("file:///here/", link)).path) for link in links}
    assert paths == {f"/here/{name}/report.html" for name in names}
    assert len(page.named("script")) == 1
    assert "<script>x" in page.text


@pytest.mark.skipif(os.name == "nt", reason="names are no bytes there")
def test_a_name_that_is_no_text_has_its_line(tmp_path):
    os.mkdir(os.fsencode(tmp_path) + b"/\xff")
    (tmp_path / "\udcff" / "file").touch()
    assert "no manifest.json" in index(tmp_path)[0].text


# ---------------------------------------------------------------- pictures
def test_figures_are_shown_with_their_texts_and_links_and_one_that_is_gone_is_said(tmp_path):
    write(tmp_path, "study", FINE | {
        "captions": {"small": "Points of <y>.", "1": "", "gone": ""},
    })  # fmt: skip
    (tmp_path / "study" / "figures").mkdir()
    for file in ("1.png", "1.svg", "small.png", "of a user.png"):
        (tmp_path / "study" / "figures" / file).touch()
    page, said = index(tmp_path)
    small, first = page.named("img")
    assert (small["alt"], first["alt"]) == ("Points of <y>.", "Figure 1 of study")
    assert (small["src"], first["src"]) == ("./study/figures/small.png", "./study/figures/1.png")
    links = [each["href"] for each in page.named("a") if "figures" in each["href"]]
    files = [f"./study/figures/{name}" for name in ("small.png", "1.svg", "1.png")]
    assert list(dict.fromkeys(links)) == files
    assert troubles(said)["study"] == ["figures that are not here: gone", "/"]


# ---------------------------------------------------------------- for programs
def test_the_json_has_the_entries_that_its_page_shows(tmp_path):
    assert "(tables/index.json)" in (ROOT / "docs" / "results.md").read_text()
    shown = json.loads((ROOT / "docs" / "tables" / "index.json").read_text())
    write(tmp_path, "study", FINE | part("First", [0, 0]) | {"captions": {"1": ""}})
    (tmp_path / "study" / "figures").mkdir()
    (tmp_path / "study" / "figures" / "1.png").touch()
    (tmp_path / "begun" / "replicates").mkdir(parents=True)
    said = index(tmp_path)[1]
    assert set(said) == set(shown)
    (study,), (example,) = said["studies"], shown["studies"]
    assert set(study) == set(example)
    assert set(study["figures"][0]) == set(example["figures"][0])
    assert said["others"] == shown["others"]
