"""A study of methods on the command line: edited, drawn anew, adopted, counted."""

import json

import pandas as pd
import pytest

from tests.cli.projects import simstudy, write

pytestmark = pytest.mark.slow

EXPERIMENT = '''
"""Two estimates of a mean.

Aims         Which has the smaller error?
Data         Normal.
Estimands    The mean.
Methods      Mean and median.
Performance  Empirical standard error.
"""

from dataclasses import dataclass

import numpy as np

from simstudy import Study, each_replicate, grid
from simstudy.measures import empirical_se
from weights import weighted


@dataclass
class Config:
    n_obs: int = 5


@dataclass(frozen=True)
class Sample:
    n_obs: int

    def draw(self, streams, n_rep):
        return {"x": streams("data").normal(size=(n_rep, self.n_obs))}


def median(x):
    if x[0] > 2:
        raise ValueError("too large")
    return {"estimate": np.median(x)}


def study(config):
    return Study(
        "centre",
        grid(Sample, n_obs=config.n_obs),
        measures=[empirical_se("estimate")],
        methods={"weighted": weighted, "median": each_replicate(median)},
        block_size=50,
        n_rep=150,
    )
'''
WEIGHTS = '''
"""A helper that one method uses."""


def weighted(x):
    return {"estimate": WEIGHT * x.mean(axis=1)}


WEIGHT = 1.0
'''
RUN = ("experiment=centre", "progress=false", "report=false")


@pytest.fixture
def project(tmp_path):
    files = {"experiments/__init__.py": "", "experiments/centre.py": EXPERIMENT}
    write(tmp_path, {**files, "weights.py": WEIGHTS})
    return tmp_path


def said(folder, *arguments, status=0):
    done = simstudy(folder, *arguments)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_method_is_edited_and_drawn_anew_alone(project):
    said(project, "run", *RUN, status=3)
    folder = project / "results" / "centre"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["blocks_computed"] == 2 * 3
    keys = pd.read_parquet(folder / "scenarios.parquet")
    assert keys["method"].tolist() == ["weighted", "median"]
    assert "6 stored" in said(project, "status", *RUN, status=3)

    write(project, {"weights.py": WEIGHTS.replace("WEIGHT = 1.0", "WEIGHT = 2.0")})
    for looking in ("status", "plan"):
        found = said(project, looking, *RUN, status=3 if looking == "status" else 0)
        assert "method weighted: WEIGHT has changed" in found
    assert "to draw  3 blocks" in said(project, "plan", *RUN, status=0)
    assert "method weighted: WEIGHT has changed" in said(project, "run", *RUN, status=3)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["blocks_computed"] == 3
    assert "nothing to do" in said(project, "run", *RUN, status=3)
    assert "to draw  at most 6 blocks" in said(project, "plan", *RUN, "redraw=weighted", status=0)


def test_a_module_has_another_name_for_nothing_and_renamed_code_is_adopted(project):
    said(project, "run", *RUN, status=3)
    (project / "weights.py").unlink()
    moved = EXPERIMENT.replace("from weights import", "from moved import")
    write(project, {"moved.py": WEIGHTS, "experiments/centre.py": moved})
    assert "0 blocks drawn now" in said(project, "run", *RUN, status=3)
    write(project, {"moved.py": WEIGHTS.replace("WEIGHT", "FACTOR")})
    assert "method weighted: FACTOR is new; WEIGHT is gone" in said(project, "plan", *RUN, status=0)
    adopted = said(project, "run", *RUN, "adopt=true", status=3)
    assert "so all count" in adopted
    assert "nothing to do" in said(project, "run", *RUN, status=3)
    assert "to draw  at most 6 blocks" in said(project, "plan", *RUN, "redraw=weighted", status=0)
