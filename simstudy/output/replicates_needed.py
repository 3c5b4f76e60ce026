"""The replicates that a Monte Carlo error needs, by a bound or from a pilot run.

The Monte Carlo error of a share p of n replicates is √(p(1 − p)/n), so at most √(1/4n); where a
scenario's `exact()` says what p is, it is that. Of anything else nothing is known before some
replicates are drawn.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from simstudy.analysis.precision import Target, sizes_by_pilot
from simstudy.analysis.result import Result
from simstudy.analysis.summary import exact_of
from simstudy.design.plan import Plan
from simstudy.measures import Measure, MomentMeasure
from simstudy.measures.formulas import BINOMIAL, OWN, formula_of, is_conditional

WORST, THEORY, PILOT, UNKNOWN = "worst case", "theory", "pilot", "unknown"
MOST = 10**12  # replicates that anybody will ask for


class Need(NamedTuple):
    """The replicates that a target needs, None if unknown, and how that is known."""

    target: Target
    n_rep: int | None
    by: str


def need_of(target: Target, measure: Measure, plan: Plan, pilot: Result | None) -> Need:
    """Compute the replicates that a Monte Carlo error needs."""
    if is_plain_share(measure):
        shares, by = _known_shares(measure.name, plan)
        if not target.relative or (by == THEORY and (shares > 0).all()):
            return Need(target, _replicates_for(shares, target), by)
    if pilot is None:
        return Need(target, None, UNKNOWN)
    size = max(sizes_by_pilot(pilot, [target], least=2, ceiling=MOST))
    return Need(target, size if size < MOST else None, PILOT)


def spread_of(measure: Measure, plan: Plan, pilot: Result | None) -> tuple[float, str]:
    """The largest Monte Carlo error of one replicate (n have 1/√n of it), and how it is known."""
    if is_plain_share(measure):
        shares, by = _known_shares(measure.name, plan)
        return float(np.sqrt(shares * (1 - shares)).max()), by
    if pilot is None:
        return math.nan, UNKNOWN
    found = pilot.details.estimates([measure])
    each = (found[key, measure.name].mcse * math.sqrt(n) for key, n in pilot.n_rep.items())
    errors = np.concatenate([np.ravel(error) for error in each])
    known = errors[~np.isnan(errors)]
    return (float(known.max()), PILOT) if known.size else (math.nan, UNKNOWN)


def is_plain_share(measure: Measure) -> bool:
    """Whether a measure is a proportion of all replicates."""
    is_share = isinstance(measure, MomentMeasure) and measure.bounds == "wilson"
    is_of_each = formula_of(measure).mcse in (BINOMIAL, OWN.mcse)  # no weights, no groups
    return is_share and is_of_each and not is_conditional(measure)


def _known_shares(name: str, plan: Plan) -> tuple[np.ndarray, str]:
    """A proportion in each scenario and cell, exact if known, else the worst case."""
    with suppress(Exception):  # a study's own code, of whose errors a run will tell
        exact = [np.ravel(np.asarray(exact_of(each)[name], float)) for each in plan.scenarios]
        shares = np.concatenate(exact)
        if ((shares >= 0) & (shares <= 1)).all():
            return shares, THEORY
    return np.array([0.5]), WORST


def _replicates_for(shares: np.ndarray, target: Target) -> int:
    """The replicates with which proportions have a given error.

    Where hardly any replicate has the event, or misses it, the error is taken as if one more did:
    that is 1/n.
    """
    allowed = target.mcse * (shares if target.relative else np.ones_like(shares))
    n = float(np.maximum(shares * (1 - shares) / allowed**2, 1 / allowed).max())
    return max(2, math.ceil(n * (1 - 1e-12)))  # no replicate for the rounding of floats
