"""Our value of a claimed number, from the summary or from replicates."""

import math
from typing import Any, NamedTuple

import numpy as np

from simstudy.errors import TooFewReplicatesError
from simstudy.measures.intervals import cautious_binomial_error as cautious_binomial_error


class Finding(NamedTuple):
    """Our value of a claimed number, with its Monte Carlo error.

    Attributes
    ----------
    value
        The value; of a statement 1 where it holds, else 0.
    mcse
        Its Monte Carlo standard error; 0 where it is exact.
    detail
        What to say beside it, in words.
    n_rep
        Replicates that the error was estimated from; infinite where it is known.
    """

    value: float
    mcse: float = 0.0
    detail: str = ""
    n_rep: float = math.inf  # that the error was estimated from

    @property
    def is_share(self) -> bool:
        """Whether it is a mean of zeros and ones, judged by its error."""
        value, n = self.value, self.n_rep
        if not (0 <= value <= 1 and 1 <= n < math.inf):
            return False
        of_share = binomial_error if 0 < value < 1 else cautious_binomial_error
        return math.isclose(self.mcse, float(of_share(value, n)), rel_tol=1 / n)


def binomial_error(share: Any, n: Any) -> Any:
    """Compute the Monte Carlo error of a proportion of n independent replicates.

    Parameters
    ----------
    share
        The share, in [0, 1].
    n
        Replicates; broadcast against `share`.

    Returns
    -------
    Any
        sqrt(share (1 - share)/n).
    """
    return np.sqrt(share * (1 - np.asarray(share, float)) / n)


def share(hits: Any, detail: str = "") -> Finding:
    """Compute the proportion of replicates that are hits; failed replicates (NaN) are left out.

    Parameters
    ----------
    hits
        One flag per replicate.
    detail
        What to say beside the number, in words.

    Returns
    -------
    Finding
        The share with its Monte Carlo error.

    Raises
    ------
    TooFewReplicatesError
        If there is no replicate.
    """
    given = np.asarray(hits, float)
    flags = given[~np.isnan(given)] != 0
    if flags.size == 0:
        raise TooFewReplicatesError(detail or "none meets the condition of this share", math.inf)
    hit = float(flags.mean())
    error = binomial_error if 0 < hit < 1 else cautious_binomial_error
    return Finding(hit, float(error(hit, flags.size)), detail, flags.size)


def average(values: Any, detail: str = "") -> Finding:
    """Average one value per replicate; failed replicates (NaN) are left out.

    Parameters
    ----------
    values
        One value per replicate.
    detail
        What to say beside the number, in words.

    Returns
    -------
    Finding
        The mean with its Monte Carlo error.

    Raises
    ------
    TooFewReplicatesError
        If there are fewer than two values.
    """
    given = np.asarray(values, float)
    given = given[~np.isnan(given)]
    if len(given) < 2:
        raise TooFewReplicatesError(detail or f"{len(given)} values have no error", math.inf)
    spread = given.std(ddof=1) if np.ptp(given) else 0.0  # of equal values 0, not their rounding
    error = float(spread / np.sqrt(len(given)))
    return Finding(float(given.mean()), error, detail, len(given))


def of_row(row: Any, detail: str = "") -> Finding:
    """Take the estimate, error and number of replicates from a row of the summary.

    Parameters
    ----------
    row
        A row of a summary.
    detail
        What to say beside the number, in words.

    Returns
    -------
    Finding
        The estimate with its Monte Carlo error.
    """
    n_rep = row.get("n_given", row.get("n_rep", math.inf))
    carried = row.get("n_effective", math.nan)  # of weights that are not equal, fewer
    return Finding(row["estimate"], row["mcse"], detail, float(np.fmin(n_rep, carried)))
