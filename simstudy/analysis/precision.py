"""How many replicates: enough for a Monte Carlo error that was asked for, and no more."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from simstudy.analysis.result import Result
from simstudy.analysis.targets import Target
from simstudy.identity.names import identity
from simstudy.lazy.pandas import pd

MARGIN = 1.05  # the MCSE is an estimate itself: ask for a little more than it says
FASTEST_GROWTH = 4.0  # of a scenario in one round, while its MCSE rests on few replicates


def shortfalls(result: Result, targets: Sequence[Target]) -> dict[str, float]:
    """By scenario key, how many times too large the worst error still is; 1 or less is enough."""
    chosen = {target.measure for target in targets}
    estimates = result.estimates([measure for measure in result.measures if measure.name in chosen])
    return {
        key: max(
            target.shortfall(estimates[key, target.measure], result.level) for target in targets
        )
        for key in result.plan.keys
    }


def next_sizes(
    sizes: Mapping[str, int], short: Mapping[str, float], *, block_size: int, ceiling: int
) -> dict[str, int]:
    """Replicates of each scenario for the next round: whole blocks, more where the error is large.

    An MCSE falls with the root of n, so a scenario that is c times short needs c^2 times as many.
    """
    return {key: _next_size(n, short[key], block_size, max(ceiling, n)) for key, n in sizes.items()}


def _next_size(n: int, short: float, block_size: int, ceiling: int) -> int:
    if short <= 1:
        return n
    growth = min(MARGIN * short**2, FASTEST_GROWTH)
    blocks = max(math.ceil(n * growth / block_size), n // block_size + 1)
    return min(blocks * block_size, ceiling)


def grown_until_precise(
    sizes: Mapping[str, int],
    targets: Sequence[Target],
    result_of: Callable[[Mapping[str, int]], Result],
    draw: Callable[[Mapping[str, int]], None],
    *,
    ceiling: int,
) -> Mapping[str, int]:
    """Draw round after round, until every scenario is precise enough or has as many as it may.

    Parameters
    ----------
    sizes
        Replicates that are there, by scenario key.
    """
    while targets:
        result = result_of(sizes)
        larger = next_sizes(
            sizes,
            shortfalls(result, targets),
            block_size=result.plan.block_size,
            ceiling=ceiling,
        )
        if larger == sizes:
            break
        sizes = larger
        draw(sizes)
    return sizes


def spent(result: Result, targets: Sequence[Target]) -> pd.DataFrame:
    """What each scenario took, and whether it was enough."""
    short = shortfalls(result, targets)
    rows = [
        {"scenario": identity(scenario), "n_rep": result.n_rep[key], "reached": short[key] <= 1}
        for key, scenario in result.plan.keys.items()
    ]
    return pd.DataFrame(rows)


def forecast(pilot: Result, targets: Sequence[Target]) -> pd.DataFrame:
    """From a pilot: the replicates, seconds (on one core) and bytes that the targets will need."""
    short = shortfalls(pilot, targets)
    seconds = _seconds_per_block(pilot)
    size = pilot.plan.block_size
    bytes_per_rep = pilot.store.n_bytes / sum(pilot.n_rep.values())
    rows = []
    for key, scenario in pilot.plan.keys.items():
        n_rep = _forecast_size(pilot.n_rep[key], short[key], size)
        rows.append(
            {
                "scenario": identity(scenario),
                "n_rep": n_rep,
                "seconds": n_rep / size * seconds[key],
                "bytes": n_rep * bytes_per_rep,
            }
        )
    return pd.DataFrame(rows)


def _seconds_per_block(pilot: Result) -> dict[str, float]:
    """By scenario key, of a block's data and of all methods."""
    known = pilot.outcome.seconds_per_block
    return {
        key: sum(known.get(part, math.nan) for part in drawn)
        + (known.get(key, 0.0) if pilot.plan.methods else 0.0)
        for key, drawn in pilot.plan.drawn_keys.items()
    }


def _forecast_size(n: int, short: float, block_size: int) -> float:
    if not math.isfinite(short):
        return math.inf
    return math.ceil(max(n * MARGIN * short**2, block_size) / block_size) * block_size
