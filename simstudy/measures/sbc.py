"""Simulation-based calibration: ranks of the truth among posterior draws.

If truths are drawn from the prior, data from the model, and draws from the posterior, the rank of
the truth among the draws is uniform (Cook, Gelman and Rubin 2006; Talts and others 2018).
"""

from dataclasses import dataclass

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.errors import StudyError
from simstudy.lazy import stats
from simstudy.measures.columns import Columns, Keep, check_none
from simstudy.measures.core import Estimates, Formula, Influence, Measure
from simstudy.validation import check_whole

MAX_BINS = 20  # more would find less of what a wrong prior or likelihood does to ranks
PER_BIN = 10  # replicates for each bin, so that at least five are expected in each
NO_ERROR = "a p-value has no Monte Carlo standard error"
TOO_FEW = f"fewer than {2 * PER_BIN} ranks: no test of uniform ranks"


def rank_check(rank: str, *, n_draws: int, name: str = "rank_check") -> Measure:
    """p-value of the hypothesis that ranks are uniform: small if a method is not calibrated.

    Parameters
    ----------
    rank
        Column with the number of a replicate's draws that are below its truth, 0 to `n_draws`.
        Draws must be independent: thin a chain. Break ties at random.
    n_draws
        Number of draws per replicate, at least 1.
    name
        Name of the measure in the summary.

    Returns
    -------
    Measure
        A measure whose estimate is the p-value, without an MCSE.

    Raises
    ------
    ConfigError
        If `n_draws` is not a whole number of at least 1.

    Notes
    -----
    Pearson's chi-square test (`scipy.stats.chisquare`) of the counts of ranks in at most 20 bins of
    nearly equal width, with at least ten replicates for each bin. Its p-value is close to exact if
    at least five ranks are expected in each bin, which is so here. With fewer than 20 replicates
    there is no p-value.

    The p-value has no Monte Carlo standard error, since it does not estimate a quantity of the
    scenario: `mcse` is NaN, and `reason` gives this explanation.

    References
    ----------
    Cook, Gelman and Rubin (2006), J. Comput. Graph. Stat. 15, 675-692. Talts and others (2018),
    arXiv 1804.06788. Cochran (1954), Biometrics 10, 417-451, for five in each bin.
    """
    check_whole("n_draws", n_draws, least=1, counts="draws of a replicate")
    return _RankUniformity(
        name=name,
        formula=Formula("chi-square p-value of uniform ranks", "none: it is not an estimate"),
        reads=(rank,),
        n_draws=int(n_draws),
        needs_independence="ranks are compared with those of independent replicates",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _RankUniformity(Measure):
    n_draws: int

    def estimate(self, columns: Columns, *, level: float = 0.95) -> Estimates:
        del level  # there is no interval
        data = self.sample(columns)
        ranks = np.where(data.used, data.columns[self.reads[0]], np.nan)
        cells = ranks.reshape(len(ranks), -1).T
        found = np.reshape([p_value(of_cell, self.n_draws) for of_cell in cells], data.n.shape)
        nothing = np.full(found.shape, np.nan)
        few = np.where(data.n == 0, "no replicate could be used", TOO_FEW)
        reason = np.where(np.isnan(found), few, NO_ERROR).astype(object)
        return Estimates(found, nothing, nothing, nothing, data.n, data.n_failed, data.n, reason)

    def influence(self, columns: Columns, *, keep: Keep = None) -> Influence:
        del columns, keep
        raise StudyError(
            f"{self.name} is a p-value, so two of them have no difference with a Monte Carlo "
            "error. Contrast a mean of the ranks instead."
        )


def p_value(ranks: Float[np.ndarray, " rep"], n_draws: int) -> float:
    """The p-value of uniform ranks, by `rank_check`; NaN if there are too few."""
    count, width = count_ranks(ranks, n_draws)
    expected = count.sum() * width / (n_draws + 1)
    return float(stats.chisquare(count, expected).pvalue) if len(count) > 1 else np.nan


def count_ranks(
    ranks: Float[np.ndarray, " rep"], n_draws: int
) -> tuple[Int[np.ndarray, " bin"], Int[np.ndarray, " bin"]]:
    """Count ranks in bins of nearly equal width; missing ranks are left out.

    Returns
    -------
    tuple
        The number of replicates in each bin, and the number of possible ranks in it.
    """
    known = ranks[~np.isnan(ranks)]
    check_none(
        lambda values: (values < 0) | (values > n_draws) | (values != np.floor(values)),
        known,
        name=f"ranks among {n_draws} draws are whole numbers from 0 to {n_draws}",
        instead="Count the draws below the truth.",
    )
    n_bins = max(min(n_draws + 1, MAX_BINS, len(known) // PER_BIN), 1)
    bin_of = np.arange(n_draws + 1) * n_bins // (n_draws + 1)
    return np.bincount(bin_of[known.astype(int)], minlength=n_bins), np.bincount(bin_of)
