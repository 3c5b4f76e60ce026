"""The examples of docs/results.md run; those of other programs only if these are installed."""

import importlib.util
import shutil
import subprocess
import sys
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from tests.pages import blocks, run_examples
from tests.support import ROOT

RESULTS = ROOT / "docs" / "results.md"
PAGE = RESULTS.read_text(encoding="utf-8")
R_PACKAGES = ("arrow", "dplyr")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The folder in which the examples ran, and their variables."""
    folder, module = tmp_path_factory.mktemp("page"), ModuleType("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setitem(sys.modules, "results", module)
        run_examples(RESULTS, module)
    return folder, vars(module)


def agree(found: pd.DataFrame, names: dict) -> None:
    keys = ["n_obs", "method"]
    expected = names["summary"].set_index(keys)["estimate"]
    estimates = found.set_index(keys)["estimate"]
    np.testing.assert_allclose(estimates[expected.index], expected, rtol=0, atol=1e-12)


def test_the_examples_run_in_order(page):
    _, names = page
    first_line = repr(names["stored"]).splitlines()[0]
    assert f"print(stored)  # {first_line}" in PAGE


def test_every_file_of_the_folder_is_listed(page):
    folder, _ = page
    there = {path.name for path in (folder / "results" / "location").iterdir()}
    assert [name for name in there if f"`{name}" not in PAGE] == []


def test_every_column_of_the_summary_is_listed(page):
    _, names = page
    columns = [*names["summary"].columns[3:]]
    assert [name for name in columns if f"`{name}`" not in PAGE] == []


def test_duckdb_reads_it(page):
    (query,) = blocks(RESULTS, "sql")
    asked = f"import duckdb; duckdb.sql({query!r}).write_csv('found.csv')"
    agree(_found_by("duckdb", page, asked), page[1])


def _found_by(library: str, page: tuple, code: str) -> pd.DataFrame:
    """Run the example of a library in its own process, since its threads would affect this one."""
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"there is no {library} here")
    folder, _ = page
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, timeout=120)
    return pd.read_csv(folder / "found.csv")


def test_r_reads_it(page):
    folder, names = page
    _skip_without_r()
    (folder / "read.R").write_text(*blocks(RESULTS, "r"))
    subprocess.run(["Rscript", "read.R"], cwd=folder, check=True, timeout=120)
    agree(pd.read_csv(folder / "found.csv"), names)


def _skip_without_r() -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("there is no Rscript here")
    asks = "; ".join(f"library({name})" for name in R_PACKAGES)
    done = subprocess.run(["Rscript", "-e", asks], capture_output=True, check=False, timeout=120)
    if done.returncode:
        pytest.skip(f"R has not all of {', '.join(R_PACKAGES)}")
