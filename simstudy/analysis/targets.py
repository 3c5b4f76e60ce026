"""Monte Carlo errors to reach: as a user writes them, and how far an estimate is from one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simstudy.annotations import shown
from simstudy.errors import ConfigError, nearest
from simstudy.lazy.scipy import special
from simstudy.measures import Estimates, Measure
from simstudy.measures.intervals import critical_value


@dataclass(frozen=True)
class Target:
    """A Monte Carlo standard error to reach.

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

    def shortfall(self, estimates: Estimates, level: float) -> float:
        """Largest ratio, over the cells, of the error there is to the error asked for.

        0 of n is not certain: where the formula gives no error, the interval does.
        """
        half = (estimates.upper - estimates.lower) / 2 / critical_value(level)
        error = np.where(estimates.mcse == 0, half, estimates.mcse)
        allowed = self.mcse * (np.abs(estimates.estimate) if self.relative else 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(error == 0, 0.0, error / allowed)
        return float(np.where(np.isnan(ratio), math.inf, ratio).max())


def with_unlucky_errors(found: Estimates, measure: Measure, level: float) -> Estimates:
    """The estimates with errors as large as chance may have hidden them, at this level.

    Of a plain share, the error at that end of its interval which is nearest to one half; of
    anything else, the upper limit of a standard deviation of normal values, by chi-squared.
    """
    n = independent_values(found, measure)
    with np.errstate(invalid="ignore", divide="ignore"):
        if measure.bounds == "wilson" and found.variance_reduction is None:
            worst = np.clip(0.5, found.lower, found.upper)
            error = np.sqrt(worst * (1 - worst) / n)
        else:
            few = special.chdtri(n - 1, (1 + level) / 2)  # passed with this probability
            error = found.mcse * np.sqrt((n - 1) / few)
    return found._replace(mcse=np.fmax(error, found.mcse))


def independent_values(found: Estimates, measure: Measure) -> np.ndarray:
    """How many independent values an error rests on: groups, or what carries a weighted one."""
    n = found.n_given / measure.group_size
    return n if found.n_effective is None else np.minimum(n, found.n_effective)


def read_targets(wanted: Mapping[str, Any], measures: Sequence[Measure]) -> tuple[Target, ...]:
    """Targets from what a user writes: `{"power": 0.005}`, or `"2%"` of the estimate.

    Raises
    ------
    ConfigError
        For a measure that the study does not have, or an error that is not above 0.
    """
    return tuple(_read_target(name, value, measures) for name, value in wanted.items())


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
        given = value if isinstance(value, str) else shown(value)
        raise ConfigError(
            f"precision.{name}={given}: allowed is a Monte Carlo standard error above 0, or a "
            f"share of the estimate such as 2%; nearest that works: precision.{name}=0.005"
        )
    return Target(name, number, relative)
