"""The number of replicates that a requested Monte Carlo error needs.

With sequential stopping, a scenario runs on until its own error is small enough. It then stops
when the error happens to look small, and estimates whose error grows with them come out low: a rate
by about one of the hits at its stop, (1 - p) / n. By a pilot of other random numbers, the size is
fixed before the first replicate is drawn, so nothing is biased. It costs the pilot, and what makes
up for the pilot's luck: its errors are taken at the upper end of what they may be.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simstudy.errors import ConfigError, nearest
from simstudy.lazy import pd, special
from simstudy.measures import Estimates, Measure
from simstudy.options import format_setting
from simstudy.provenance.scenario_id import identity

if TYPE_CHECKING:
    from simstudy.analysis.result import Result

STOPS_BY = SEQUENTIAL, PILOT = ("sequential", "pilot")
"""A scenario ends by its own error, or by that of a pilot."""


@dataclass(frozen=True)
class Target:
    """A target for the Monte Carlo standard error.

    Parameters
    ----------
    measure
        Name of the measure.
    mcse
        In the measure's units, or as a share of the estimate if `relative`.
    """

    measure: str
    mcse: float
    relative: bool = False

    def shortfall(self, estimates: Estimates) -> float:
        """The largest ratio of error to target over the cells; infinite for an error of 0.

        Replicates that are all alike do not show what was rare: no precision is reached by them.
        """
        allowed = self.mcse * (np.abs(estimates.estimate) if self.relative else 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(estimates.mcse == 0, math.inf, estimates.mcse / allowed)
        return float(np.where(np.isnan(ratio), math.inf, ratio).max())


def with_unlucky_errors(estimates: Estimates, measure: Measure, level: float) -> Estimates:
    """Estimates with errors at the upper end of their own uncertainty.

    For a plain share this is the error at the end of its interval nearest to one half; for
    anything else, the upper limit of a standard deviation of normal values, by chi-squared.
    """
    n = independent_values(estimates, measure)
    with np.errstate(invalid="ignore", divide="ignore"):
        if measure.bounds == "wilson" and estimates.variance_reduction is None:
            worst = np.clip(0.5, estimates.lower, estimates.upper)
            error = np.sqrt(worst * (1 - worst) / n)
        else:
            few = special.chdtri(n - 1, (1 + level) / 2)  # passed with this probability
            error = estimates.mcse * np.sqrt((n - 1) / few)
    return estimates._replace(mcse=np.fmax(error, estimates.mcse))


def independent_values(estimates: Estimates, measure: Measure) -> np.ndarray:
    """The number of independent values behind an error: replicates, groups or effective weights."""
    n = estimates.n_given / measure.group_size
    return n if estimates.n_effective is None else np.minimum(n, estimates.n_effective)


def read_targets(targets: Mapping[str, Any], measures: Sequence[Measure]) -> tuple[Target, ...]:
    """Parse targets: `{"power": 0.005}`, or `"2%"` of the estimate.

    Raises
    ------
    ConfigError
        For a measure that the study does not have, or an error that is not above 0.
    """
    return tuple(_read_target(name, value, measures) for name, value in targets.items())


def _read_target(name: str, value: Any, measures: Sequence[Measure]) -> Target:
    known = [measure.name for measure in measures]
    if name not in known:
        raise ConfigError(f"precision.{name}: no such measure; {nearest(name, known)}")
    text = str(value).strip()
    relative = text.endswith("%")
    try:
        number = float(text.removesuffix("%")) / (100 if relative else 1)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        given = value if isinstance(value, str) else format_setting(value)
        raise ConfigError(
            f"precision.{name}={given}: must be a Monte Carlo standard error above 0, or a "
            f"share of the estimate such as 2%; nearest that works: precision.{name}=0.005"
        )
    return Target(name, number, relative)


MARGIN = 1.05  # the MCSE is an estimate itself: ask for a little more than it says
FASTEST_GROWTH = 4.0  # per round, because an early MCSE rests on few replicates


def precision_ratios(
    result: Result, targets: Sequence[Target], *, cautious: bool = False
) -> dict[str, float]:
    """The worst ratio of error to target, by scenario key; 1 or less suffices.

    Parameters
    ----------
    cautious
        Whether errors are taken as large as chance may have hidden them.
    """
    chosen = {target.measure for target in targets}
    measures = {each.name: each for each in result.details.measures if each.name in chosen}
    estimates = result.details.estimates(list(measures.values()))
    if cautious:
        estimates = {
            (key, name): with_unlucky_errors(found, measures[name], result.details.level)
            for (key, name), found in estimates.items()
        }
    return {
        key: max(target.shortfall(estimates[key, target.measure]) for target in targets)
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


def grown_until_precise(
    sizes: Mapping[str, int],
    targets: Sequence[Target],
    result_of: Callable[[Mapping[str, int]], Result],
    draw: Callable[[Mapping[str, int]], None],
    *,
    ceiling: int,
) -> Mapping[str, int]:
    """Draw in rounds until every scenario is precise enough or at its maximum.

    Parameters
    ----------
    sizes
        Replicates that are there, by scenario key.
    """
    while targets:
        result = result_of(sizes)
        larger = next_sizes(
            sizes,
            precision_ratios(result, targets),
            block_size=result.plan.block_size,
            ceiling=ceiling,
        )
        if larger == sizes:
            break
        sizes = larger
        draw(sizes)
    return sizes


def seed_of_pilot(seed: int) -> int:
    """A seed for pilots, whose random numbers no run uses."""
    digest = hashlib.sha256(f"pilot of seed {seed}".encode()).digest()
    return int.from_bytes(digest[:7], "big")


def sizes_by_pilot(
    pilot: Result, targets: Sequence[Target], *, least: int, ceiling: int
) -> list[int]:
    """The number of replicates of each scenario that a pilot suggests, in whole blocks."""
    sizes = (
        _whole_blocks(_needed(n, short), pilot.plan.block_size)
        for n, short in _with_shortfall(pilot, targets, cautious=True)
    )
    return [int(max(least, min(size, ceiling))) for size in sizes]


def _with_shortfall(
    pilot: Result, targets: Sequence[Target], *, cautious: bool
) -> list[tuple[int, float]]:
    """Each scenario's replicates and its ratio of error to target."""
    short = precision_ratios(pilot, targets, cautious=cautious)
    return [(pilot.n_rep[key], short[key]) for key in pilot.plan.keys]


