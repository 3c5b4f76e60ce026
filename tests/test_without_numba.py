"""A study of one's own needs no compiler; a study with compiled loops says what it needs."""

import numpy as np
import pandas as pd

from tests.cli.projects import python
from tests.support import ROOT

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("llvmlite", "numba"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
from simstudy.cli import main
while "and" in sys.argv[1:]:
    at = sys.argv.index("and", 1)
    if status := main(sys.argv[1:at]):
        sys.exit(status)
    del sys.argv[1 : at + 1]
sys.exit(main(sys.argv[1:]))
"""
SETTINGS = ("scale=smoke", "backend=inline", "progress=false")


def without_numba(folder, *words):
    """The command line, or several joined by `and`, where numba and llvmlite are not installed."""
    return python(folder, "-c", BLOCKED, *words)


def test_a_new_project_runs_with_figures_and_report(tmp_path):
    assert without_numba(tmp_path, "new", "mine").returncode == 0
    project = tmp_path / "mine"
    done = without_numba(project, "run", "experiment=proportion_interval", "out=out", *SETTINGS)
    assert done.returncode == 0, done.stderr
    results = project / "out" / "proportion_interval"
    assert list((results / "figures").glob("*.png"))
    assert (results / "report.html").exists()


CASES = pd.DataFrame({"x": np.arange(40.0)}).assign(
    y=lambda t: 2 * t["x"] + t["x"] ** 3 % 5,
    z=lambda t: t["x"] ** 2 % 7,
    prediction=lambda t: t["y"] + 1 / (1 + t["x"] % 7),
    mean=lambda t: t["y"] + 0.5,
    sd=1.0,
    label=lambda t: (t["x"] >= 20).astype(int),
    score=lambda t: t["x"] + 5 * (t["x"] % 3),
    old=lambda t: (t["x"] < 30).astype(int),
    new=lambda t: (t["x"] < 20).astype(int),
)
OWN_DATA = {  # of a method, what it is asked in one process, and what it prints last
    "loo": (
        "loo new.csv features=[x,z] and apply loo new.csv against=[x] features=[x,z] and "
        "apply loo new.csv prediction=[x] cluster=z",
        "leave-one-out R²",
    ),
    "regression trial": (
        "regression-trial plan new.csv simulate=true n_rep=5 n_boot=200 k=1",
        "of the simulated trials",
    ),
    "classifier trial": (
        "classifier-trial plan new.csv sensitivity=0.85 margin=0.1 method=bca out=plan.json "
        "simulate=true n_rep=20 and apply classifier-trial test plan.json other.csv",
        "positive cases at or above",
    ),
    "predictive p-values": ("predictive-pvalues new.csv n_boot=99", "log10 p"),
    "accuracy": (
        "accuracy new.csv reference=old candidate=new paired=false theta=0.3",
        "Boschloo's exact test, 30 of 40 right against 20 of 40",
    ),
}


def test_methods_for_own_data_need_no_compiler(tmp_path):
    CASES.to_csv(tmp_path / "new.csv", index=False)
    CASES.assign(score=CASES["score"] + 1).to_csv(tmp_path / "other.csv", index=False)
    words = " and ".join(f"apply {asked}" for asked, _ in OWN_DATA.values()).split()
    done = without_numba(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert [said for _, said in OWN_DATA.values() if said not in done.stdout] == []


def test_a_study_with_compiled_loops_says_in_one_line_what_to_install(tmp_path):
    """And the others of the same command run, as the two-stage trial, which needs no compiler."""
    words = ("experiment=regression_trial,two_stage", "figures=false", f"out={tmp_path}")
    done = without_numba(ROOT, "run", "-m", *words, *SETTINGS)
    assert done.returncode == 2
    [told] = [line for line in done.stderr.splitlines() if "numba" in line]
    assert told.startswith("regression_trial: ")
    assert "No module named 'numba'. Install it: pip install 'simstudy[kernels]'" in told
    assert not [*(tmp_path / "regression_trial").rglob("*.parquet")]
    assert (tmp_path / "two_stage" / "summary.parquet").exists()
