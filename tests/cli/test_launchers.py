"""Sweeps by launchers and sweepers of Hydra's plugins: the same bits, one table, one status."""

import os

import pandas as pd
import pytest

from tests.cli.projects import python, write
from tests.support import ROOT

pytestmark = pytest.mark.slow

STUDY = '''"""What is the mean of shifted data?"""
import os
from dataclasses import dataclass

import numpy as np

from simstudy import Study, grid
from simstudy.measures import mean
from simstudy.options import option


@dataclass
class Config:
    shift: float = option("mean of the data", default=0.0, at_least=-9, at_most=9)
    n_obs: list[int] = option("sample size", default=[5], at_least=1)


@dataclass(frozen=True)
class Shifted:
    n_obs: int
    shift: float

    def simulate(self, streams, n_rep):
        x = self.shift + streams("data").standard_normal((n_rep, self.n_obs)).mean(axis=1)
        return {"x": np.where(np.arange(n_rep) < self.shift - 4, np.nan, x)}


def study(config):
    if config.shift == 9 and "PARENT" in os.environ and int(os.environ["PARENT"]) != os.getpid():
        os._exit(1)
    scenarios = grid(Shifted, n_obs=config.n_obs, shift=config.shift)
    return Study("shifted", scenarios, measures=[mean("x")], block_size=20, n_rep=60)
'''
ASKED = ["experiment=shifted", "figures=false", "report=false", "progress=false", "backend=inline"]
FACTORS = ["experiment.shift=0,1", "experiment.n_obs=[5],[10]", "seed=1,2,3", "n_rep=60"]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shifted")
    run = (ROOT / "run.py").read_text()
    write(folder, {"run.py": run, "experiments/__init__.py": "", "experiments/shifted.py": STUDY})
    return folder


def table_below(folder) -> pd.DataFrame:
    """The table of the only sweep of a folder of results."""
    (path,) = (folder / "sweeps").rglob("summary.parquet")
    assert path.with_suffix(".csv").exists()
    assert (path.parent / "index.html").exists()
    return pd.read_parquet(path)


def estimates(folder) -> pd.DataFrame:
    """The table without what a clock says."""
    return table_below(folder).drop(columns="seconds")


def stored_rows(folder) -> pd.DataFrame:
    """Rows of all blocks of a store, in order."""
    frames = map(pd.read_parquet, (folder / "replicates").glob("*.parquet"))
    rows = pd.concat(frames).drop_duplicates()
    return rows.sort_values([*rows]).reset_index(drop=True)


@pytest.fixture(scope="module")
def basic(project):
    """The sweep by Hydra's own launcher, to compare with."""
    done = python(project, "run.py", "-m", *ASKED, *FACTORS, "out=basic")
    assert done.returncode == 0, done.stderr
    assert sum("results of" in line or "basic/" in line for line in done.stdout.splitlines()) >= 12
    return project / "basic"


@pytest.mark.parametrize("launcher", ["joblib", "submitit_local"])
def test_a_launcher_moves_no_bit(launcher, project, basic):
    """Two factors and three seeds."""
    plugin = {"joblib": "hydra_joblib_launcher", "submitit_local": "hydra_submitit_launcher"}
    pytest.importorskip(f"hydra_plugins.{plugin[launcher]}", reason="needs its launcher")
    done = python(
        project, "run.py", "-m", f"hydra/launcher={launcher}", *ASKED, *FACTORS, f"out={launcher}"
    )
    assert done.returncode == 0, done.stderr
    found = estimates(project / launcher)
    assert len(found) == 12
    assert {"experiment.shift", "experiment.n_obs", "seed"} <= set(found)
    pd.testing.assert_frame_equal(found, estimates(basic), check_exact=True)
    rows = stored_rows(project / launcher / "shifted")
    pd.testing.assert_frame_equal(rows, stored_rows(basic / "shifted"), check_exact=True)


@pytest.mark.parametrize("launcher", ["basic", "submitit_local"])
def test_a_run_that_fails_costs_itself(launcher, project, monkeypatch):
    """One whose process ends without a word, too; the table says which."""
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher", reason="needs its launcher")
    monkeypatch.setenv("PARENT", "0" if launcher != "basic" else str(os.getpid()))
    points = "experiment.shift=0,5,9" if launcher != "basic" else "experiment.shift=0,5"
    done = python(
        project, "run.py", "-m", f"hydra/launcher={launcher}", *ASKED, points, f"out=of_{launcher}"
    )
    assert done.returncode == 3, done.stderr
    table = table_below(project / f"of_{launcher}").set_index("experiment.shift")
    assert table.loc[["0"], "estimate"].notna().all()
    if launcher != "basic":
        assert table.loc[["9"], "estimate"].isna().all()
    assert "Traceback" not in done.stderr


def test_optuna_minimises_a_measure(project):
    """The mean is shifted by one factor, and its smallest value is in the range."""
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="needs its sweeper")
    done = python(
        project, "run.py", "-m", "hydra/sweeper=optuna", "hydra/sweeper/sampler=random",
        "hydra.sweeper.sampler.seed=1", "hydra.sweeper.n_trials=4",
        "hydra.sweeper.direction=minimize", "experiment.shift=interval(-1,1)", "objective=mean_x",
        *ASKED, "out=optuna",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    table = table_below(project / "optuna")
    assert len(table) == 4
    (best,) = (project / "optuna").rglob("optimization_results.yaml")
    text = best.read_text()
    assert f"best_value: {float(table['estimate'].min())!r}" in text


def test_an_objective_that_is_no_measure_is_refused(project):
    done = python(project, "run.py", *ASKED, "objective=mean_y")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "mean_x" in done.stderr
