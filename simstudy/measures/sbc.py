"""Simulation-based calibration: ranks of the truth among posterior draws.

If truths are drawn from the prior, data from the model, and draws from the posterior, the rank of
the truth among the draws is uniform (Cook, Gelman and Rubin 2006; Talts and others 2018). Bands and
p-values here are exact for a finite number of replicates.
"""

import numbers
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float
from simstudy.errors import DesignError, StudyError, describe, in_one_line
from simstudy.lazy import special, stats
from simstudy.measures.columns import Columns
from simstudy.measures.core import Estimates, Formula, Influence, Measure

MAX_POSITIONS = 200  # positions at which the distribution function is evaluated
BONFERRONI_BELOW = 1e-8  # for smaller p-values, the sum over positions is a close enough bound
HALVINGS = 40  # bisection steps
NO_ERROR = "a p-value has no Monte Carlo standard error"
SAME = 1 + 1e-9  # probabilities with a smaller ratio count as equal


class RankCheck(NamedTuple):
    """A test of whether ranks are uniform.

    Attributes
    ----------
    position
        Relative ranks, in (0, 1), at which the empirical distribution function is evaluated.
    difference
        Empirical distribution function minus the uniform one.
    lower, upper
        Simultaneous band: all differences of uniform ranks lie within it with probability `level`
        or a little more.
    p_value
        Probability that uniform ranks have, at any position, a count at least as unlikely as the
        least likely one here. It is exact, or an upper bound if below 1e-8, so it is at most α with
        probability at most α, for any α.
    n_rep
        Number of ranks that are not missing.
    """

    position: Float[np.ndarray, " position"]
    difference: Float[np.ndarray, " position"]
    lower: Float[np.ndarray, " position"]
    upper: Float[np.ndarray, " position"]
    p_value: float
    n_rep: int


def check_ranks(
    ranks: Float[np.ndarray, " rep"], n_draws: int, *, level: float = 0.95
) -> RankCheck:
    """Compare ranks with uniform ones by a simultaneous band for all counts.

    At each position the count of ranks below it is binomial. Together the counts are those of a
    multinomial sample: independent Poisson counts, given their sum. The probability that all lie
    within limits therefore takes one convolution per position. Limits with the same pointwise
    probability are widened until the simultaneous probability is `level`.

    Parameters
    ----------
    ranks
        Number of a replicate's draws below its truth, from 0 to `n_draws`; missing ranks (NaN)
        are left out. Draws must be independent: thin a chain. Break ties at random.
    n_draws
        Number of draws per replicate, at least 1.
    level
        Probability of the band, in (0, 1).

    Returns
    -------
    RankCheck
        The differences from uniform, their band, and the p-value.

    Raises
    ------
    DesignError
        If `level` is not in (0, 1), `n_draws` is less than 1, all ranks are missing, or one is
        not a whole number from 0 to `n_draws`.

    References
    ----------
    Säilynoja, Bürkner and Vehtari (2022), Stat. Comput. 32, 32.
    """
    known = _known_ranks(ranks, n_draws)
    if not _is_number(level) or not 0 < level < 1:
        raise DesignError(f"level={level!r} is not a probability of a band. Give one such as 0.95.")
    n_positions = min(n_draws, MAX_POSITIONS)
    last = np.unique(np.linspace(0, n_draws, n_positions + 1).astype(int)[:-1])  # rank below it
    position = (last + 1) / (n_draws + 1)
    count = np.searchsorted(np.sort(known), last, side="right")
    unlikely = _limit_of(known.size, tuple(position.tolist()), level)
    low, high = _limits(known.size, position, unlikely)
    return RankCheck(
        position,
        count / known.size - position,
        low / known.size - position,
        high / known.size - position,
        _p_value(known.size, position, float(_two_sided(count, known.size, position).min())),
        known.size,
    )


