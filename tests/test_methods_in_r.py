"""The methods in R of docs/methods_in_r.md agree with SciPy, where R is there."""

import shutil
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from tests.cli.projects import python, write
from tests.pages import blocks, run_examples
from tests.support import ROOT

PAGE = ROOT / "docs" / "methods_in_r.md"


@pytest.fixture(scope="module")
def names():
    module = ModuleType("methods_in_r")
    run_examples(PAGE, module)
    return vars(module)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    return {"x": rng.normal(0.5, 1.0, (5, 20)), "y": rng.normal(0.0, 2.0, (5, 20))}


def test_rscript_gives_what_scipy_gives(names, data):
    if shutil.which("Rscript") is None:
        pytest.skip("there is no Rscript here")
    found = names["welch_in_r"](**data)
    known = stats.ttest_ind(data["x"], data["y"], axis=1, equal_var=False)
    np.testing.assert_allclose(found["p"], known.pvalue, rtol=1e-10)
    constant = {"x": np.ones((2, 20)), "y": np.ones((2, 20))}
    assert "essentially constant" in names["welch_in_r"](**constant)["error"][0]
    result = names["study"].run(100, n_jobs=1)
    assert result.n_failed == 0


def test_rpy2_gives_what_scipy_gives(data):
    pytest.importorskip("rpy2")
    made: dict = {}
    for code in blocks(PAGE, "py"):
        exec(compile(code, str(PAGE), "exec"), made)
    found = made["welch_by_rpy2"](data["x"][0], data["y"][0])
    known = stats.ttest_ind(data["x"][0], data["y"][0], equal_var=False)
    assert found["p"] == pytest.approx(known.pvalue, rel=1e-10)


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
from dataclasses import replace
from simstudy import each_replicate

methods = {"Rscript": welch_in_r, "rpy2": each_replicate(welch_by_rpy2)}
both = replace(study, methods=methods)
"""


@pytest.mark.slow
def test_each_worker_process_has_its_r(tmp_path):
    pytest.importorskip("rpy2")
    module = "\n".join([*blocks(PAGE, "python"), *blocks(PAGE, "py"), BOTH])
    write(tmp_path, {"in_r.py": module, "go.py": GO})
    done = python(tmp_path, "go.py")
    assert done.returncode == 0, done.stderr


def test_the_program_that_the_page_calls_gets_whole_blocks(names, data, tmp_path, monkeypatch):
    """With a program in the place of R that does the same in Python."""
    program = tmp_path / "Rscript"
    program.write_text(
        "#!/usr/bin/env python\n"
        "import sys, numpy as np\n"
        "from scipy import stats\n"
        "x, y = (np.loadtxt(f'{sys.argv[3]}/{n}.csv', delimiter=',') for n in 'xy')\n"
        "p = stats.ttest_ind(x, y, axis=1, equal_var=False).pvalue\n"
        'print(\'"estimate","p","error"\')\n'
        "for d, q in zip(x.mean(1) - y.mean(1), p): print(f'{float(d)},{float(q)},\"\"')\n"
        "print('NA,NA,\"no data\"')\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = names["welch_in_r"](**data)
    known = stats.ttest_ind(data["x"], data["y"], axis=1, equal_var=False)
    np.testing.assert_allclose(found["p"][:5], known.pvalue, rtol=1e-10)
    assert found["error"].tolist() == [None] * 5 + ["no data"]
