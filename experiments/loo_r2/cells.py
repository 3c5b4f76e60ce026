"""Standard errors of the replicates of a scenario, cell by cell of the study's axes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from simstudy.analysis.result import Result
from simstudy.array_types import Float
from simstudy.claims import average
from simstudy.lazy import pd

FORMS = {
    "r2_published": "as published:\nmisplaced and clipped",
    "r2_misplaced": "misplaced,\nnot clipped",
    "r2_variance": "right",
}
"""Labels of the forms of R² that are bootstrapped."""

TAYLOR = "r2_mean_square"  # the ratio of mean squares, which the document derives


def values(result: Result, scenario: Any, column: str, **where: str) -> Float[np.ndarray, " rep"]:
    """A column of a scenario at these positions of the axes; other axes have one position only."""
    axes = result.plan.axes
    place: tuple[Any, ...] = tuple(
        labels.index(where.get(axis, labels[0])) for axis, labels in axes.items()
    )
    found = result.columns(scenario, column)[column]
    return np.asarray(found[:, *place])


def standard_errors(
    result: Result, scenarios: Iterable[Any], form: str = "r2_published", **where: str
) -> pd.DataFrame:
    """Taylor's and the bootstrap's standard error of R², a row for each data set.

    `R2` is the estimate by which points are coloured: the mean of the bootstrap's draws as
    published, from -1 to 1.
    """
    return pd.concat(
        [_of_scenario(result, scenario, form, where) for scenario in scenarios], ignore_index=True
    )


def log_ratios(drawn: pd.DataFrame) -> Float[np.ndarray, " rep"]:
    """Logs of Taylor over bootstrap, for data sets in which neither is 0."""
    there = drawn[(drawn["taylor"] > 0) & (drawn["bootstrap"] > 0)]
    return np.asarray(np.log(there["taylor"] / there["bootstrap"]))


def ratio_in_words(logs: Float[np.ndarray, " rep"]) -> str:
    """The geometric mean of ratios, from their logs, with two Monte Carlo standard errors."""
    mean = average(logs)
    ratio = np.exp(mean.value)
    return f"{ratio:.3f} ± {2 * ratio * mean.mcse:.3f}"


def _of_scenario(result: Result, scenario: Any, form: str, where: dict[str, str]) -> pd.DataFrame:
    def bootstrap(column: str, utility: str) -> Float[np.ndarray, " rep"]:
        return values(result, scenario, column, utility=utility, method="bootstrap", **where)

    return pd.DataFrame(
        {
            "taylor": values(
                result, scenario, "std_error", utility=TAYLOR, method="taylor", **where
            ),
            "bootstrap": bootstrap("std_error", form),
            "R2": bootstrap("estimate", "r2_published"),
            "n_obs": scenario.n_obs,
            "p": scenario.n_feature,
            "noise_sd": scenario.noise_sd,
        }
    )
