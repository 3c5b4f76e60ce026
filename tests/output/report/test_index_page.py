"""The index shows every study below a folder, whatever has become of it, and what it found."""

import base64
import io
import json
import os
import shutil
from urllib.parse import unquote, urljoin, urlsplit

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from simstudy.output.report import write_index
from simstudy.output.report.index import pictures
from simstudy.output.report.index.claims import KINDS
from tests.output.report.parsing import Page
from tests.support import ROOT

SIZES = {"scenarios": 3, "replicates": 12, "replicates_per_scenario": 4}
FINE = SIZES | {"question": "How often?", "config": {"experiment": "fine", "n_rep": 4}, "seed": 1}


def write(folder, name, manifest, *, report=True):
    (folder / name).mkdir()
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    (folder / name / "manifest.json").write_text(text)
    if report:
        (folder / name / "report.html").write_text("")


def part(title, order, group="documents", page=""):
    return {"part": {"title": title, "group": group, "page": page, "order": order}}


def png(path, side=900):
    """A figure of which each has its own bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.arange(side * 600, dtype=np.uint8).reshape(600, side)).save(path)


def index(folder, newest=(), **known):
    """The page, and its twin."""
    page = Page(write_index(folder, dict(newest), **known).read_text())
    return page, json.loads((folder / "index.json").read_text())


def states(twin):
    return {study["name"]: [study["state"], *study["remarks"]] for study in twin["studies"]}


def others(twin):
    return {other["folder"]: (other["why"], other["run"]) for other in twin["others"]}


# ---------------------------------------------------------------- studies by document
def test_studies_stand_by_document_and_a_missing_report_is_no_link(tmp_path):
    results = tmp_path / "results"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "first.md").write_text("")
    (tmp_path / "experiments").mkdir()
    results.mkdir()
    write(results, "z", FINE | part("First", [0, 0], page="first"))
    write(results, "b", FINE | part("Second", [1, 1], page="../../etc/hostname"), report=False)
    write(results, "c", FINE | part("Second", [1, 0]))
    write(results, "a", FINE | part("First", [0, 0], group="beyond"))
    write(results, "alone", FINE)
    claims = {"verdict": ["reproduced"], "expected": ["reproduced"]}
    pd.DataFrame(claims).to_parquet(results / "c" / "claims.parquet")
    page, twin = index(results)
    assert [study["name"] for study in twin["studies"]] == ["z", "a", "c", "b", "alone"]
    titles = [study["document"] for study in twin["studies"]]
    assert titles == ["First", "First", "Second", "Second", None]
    assert page.texts["h2"][2:] == ["First", "Second", "Other studies"]
    files = [link["href"] for link in page.named("a") if link["href"].startswith("./")]
    reports = [f"./{name}/report.html" for name in ("z", "a", "c", "alone")]
    assert files == ["./../docs/first.md", *reports], "the page of Second lies outside the project"
    assert states(twin)["b"] == ["with remarks", "report.html is not here"]
    commands = {study["name"]: study["command"] for study in twin["studies"]}
    assert commands["z"] == "simstudy run experiment=fine n_rep=4 seed=1"
    assert page.texts["code"] == [*commands.values()]


def test_size_cost_and_making_are_said_as_far_as_they_are_known(tmp_path):
    timed = {"wall_seconds": 13.4, "blocks_computed": 2, "core_seconds": 26, "publish_seconds": 2}
    made = {"made": "2026-01-02 03:04 UTC", "versions": {"simstudy": "0.1.0"}}
    git = {"git": [{"commit": "ff7285d617b1", "modified": True}]}
    write(tmp_path, "timed", FINE | timed | made | git)
    write(tmp_path, "given", SIZES | timed | {"blocks_computed": 0, "core_seconds": None})
    page, twin = index(tmp_path)
    facts = page.texts["ul"]
    assert "drawn in 13.4 s (26 s on one core)" in facts[-1]
    assert "made 2026-01-02 03:04 UTC" in facts[-1]
    assert "simstudy 0.1.0 at ff7285d with changes" in facts[-1]
    assert "12 replicates, 4 in each scenario" in facts[-1]
    assert "drawn" not in facts[-2]
    seconds = {study["name"]: study["seconds"] for study in twin["studies"]}
    assert seconds["timed"] == {"drawing": 13.4, "drawing_on_one_core": 26.0, "publishing": 2.0}
    assert seconds["given"]["drawing"] is None


# ---------------------------------------------------------------- the scoreboard
def claims_of(*standings, **more):
    n = len(standings)
    return pd.DataFrame({
        "claim": [f"claim {at}" for at in range(n)], "statement": "So it <is>", "source": "table 1",
        "kind": "number", "published": 0.05, "reproduced": 0.1242, "mcse": 0.0013, "allowed": 0.01,
        "verdict": "reproduced", "expected": "reproduced", "rival": "", "detail": "", "note": "",
        "standing": standings, "right_name": "at the boundary", "right_value": 0.1391,
        "right_mcse": 0.0021, "right_published": 0.05, "missing": "the seed", "ours": False, **more,
    })  # fmt: skip


def test_claims_are_counted_by_kind_and_each_count_leads_to_its_claims(tmp_path):
    for name, document in {"one": "First", "two": "First", "old": "Second"}.items():
        write(tmp_path, name, FINE | part(document, [document == "Second", 0]))
    every = claims_of(*KINDS, "not reproduced", "no data")
    every.to_parquet(tmp_path / "one" / "claims.parquet")
    claims_of("reproduced", "reproduced", ours=True).to_parquet(tmp_path / "two" / "claims.parquet")
    old = claims_of("", "", "", verdict=["differs", "reproduced", "differs"])
    old["source"] = ["section 1", "section 2", "theory"]
    newer = [name for name in old if name == "standing" or name.startswith("right_")]
    old.drop(columns=[*newer, "missing", "ours"]).to_parquet(tmp_path / "old" / "claims.parquet")
    page, twin = index(tmp_path)
    first, second = (row["claims"] for row in twin["scoreboard"])
    assert first == dict.fromkeys(KINDS, 1) | {"not reproduced": 2}
    assert second == {
        "reproduced": 1, "right in print, wrong in substance": None, "not reproduced": 1,
        "cannot be checked": None, "too few replicates": 0,
    }  # fmt: skip
    ours = [row["claims_of_ours"] for row in twin["scoreboard"]]
    assert ours == [{"reproduced": 2}, {"not reproduced": 1}]
    cells = [text.strip() for text in page.texts["td"]]
    assert cells[:7] == ["1", "1", "2", "1", "1", "6", "2 of 2"]
    assert cells[7:14] == ["1", "–", "1", "–", "0", "2", "0 of 1"]
    folded = {each["id"]: text for each, text in zip(
        page.named("details"), page.texts["details"], strict=True)}  # fmt: skip
    leads = {link["href"][1:] for link in page.named("a") if "-k" in link["href"]}
    assert leads == set(folded)
    assert folded["d1-k3"].count("0.1242 ± 0.0013") == 2
    assert "at the boundary: 0.1391" in folded["d1-k2"]
    assert "Runs left out the data of 1 further claim." in page.text
    assert states(twin)["old"][:2] == ["not in order", "2 claims unexpected: claim 0; claim 2"]


# ---------------------------------------------------------------- whatever there is
def test_what_went_wrong_in_a_study_is_said(tmp_path):
    odd = {
        "failed_replicates": 1234, "noticed": ["the same twice"], "warnings": 7,
        "figures_not_drawn": {"1": "no data", "2": "ZeroDivisionError"}, "figures_failed": ["2"],
        "replicates_per_scenario": {"a": 2, "b": 3}, "config": {"n_rep": 4},
        "made_from": {"sources": "before"},
    }  # fmt: skip
    write(tmp_path, "odd", SIZES | odd)
    write(tmp_path, "python", SIZES | {"published": False}, report=False)
    _, twin = index(tmp_path, sources={"odd": "now"})
    assert states(twin) == {
        "odd": [
            "not in order",
            "1,234 replicates failed",
            "figure 2 failed: ZeroDivisionError",
            "2 to 3 of 4 replicates in each scenario",
            "figure 1 not drawn: no data",
            "7 warnings",
            "randomness to be looked at: the same twice",
            "its sources have changed since it was made",
        ],
        "python": [
            "with remarks",
            "drawn from Python, and not published: no figures, claims or report",
        ],
    }
    _, twin = index(tmp_path, sources={"odd": "before"})
    assert "its sources have changed since it was made" not in states(twin)["odd"]


def test_no_folder_costs_another_its_line(tmp_path):
    """Half finished, damaged, of other programs, and nothing but links and pipes."""
    results = tmp_path / "results"
    results.mkdir()
    write(tmp_path, "experiments", "{}")
    (tmp_path / "experiments" / "begun.py").write_text("")
    write(results, "fine", FINE)
    write(results, "truncated", json.dumps(FINE)[:40])
    write(results, "deep", '{"replicates": ' + "[" * 100_000)
    write(results, "app", {"name": "an app"})
    write(results, "list", [1, 2])
    write(results, "odd", {name: {"<b>": [name]} for name in FINE} | {"wall_seconds": 1e300})
    (results / "begun" / "replicates").mkdir(parents=True)
    (results / "begun" / "replicates" / "block.parquet").write_bytes(b"")
    (results / "pipe").mkdir()
    os.mkfifo(results / "pipe" / "manifest.json")
    for name, target in {"nowhere": "gone", "loop": "loop", "self": "."}.items():
        (results / name).symlink_to(target)
    (results / "linked").symlink_to(results / "fine")
    (results / "smoke").mkdir()
    (results / "smoke" / "index.html").write_text("")
    write(results, "claims", FINE | {"files": {"claims.parquet": ""}})
    for name, content in {"empty": b"", "text": b"no table"}.items():
        write(results, name, FINE)
        (results / name / "claims.parquet").write_bytes(content)
    write(results, "foreign", FINE)
    pd.DataFrame({"a": [1]}).to_parquet(results / "foreign" / "claims.parquet")
    page, twin = index(results, {"newest": FINE})
    found = states(twin)
    assert found["fine"] == found["linked"] == ["finished"]
    assert found["newest"] == ["with remarks", "report.html is not here"]
    assert found["claims"][1] == "claims.parquet is missing"
    assert found["foreign"][1] == "claims.parquet is of another program: it has no verdicts"
    assert all(found[name][1].startswith("claims.parquet cannot") for name in ("empty", "text"))
    assert "manifest.json has values of a wrong type: " in found["odd"][1]
    rest = others(twin)
    assert rest.pop("deep")[0].startswith("manifest.json cannot be read: RecursionError")
    assert rest.pop("truncated")[0].startswith("manifest.json cannot be read: JSONDecodeError")
    run = "simstudy run experiment=begun"
    assert rest == {
        "app": ("manifest.json is of another program: it names no replicates", ""),
        "begun": ("unfinished: blocks are there, and no manifest.json", run),
        "list": ("manifest.json is of another program: it holds no object", ""),
        "loop": ("cannot be read: too many levels of symbolic links", ""),
        "nowhere": ("is a link that leads nowhere", ""),
        "pipe": ("no manifest.json, so no results", ""),
        "self": ("is a link to a folder that it lies in", ""),
        "smoke": ("results of their own", ""),
    }
    assert all(name in page.text for name in (*found, *rest))
    assert "./smoke/index.html" in page.attributes("href")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is hidden from root")
def test_what_may_not_be_read_is_said(tmp_path):
    write(tmp_path, "locked", FINE)
    (tmp_path / "locked").chmod(0)
    try:
        _, twin = index(tmp_path)
    finally:
        (tmp_path / "locked").chmod(0o700)
    assert others(twin)["locked"][0] == "cannot be read: permission denied"


def test_names_and_values_are_text_and_links_lead_to_their_folders(tmp_path):
    """A folder's name is a user's, and a browser would run one that begins with javascript:."""
    names = ["a#b", "a?b", "a%20b", 'a"b', "javascript:alert(1)", "<script>x", "new\nline"]
    nasty = FINE | {"question": "<script>x\u202e</script>", "part": {"title": "<b>T"}}
    for name in names:
        write(tmp_path, name, nasty)
    page, _ = index(tmp_path)
    links = [each["href"] for each in page.named("a") if each["href"].startswith("./")]
    paths = {unquote(urlsplit(urljoin("file:///here/", link)).path) for link in links}
    assert paths == {f"/here/{name}/report.html" for name in names}
    assert len(page.named("script")) == 1
    assert "\u202e" not in page.text
    assert "<script>x" in page.text


# ---------------------------------------------------------------- pictures
def test_figures_are_made_small_once(tmp_path, monkeypatch):
    png(tmp_path / "study" / "figures" / "1.png")
    png(tmp_path / "study" / "figures" / "small.png", side=300)
    (tmp_path / "study" / "figures" / "1.svg").write_text("<svg/>")
    (tmp_path / "study" / "report.html").write_text("")
    manifest = FINE | {"captions": {"small": "A <caption>.", "1": ""}}
    page, _ = index(tmp_path, {"study": manifest})
    small, first = page.named("img")
    assert (first["width"], first["height"], small["width"]) == ("320", "213", "300")
    assert small["alt"] == "Small: A <caption>."
    kind, _, data = first["src"].partition(";base64,")
    assert kind in ("data:image/webp", "data:image/png")
    assert Image.open(io.BytesIO(base64.b64decode(data))).size == (640, 427)
    links = [each["href"] for each in page.named("a")]
    figures = [f"./study/figures/{name}" for name in ("small.png", "1.svg", "1.png")]
    assert list(dict.fromkeys(link for link in links if "figures" in link)) == figures

    def made_again(*_):
        raise AssertionError("made a second time")

    before = (tmp_path / "index.html").read_bytes()
    with monkeypatch.context() as changed:
        changed.setattr(pictures, "made_small", made_again)
        index(tmp_path, {"study": manifest})
        assert (tmp_path / "index.html").read_bytes() == before
        shutil.copy(
            tmp_path / "study" / "figures" / "small.png", tmp_path / "study" / "figures" / "1.png"
        )
        page, _ = index(tmp_path, {"study": manifest})
        assert {each["src"] for each in page.named("img")} == {small["src"]}, "by its content"
        png(tmp_path / "study" / "figures" / "1.png", side=500)
        _, twin = index(tmp_path, {"study": manifest})
        why = "cannot be shown: AssertionError: made a second time"
        assert others(twin) == {"study": (why, "")}, "whatever happens, the page is there"


def test_a_figure_that_cannot_be_shown_says_why(tmp_path):
    def sized(width):
        return b"\x89PNG\r\n\x1a\n" + b"\0" * 8 + 2 * width.to_bytes(4, "big")

    contents = {"none": b"", "text": b"text", "bomb": sized(60_000), "cut": sized(10)}
    write(tmp_path, "study", FINE | {
        "captions": dict.fromkeys([*contents, "gone", "edited"], ""),
        "files": {"figures/edited.png": "0" * 32},
    })  # fmt: skip
    png(tmp_path / "study" / "figures" / "edited.png")
    for name, content in contents.items():
        (tmp_path / "study" / "figures" / f"{name}.png").write_bytes(content)
    page, twin = index(tmp_path)
    (study,) = twin["studies"]
    assert {each["name"]: each["trouble"] for each in study["figures"]} == {
        "none": "figures/none.png is empty",
        "text": "figures/text.png is no PNG",
        "bomb": "figures/bomb.png has 60,000 by 60,000 pixels, too many for a figure",
        "cut": "figures/cut.png is damaged",
        "gone": "figures/gone.png is missing",
        "edited": "figures/edited.png was changed after it was drawn",
    }
    assert len(page.named("img")) == 1
    assert study["state"] == "not in order"


def test_a_page_has_room_for_so_many_pictures_and_says_how_many_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures.Pictures, "__init__", room_for(1))
    for name in ("a", "b"):
        png(tmp_path / name / "figures" / "1.png", side=300 + ord(name))
    page, twin = index(tmp_path, dict.fromkeys("ab", FINE | {"captions": {"1": "", "gone": ""}}))
    assert len(page.named("img")) == 1
    assert "Not shown, since this page would be too large: 1 figure," in page.text
    assert [each["trouble"] for each in twin["studies"][1]["figures"]] == [
        None, "figures/gone.png is missing"
    ]  # fmt: skip


def room_for(n):
    made = pictures.Pictures.__init__
    return lambda self, kept=(), n_left=n: made(self, dict(kept), n_left)


# ---------------------------------------------------------------- its twin
def test_the_twin_has_the_shape_that_its_page_says(tmp_path):
    text = (ROOT / "docs" / "layout.md").read_text()
    said = json.loads(text.partition("```json\n")[2].partition("```")[0])
    write(tmp_path, "study", FINE | part("First", [0, 0]))
    png(tmp_path / "study" / "figures" / "1.png")
    (tmp_path / "empty").mkdir()
    claims_of(*KINDS).to_parquet(tmp_path / "study" / "claims.parquet")
    _, twin = index(tmp_path, {"study": FINE | part("First", [0, 0]) | {"captions": {"1": ""}}})
    assert shape(twin) == shape(said)


def shape(value):
    """The keys of it, and of what it holds, as far as these are no names of claims' kinds."""
    if isinstance(value, list):
        return [shape(value[0])] if value and isinstance(value[0], dict) else []
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items() if key not in KINDS}
    return None
