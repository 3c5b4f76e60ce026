"""The examples run, are as short as they say, and their fits are those of other software."""

import ast
import importlib.util
import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from statsmodels.duration.hazard_regression import PHReg

from simstudy.provenance.streams import Streams
from tests.cli.projects import contracts
from tests.pages import in_one_process
from tests.support import ROOT, assert_caught, assert_within_mcse, r_has
from writing.sources import code_lines

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("error:no code of the study")]

EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
PACKAGE = EXAMPLES / "own_package"
BENCHMARK = EXAMPLES / "living_benchmark"
STUDIES = [
    *SCRIPTS,
    *PACKAGE.glob("experiments/poisson*.py"),
    *BENCHMARK.glob("experiments/[!_]*.py"),
]
PROTOCOL = ("Aims", "Data", "Estimands", "Methods", "Performance")


@pytest.fixture(autouse=True)
def one_process():
    with in_one_process():
        yield


@pytest.fixture
def example(monkeypatch):
    def imported(name: str) -> ModuleType:
        monkeypatch.syspath_prepend(EXAMPLES)  # as of a script: an example may import another
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return imported


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_an_example_is_short_and_begins_with_its_protocol(path):
    source = path.read_text(encoding="utf-8")
    assert code_lines(ROOT, path.relative_to(ROOT).as_posix()) < 60
    said = re.findall(r"^(\w+)  +\S", ast.get_docstring(ast.parse(source)), flags=re.MULTILINE)
    assert tuple(said) == PROTOCOL


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs_at_smoke_size(path, example):
    if path.stem == "survival_in_r" and not r_has("survival"):
        pytest.skip("there is no R with its package survival here")
    study = replace(example(path.stem).study, block_size=3)
    result = study.run(n_rep=3)
    assert result.n_failed == 0
    assert result.outcome.warnings == []
    assert np.isfinite(result.summary["estimate"]).all()


def test_every_example_is_in_the_list_with_what_it_needs():
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for path in [*SCRIPTS, EXAMPLES / "notebook.ipynb", PACKAGE, BENCHMARK]:
        assert f"]({path.name})" in listed, path.name


@pytest.fixture
def patients(example):
    module = example("survival")
    scenario = module.Patients(shape=1.5, n_obs=80)
    streams = Streams(1, "survival", "patients", 0)
    return module, scenario.draw(streams, 4)


def test_the_cox_model_is_that_of_statsmodels(patients):
    module, data = patients
    ours = module.cox(**data)
    for row in range(4):
        time, died, treated = (data[name][row] for name in ("time", "died", "treated"))
        fit = PHReg(time, treated[:, None].astype(float), status=died).fit()
        assert ours["estimate"][row] == pytest.approx(fit.params[0], abs=1e-6)
        assert ours["se"][row] == pytest.approx(fit.bse[0], rel=1e-5)


def test_a_constant_hazard_is_wrong_by_what_theory_says(example):
    """Its limit is the log ratio of deaths per year at risk; that of the others is the truth."""
    module = example("survival")
    summary = replace(module.study, n_rep=400).run().summary
    found = summary.query("measure == 'bias' and shape == 1.5").set_index("method")
    years = np.linspace(0.0, 5.0, 20_001)
    alive = [np.exp(-0.1 * ratio * years**1.5) for ratio in (1.0, np.exp(-0.5))]
    rates = [(1 - each[-1]) / np.trapezoid(each, years) for each in alive]
    bias = np.log(rates[1] / rates[0]) + 0.5
    assert bias == pytest.approx(0.046, abs=0.002)
    sd = 0.12 / np.sqrt(400)
    assert_within_mcse(found.loc["exponential", "estimate"], bias, sd)
    assert_caught(found.loc["Weibull", "estimate"], bias, sd)


def outputs_of(notebook: Path, module: ModuleType) -> list[Any]:
    """Run the cells of a notebook in a module; the value of each that ends in an expression."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    shown = []
    for cell in (each for each in cells if each["cell_type"] == "code"):
        assert cell["outputs"] == []
        body = ast.parse("".join(cell["source"]).replace("n_rep=4000", "n_rep=1000")).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), cell["id"], "exec"), vars(module))
        if last is not None:
            shown.append(
                eval(compile(ast.Expression(last.value), cell["id"], "eval"), vars(module))
            )
    return shown


def test_the_notebook_runs_from_top_to_bottom_and_shows_numbers(monkeypatch):
    module = ModuleType("notebook")
    monkeypatch.setitem(sys.modules, "notebook", module)
    study, result, table, contrast, figure = outputs_of(EXAMPLES / "notebook.ipynb", module)
    gain = result.row("relative_precision", df=3, method="median")
    assert gain["lower"] > 0, "of three degrees of freedom the median knows more than the mean"
    assert "methods: mean, trimmed, median" in study._repr_html_()
    spread = result.row("empirical_se", df=3, method="median")
    shown = f"{spread['estimate']:.4f} ({spread['mcse']:.4f})"
    assert shown in repr(result)
    assert shown in table._repr_markdown_()
    assert contrast._repr_html_().count("<tr") == 1 + 4  # headings, and a row for each df
    assert len(figure.draw().axes) == 1


def test_the_package_keeps_the_contracts(tmp_path):
    """Its measures read a factor, and its theory is that of the simulation."""
    shutil.copytree(PACKAGE, tmp_path / "own", ignore=shutil.ignore_patterns("__pycache__"))
    done = contracts(Path(tmp_path / "own"))
    assert done.returncode == 0, done.stdout
