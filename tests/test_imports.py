"""Imports point down, and what only some runs need is imported late."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_contracts_hold():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports; lint_imports()"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "0 broken" in told.stdout, told.stdout + told.stderr


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
