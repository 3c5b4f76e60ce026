"""Imports point down, and what only some runs need is imported late."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def lint(config: Path) -> "subprocess.CompletedProcess[str]":
    says = "from importlinter.cli import lint_imports; import sys; "
    says += f"sys.exit(lint_imports(config_filename={str(config)!r}, no_cache=True))"
    return subprocess.run(
        [sys.executable, "-c", says], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_the_contracts_hold():
    told = lint(ROOT / "pyproject.toml")
    assert "0 broken" in told.stdout, told.stdout + told.stderr
    assert told.returncode == 0


def test_that_test_catches_an_import_that_points_up(tmp_path):
    config = tmp_path / "upside_down.toml"
    config.write_text("""
        [tool.importlinter]
        root_packages = ["simstudy"]

        [[tool.importlinter.contracts]]
        name = "upside down"
        type = "layers"
        layers = ["simstudy.design", "simstudy.study"]
    """)
    told = lint(config)
    assert "1 broken" in told.stdout, told.stdout + told.stderr
    assert told.returncode == 1


PACKAGES = (
    "measures", "figures", "dgps", "stats", "data", "identity", "store", "engine", "analysis",
    "trials", "applied",
)  # fmt: skip
FEW_RUNS_NEED = ("plotnine", "matplotlib", "numba", "sklearn", "scipy.stats", "rich", "joblib")
NOTHING_TO_DO_NEEDS_NO = (*FEW_RUNS_NEED, "pandas", "pyarrow.compute", "scipy", "jaxtyping")


def names_in(folder: str) -> list[str]:
    """Modules of a folder, but for those whose name says that others import them."""
    paths = (ROOT / folder.replace(".", "/")).rglob("[!_]*.py")
    return sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths)


def imported_by(code: str, among: tuple[str, ...]) -> list[str]:
    """Which of some modules are there after the code has run in an interpreter of its own."""
    says = f"{code}; import sys; print(*[m for m in {among!r} if m in sys.modules])"
    told = subprocess.run(
        [sys.executable, "-c", says], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return told.stdout.split("\n")[-2].split()  # the last line: the code may have said something


@pytest.mark.parametrize(
    ("module", "late"),
    [
        ("simstudy", ("numpy", "pandas", "plotnine")),
        ("simstudy.study", (*NOTHING_TO_DO_NEEDS_NO, "hydra")),
        ("simstudy.output.folder", (*NOTHING_TO_DO_NEEDS_NO, "hydra")),
        ("simstudy.output.terminal", (*NOTHING_TO_DO_NEEDS_NO, "hydra")),
        ("simstudy.claims", NOTHING_TO_DO_NEEDS_NO),
        ("simstudy.options", NOTHING_TO_DO_NEEDS_NO),
        ("simstudy.cli", (*NOTHING_TO_DO_NEEDS_NO, "hydra", "omegaconf", "yaml", "numpy")),
        ("simstudy.cli.help", (*NOTHING_TO_DO_NEEDS_NO, "hydra", "omegaconf", "yaml")),
        ("simstudy.cli.new", (*NOTHING_TO_DO_NEEDS_NO, "hydra", "omegaconf", "yaml")),
        *(
            (name, (*FEW_RUNS_NEED, "pandas", "pyarrow.compute"))
            for name in names_in("experiments")
        ),
    ],
)
def test_starts_without(module, late):
    assert imported_by(f"import {module}", late) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_starts_without_what_only_some_runs_need(package):
    names = [name for name in names_in(f"simstudy.{package}") if ".compiled." not in name]
    modules = ", ".join(names)  # what compiles is imported by kernels alone, and they late
    assert imported_by(f"import {modules}", NOTHING_TO_DO_NEEDS_NO) == []


def test_that_test_catches_an_annotation_that_is_a_use():
    code = "from simstudy.lazy import pd; exec('def f(x: pd.DataFrame): ...')"
    assert "pandas" in imported_by(code, NOTHING_TO_DO_NEEDS_NO)


@pytest.mark.parametrize("name", ["two_stage.study", "bootstrap_se", "umbrella_rank"])
def test_a_study_is_built_without_what_only_some_runs_need(name):
    code = f"from experiments.{name} import Config, study; study(Config())"
    assert imported_by(code, NOTHING_TO_DO_NEEDS_NO) == []


def test_a_run_with_nothing_to_do_imports_none_of_it(tmp_path):
    arguments = ["experiment=two_stage", "scale=smoke", "progress=false", "figures=false"]
    asked = [*arguments, f"out={tmp_path}"]
    code = f"from simstudy.cli import main; assert main({asked!r}) == 0"
    assert "pandas" in imported_by(code, NOTHING_TO_DO_NEEDS_NO)
    assert imported_by(code, NOTHING_TO_DO_NEEDS_NO) == []
