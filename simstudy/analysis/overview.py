"""Each measure over all scenarios: its range, its largest error, its distance from theory."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simstudy.analysis.summary import MEASURE
from simstudy.lazy.pandas import pd
from simstudy.measures import Measure


def overview(summary: pd.DataFrame, measures: Sequence[Measure]) -> pd.DataFrame:
    """One row per measure of a summary.

    Returns
    -------
    DataFrame
        `measure`, `rows`, `least`, `greatest`, `largest_mcse` and `worst_z`: the largest distance
        from theory in standard errors, NaN where theory says nothing. Where a measure takes less
        work than the plain one, `least_reduction` of the plain variance to its own.
    """
    has_reductions = "variance_reduction" in summary
    proportions = {measure.name for measure in measures if measure.bounds == "wilson"}
    rows = [
        {
            "measure": str(name),
            "rows": len(group),
            "least": group["estimate"].min(),
            "greatest": group["estimate"].max(),
            "largest_mcse": group["mcse"].max(),
            "worst_z": worst_z(group, is_proportion=name in proportions),
        }
        | ({"least_reduction": group["variance_reduction"].min()} if has_reductions else {})
        for name, group in summary.groupby(MEASURE, sort=False)
    ]
    return pd.DataFrame(rows)


def worst_z(rows: pd.DataFrame, *, is_proportion: bool) -> float:
    """Largest distance from theory, in the standard error that theory gives a proportion."""
    known = rows[(rows["mcse"] > 0) & rows["exact"].notna()]
    error = known["mcse"]
    if is_proportion:
        trials = known["estimate"] * (1 - known["estimate"]) / error**2
        error = (known["exact"] * (1 - known["exact"]) / trials) ** 0.5
    z = ((known["estimate"] - known["exact"]) / error)[error > 0].abs()
    return float(z.max()) if len(z) else math.nan
