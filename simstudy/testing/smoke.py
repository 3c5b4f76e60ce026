"""Runs of an experiment at smoke scale through the command line."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from simstudy.analysis.result import Result
from simstudy.cli import main
from simstudy.study import Study


@dataclasses.dataclass(frozen=True)
class Smoke:
    """An experiment run at `scale=smoke`."""

    name: str
    module: Any
    study: Study
    folder: Path
    status: int

    def result(self, n_rep: int) -> Result:
        """The stored result, of at most `n_rep` replicates."""
        return self.study.partial_result(n_rep, out=self.folder.parent)

    @property
    def n_rep(self) -> int:
        """Replicates per scenario of the smoke run."""
        manifest = json.loads((self.folder / "manifest.json").read_text())
        return int(manifest["replicates_per_scenario"])


def run_at_smoke_scale(root: Path, experiment: str, results: Path) -> int:
    """Run an experiment at smoke scale; returns the exit status."""
    arguments = [f"experiment={experiment}", "scale=smoke", f"out={results}", "progress=false"]
    return main(arguments, script=str(root / "run.py"))
