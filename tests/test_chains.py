"""The method with PyMC of docs/bayesian.md is calibrated and repeatable, and fits may fail."""

import sys
from types import ModuleType

import numpy as np
import pytest

from tests.pages import blocks, in_one_process
from tests.support import ROOT

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "bayesian.md"


@pytest.fixture(scope="module")
def page():
    """What the page defines; the first study is not run."""
    pytest.importorskip("pymc", reason="needs pip install pymc")
    module = ModuleType("bayesian")
    sys.modules["bayesian"] = module
    (first,) = blocks(PAGE, "python")
    with in_one_process():
        for code in (first.partition("\nstudy = ")[0], *blocks(PAGE, "py")):
            exec(compile(code, str(PAGE), "exec"), vars(module))
    yield module
    del sys.modules["bayesian"]


def test_chains_are_calibrated_for_both_parameters(page):
    result = page.by_chains.run(n_rep=60, n_jobs=1, progress=False)
    assert result.failures.query("method == 'PyMC'")["error"].str.contains("R-hat").all()
    for parameter in page.PARAMETERS:
        found = result.row("rank_check", method="PyMC", parameter=parameter)
        assert found["n_rep"] > 50
        assert found["estimate"] > 1e-4


def test_a_fit_is_the_same_again_and_a_diverging_one_fails(page, monkeypatch):
    scenario = page.by_chains.scenarios[0]
    data = scenario.draw(page.by_chains.plan().streams(scenario, 0), 2)
    one = {name: data[name][0] for name in ("truth", "x", "y")}
    first, again = (page.by_pymc(**one, rng=np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(first["rank"], again["rank"])
    plain = page.pm.sample

    def diverging(*arguments, **settings):
        fit = plain(*arguments, **settings)
        fit.sample_stats["diverging"].values[0, :3] = True
        return fit

    monkeypatch.setattr(page.pm, "sample", diverging)
    with pytest.raises(RuntimeError, match="3 divergent transitions"):
        page.by_pymc(**one, rng=np.random.default_rng(1))