def rank_check(rank: str, *, n_draws: int, name: str = "rank_check") -> Measure:
    """p-value of the hypothesis that ranks are uniform: small if a method is not calibrated.

    Parameters
    ----------
    rank
        Column with the number of a replicate's draws that are below its truth, 0 to `n_draws`.
    n_draws
        Number of draws per replicate, at least 1.
    name
        Name of the measure in the summary.

    Returns
    -------
    Measure
        A measure whose estimate is the p-value, without an MCSE.

    Notes
    -----
    The p-value is exact (see `check_ranks`). It has no Monte Carlo standard error, since it does
    not estimate a quantity of the scenario: `mcse` is NaN, and `reason` gives this explanation.

    References
    ----------
    Säilynoja, Bürkner and Vehtari (2022), Stat. Comput. 32, 32.
    """
    return _RankUniformity(
        name=name,
        formula=Formula("exact p-value of uniform ranks", "none: it is not an estimate"),
        reads=(rank,),
        n_draws=n_draws,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _RankUniformity(Measure):
    n_draws: int

    @property
    def needs_independence(self) -> str:
        return "ranks are compared with those of independent replicates"

    def estimate(self, columns: Columns, *, level: float = 0.95) -> Estimates:
        del level  # there is no interval
        data = self.sample(columns)
        ranks, (n_rep, *cells) = data.columns[self.reads[0]], data.used.shape
        flat = np.broadcast_to(ranks, data.used.shape).reshape(n_rep, -1)
        used, p_value = data.used.reshape(n_rep, -1), np.full(flat.shape[1], np.nan)
        for at in np.flatnonzero(used.any(axis=0)):
            p_value[at] = check_ranks(flat[used[:, at], at], self.n_draws).p_value
        found = p_value.reshape(cells)
        nothing = np.full(found.shape, np.nan)
        reason = np.where(np.isnan(found), "no replicate could be used", NO_ERROR).astype(object)
        return Estimates(found, nothing, nothing, nothing, data.n, data.n_failed, data.n, reason)

    def influence(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Influence:
        del columns, keep
        raise StudyError(
            f"{self.name} is a p-value, so two of them have no difference with a Monte Carlo "
            "error. Contrast a mean of the ranks instead."
        )


def _known_ranks(ranks: Float[np.ndarray, " rep"], n_draws: int) -> Float[np.ndarray, " rep"]:
    if not _is_number(n_draws) or n_draws < 1 or n_draws != int(n_draws):
        raise DesignError(
            f"n_draws={in_one_line(repr(n_draws))} is not a number of draws. Give 1 or more."
        )
    try:
        given = np.asarray(ranks, float).ravel()
    except (TypeError, ValueError) as error:
        raise DesignError(f"Ranks are not numbers: {describe(error)}.") from error
    known: np.ndarray = given[~np.isnan(given)]
    if known.size == 0:
        raise DesignError("All ranks are missing, so none can be compared with uniform ranks.")
    strange = (known < 0) | (known > n_draws) | (known != np.floor(known))
    if strange.any():
        raise DesignError(
            f"A rank is {known[strange][0]:g}, but ranks among {n_draws} draws are whole numbers "
            f"from 0 to {n_draws}. Count the draws below the truth."
        )
    return known


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _two_sided(
    count: Float[np.ndarray, " position"], n_rep: int, position: Float[np.ndarray, " position"]
) -> Float[np.ndarray, " position"]:
    """Two-sided tail probability of each count."""
    below = np.asarray(special.bdtr(count, n_rep, position))
    above = np.where(count > 0, special.bdtrc(np.maximum(count - 1, 0), n_rep, position), 1.0)
    return np.asarray(2 * np.minimum(below, above))


def _limits(
    n_rep: int, position: Float[np.ndarray, " position"], unlikely: float
) -> tuple[Float[np.ndarray, " position"], Float[np.ndarray, " position"]]:
    """Limits of the count at each position at a two-sided level."""
    unlikely *= SAME
    low = np.asarray(stats.binom.ppf(unlikely / 2, n_rep, position))
    high = np.asarray(stats.binom.isf(unlikely / 2, n_rep, position))
    return (
        np.asarray(low + (_two_sided(low, n_rep, position) <= unlikely)),
        np.asarray(high - (_two_sided(high, n_rep, position) <= unlikely)),
    )


def _all_within(n_rep: int, position: Float[np.ndarray, " position"], unlikely: float) -> float:
    """Probability that counts of uniform ranks lie within the limits at every position."""
    if unlikely >= 1:
        return 0.0
    low, high = (side.astype(int) for side in _limits(n_rep, position, unlikely))
    if (low > high).any():
        return 0.0
    first, chance = 0, np.ones(1)  # chance[i]: probability of the count first + i
    for least, most, mean in zip(low, high, n_rep * np.diff(position, prepend=0.0), strict=True):
        among = np.convolve(chance, _poisson(np.arange(most - first + 1), mean))
        chance, first = among[max(least - first, 0) : most - first + 1], max(least, first)
    rest = n_rep - first - np.arange(len(chance))
    found = chance @ _poisson(rest, n_rep * (1 - position[-1])) / _poisson(np.array(n_rep), n_rep)
    return float(min(found, 1.0))


def _p_value(n_rep: int, position: Float[np.ndarray, " position"], least: float) -> float:
    if least * len(position) < BONFERRONI_BELOW:
        return least * len(position)
    return 1 - _all_within(n_rep, position, least)


def _poisson(count: np.ndarray, mean: float) -> Float[np.ndarray, "..."]:
    return np.asarray(np.exp(special.xlogy(count, mean) - mean - special.gammaln(count + 1.0)))


@cache
def _limit_of(n_rep: int, quantiles: tuple[float, ...], level: float) -> float:
    """The pointwise probability outside the limits for a simultaneous band of this level."""
    position = np.array(quantiles)
    # bounds: Bonferroni, and a single position
    low, high = np.log((1 - level) / len(quantiles)), np.log(1 - level)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_enough = _all_within(n_rep, position, float(np.exp(middle))) >= level
        low, high = (middle, high) if is_enough else (low, middle)
    return float(np.exp(low))
