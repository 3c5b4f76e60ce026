"""Ranks among posterior draws: a test of uniformity, and a method that is wrong."""

from dataclasses import dataclass

import numpy as np
import pytest

from simstudy import Study, grid
from simstudy.errors import ConfigError, StudyError
from simstudy.measures import rank_check
from simstudy.measures.sbc import count_ranks
from tests.support import critical_z

N_STUDIES = 1500
APPROXIMATION = 0.005  # of the chi-square distribution, with ten ranks or more in each bin


def p_values(ranks, n_draws):
    return rank_check("rank", n_draws=n_draws).estimate({"rank": ranks}).estimate


@pytest.mark.parametrize(("n_rep", "n_draws"), [(100, 9), (500, 100), (200, 199)])
def test_uniform_ranks_have_uniform_p_values(n_rep, n_draws):
    ranks = np.random.default_rng(1).integers(0, n_draws + 1, (n_rep, N_STUDIES))
    found = p_values(ranks, n_draws)
    for alpha in (0.05, 0.2, 0.5):
        allowed = critical_z(9) * np.sqrt(alpha * (1 - alpha) / N_STUDIES) + APPROXIMATION
        assert np.mean(found <= alpha) == pytest.approx(alpha, abs=allowed)


def test_that_test_catches_unequal_bins_that_count_as_equal():
    """101 ranks in 20 bins: one has six ranks and the others five."""
    count, width = count_ranks(np.arange(101.0).repeat(2), 100)
    assert (count == 2 * width).all()
    assert sorted(set(width)) == [5, 6]


@dataclass(frozen=True)
class Posterior:
    """Of a normal mean with a standard normal prior, by an analysis with a prior of its own."""

    prior_sd: float

    def simulate(self, streams, n_rep):
        rng = streams("data")
        truth = rng.normal(size=n_rep)
        variance = 1 / (4 + self.prior_sd**-2)
        center = variance * 4 * rng.normal(truth, 0.5)
        draws = rng.normal(center, variance**0.5, (99, n_rep))
        return {"rank": np.where(np.arange(n_rep) % 50, (draws < truth).sum(axis=0), np.nan)}


def test_a_posterior_is_calibrated_and_another_prior_s_is_not():
    study = Study("sbc", grid(Posterior, prior_sd=[1.0, 0.5]), [rank_check("rank", n_draws=99)])
    result = study.run(500, n_jobs=1)
    row = result.row("rank_check", prior_sd=0.5)
    assert row["estimate"] < 1e-6
    assert result.row("rank_check", prior_sd=1.0)["estimate"] > 0.001
    assert (row["n_rep"], row["n_failed"]) == (490, 10)
    assert np.isnan(row["mcse"])
    assert "no Monte Carlo standard error" in row["reason"]
    assert "rank check" in repr(result)


@pytest.mark.parametrize("n_rep", [0, 19])
def test_few_ranks_have_no_p_value_but_a_reason(n_rep):
    ranks = np.where(np.arange(30) < n_rep, 3.0, np.nan)
    found = rank_check("rank", n_draws=9).estimate({"rank": ranks})
    assert np.isnan(found.estimate)
    assert str(found.reason).startswith("fewer than 20 ranks" if n_rep else "no replicate")


@pytest.mark.parametrize(("rank", "found"), [(5, "found 5"), (0.5, "found 0.5"), (-1, "found -1")])
def test_what_is_no_rank_is_refused(rank, found):
    with pytest.raises(StudyError, match=f"whole numbers from 0 to 4 .{found}"):
        p_values(np.array([0.0, rank]), 4)


def test_what_is_no_number_of_draws_is_refused():
    with pytest.raises(ConfigError, match="n_draws=0: must be a whole number at least 1"):
        rank_check("rank", n_draws=0)


def test_two_checks_have_no_contrast():
    with pytest.raises(StudyError, match="Contrast a mean of the ranks"):
        rank_check("rank", n_draws=9).influence({"rank": np.zeros(3)})
