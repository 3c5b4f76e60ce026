"""A finished folder as a research object: all that is ours, nothing else, and nothing half done."""

import hashlib
import json
import shutil
import sys
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote

import pytest

from simstudy.errors import ConfigError, NotHereError, StoreError
from simstudy.output.folder import publish
from simstudy.output.ro_crate import write_crate
from tests.output.standing import CONFIG, FILE, SOUND, manifest_of, study

rocrate = pytest.importorskip("rocrate.rocrate", reason="needs pip install -e '.[crate]'")

ABOUT = "Is it so?\n\nIn short.\n\nAims  To see.\nData  Normal.\n"
CITATION = """
authors:
  - {given-names: Ada, family-names: Byron, orcid: 'https://orcid.org/0'}
  - {name: The others}
license: MIT
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    result = study(figures=SOUND).run(60, out=tmp_path_factory.mktemp("results"))
    publish(result, about=ABOUT, config=CONFIG, module_file=FILE)
    return result.folder


@pytest.fixture
def folder(published, tmp_path):
    return shutil.copytree(published, tmp_path / "results" / published.name)


@pytest.fixture
def project(tmp_path):
    """What is known of the project."""
    code = [tmp_path / "study.py", tmp_path / "CITATION.cff"]
    for path, text in zip(code, ("K = 1\n", CITATION), strict=True):
        path.write_text(text)
    return {"root": tmp_path, "about": ABOUT, "code": code}


def entities(folder):
    graph = json.loads((folder / "ro-crate-metadata.json").read_text())["@graph"]
    found = {each["@id"]: each for each in graph}
    assert len(found) == len(graph), "two entities of one name"
    return found


def names(value):
    return [each["@id"] for each in (value if isinstance(value, list) else [value])]


def test_every_file_of_the_run_is_named_with_its_hash_and_no_other(folder, project):
    (folder / "notes.txt").write_text("mine")
    (folder / "replicates" / "notes.parquet").write_bytes(b"mine")
    made = write_crate(folder, **project)
    found = entities(folder)
    files = {unquote(name): each for name, each in found.items() if each["@type"] == "File"}
    blocks = {f"replicates/{path.name}" for path in (folder / "replicates").glob("*.parquet")}
    ours = {*manifest_of(folder)["files"], *blocks, "manifest.json"}
    ours |= {"code/study.py", "code/CITATION.cff"}
    assert set(files) == ours - {"replicates/notes.parquet"}
    assert made.n_files == len(files)
    for name, each in files.items():
        content = (folder / name).read_bytes()
        assert each["sha256"] == hashlib.sha256(content).hexdigest()
        assert each["contentSize"] == str(len(content))
        assert each["encodingFormat"]
    assert {unquote(name) for name in names(found["./"]["hasPart"])} == set(files)


def test_it_says_who_what_how_and_when(folder, project):
    made = write_crate(folder, **project)
    found = entities(folder)
    root, run, manifest = found["./"], found["#run"], manifest_of(folder)
    assert found["ro-crate-metadata.json"]["conformsTo"]["@id"].endswith("ro/crate/1.1")
    assert (root["name"], root["description"]) == ("Is it so?", ABOUT.strip())
    assert [found[n]["name"] for n in names(root["author"])] == ["Ada Byron", "The others"]
    assert names(root["author"])[0] == "https://orcid.org/0"
    assert names(root["license"]) == ["https://spdx.org/licenses/MIT"]
    assert set(names(run["instrument"])) == {"#simstudy", "#study"}
    assert "summary.parquet" in names(run["result"])
    assert "seed=1" in run["description"]
    assert run["startTime"] == manifest["drawn"][0]
    start, end = (datetime.fromisoformat(run[name]) for name in ("startTime", "endTime"))
    assert timedelta(0) <= end - start < timedelta(minutes=10)
    assert abs(datetime.now(UTC) - end) < timedelta(minutes=10)
    assert made.missing == ()
    assert write_crate(folder).missing == ("authors", "a licence")


def test_the_archive_is_a_crate_that_others_can_read_and_the_same_bytes_again(folder, project):
    made = write_crate(folder, **project, archive=True)
    first = made.metadata.read_bytes(), made.archive.read_bytes()
    write_crate(folder, **project, archive=True)
    assert (made.metadata.read_bytes(), made.archive.read_bytes()) == first
    with zipfile.ZipFile(made.archive) as archive:
        assert len(archive.namelist()) == made.n_files + 1
        assert archive.read("summary.parquet") == (folder / "summary.parquet").read_bytes()
    crate = rocrate.ROCrate(made.archive)
    assert crate.name == "Is it so?"
    assert len(crate.data_entities) == made.n_files


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda f: (f / "manifest.json").unlink(), "its run has not ended"),
        (lambda f: (f / "summary.parquet").write_bytes(b""), "summary.parquet was changed since"),
        (lambda f: (f / "figures" / "1.png").unlink(), "1.png is missing"),
        (lambda f: say(f, made_from={}), "a later run has begun and not ended"),
        (lambda f: say(f, published=False), "its results are not published"),
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


@pytest.mark.parametrize("said", ["- a", "a: [", ""])
def test_a_file_that_is_no_citation_file_is_refused_in_one_line(folder, project, said):
    Path(project["root"], "CITATION.cff").write_text(said)
    with pytest.raises(ConfigError, match="cannot be read as a citation file") as refused:
        write_crate(folder, **project)
    assert "\n" not in str(refused.value)


def test_without_the_library_the_extra_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "rocrate.rocrate", None)
    with pytest.raises(NotHereError, match=r"pip install 'simstudy\[crate\]'"):
        write_crate(folder)