def _needed(n: int, ratio: float) -> float:
    """The replicates that reach a target, given the ratio at n replicates."""
    return n * MARGIN * ratio * ratio


def without_spread(result: Result, targets: Sequence[Target]) -> list[str]:
    """The warning for errors of 0 that come from equal replicates.

    A rare outcome that has not been seen yet leaves a mean without any error, as a constant does;
    so such a scenario is drawn up to its maximum.
    """
    measures = [
        each for each in result.details.measures if each.name in {t.measure for t in targets}
    ]
    estimates = result.details.estimates(measures)
    return [
        f"precision.{target.measure}: {result.n_rep[key]:,} replicates of {identity(scenario)} "
        "show no spread, so how many an error takes is not known from them, and it is drawn up to "
        "its maximum. If these values are always the same, leave the measure out of precision"
        for key, scenario in result.plan.keys.items()
        for target in targets
        if (estimates[key, target.measure].mcse == 0).any()
    ]


def spent(result: Result, targets: Sequence[Target]) -> pd.DataFrame:
    """The replicates of each scenario, and whether they reached the target."""
    short = precision_ratios(result, targets)
    rows = [
        {"scenario": identity(scenario), "n_rep": result.n_rep[key], "reached": short[key] <= 1}
        for key, scenario in result.plan.keys.items()
    ]
    return pd.DataFrame(rows)


def forecast(pilot: Result, targets: Sequence[Target], stop_by: str = SEQUENTIAL) -> pd.DataFrame:
    """Predict replicates, seconds (on one core) and bytes from a pilot.

    `n_rep` is what is drawn, whole blocks; `needed` is how many of these the targets take.
    """
    by_scenario = _with_shortfall(pilot, targets, cautious=stop_by == PILOT)
    seconds = seconds_of_a_block(pilot)
    size = pilot.plan.block_size
    bytes_per_rep = pilot.details.store.n_bytes / sum(pilot.n_rep.values())
    rows = []
    each = zip(pilot.plan.keys.items(), by_scenario, strict=True)
    for (key, scenario), (n, short) in each:
        needed = max(_needed(n, short), size)
        n_rep = _whole_blocks(needed, size)
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
        for key, drawn in pilot.plan.drawn_keys.items()
    }


def _whole_blocks(n: float, block_size: int) -> float:
    """Round a number of replicates up to whole blocks."""
    return math.ceil(n / block_size) * block_size if math.isfinite(n) else math.inf
