"""Imports point down, and what only some runs need is imported late."""

import subprocess
import sys

import pytest

from tests.support import ROOT

PACKAGES = (
    "measures", "figures", "documents", "data", "provenance", "store", "engine", "analysis",
)  # fmt: skip
FEW_RUNS_NEED = ("plotnine", "matplotlib", "numba", "sklearn", "scipy.stats", "rich", "joblib")
NOTHING_TO_DO_NEEDS_NO = (*FEW_RUNS_NEED, "pandas", "pyarrow.compute", "scipy", "jaxtyping")


def names_in(folder: str) -> list[str]:
    """Modules of a folder, but for those whose name says that others import them."""
    paths = (ROOT / folder.replace(".", "/")).rglob("[!_]*.py")
    return sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths)


def printed_by(code: str) -> str:
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return told.stdout


def imported_by(code: str, among: tuple[str, ...]) -> list[str]:
    """Which of some modules are there after the code has run in an interpreter of its own."""
    told = printed_by(f"{code}; import sys; print(*[m for m in {among!r} if m in sys.modules])")
    return told.split("\n")[-2].split()  # the last line: the code may have said something


@pytest.mark.parametrize(
    ("module", "late"),
    [
        ("simstudy", ("numpy", "pandas", "plotnine")),
        ("simstudy.cli", (*NOTHING_TO_DO_NEEDS_NO, "hydra", "omegaconf", "yaml", "numpy")),
        ("simstudy.cli.project", (*NOTHING_TO_DO_NEEDS_NO, "hydra", "omegaconf", "yaml")),
    ],
)
def test_starts_without(module, late):
    assert imported_by(f"import {module}", late) == []


def first_to_import(names: list[str], late: tuple[str, ...]) -> str:
    """Imports that name the first module after which one of some others is there."""
    told = f"[print(name, late) for late in {late!r} if late in sys.modules]"
    loop = f"for name in {names!r}:\n    importlib.import_module(name)\n    if {told}: break"
    return f"import importlib, sys\n{loop}\n"


def test_a_run_starts_without_what_only_some_runs_need():
    names = [f"simstudy.{name}" for name in ("options", "claims", "study", "output.folder")]
    late = (*NOTHING_TO_DO_NEEDS_NO, "hydra")
    assert printed_by(first_to_import([*names, "simstudy.output.terminal"], late)) == ""


def test_experiments_start_without_what_only_some_runs_need():
    late = (*FEW_RUNS_NEED, "pandas", "pyarrow.compute")
    assert printed_by(first_to_import(names_in("experiments"), late)) == ""


def test_packages_start_without_what_only_some_runs_need():
    """What compiles is imported by kernels alone, and they late."""
    names = [name for package in PACKAGES for name in names_in(f"simstudy.{package}")]
    modules = [name for name in names if ".compiled." not in name]
    assert printed_by(first_to_import(modules, NOTHING_TO_DO_NEEDS_NO)) == ""


def test_a_run_with_nothing_to_do_imports_nothing_heavy(tmp_path):
    arguments = ["experiment=two_stage", "experiment.k=[1]", "experiment.n2=[50]", "n_rep=10",
                 "progress=false", "figures=false", "report=false", "backend=inline"]  # fmt: skip
    asked = [*arguments, f"out={tmp_path}"]
    code = f"from simstudy.cli import main; assert main({asked!r}) == 0"
    assert "pandas" in imported_by(code, NOTHING_TO_DO_NEEDS_NO)
    assert imported_by(code, NOTHING_TO_DO_NEEDS_NO) == []


def test_a_worker_draws_and_stores_without_pandas(tmp_path):
    """pandas is a fifth of the time that a worker takes to start."""
    code = f"""
from simstudy.engine.provenance import compute_provenance
from simstudy.engine.tasks import TaskFactory, draw_task
from simstudy.engine.tasks import BlockId
from simstudy.store.blocks import Store
from tests.factories import mean_study
plan = mean_study().plan(1)
provenance = compute_provenance(plan)
store = Store({str(tmp_path)!r}, plan.block_size, provenance.of_blocks)
(key, scenario), *_ = plan.keys.items()
task = TaskFactory(plan, store, provenance).task([BlockId(scenario, 0, key)])
print(draw_task(task).done)"""
    assert imported_by(code, ("pandas",)) == []
    assert [*tmp_path.glob("*.parquet")]
