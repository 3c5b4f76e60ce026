"""The document's coverage table: how often the null that the test sample sets is false."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from experiments.regression_trial.figures import METRICS
from simstudy.analysis.result import Result
from simstudy.claims import binomial_error
from simstudy.documents.scenarios.regression import RegressionTrial
from simstudy.documents.stats.models.trial import METHODS
from simstudy.lazy import pd, special
from simstudy.tables import Column, Table

PUBLISHED = {"mae": 0.939, "mse": 0.935}  # studentized, with the truth without intercept
N_PUBLISHED = 5000  # replicates behind them
AT = {"k": 1.5, "n_test": 150, "n_train": 150}
RISKS = {
    "null_is_false_printed": "without the intercept, as printed",
    "null_is_false": "of the model",
}


def table_of_coverage(result: Result) -> Table:
    """Shares by metric, bootstrap and definition of the risk, in the published setting."""
    trial: RegressionTrial = result.scenario(**AT)
    found = pd.DataFrame(
        _row(result, trial, measure, metric, method)
        for metric in METRICS
        for method in METHODS
        for measure in RISKS
    )
    columns: dict[str, Column | str] = {
        "risk": "true risk",
        "published": Column("published", decimals=3),
        "nominal": Column("nominal Φ(k)", decimals=4),
        "simulated": Column("simulated", mcse="simulated_mcse"),
    }
    n_rep = int(found.pop("n_rep").max())
    return Table(found, _caption(trial), columns, [*_notes(n_rep)])


def _row(
    result: Result, trial: RegressionTrial, measure: str, metric: str, method: str
) -> dict[str, Any]:
    setting = {name: getattr(trial, name) for name in ("alpha", "power", *AT)}
    found = result.row(measure, metric=metric, method=method, **setting)
    is_published = method == "studentized" and measure.endswith("_printed")
    return {
        "metric": METRICS[metric],
        "bootstrap": method,
        "risk": RISKS[measure],
        "published": PUBLISHED[metric] if is_published else np.nan,
        "nominal": float(special.ndtr(trial.k)),
        "simulated": found["estimate"],
        "simulated_mcse": found["mcse"],
        "n_rep": found["n_rep"],
    }


def _caption(trial: RegressionTrial) -> str:
    return (
        f"How often the null is false: k = {trial.k:g}, {trial.n_train} training and "
        f"{trial.n_test} test observations"
    )


def _notes(n_rep: int) -> Iterator[str]:
    largest = max(binomial_error(share, N_PUBLISHED) for share in PUBLISHED.values())
    yield f"In parentheses: Monte Carlo standard errors ({n_rep:,} replicates)."
    yield (
        f"The Monte Carlo standard error of a published share is {largest:.4f} ({N_PUBLISHED:,} "
        "replicates)."
    )
    yield "All rows use the same replicates, so differences have smaller errors than these suggest."
