"""Published results as far as a page reads them, without their replicates."""

import ast
import json
from dataclasses import dataclass
from types import SimpleNamespace

import pandas as pd

from simstudy.output.report import write_report
from tests.support import ROOT

PLANNED = {
    "hash": "0123456789abcdef" * 2,
    "written": "2026-01-02 03:04 UTC",
    "places_left": 3,
    "deviations": ["measures: planned " + ", ".join(f"measure_{at}" for at in range(40))],
    "compared": [
        {"what": "code", "planned": "0123456789abcdef", "done": "fedcba9876543210", "differs": True}
    ],
}  # of no run: a protocol's section on a page


@dataclass(frozen=True)
class Nothing:
    """A scenario whose factors the page takes from the summary."""


def write_page_of(name, folder, tables):
    """The page of an experiment's published results, written into an empty folder."""
    published = ROOT / "results" / name
    manifest = json.loads((published / "manifest.json").read_text()) | {
        "protocol": PLANNED,
        "answer": ["Nearly."],
    }
    module = ROOT / "experiments" / f"{name}.py"
    files = sorted((published / "figures").glob("*.png"))
    files += [folder / "tables" / f"{table}.csv" for table in tables]
    about = ast.get_docstring(ast.parse(module.read_text()))
    result = _result(published, folder, manifest)
    return write_report(result, folder, files, manifest, about, tables)


def _result(published, folder, manifest):
    keys = [str(at) for at in range(manifest["scenarios"])]
    return SimpleNamespace(
        plan=SimpleNamespace(
            name=folder.name, scenarios=[Nothing()] * len(keys), methods_axis="method", axes={},
            has_classes=False,
        ),
        folder=folder,
        n_rep=dict.fromkeys(keys, manifest["replicates_per_scenario"]),
        n_failed=0,
        details=SimpleNamespace(
            measures=(), level=0.95, value_labels={}, repeat_command="", answer=None
        ),
        summary=pd.read_parquet(published / "summary.parquet"),
        claims=pd.read_parquet(published / "claims.parquet"),
        **dict.fromkeys(("warnings", "failures", "seconds"), pd.DataFrame()),
    )  # fmt: skip
