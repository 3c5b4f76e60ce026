"""The example of a benchmark grows from the command line: only what is new is drawn."""

import re
import shutil

import pandas as pd
import pytest

from tests.cli.projects import simstudy, write
from tests.support import ROOT

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "examples" / "living_benchmark"
RUN = ("location", "n_rep=1000", "progress=false", "out=results")
OUTPUTS = "results/location/runs/n_rep=1000"
N_DGPS = 3  # and one block of each
FIFTH = '''
"""The mean of the smallest and the largest value."""


def midrange(x):
    return {"estimate": (x.min(axis=1) + x.max(axis=1)) / 2}
'''


@pytest.fixture
def project(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__", "results")
    return shutil.copytree(EXAMPLE, tmp_path / "benchmark", ignore=ignored)


def run(project, *settings):
    """Run and publish; gives the number of blocks drawn."""
    done = simstudy(project, "run", *RUN, *settings)
    assert done.returncode == 0, done.stdout + done.stderr
    if "nothing to do" in done.stdout:
        return 0
    return int(re.search(r"(\d+) blocks? drawn now", done.stdout)[1])


def published_methods(project):
    table = pd.read_csv(project / OUTPUTS / "tables" / "summary.csv")
    assert table.groupby("scenario_class").size().tolist() == [table["method"].nunique()] * N_DGPS
    return sorted(table["method"].unique())


def test_a_benchmark_grows_and_shrinks_file_by_file(project):
    four = ["mean", "median", "trimmed_mean_0.1", "trimmed_mean_0.25"]
    assert run(project) == 4 * N_DGPS
    assert published_methods(project) == four

    write(project, {"methods/midrange.py": FIFTH})
    assert run(project) == N_DGPS, "a fifth method is one file"
    assert published_methods(project) == sorted([*four, "midrange"])

    (project / "methods" / "midrange.py").unlink()
    assert run(project) == 0, "what is removed costs nothing"
    assert published_methods(project) == four

    write(project, {"methods/midrange.py": FIFTH.replace("/ 2", "* 0.25")})
    assert "method midrange: midrange has changed" in simstudy(project, "plan", *RUN).stdout
    assert run(project) == N_DGPS, "an edit costs its own blocks"

    dgp = (project / "dgps" / "heavy_tails.py").read_text().replace("HeavyTails", "Uniform")
    other = dgp.replace("laplace(self.centre, ", "uniform(-1, 1, ")
    write(project, {"dgps/uniform.py": other})
    assert run(project) == 5, "a case of its own for all methods"
