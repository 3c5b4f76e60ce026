"""The applied example's two numbers, for the document's threshold and for the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.classifier_trial.figures import N_SIM, PUBLISHED, TRIAL_LABELS
from simstudy.analysis.result import Result
from simstudy.documents.scenarios.thresholds import AppliedTrial
from simstudy.documents.stats.quantile_bootstrap import BOOTSTRAP
from simstudy.lazy import pd
from simstudy.tables import Column, Table

HEADS = {"power": "null rejected", "mean_trial_sensitivity": "mean sensitivity in the trial"}
DRAWN, LIMIT = 1000, 0  # resamples: as published, and infinitely many


def table_of_applied(result: Result) -> Table:
    """Published and simulated values by method, with the document's number of resamples."""
    first: AppliedTrial = result.plan.scenarios[0]
    found = pd.DataFrame(_row(result, method) for method in TRIAL_LABELS)
    columns: dict[str, Column | str] = {"method": "threshold"}
    for name, words in HEADS.items():
        columns[f"{name}_published"] = Column(f"{words}: published", percent=True)
        columns[name] = Column(f"{words}: simulated", mcse=f"{name}_mcse", percent=True)
    n_rep = int(found.pop("n_rep").max())
    caption = (
        f"A trial with {first.n_trial} positive cases, its threshold from {first.n_obs}: "
        f"{first.sensitivity:.0%} sensitivity against {first.null_sensitivity:.0%}"
    )
    notes = [
        f"In parentheses: Monte Carlo standard errors, of {n_rep:,} trials.",
        f"Published numbers are from {N_SIM:,}.",
    ]
    return Table(found, caption, columns, notes)


def _row(result: Result, method: str) -> dict[str, Any]:
    n_boot = DRAWN if method in BOOTSTRAP else LIMIT
    row: dict[str, Any] = {"method": TRIAL_LABELS[method]}
    for name in HEADS:
        found = result.row(name, method=method, n_boot=n_boot)
        said = PUBLISHED[name] if method == "bca strict" else np.nan
        row |= {
            f"{name}_published": said,
            name: found["estimate"],
            f"{name}_mcse": found["mcse"],
            "n_rep": found["n_rep"],
        }
    return row
