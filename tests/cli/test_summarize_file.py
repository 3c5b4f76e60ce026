"""`simstudy summarize FILE` as a user types it: results, a folder, help, and mistakes in a line."""

import json

import pytest

from tests.external.tables import long_table

ASKED = ["estimate=b", "se=se", "method=method", "rep=dataset", "by=[dgm]", "truth=0.5"]
QUICK = ["figures=false", "report=false"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    long_table().to_csv("rows.csv", index=False)
    return tmp_path


def test_it_prints_and_writes_what_a_run_does(here, said):
    told = said("summarize", "rows.csv", *ASKED, "out=found", status=3)
    assert "bias eliminated coverage" in told
    assert "6 replicates failed (failures.parquet); the first: no estimate" in told
    assert "see it happen" not in told
    assert "40 to 60 replicates in each of 2 scenarios, 100 in all (given, not drawn)." in told
    folder = here / "found" / "rows"
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {"report.html", "summary.parquet", "tables/summary.csv", "figures/bias.png"} < names
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["config"] == {
        "file": "rows.csv", "measures": "all", "estimate": "b", "se": "se", "truth": 0.5,
        "method": "method", "rep": "dataset", "by": ["dgm"],
    }  # fmt: skip
    page = (folder / "report.html").read_text()
    assert "simstudy summarize rows.csv estimate=b" in page
    assert "run: method " in (here / "found" / "index.html").read_text()


def test_what_stands_there_is_not_made_again(said):
    said("summarize", "rows.csv", *ASKED, *QUICK, status=3)
    told = said("summarize", "rows.csv", *ASKED, *QUICK, status=3)
    assert told.startswith("nothing to do: results/rows holds 40 to 60 replicates in each of 2")


def test_other_measures_are_other_results(said):
    said("summarize", "rows.csv", *ASKED, *QUICK, status=3)
    told = said("summarize", "rows.csv", *ASKED, *QUICK, "measures=[bias]", status=3)
    assert "nothing to do" not in told
    assert "coverage" not in told


def test_levels_have_truths_of_their_own(said):
    by_level = [*ASKED[:-1], "truth={normal:0.5,skewed:0.6}"]
    assert "bias" in said("summarize", "rows.csv", *by_level, *QUICK, "name=levels", status=3)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["rows.csv"], "estimate= is not given, so nothing can be summarised: simstudy summarize"),
        (["row.csv", "estimate=b"], "row.csv is not there; did you mean 'rows.csv'?"),
        (["rows.csv", "b.csv", "estimate=b"], "b.csv is a second file: put all rows into one"),
        (["rows.csv", "estimte=b"], "estimte is not a setting; did you mean 'estimate'?"),
    ],
)
def test_mistakes_are_a_line_each(arguments, line, here, refused):
    assert refused("summarize", *arguments).startswith(line)
    assert not (here / "results").exists()
