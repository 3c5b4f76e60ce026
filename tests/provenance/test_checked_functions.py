"""A function that tests check for shapes is the same code as in a worker, which checks nothing."""

import importlib
import inspect
import json
import pkgutil
import subprocess
import sys

import pytest

import simstudy.documents.stats
from tests.provenance import fingerprint
from tests.support import ROOT


def public_functions():
    """By name, what the statistics offer; tests put a checker of shapes before each."""
    for found in pkgutil.walk_packages(
        simstudy.documents.stats.__path__, "simstudy.documents.stats."
    ):
        name = found.name
        if any(part.startswith("_") for part in name.split(".")):
            continue
        module = importlib.import_module(name)
        for public, value in vars(module).items():
            is_own = inspect.isfunction(value) and value.__module__ == name
            if is_own and not public.startswith("_"):
                yield f"{name}.{public}", value


def fingerprints():
    return {name: fingerprint((function,)) for name, function in public_functions()}


def test_they_have_the_fingerprints_of_a_process_that_checks_nothing():
    pytest.importorskip("numba", reason="needs pip install -e '.[kernels]'")
    alone = "import json, tests.provenance.test_checked_functions as t; "
    done = subprocess.run(
        [sys.executable, "-c", f"{alone}print(json.dumps(t.fingerprints()))"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    theirs, ours = json.loads(done.stdout), fingerprints()
    assert len(ours) > 100
    assert {name for name in ours if ours[name] != theirs[name]} == set()
