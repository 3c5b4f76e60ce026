"""Files that project code reads are noticed, and those that no study owns are not."""

import gzip
import importlib
import importlib.resources
import io
import linecache
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import traceback
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from simstudy import Data
from simstudy.engine.block import draw_block
from simstudy.engine.per_replicate import each_replicate
from simstudy.errors import StudyError
from simstudy.provenance import undeclared_reads
from simstudy.provenance.undeclared_reads import watching
from tests.support import on
from tests.with_data import PRICES, Undeclared, resampling, study_of

WORKERS = [
    on("inline", 1),
    pytest.param(on("loky", 2), marks=pytest.mark.slow),
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """The temporary folder is another one than the test's, whose files this process wrote."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(undeclared_reads, "_written", set())
    (tmp_path / "temporary").mkdir()


@pytest.fixture
def files(tmp_path):
    """One file of each kind, by its ending."""
    folder = tmp_path / "files"
    folder.mkdir()
    PRICES.to_csv(folder / "x.csv", index=False)
    PRICES.to_json(folder / "x.json")
    PRICES.to_pickle(folder / "x.pkl")
    PRICES.to_parquet(folder / "x.parquet")
    PRICES.to_feather(folder / "x.feather")
    np.save(folder / "x.npy", np.zeros(3))
    np.savez(folder / "x.npz", x=np.zeros(3))
    np.savetxt(folder / "x.txt", np.eye(2))
    np.zeros(4).tofile(folder / "x.raw")
    with gzip.open(folder / "x.gz", "w") as file:
        file.write(b"x")
    with zipfile.ZipFile(folder / "x.zip", "w") as archive:
        archive.writestr("x", "x")
    with closing(sqlite3.connect(folder / "x.db")) as base:
        base.execute("create table x (y)")
    return folder


def through_zip(path):
    with zipfile.ZipFile(path) as archive:
        return archive.read("x")


def through_thread(path):
    other = threading.Thread(target=path.read_text)
    other.start()
    other.join()


NOTICED = {
    "open.csv": lambda path: open(path).close(),
    "open, to change it.csv": lambda path: open(path, "r+").close(),
    "os.open.csv": lambda path: os.close(os.open(path, os.O_RDONLY)),
    "io.open_code.csv": lambda path: io.open_code(str(path)).close(),
    "gzip.gz": lambda path: gzip.open(path).close(),
    "zip.zip": through_zip,
    "numpy.load.npy": np.load,
    "numpy.load, mapped.npy": lambda path: np.load(path, mmap_mode="r"),
    "numpy.loadtxt.txt": np.loadtxt,
    "numpy.fromfile.raw": np.fromfile,
    "numpy.memmap.raw": np.memmap,
    "pandas.read_csv.csv": pd.read_csv,
    "pandas.read_csv, arrow.csv": lambda path: pd.read_csv(path, engine="pyarrow"),
    "pandas.read_csv, mapped.csv": lambda path: pd.read_csv(path, memory_map=True),
    "pandas.read_feather.feather": pd.read_feather,
}
UNSEEN = {
    "pandas.read_parquet.parquet": pd.read_parquet,
    "pyarrow.parquet.parquet": pyarrow.parquet.read_table,
    "sqlite.db": lambda path: sqlite3.connect(path).close(),
    "another thread.csv": through_thread,
    "subprocess.csv": lambda path: subprocess.run(["cat", path], capture_output=True, check=True),
}


def read_within(read, *args):
    with watching() as found:
        read(*args)
    return found


@pytest.mark.parametrize("name", NOTICED | UNSEEN)
def test_what_opens_files_in_python_is_noticed_and_the_limits_are_as_documented(name, files):
    path = files / f"x.{name.split('.')[-1]}"
    assert read_within((NOTICED | UNSEEN)[name], path) == [str(path)] * (name in NOTICED)


def test_paths_are_whole_and_told_once(files, monkeypatch):
    monkeypatch.chdir(files)
    found = read_within(lambda: [open("x.csv").close() for _ in range(3)])
    assert found == [str(files / "x.csv")]


def test_the_file_opens_whatever_the_hook_meets(files, monkeypatch):
    monkeypatch.setattr(undeclared_reads, "is_unowned", lambda *_: 1 / 0)
    assert read_within((files / "x.txt").read_text) == []


# ---------------------------------------------------------------- what no study owns
def writes(folder):
    (folder / "new").write_text("x")
    with open(folder / "new", "a+") as file:
        file.write("x")
    with open(folder / "new2", "w+") as file:
        file.write("x")


def raises_and_shows(folder):
    linecache.clearcache()
    try:
        raise ValueError("shown")
    except ValueError:
        assert "raise ValueError" in traceback.format_exc()


def writes_and_reads_back(folder):
    with tempfile.TemporaryDirectory() as own:
        PRICES.to_parquet(Path(own) / "in_c")
        assert (Path(own) / "in_c").read_bytes()
    with tempfile.NamedTemporaryFile("w+") as file:
        assert Path(file.name).read_text() == ""


def fails_to_open(folder):
    with pytest.raises(FileNotFoundError):
        (folder / "none").read_text()
    with pytest.raises(IsADirectoryError):
        folder.read_text()


def opens_by_number(folder):
    to_read, to_write = os.pipe()
    os.close(to_write)
    with open(to_read) as file:
        assert file.read() == ""


def imports(folder):
    (folder / "imported_here.py").write_text("X = 1")
    assert importlib.import_module("imported_here").X == 1


@pytest.mark.parametrize(
    "does",
    [
        writes,
        raises_and_shows,
        writes_and_reads_back,
        fails_to_open,
        opens_by_number,
        imports,
        lambda _: Path("/proc/self/status").read_text(),
        lambda _: Path(os.__file__).read_text(),
        lambda _: Path(np.__file__).read_text(),
        lambda _: importlib.resources.files("numpy").joinpath("version.py").read_text(),
        lambda _: open(sys.executable, "rb").close(),
        lambda _: pd.Timestamp("2020-01-01", tz="America/Nome"),
        lambda _: socket.getaddrinfo("localhost", 80),
    ],
)
def test_what_no_study_owns_is_passed_over(does, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    assert read_within(does, tmp_path) == []
    sys.modules.pop("imported_here", None)


def test_the_cache_of_a_compiler_is_passed_over(tmp_path):
    """PyMC reads it at each fit."""
    key = tmp_path / "compiledir_Linux-x86_64" / "key.pkl"
    key.parent.mkdir()
    key.write_bytes(b"")
    assert read_within(key.read_bytes) == []


def test_only_what_this_process_wrote_while_drawing_is_passed_over(tmp_path):
    path = tmp_path / "x"
    path.write_text("before")
    assert read_within(path.read_text) == [str(path)]
    path.open("a").close()
    assert read_within(path.read_text) == [str(path)], "what was there before is another's"
    assert read_within(path.write_text, "mine") == []
    assert read_within(path.read_text) == []


def test_a_project_in_the_folder_of_the_installation_is_still_a_project(files, monkeypatch):
    path = files / "x.csv"
    beside = compile("open(path).close()", str(files / "study.py"), "exec")
    monkeypatch.setattr(undeclared_reads, "_PREFIXES", (str(files),))
    assert read_within(path.read_text) == []
    assert read_within(lambda: exec(beside, {"path": path})) == [str(path)]


def test_declared_files_are_not_told(files):
    part = Data.file(files / "x.csv")
    assert read_within(part.frame) == []
    assert read_within(part.check) == []
    assert read_within(Data.file, files / "x.txt") == []
    assert read_within((files / "x.csv").read_text) != []
    assert read_within(part.path.read_text) == []


def test_a_library_reads_for_the_project_that_called_it(files):
    def analyse(x):
        return {"x": len(pd.read_csv(files / "x.csv")) + x}

    found = read_within(lambda: each_replicate(analyse, np.zeros(2), returns=["x"]))
    assert found == [str(files / "x.csv")]


def test_nothing_is_noticed_unless_a_block_is_drawn():
    """The hook is installed at the first draw, and asks nothing outside of one."""
    code = """
import sys
hooks = []
sys.addaudithook = hooks.append
import simstudy.study, simstudy.engine.block
assert hooks == []
from simstudy.provenance import undeclared_reads
from simstudy.provenance.undeclared_reads import watching
for _ in range(2):
    with watching():
        pass
assert len(hooks) == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# ---------------------------------------------------------------- in a study
def refusal_of(path):
    return (
        f"simulate read {path}, which the study does not declare, so a change of that file would "
        "go unnoticed. Make it a part of the scenario: a field `data: Data`, given "
        "Data.file('settings.json'), and read it with self.data.bytes() or from self.data.path."
    )


@pytest.fixture
def settings(tmp_path, monkeypatch):
    path = tmp_path / "settings.json"
    path.write_text('{"x": 1}')
    monkeypatch.chdir(tmp_path)
    return path


@pytest.mark.parametrize("workers", WORKERS, ids=["inline", "loky"])
@pytest.mark.parametrize("how", ["plain", "raises", "swallowed"])
def test_an_undeclared_read_stops_the_run(how, workers, settings):
    with pytest.raises(StudyError) as refusal:
        study_of(Undeclared(str(settings), how)).run(**workers)
    assert refusal_of(settings).split("given")[0] in str(refusal.value)


def test_the_refusal_names_the_scenario_the_file_and_the_lines_to_type(settings):
    plan = study_of(Undeclared(str(settings))).plan()
    with pytest.raises(StudyError) as refusal:
        draw_block(plan, plan.scenarios[0], 0)
    assert str(refusal.value) == f"{plan.scenarios[0]!r}: {refusal_of(settings)}"


@pytest.mark.parametrize(
    ("name", "how"),
    [("x.csv", "frame()"), ("x.parquet", "frame()"), ("x.npy", "array()"), ("x.txt", "text()")],
)
def test_the_refusal_says_how_to_read_it(name, how, tmp_path):
    path = tmp_path / name
    path.write_text('{"x": 1}')
    study = study_of(Undeclared(str(path)))
    with pytest.raises(StudyError, match=rf"read it with self\.data\.{how[:-2]}\(\)\.$"):
        study.run(**WORKERS[0])


def test_a_study_that_declares_its_data_runs(files):
    result = resampling(Data.file(files / "x.csv")).run(**WORKERS[0])
    assert result.outcome.n_failed == 0
