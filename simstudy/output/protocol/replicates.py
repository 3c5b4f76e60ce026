"""How many replicates a Monte Carlo error takes: by theory where there is a bound, or by a pilot.

The Monte Carlo error of a share p among n replicates is √(p(1 − p)/n), so at most √(1/4n); where a
scenario's theory says what p is, it is that. Of anything else nothing is known before some
replicates are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simstudy.analysis.precision import Target, sizes_by_pilot
from simstudy.analysis.result import Result
from simstudy.analysis.summary import exact_of
from simstudy.errors import ConfigError
from simstudy.measures import Measure, MomentMeasure
from simstudy.measures.formulas import BINOMIAL, OWN, formula_of, is_conditional
from simstudy.plan import Plan

WORST, EXACT, PILOT, UNKNOWN = "worst case", "theory", "pilot", "unknown"
MOST = 10**12  # replicates that anybody will ask for


@dataclass(frozen=True)
class Need:
    """How many replicates a target takes, and how that is known.

    Parameters
    ----------
    n_rep
        Of each scenario; None where nothing is known.
    by
        `worst case`, `theory`, `pilot` or `unknown`.
    """

    target: Target
    n_rep: int | None
    by: str


class Spread(NamedTuple):
    """The Monte Carlo error of one replicate (over √n it is that of n), and how it is known."""

    sd: float
    by: str


def spread_of(measure: Measure, plan: Plan, pilot: Result | None) -> Spread:
    """The largest standard deviation of a measure's replicates over all scenarios and cells."""
    if is_plain_share(measure):
        shares = _exact_shares(measure.name, plan)
        if shares is None:
            return Spread(0.5, WORST)
        return Spread(float(np.sqrt(shares * (1 - shares)).max()), EXACT)
    if pilot is not None:
        found = pilot.estimates([measure])
        each = (found[key, measure.name].mcse * math.sqrt(n) for key, n in pilot.n_rep.items())
        sds = np.concatenate([np.ravel(sd) for sd in each])
        if not np.isnan(sds).all():
            return Spread(float(np.nanmax(sds)), PILOT)
    return Spread(math.nan, UNKNOWN)


def is_plain_share(measure: Measure) -> bool:
    """Whether it is a share of all replicates, of which √(p(1 - p)/n) is the error."""
    is_share = isinstance(measure, MomentMeasure) and measure.bounds == "wilson"
    is_of_each = formula_of(measure).mcse in (BINOMIAL, OWN.mcse)  # no weights, no groups
    return is_share and is_of_each and not is_conditional(measure)


def _exact_shares(name: str, plan: Plan) -> np.ndarray | None:
    """What theory says of a share in every scenario and cell; None where it does not of some."""
    found = []
    with suppress(Exception):  # a study's own code, of whose errors a run will tell
        for scenario in plan.scenarios:
            shares = np.ravel(np.asarray(exact_of(scenario)[name], dtype=float))
            if not (shares.size and ((shares >= 0) & (shares <= 1)).all()):
                return None
            found.append(shares)
        return np.concatenate(found)
    return None


def needs_of(
    targets: Sequence[Target], measures: Mapping[str, Measure], plan: Plan, pilot: Result | None
) -> list[Need]:
    """How many replicates each target takes."""
    return [_need(target, measures[target.measure], plan, pilot) for target in targets]


def _need(target: Target, measure: Measure, plan: Plan, pilot: Result | None) -> Need:
    if is_plain_share(measure):
        shares = _exact_shares(measure.name, plan)
        if shares is not None and not (target.relative and (shares == 0).any()):
            return Need(target, _of_shares(shares, target), EXACT)
        if not target.relative:
            return Need(target, _of_shares(np.array([0.5]), target), WORST)
    if pilot is None:
        return Need(target, None, UNKNOWN)
    size = sizes_by_pilot(pilot, [target], least=2, ceiling=MOST)
    return Need(target, max(size) if max(size) < MOST else None, PILOT)


def _of_shares(shares: np.ndarray, target: Target) -> int:
    """Replicates with which each of some shares has an error so small.

    Where hardly any replicate has the event, or misses it, the error is taken as if one more did:
    that is 1/n.
    """
    allowed = target.mcse * (shares if target.relative else np.ones_like(shares))
    n = float(np.maximum(shares * (1 - shares) / allowed**2, 1 / allowed).max())
    return max(2, math.ceil(n * (1 - 1e-12)))  # no replicate for the rounding of floats


def refuse_unknown(needs: Sequence[Need], *, piloted: bool) -> None:
    """Refuse to plan a precision of which nobody knows how many replicates it takes.

    Raises
    ------
    ConfigError
        Saying how to find out.
    """
    for need in needs:
        if need.n_rep is None:
            measure = need.target.measure
            raise ConfigError(
                f"how many replicates precision.{measure} takes cannot be told, since "
                + (
                    "the pilot has no error of it in some scenario: let the pilot be longer, "
                    "pilot=1000, or fix the number yourself, n_rep=1000"
                    if piloted
                    else "theory has no bound for it: let a pilot of other random numbers tell, "
                    "pilot=200, or fix the number yourself, n_rep=1000"
                )
            )
