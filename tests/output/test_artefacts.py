"""Tables of a result: those that it has the data for, and why the others are not there."""

from dataclasses import replace

import pandas as pd
import pytest

from simstudy.errors import StudyError, TableError
from simstudy.output.folder import publish
from simstudy.output.terminal import print_closing
from simstudy.tables import Column, Table
from tests.output.standing import (
    CONFIG,
    FILE,
    breaks,
    is_current,
    manifest_of,
    needs_more,
    plain_figure,
    study,
)


def biases(result):
    rows = result.summary.query("measure == 'bias'")[["n_obs", "method", "estimate", "mcse"]]
    return Table(rows, "Bias", {"estimate": Column("bias", mcse="mcse")})


def no_table(result):
    return result.summary


TABLES = {"biases": biases, "later": needs_more}
BROKEN = {"frame": no_table, "defect": breaks}


def with_tables(tables):
    return replace(study(figures={"1": plain_figure}), tables=tables)


def write(folder, tables, n_rep=60, **how):
    result = with_tables(tables).run(n_rep, out=folder)
    return result, publish(result, config=CONFIG, module_file=FILE, figures=False, **how)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write(tmp_path_factory.mktemp("results"), TABLES | BROKEN)


def names_in(folder):
    return sorted(path.name for path in (folder / "tables").iterdir())


def test_tables_are_written_in_three_forms(written):
    result, _ = written
    assert names_in(result.folder) == [
        "biases.csv", "biases.md", "biases.tex", "summary.csv", "summary.md", "summary.tex",
    ]  # fmt: skip
    stored = pd.read_csv(result.folder / "tables" / "biases.csv")
    assert stored["mcse"].tolist() == pytest.approx(biases(result).frame["mcse"].tolist())
    assert r"\label{tab:toy:biases}" in (result.folder / "tables" / "biases.tex").read_text()
    assert result.table("biases").caption == "Bias"
    assert result.table("summary").caption.startswith("Toy: ")
    with pytest.raises(TableError, match=r"no table 'bias' in toy; did you mean 'biases'\?"):
        result.table("bias")


def test_a_table_that_cannot_be_made_is_told_and_the_others_are(written, capsys):
    result, made = written
    assert made.manifest["tables_not_made"] == {
        "later": "n_obs = 99",
        "frame": "TableError: a DataFrame is no table: return a simstudy.tables.Table",
        "defect": "ZeroDivisionError: a defect",
    }
    manifest = manifest_of(result.folder)
    assert manifest["tables_not_made"] == made.manifest["tables_not_made"]
    assert manifest["tables_failed"] == made.failed == list(BROKEN)
    again = with_tables(TABLES | BROKEN).run(60, out=result.folder.parent)
    assert not is_current(again, CONFIG, FILE, figures=False, report=True), "it is tried again"
    print_closing(*written)
    said = capsys.readouterr().out
    assert "table later was not made: n_obs = 99" in said
    assert f"{len(made.files)} files in " in said


def test_one_that_the_data_do_not_allow_is_not_tried_again(tmp_path):
    write(tmp_path, TABLES)
    again = with_tables(TABLES).run(60, out=tmp_path)
    assert again.outcome.n_blocks == 0
    assert is_current(again, CONFIG, FILE, figures=False, report=True)


def test_tables_of_an_earlier_run_do_not_stay_and_what_is_not_ours_does(tmp_path):
    result, _ = write(tmp_path, {"biases": biases, "summary": biases})
    assert names_in(result.folder)[::3] == ["biases.csv", "summary.csv"], "it may have its own"
    assert (result.folder / "tables" / "summary.md").read_text().startswith("Bias\n")
    (result.folder / "tables" / "mine.csv").write_text("mine")
    write(tmp_path, {}, n_rep=110)
    assert names_in(result.folder) == ["mine.csv", "summary.csv", "summary.md", "summary.tex"]


def test_names_that_windows_refuses_have_files_of_nearly_the_same_name(tmp_path):
    """Pages say the names as they are declared, and link to the files."""
    names = {"power: n > 3?": plain_figure, "con": plain_figure, "CONE": plain_figure}
    named = replace(study(figures=names), tables={"a*b": biases, "Summary": biases})
    result = named.run(60, out=tmp_path)
    publish(result, config=CONFIG, module_file=FILE)
    figures = {path.name for path in (result.folder / "figures").glob("*.png")}
    assert figures == {"power_ n _ 3_.png", "con_.png", "CONE.png"}
    assert {path.stem for path in (result.folder / "tables").iterdir()} == {"a_b", "Summary"}
    assert list(manifest_of(result.folder)["captions"]) == list(names)
    assert is_current(named.run(60, out=tmp_path), CONFIG, FILE, figures=True, report=True)
    for page in (result.folder / "report.html", tmp_path / "index.html"):
        text = page.read_text()
        assert "Power: n &gt; 3?" in text
        assert "power_%20n%20_%203_.svg" in text
        assert "con_.svg" in text


def test_a_figure_or_table_that_changes_its_summary_changes_no_other():
    def in_percent(result):
        summary = result.summary
        summary["estimate"] *= 100
        return summary["estimate"].to_numpy()

    made = replace(study(figures={"1": in_percent}), tables={"2": in_percent}).run(60)
    published = made.summary["estimate"].to_numpy().copy()
    for found in (made.figure("1"), made.table("2"), made.figure("1")):
        assert (found == published * 100).all()
    assert (made.summary["estimate"] == published).all()


def test_what_is_no_function_is_refused_before_anything_is_drawn():
    with pytest.raises(StudyError, match=r"tables={'x': 3} is not allowed: must be a dict of fun"):
        with_tables({"x": 3})
