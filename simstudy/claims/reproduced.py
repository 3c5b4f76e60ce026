"""Our value of a claimed number, from a row of the summary or from replicates."""

import math
from typing import Any, NamedTuple

import numpy as np

from simstudy.errors import TooFewReplicatesError
from simstudy.measures.intervals import cautious_binomial_error as cautious_binomial_error


class Reproduced(NamedTuple):
    """Our value of a claimed number, with its Monte Carlo error (0 where it is exact)."""

    value: float
    mcse: float = 0.0
    detail: str = ""
    n_rep: float = math.inf  # that the error was estimated from

    @property
    def is_share(self) -> bool:
        """Whether it is the mean of values that are 0 or 1, as its error tells."""
        value, n = self.value, self.n_rep
        if not (0 <= value <= 1 and 1 <= n < math.inf):
            return False
        of_share = binomial_error if 0 < value < 1 else cautious_binomial_error
        return math.isclose(self.mcse, float(of_share(value, n)), rel_tol=1 / n)


def binomial_error(share: Any, n: Any) -> Any:
    """Monte Carlo error of a share of n independent replicates."""
    return np.sqrt(share * (1 - np.asarray(share, float)) / n)


def share(hits: Any, detail: str = "") -> Reproduced:
    """The share of replicates that are hits, with its error; what failed (NaN) is none of them.

    Raises
    ------
    TooFewReplicatesError
        Where there is none.
    """
    given = np.asarray(hits, float)
    flags = given[~np.isnan(given)] != 0
    if flags.size == 0:
        raise TooFewReplicatesError(detail or "none meets the condition of this share", math.inf)
    hit = float(flags.mean())
    error = binomial_error if 0 < hit < 1 else cautious_binomial_error
    return Reproduced(hit, float(error(hit, flags.size)), detail, flags.size)


def average(values: Any, detail: str = "") -> Reproduced:
    """The mean of one value per replicate, with its error; what failed (NaN) has none.

    Raises
    ------
    TooFewReplicatesError
        Where there are fewer than two.
    """
    given = np.asarray(values, float)
    given = given[~np.isnan(given)]
    if len(given) < 2:
        raise TooFewReplicatesError(detail or f"{len(given)} values have no error", math.inf)
    spread = given.std(ddof=1) if np.ptp(given) else 0.0  # of equal values 0, not their rounding
    error = float(spread / np.sqrt(len(given)))
    return Reproduced(float(given.mean()), error, detail, len(given))


def of_row(row: Any, detail: str = "") -> Reproduced:
    """The estimate of a row of the summary, with its error and the replicates behind it."""
    n_rep = row.get("n_given", row.get("n_rep", math.inf))
    carried = row.get("n_effective", math.nan)  # of weights that are not equal, fewer
    return Reproduced(row["estimate"], row["mcse"], detail, float(np.fmin(n_rep, carried)))
