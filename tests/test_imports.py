"""Imports point down, and what only some runs need is imported late."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def lint(config: Path) -> "subprocess.CompletedProcess[str]":
    says = "from importlinter.cli import lint_imports; import sys; "
    says += f"sys.exit(lint_imports(config_filename={str(config)!r}, no_cache=True))"
    return subprocess.run(
        [sys.executable, "-c", says], cwd=ROOT, capture_output=True, text=True, check=False
    )


def contracts() -> list[dict]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


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


def test_every_module_has_its_layer():
    (layers,) = [one["layers"] for one in contracts() if one["type"] == "layers"]
    placed = {name.strip(" ()") for layer in layers for name in layer.replace(":", "|").split("|")}
    there = {
        f"simstudy.{path.stem}"
        for path in (ROOT / "simstudy").iterdir()
        if not path.name.startswith(("_", ".")) and path.suffix in ("", ".py")
    }
    assert there - placed == set()


@pytest.mark.parametrize(
    ("module", "late"),
    [
        ("simstudy", ("numpy", "pandas", "plotnine")),
        ("simstudy.study", ("plotnine", "matplotlib", "hydra", "joblib", "scipy.stats", "rich")),
        ("experiments.two_stage", ("plotnine", "matplotlib", "numba", "scipy.stats")),
    ],
)
def test_starts_without(module, late):
    says = f"import sys, {module}; print([m for m in {late!r} if m in sys.modules])"
    told = subprocess.run(
        [sys.executable, "-c", says], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "[]"
