"""Runs an experiment at smoke scale through the command line."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from simstudy.analysis.result import Result
from simstudy.cli import main
from simstudy.study import Study


@dataclasses.dataclass(frozen=True)
class Smoke:
    """An experiment after `scale=smoke`: what it declares, and what came of it."""

    name: str
    module: Any
    study: Study
    folder: Path
    status: int

    def result(self, n_rep: int) -> Result:
        """What is stored of each scenario, of at most so many replicates; nothing is drawn."""
        return self.study.partial_result(n_rep, out=self.folder.parent, whole_blocks=False)

    @property
    def n_rep(self) -> int:
        """Replicates in each scenario of the smoke run."""
        manifest = json.loads((self.folder / "manifest.json").read_text())
        return int(manifest["replicates_per_scenario"])


def run_at_smoke_scale(root: Path, experiment: str, results: Path) -> int:
    """The exit status of the command that a user would type."""
    asked = [f"experiment={experiment}", "scale=smoke", f"out={results}", "progress=false"]
    return main(asked, script=str(root / "run.py"))
