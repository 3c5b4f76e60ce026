"""A finished folder as a research object: all that is ours, nothing else, and nothing half done."""

import hashlib
import json
import shutil
import zipfile
from datetime import UTC, datetime, timedelta
from urllib.parse import unquote

import pytest

from simstudy.errors import StoreError
from simstudy.output.crate.made import StudyCode, write_crate
from simstudy.output.folder import publish
from simstudy.output.up_to_date import is_current
from tests.output.standing import CONFIG, FILE, SOUND, study

COLUMNS = {"single": 3.5}
ABOUT = "Is it so?\n\nIn short.\n\nAims  To see.\nData  Normal.\n"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    result = study(figures=SOUND).run(60, out=tmp_path_factory.mktemp("results"))
    publish(result, about=ABOUT, config=CONFIG, module_file=FILE, columns=COLUMNS)
    return result.folder


@pytest.fixture
def folder(published, tmp_path):
    return shutil.copytree(published, tmp_path / "results" / published.name)


@pytest.fixture
def code(tmp_path):
    (tmp_path / "CITATION.cff").write_text(
        "authors: [{given-names: Ada, family-names: Byron, orcid: 'https://orcid.org/0'}]\n"
        "license: MIT\n"
        "references:\n"
        "  - {type: article, title: A trial, doi: 10.1/x, authors: [{name: N. N.}], scope: toy}\n"
        "  - {type: article, title: Another, scope: other}\n"
    )
    own = tmp_path / "study.py"
    own.write_text("K = 1\n")
    return StudyCode(tmp_path, ABOUT, [own, tmp_path / "CITATION.cff"])


def entities(folder):
    graph = json.loads((folder / "ro-crate-metadata.json").read_text())["@graph"]
    found = {each["@id"]: each for each in graph}
    assert len(found) == len(graph), "two entities of one name"
    return found


def names(value):
    return [each["@id"] for each in (value if isinstance(value, list) else [value])]


def test_every_file_of_the_run_is_named_with_its_hash_and_no_other(folder, code):
    (folder / "notes.txt").write_text("mine")
    (folder / "replicates" / "notes.parquet").write_bytes(b"mine")
    made = write_crate(folder, code)
    found = entities(folder)
    files = {unquote(name): each for name, each in found.items() if each["@type"] == "File"}
    listed = json.loads((folder / "manifest.json").read_text())["files"]
    blocks = {f"replicates/{path.name}" for path in (folder / "replicates").glob("*.parquet")}
    ours = {*listed, *blocks, "manifest.json", "code/study.py", "code/CITATION.cff"}
    assert set(files) == ours - {"replicates/notes.parquet"}
    assert made.n_files == len(files)
    for name, each in files.items():
        content = (folder / name).read_bytes()
        assert each["sha256"] == hashlib.sha256(content).hexdigest()
        assert each["contentSize"] == str(len(content))
    assert {"figures/single/1.pdf", "tables/single/summary.tex"} <= set(files)
    assert sorted(names(found["./"]["hasPart"])) == sorted(
        n for n in found if found[n] in files.values()
    )


def test_every_reference_leads_to_an_entity(folder, code):
    write_crate(folder, code)
    found = entities(folder)

    def refer(value):
        for each in value.values() if isinstance(value, dict) else value:
            if isinstance(each, dict) and set(each) == {"@id"}:
                yield each["@id"]
            elif isinstance(each, dict | list):
                yield from refer(each)

    outside = {"https://w3id.org/ro/crate/1.1", "http://schema.org/CompletedActionStatus"}
    assert set(refer(list(found.values()))) - set(found) == outside


def test_it_says_who_what_and_how(folder, code):
    write_crate(folder, code)
    found = entities(folder)
    root, run = found["./"], found["#run"]
    assert root["name"] == "Is it so?"
    assert root["description"] == "In short.\n\nAims: To see.\n\nData: Normal."
    assert found[names(root["author"])[0]]["name"] == "Ada Byron"
    assert names(root["license"]) == ["https://spdx.org/licenses/MIT"]
    assert names(root["isBasedOn"]) == names(root["citation"]) == ["https://doi.org/10.1/x"]
    assert found["#seed"]["value"] == 1
    assert {"#simstudy", "#study"} == set(names(run["instrument"]))
    assert "summary.parquet" in names(run["result"])


