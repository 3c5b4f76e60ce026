"""How well the methods did what they promise, in the published studies of this project.

Each row of `evidence.csv` is a row of a study's published summary
(`results/STUDY/summary.parquet`); the tests compare all of them with it.
"""

import csv
import functools
import math
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("evidence.csv")


class Evidence(NamedTuple):
    """A number that a study measured.

    Attributes
    ----------
    key
        Its meaning here, such as "threshold umbrella".
    study, measure
        Names of the study and of the measure.
    cell
        The columns that identify the row of the summary: "n_boot=0;method=umbrella".
    estimate, mcse
        The estimate and its Monte Carlo standard error.
    """

    key: str
    study: str
    measure: str
    cell: str
    estimate: float
    mcse: float

    def __str__(self) -> str:
        """The estimate in per cent, ± 2 Monte Carlo standard errors."""
        return f"{100 * self.estimate:.1f} ± {200 * self.mcse:.1f}%"


@functools.cache
def all_evidence() -> tuple[Evidence, ...]:
    """Return every number of `evidence.csv`."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return tuple(
            Evidence(key, study, measure, cell, float(estimate), float(mcse))
            for key, study, measure, cell, estimate, mcse in [*csv.reader(file)][1:]
        )


def evidence(key: str) -> list[Evidence]:
    """Return the numbers of a key, none if no study measured it."""
    return [each for each in all_evidence() if each.key == key]


def loo_errors(n_obs: int, n_feature: int) -> tuple[int, int, dict[str, tuple[float, float]]]:
    """Return how far standard errors of R² were off in the nearest cell of `loo_calibration`.

    Parameters
    ----------
    n_obs, n_feature
        Observations and features of the user's data.

    Returns
    -------
    tuple
        Observations and features of the cell, and by method ("taylor" of 1 - MSE / V, "bootstrap"
        of 1 - Var(e) / Var(y)) the least and the largest relative error over the noise.
    """

    def distance(cell: tuple[int, int]) -> float:
        size = abs(math.log(cell[0] / n_obs))
        share = abs(math.log((cell[1] / cell[0]) / (max(n_feature, 1) / n_obs)))
        crowded = n_feature > n_obs / 5  # then the share of features decides, else the size
        return size + 2 * share if crowded else 2 * size + share

    words = [each.key.split() for each in all_evidence() if each.study == "loo_calibration"]
    n, p = min({(int(n), int(p)) for _, n, p, _ in words}, key=distance)
    ranges = {}
    for method in ("taylor", "bootstrap"):
        found = [each.estimate for each in evidence(f"loo {n} {p} {method}")]
        ranges[method] = min(found), max(found)
    return n, p, ranges
