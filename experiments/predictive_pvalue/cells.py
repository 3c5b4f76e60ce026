"""Replicates of one cell of the axes. Default: that of figure 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from simstudy.analysis.result import Result
from simstudy.documents.scenarios.predictions import Predictions, TableRows
from simstudy.figures.frame import rows_like
from simstudy.lazy import pd

NETWORKS = ("net_10", "net_8", "net_5")
METHOD_WORDS = {
    "net_10": "Net 10",
    "net_8": "Net 8",
    "net_5": "Net 5",
    "least_squares": "least squares",
    "random_forest": "random forest",
    "truth": "true distribution",
    "true_nulls": "100% true nulls",
}
DISTRIBUTION_WORDS = {
    "centered": "about the trained model's prediction (example 3)",
    "fitted": "about the bootstrap mean (example 2)",
    "centered_noise": "example 3 with residual noise",
    "fitted_noise": "example 2 with residual noise",
}

SHARES = {
    "mean_log10_p": "log₁₀ of Fisher's\ncombined p-value",
    "mean_cfdr": "mean CFDR,\nas printed",
    "mean_cfdr_clipped": "mean CFDR,\nclipped at 1",
    "mean_rfdr": "mean RFDR",
    "mean_storey": "Storey's share",
    "mean_langaas": "Langaas's share",
    "mean_coverage": "coverage of\n90% intervals",
    "mean_crps": "CRPS",
    "mean_rmse": "RMSE",
}
NAMES = (
    "CFDR, RFDR: corrected and re-ranked false discovery rates, whose means the document takes for "
    "shares of compatible predictions."
)
SPLIT = "Each replicate is a new random split or sample, with newly trained networks."


def first_scenario(result: Result) -> Predictions:
    """The scenario of figure 1: that with the first response."""
    scenario: Predictions = result.plan.scenarios[0]
    return scenario


def published_cell(result: Result, **where: str) -> dict[str, str]:
    """Positions of the axes: the last epochs and bootstrap models, example 3."""
    axes = result.plan.axes
    last = {axis: axes[axis][-1] for axis in ("epochs", "n_boot_models")}
    return {**last, "distribution": "centered", **where}


def values(result: Result, scenario: Any, column: str, **where: str) -> np.ndarray:
    """A column at one cell, the replicate first; `where` names the method, and other positions."""
    axes, cell = result.plan.axes, published_cell(result, **where)
    for axis, position in cell.items():
        if position not in axes[axis]:
            raise LookupError(f"{axis} {position}")
    place: tuple[Any, ...] = tuple(axes[axis].index(cell[axis]) for axis in axes)
    return np.asarray(result.columns(scenario, column)[column][:, *place], dtype=float)


def methods_drawn(result: Result) -> dict[str, str]:
    """Methods of this run with their labels, in the order of all figures."""
    there = result.plan.axes["method"]
    return {name: words for name, words in METHOD_WORDS.items() if name in there}


def networks_drawn(result: Result) -> dict[str, str]:
    """The methods that are networks; LookupError if there are none."""
    found = {name: words for name, words in methods_drawn(result).items() if name in NETWORKS}
    if not found:
        raise LookupError("a network")
    return found


def first_rows(result: Result) -> pd.DataFrame:
    """Rows of the summary of the first scenario."""
    rows = result.summary
    return rows_like(rows, first_scenario(result), "response") if "response" in rows else rows


def n_replicates(result: Result) -> int:
    """The largest number of replicates of a scenario."""
    return max(result.n_rep.values())


def _source_in_words(scenario: Predictions) -> str:
    source = scenario.source
    return f"Data {source.data.name}" if isinstance(source, TableRows) else "Friedman's function"


def predicted_in_words(scenario: Predictions) -> str:
    """The data and the predicted response, as text."""
    response = "log of the response" if scenario.response == "log" else "response"
    return f"{_source_in_words(scenario)}, {response}"
