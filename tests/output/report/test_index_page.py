"""The index names every study below a folder, whatever has become of it."""

import json
from urllib.parse import unquote, urljoin, urlsplit

import pandas as pd

from simstudy.output.report import write_index
from tests.output.report.parsing import Page

SIZES = {"scenarios": 3, "replicates": 4}


def write(folder, name, manifest, *, report=True):
    (folder / name).mkdir()
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    (folder / name / "manifest.json").write_text(text)
    if report:
        (folder / name / "report.html").write_text("")


def index(folder, newest=()):
    return Page(write_index(folder, dict(newest)).read_text())


def lines(page):
    """The cells of each study's row, by its name."""
    cells = [" ".join(text.split()) for text in page.texts["td"]]
    names = [" ".join(text.split()) for text in page.texts["th"][5:]]  # with the question
    return {name: cells[4 * at : 4 * at + 4] for at, name in enumerate(names)}


def test_it_lists_every_study(tmp_path):
    asked = {"study": "two_stage", "question": "How often?", "scenarios": 12}
    write(tmp_path, "two_stage", asked | {"replicates": 600_000})
    write(tmp_path, "classifier", SIZES, report=False)
    write(tmp_path, "foreign", {"name": "an app"})
    write(tmp_path, "broken", "{")
    claims = {"verdict": ["reproduced", "differs", "differs", "too few replicates"],
              "expected": ["reproduced", "differs", "reproduced", "reproduced"]}  # fmt: skip
    pd.DataFrame(claims).to_parquet(tmp_path / "two_stage" / "claims.parquet")
    page = index(tmp_path, {"newest": SIZES})
    assert lines(page) == {
        "broken": ["", "", "", "manifest.json cannot be read"],
        "classifier": ["3", "4", "", "no report"],
        "newest": ["3", "4", "", "finished"],
        "two_stage How often?": [
            *("12", "600,000", "2 of 4 as expected, 1 unexpected, 1 needs more replicates"),
            "finished",
        ],
    }
    links = [link["href"] for link in page.named("a")]
    assert links == [f"./{name}/report.html" for name in ("broken", "newest", "two_stage")]


def test_a_study_that_is_under_way_is_there_and_said_to_be(tmp_path):
    for name, below in {"drawing": "replicates", "summing": "moments", "no study": "x"}.items():
        (tmp_path / name / below).mkdir(parents=True)
        (tmp_path / name / below / "block.parquet").write_bytes(b"")
    (tmp_path / "begun" / "replicates").mkdir(parents=True)
    state = "unfinished: blocks are there, and no manifest.json"
    assert lines(index(tmp_path)) == {name: [*3 * [""], state] for name in ("drawing", "summing")}


def test_what_went_wrong_in_a_study_is_its_state(tmp_path):
    odd = {"failed_replicates": 1234, "figures_not_drawn": {"1": "no data"}, "noticed": ["!"]}
    write(tmp_path, "odd", {**SIZES, **odd, "warnings": 7})
    assert lines(index(tmp_path))["odd"][-1] == (
        "1,234 replicates failed; 7 warnings; figures not drawn; randomness to be looked at"
    )


def test_odd_files_of_another_study_are_named_and_cost_no_other_its_line(tmp_path):
    odd = {"scenarios": ["<b>"], "replicates": "many " * 100, "question": {"a": 1}, "noticed": 3}
    write(tmp_path, "odd", odd | {"failed_replicates": "x", "figures_not_drawn": None})
    (tmp_path / "odd" / "claims.parquet").write_text("no table")
    (tmp_path / "list").mkdir()
    (tmp_path / "list" / "manifest.json").write_text("[1, 2]")
    found = lines(index(tmp_path, {"own": SIZES}))
    odd_row = found["odd {'a': 1}"]
    assert odd_row[0] == "['<b>']"
    assert len(odd_row[1]) < 200
    assert odd_row[2].startswith("claims.parquet cannot be read")
    assert {"list", "own"} < set(found)


def test_a_link_leads_to_the_folder_whatever_its_name(tmp_path):
    """A folder's name is a user's, and a browser would run one that begins with javascript:."""
    names = ["a#b", "a?b", "a%20b", 'a"b', "javascript:alert(1)"]
    links = [link["href"] for link in index(tmp_path, dict.fromkeys(names, SIZES)).named("a")]
    assert all(link.startswith("./") for link in links)
    paths = [unquote(urlsplit(urljoin("file:///here/", link)).path) for link in links]
    assert paths == [f"/here/{name}/report.html" for name in sorted(names)]
