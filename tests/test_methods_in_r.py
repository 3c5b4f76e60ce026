"""The method in R of docs/migrating.md agrees with SciPy, where R is there."""

import numpy as np
import pytest
from scipy import stats

from tests.cli.projects import python, write
from tests.pages import blocks
from tests.support import ROOT

PAGE = ROOT / "docs" / "migrating.md"


def test_rpy2_gives_what_scipy_gives():
    pytest.importorskip("rpy2")
    rng = np.random.default_rng(1)
    x, y = rng.normal(0.5, 1.0, 20), rng.normal(0.0, 2.0, 20)
    made: dict = {}
    for code in blocks(PAGE, "py"):
        exec(compile(code, str(PAGE), "exec"), made)
    known = stats.ttest_ind(x, y, equal_var=False)
    assert made["welch_by_rpy2"](x, y)["p"] == pytest.approx(known.pvalue, rel=1e-10)


GO = """
import numpy as np
from in_r import both

if __name__ == "__main__":
    result = both.run(200, backend="loky", n_jobs=2, progress=False)
    assert result.n_failed == 0
    known, found = (result.values("p", method=name) for name in both.methods)
    np.testing.assert_allclose(found, known, rtol=1e-10)
"""
BOTH = """
from dataclasses import dataclass

from scipy import stats
from simstudy import Study, each_replicate, grid
from simstudy.measures import mean


@dataclass(frozen=True)
class TwoSamples:
    n_obs: int

    def draw(self, streams, n_rep):
        rng = streams("data")
        x, y = rng.normal(size=(2, n_rep, self.n_obs))
        return {"x": x + 0.5, "y": 2 * y}


def welch(x, y):
    found = stats.ttest_ind(x, y, axis=1, equal_var=False)
    return {"estimate": x.mean(axis=1) - y.mean(axis=1), "p": found.pvalue}


both = Study(
    name="welch_in_r",
    scenarios=grid(TwoSamples, n_obs=20),
    methods={"SciPy": welch, "rpy2": each_replicate(welch_by_rpy2)},
    measures=[mean("p")],
    block_size=100,
)
"""


@pytest.mark.slow
def test_each_worker_process_has_its_r(tmp_path):
    pytest.importorskip("rpy2")
    write(tmp_path, {"in_r.py": "\n".join([*blocks(PAGE, "py"), BOTH]), "go.py": GO})
    done = python(tmp_path, "go.py")
    assert done.returncode == 0, done.stderr
