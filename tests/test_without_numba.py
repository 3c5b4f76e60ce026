"""A study of one's own needs no compiler; a study with compiled loops says what it needs."""

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
sys.exit(main(sys.argv[1:]))
"""
SETTINGS = ("scale=smoke", "backend=inline", "progress=false")


def without_numba(folder, *words):
    """The command line where numba and llvmlite are not installed."""
    return python(folder, "-c", BLOCKED, *words)


def test_a_new_project_runs_with_figures_and_report(tmp_path):
    assert without_numba(tmp_path, "new", "mine").returncode == 0
    project = tmp_path / "mine"
    done = without_numba(project, "run", "experiment=proportion_interval", "out=out", *SETTINGS)
    assert done.returncode == 0, done.stderr
    results = project / "out" / "proportion_interval"
    assert list((results / "figures").glob("*.png"))
    assert (results / "report.html").exists()


def test_leave_one_out_of_a_file_needs_no_compiler(tmp_path):
    rows = (f"{x},{x * x % 7},{2 * x + x * x * x % 5}" for x in range(20))
    (tmp_path / "data.csv").write_text("\n".join(["x,z,y", *rows]))
    for words in ([], ["against=[x]", "features=[x,z]"], ["prediction=[x]", "cluster=z"]):
        done = without_numba(tmp_path, "apply", "loo", "data.csv", *words)
        assert done.returncode == 0, done.stderr
        assert "leave-one-out R²" in done.stdout


def test_the_study_of_the_two_stage_trial_needs_none(tmp_path):
    """It draws every observation at some sizes, and means by their law at the others."""
    settings = ("figures=false", f"out={tmp_path}", *SETTINGS)
    done = without_numba(ROOT, "run", "experiment=two_stage", *settings)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "two_stage" / "summary.parquet").exists()


def test_a_trial_of_a_regression_is_planned_and_simulated_without(tmp_path):
    rows = "".join(f"{row},{row + 1 / (1 + row % 7)}\n" for row in range(30))
    (tmp_path / "cases.csv").write_text(f"y,prediction\n{rows}")
    words = ("apply", "regression-trial", "plan", "cases.csv", "simulate=true", "n_rep=5")
    done = without_numba(tmp_path, *words, "n_boot=200")
    assert done.returncode == 0, done.stderr
    assert "of the simulated trials" in done.stdout


def test_a_study_with_compiled_loops_says_in_one_line_what_to_install(tmp_path):
    """And the others of the same command run."""
    words = ("experiment=regression_trial,umbrella_rank", "figures=false", f"out={tmp_path}")
    done = without_numba(ROOT, "run", "-m", *words, *SETTINGS)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("RegressionTrial(")
    assert "No module named 'numba'. Install it: pip install 'simstudy[kernels]'" in done.stderr
    assert not [*(tmp_path / "regression_trial").rglob("*.parquet")]
    assert (tmp_path / "umbrella_rank" / "summary.parquet").exists()
