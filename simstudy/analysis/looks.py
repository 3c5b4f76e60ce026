"""Limits for those who look at a run while it goes on."""

from __future__ import annotations

import numpy as np

from simstudy.errors import StudyError
from simstudy.lazy.pandas import pd
from simstudy.measures import Measure
from simstudy.measures.anytime import anytime_mean, anytime_share
from simstudy.measures.moments import MomentMeasure, only, share


def with_anytime_limits(
    rows: pd.DataFrame, measure: Measure, level: float, planned: float | None
) -> pd.DataFrame:
    """Rows of a summary whose `lower` and `upper` hold at every number of replicates at once."""
    if "variance_reduction" in rows and rows["variance_reduction"].notna().any():
        raise StudyError(
            f"{measure.name!r} is no share or mean of independent replicates as they are, and of "
            "others no limits are known that hold at every look. Decide on a number of replicates "
            "beforehand, or let a pilot do it (stop_by='pilot')."
        )
    n = rows["n_given"].to_numpy(float)
    found, mcse = (rows[name].to_numpy(float) for name in ("estimate", "mcse"))
    if _is_share(measure):
        limits = anytime_share(found, n, level=level)
    elif isinstance(measure, MomentMeasure) and measure.value is only:
        if planned is None:
            raise StudyError(
                f"{measure.name!r} is a mean, whose limits hold at every look if all looks have "
                "the same number in mind. Say at how many replicates they are to be closest "
                "together, planned=10000, say."
            )
        limits = anytime_mean(found, mcse * np.sqrt(n), n, level=level, planned=planned)
    else:
        raise StudyError(
            f"{measure.name!r} is neither a share nor a mean of one value per replicate, and of "
            "others no limits are known that hold at every look. Decide on a number of replicates "
            "beforehand, or let a pilot do it (stop_by='pilot')."
        )
    return rows.assign(lower=limits.lower, upper=limits.upper)


def _is_share(measure: Measure) -> bool:
    """Whether it counts replicates one by one: held against a mean of all, none is independent."""
    counts = isinstance(measure, MomentMeasure) and measure.value in (only, share)
    return counts and measure.bounds == "wilson"
