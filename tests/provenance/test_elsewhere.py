"""A project that is copied to another folder, or another machine, has the fingerprints it had."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.support import ROOT

OWNERS = """
import hashlib, json, sys
from simstudy.cli.project import experiment_names, load_experiment
from simstudy.engine.provenance import compute_provenance
from simstudy.errors import NotHereError
import simstudy

owners = {"simstudy": simstudy.__file__}
for name in experiment_names(sys.argv[1]):
    module = load_experiment(name, sys.argv[1])
    try:
        study = module.study(module.Config())
    except NotHereError:
        continue
    owner = compute_provenance(study.plan(1)).of_blocks
    owners[name] = hashlib.sha256(repr(owner).encode()).hexdigest()
print(json.dumps(owners))
"""


def owners(folder):
    """Of the project's studies, and where the package lies, in a process of its own."""
    text = OWNERS.replace("sys.argv[1]", "Path(sys.argv[1])")
    run = subprocess.run(
        [sys.executable, "-c", "from pathlib import Path" + text, str(folder)],
        capture_output=True, text=True, check=True, cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
    )  # fmt: skip
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.slow
def test_no_fingerprint_knows_where_the_code_lies(tmp_path):
    unmade = shutil.ignore_patterns("__pycache__", "results")
    for part in ("simstudy", "experiments", "conf"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=unmade)
    here, there = owners(ROOT), owners(tmp_path)
    assert here.pop("simstudy") != there.pop("simstudy")
    assert len(here) > 15
    assert {name for name in here if here[name] != there[name]} == set()
