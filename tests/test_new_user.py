"""Three studies as a new user writes them, from the first study and the recipes: scripts that run.

Each is a file that is run as a script, with workers, and prints its summary.
"""

import json
import subprocess
import sys

import numpy as np
import pytest

from tests.support import ROOT

TERMS = '''
"""Does weighting help if the spread of y grows with x?"""

from dataclasses import dataclass

import numpy as np

from simstudy import Study, grid
from simstudy.measures import bias, coverage


@dataclass(frozen=True)
class Line:
    n: int

    @property
    def truth(self):
        return {"intercept": 1.0, "slope": 2.0}

    def draw_one(self, rng):
        x = rng.uniform(1, 3, self.n)
        return {"x": x, "y": 1.0 + 2.0 * x + x * rng.normal(size=self.n)}


def fit(x, y, weights):
    design = np.column_stack([np.ones_like(x), x]) * np.sqrt(weights)[:, None]
    target = y * np.sqrt(weights)
    inverse = np.linalg.inv(design.T @ design)
    estimate = inverse @ design.T @ target
    residual = target - design @ estimate
    se = np.sqrt(np.diag(inverse) * (residual @ residual) / (len(x) - 2))
    return {
        "estimate": {"intercept": estimate[0], "slope": estimate[1]},
        "lower": estimate - 1.96 * se,
        "upper": estimate + 1.96 * se,
    }


def least_squares(x, y):
    return fit(x, y, np.ones_like(x))


def weighted(x, y):
    return fit(x, y, x**-2.0)


STUDY = Study(
    "line",
    grid(Line, n=[100, 200]),
    methods={"least_squares": least_squares, "weighted": weighted},
    axes={"term": ("intercept", "slope")},
    measures=[
        bias("estimate", truth="truth"),
        coverage(lower="lower", upper="upper", truth="truth"),
    ],
)

if __name__ == "__main__":
    result = STUDY.run(400, seed=1, n_jobs=2, backend="loky", progress=False)
    print(result.summary.to_json(orient="records"))
'''

CACHED = '''
"""Is a weighted mean worth its weights?"""

import functools
from dataclasses import dataclass

import numpy as np

from simstudy import Study, grid
from simstudy.measures import bias


@functools.lru_cache(maxsize=None)
def weights(n):
    return np.linspace(1, 2, n)


@dataclass(frozen=True)
class Trial:
    n: int

    @functools.cached_property
    def truth(self):
        return float(np.sum(weights(self.n)) / self.n)

    def draw_one(self, rng):
        return {"x": rng.normal(1.0, size=self.n)}


def weighted(x, n):
    return {"b": (x * weights(n)).mean()}


if __name__ == "__main__":
    study = Study("cached", grid(Trial, n=[5, 10]), methods={"weighted": weighted},
                  measures=[bias("b", truth="truth")])
    result = study.run(400, seed=1, n_jobs=2, backend="loky", progress=False)
    print(result.summary.to_json(orient="records"))
'''

REFILLED = '''
"""Is the slope of a dose right?"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from simstudy import Study, grid
from simstudy.measures import bias, empirical_se

TABLE = pd.DataFrame({"dose": np.arange(5.0)})


@dataclass(frozen=True)
class Trial:
    slope: float

    def draw_one(self, rng):
        TABLE["y"] = self.slope * TABLE["dose"] + rng.normal(size=5)
        return {"table": TABLE}


def least_squares(table):
    dose = table["dose"] - table["dose"].mean()
    return {"b": (dose * table["y"]).sum() / (dose**2).sum()}


if __name__ == "__main__":
    study = Study("dose", grid(Trial, slope=[0.0, 1.0]), methods={"ols": least_squares},
                  measures=[bias("b", truth="slope"), empirical_se("b")])
    result = study.run(400, seed=1, n_jobs=2, backend="loky", progress=False)
    print(result.summary.to_json(orient="records"))
'''


def summary_of(folder, text):
    """The summary that a script prints, by row."""
    (folder / "script.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "script.py"], cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_two_methods_by_two_terms_with_a_truth_each(tmp_path):
    rows = summary_of(tmp_path, TERMS)
    assert len(rows) == 2 * 2 * 2 * 2
    for row in rows:
        if row["measure"] == "bias":
            assert abs(row["estimate"]) < 5 * row["mcse"]
            assert row["n_rep"] == 400
        elif row["method"] == "weighted":  # the right model: 1.96 for t covers 94.7% at n = 100
            assert abs(row["estimate"] - 0.948) < 5 * np.sqrt(0.95 * 0.05 / 400)


@pytest.mark.slow
def test_a_cached_helper_and_a_cached_truth(tmp_path):
    rows = summary_of(tmp_path, CACHED)
    assert [row["n"] for row in rows] == [5, 10]
    for row in rows:
        error = np.sqrt(np.mean(np.linspace(1, 2, row["n"]) ** 2) / row["n"] / 400)
        assert abs(row["estimate"]) < 5 * error
        assert abs(row["mcse"] - error) < 0.2 * error


@pytest.mark.slow
def test_a_data_set_that_is_filled_again(tmp_path):
    """The numbers of a plain loop: the slope has variance 1/10."""
    rows = {(row["measure"], row["slope"]): row for row in summary_of(tmp_path, REFILLED)}
    for slope in (0.0, 1.0):
        assert abs(rows["bias", slope]["estimate"]) < 5 * np.sqrt(0.1 / 400)
        spread = rows["empirical_se", slope]["estimate"]
        assert abs(spread - np.sqrt(0.1)) < 5 * np.sqrt(0.1 / 800)