def test_it_says_when_it_was_drawn_and_of_a_copy_too(folder, tmp_path, capsys):
    drawn = json.loads((folder / "manifest.json").read_text())["drawn"]
    copied = shutil.copytree(folder, tmp_path / "copied", copy_function=shutil.copyfile)
    run = entities(write_crate(copied).metadata.parent)["#run"]
    assert run["startTime"] == drawn[0]
    start, end = (datetime.fromisoformat(run[name]) for name in ("startTime", "endTime"))
    assert timedelta(0) <= end - start < timedelta(minutes=10)
    assert abs(datetime.now(UTC) - end) < timedelta(minutes=10)
    say(copied, drawn=None, made="2026-01-02 03:04 UTC")
    made = write_crate(copied)
    run = entities(copied)["#run"]
    assert run["endTime"] == "2026-01-02T03:04:00Z"
    assert "startTime" not in run
    assert made.lacks[-1].startswith("when its blocks were drawn")


def test_the_same_results_are_the_same_bytes_here_and_where_they_are_mailed(folder, code, tmp_path):
    made = write_crate(folder, code, archive=True)
    first = made.metadata.read_bytes(), made.archive.read_bytes()
    write_crate(folder, code, archive=True)
    assert (made.metadata.read_bytes(), made.archive.read_bytes()) == first
    with zipfile.ZipFile(made.archive) as archive:
        archive.extractall(tmp_path / "mailed")
        assert len(archive.namelist()) == made.n_files + 1
    mailed = tmp_path / "mailed" / folder.name
    again = entities(write_crate(mailed).metadata.parent)
    before = entities(folder)
    assert again["./"] == before["./"]
    assert {n for n, e in again.items() if e["@type"] == "File"} == {
        n for n, e in before.items() if e["@type"] == "File"
    }


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda f: (f / "manifest.json").unlink(), "its run has not ended"),
        (lambda f: (f / "summary.parquet").write_bytes(b""), "summary.parquet was changed since"),
        (lambda f: (f / "figures" / "1.png").unlink(), "1.png is missing"),
        (lambda f: say(f, made_from={}), "a later run has begun and not ended"),
        (lambda f: say(f, published=False), "nobody has published its results"),
        (lambda f: say(f, figures_failed=["1"]), "1 could not be made"),
    ],
)
def test_what_is_not_finished_is_refused_in_one_line(folder, harm, said):
    harm(folder)
    with pytest.raises(StoreError, match=said) as refused:
        write_crate(folder)
    assert "\n" not in str(refused.value)
    assert not (folder / "ro-crate-metadata.json").exists()


def say(folder, **what):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | what))


def test_pdfs_and_tables_for_columns_are_outputs_of_their_run(folder):
    result = study(figures=SOUND).run(60, out=folder.parent)
    asked = {"figures": True, "report": True}
    assert is_current(result, CONFIG, FILE, **asked, columns=COLUMNS)
    assert is_current(result, CONFIG, FILE, **asked)
    assert not is_current(result, CONFIG, FILE, **asked, columns={"single": 3.4})
    assert "figures/single/1.pdf" in (folder / "report.html").read_text()
    table = folder / "tables" / "single" / "summary.tex"
    assert table.read_text() == result.table("summary").latex("toy:summary", width=3.5)
    publish(result, config=CONFIG, module_file=FILE, figures=False)
    assert table.exists(), "figures for columns stay, and so do tables"
    table.unlink()
    assert not is_current(result, CONFIG, FILE, **asked, columns=COLUMNS)
    publish(result, config=CONFIG, module_file=FILE)
    assert not [*folder.rglob("*.pdf"), *folder.rglob("single/*")]
    shutil.rmtree(folder)
