"""The number of replicates that a requested Monte Carlo error needs.

A scenario runs on until its own error is small enough. It then stops when the error happens to look
small, and estimates whose error grows with them come out low: a rate by about one of the hits at
its stop, (1 - p) / n.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from simstudy.analysis.estimates import Target
from simstudy.lazy import pd
from simstudy.provenance.scenario_id import identity

if TYPE_CHECKING:
    from simstudy.analysis.result import Result


MARGIN = 1.05  # the MCSE is an estimate itself: ask for a little more than it says
FASTEST_GROWTH = 4.0  # per round, because an early MCSE rests on few replicates


def precision_ratios(result: Result, targets: Sequence[Target]) -> dict[str, float]:
    """The worst ratio of error to target, by scenario key; 1 or less suffices."""
    chosen = {target.measure for target in targets}
    measures = [each for each in result.details.measures if each.name in chosen]
    estimates, size = result.details.estimates(measures), result.plan.block_size
    return {
        key: max(target.shortfall(estimates[key, target.measure], size) for target in targets)
        for key in result.plan.keys
    }


def next_sizes(
    sizes: Mapping[str, int], ratios: Mapping[str, float], *, block_size: int, ceiling: int
) -> dict[str, int]:
    """The number of replicates for the next round, by scenario, in whole blocks.

    An MCSE falls with the root of n, so a scenario that is c times short needs c^2 times as many.
    """
    return {
        key: _next_size(n, ratios[key], block_size, max(ceiling, n)) for key, n in sizes.items()
    }


def _next_size(n: int, ratio: float, block_size: int, ceiling: int) -> int:
    if ratio <= 1:
        return n
    growth = min(MARGIN * ratio * ratio, FASTEST_GROWTH)  # a power would raise what overflows
    blocks = max(math.ceil(n * growth / block_size), n // block_size + 1)
    return min(blocks * block_size, ceiling)


def forecast(pilot: Result, targets: Sequence[Target]) -> pd.DataFrame:
    """Predict replicates, seconds (on one core) and bytes from a pilot.

    `n_rep` is what is drawn, whole blocks; `needed` is how many of these the targets take.
    """
    ratios, seconds = precision_ratios(pilot, targets), seconds_of_a_block(pilot)
    size = pilot.plan.block_size
    bytes_per_rep = sum(pilot.details.store.own_sizes().values()) / sum(pilot.n_rep.values())
    rows = []
    for key, scenario in pilot.plan.keys.items():
        needed = max(pilot.n_rep[key] * MARGIN * ratios[key] * ratios[key], size)
        n_rep = math.ceil(needed / size) * size if math.isfinite(needed) else math.inf
        rows.append(
            {
                "scenario": identity(scenario),
                "n_rep": n_rep,
                "needed": needed,
                "seconds": n_rep / size * seconds[key],
                "bytes": n_rep * bytes_per_rep,
            }
        )
    return pd.DataFrame(rows)


def seconds_of_a_block(pilot: Result) -> dict[str, float]:
    """Seconds for a block's data and all methods, by scenario key."""
    known = pilot.outcome.seconds_per_block
    return {
        key: sum(known.get(part, math.nan) for part in drawn)
        + (known.get(key, 0.0) if pilot.plan.methods else 0.0)
        for key, drawn in pilot.plan.unit_keys.items()
    }
