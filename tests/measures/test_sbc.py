"""Ranks among posterior draws: an exact test of uniformity, a band, and a method that is wrong."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from simstudy import Study, grid
from simstudy.errors import DesignError, StudyError
from simstudy.measures import rank_check
from simstudy.measures import sbc as module
from simstudy.measures.sbc import check_ranks
from tests.support import critical_z


def test_the_probability_of_a_band_is_that_of_all_samples():
    n_rep, n_draws, unlikely = 5, 3, 0.2
    place = np.arange(1, n_draws + 1) / (n_draws + 1)
    low, high = module._limits(n_rep, place, unlikely)
    within = [
        bool(((low <= count) & (count <= high)).all())
        for sample in itertools.product(range(n_draws + 1), repeat=n_rep)
        for count in [np.array([sum(rank <= last for rank in sample) for last in range(n_draws)])]
    ]
    assert module._all_within(n_rep, place, unlikely) == pytest.approx(np.mean(within), rel=1e-12)


@pytest.mark.parametrize(("n_rep", "n_draws"), [(30, 9), (500, 100), (100, 199)])
def test_uniform_ranks_leave_the_band_as_rarely_as_asked(n_rep, n_draws):
    rng, n_samples, level = np.random.default_rng(1), 500, 0.9
    checks = [
        check_ranks(rng.integers(0, n_draws + 1, n_rep), n_draws, level=level)
        for _ in range(n_samples)
    ]
    outside = np.mean(
        [
            ((c.difference < c.lower - 1e-12) | (c.difference > c.upper + 1e-12)).any()
            for c in checks
        ]
    )
    small = np.mean([c.p_value <= 1 - level for c in checks])
    allowed = 1 - level + critical_z(6) * np.sqrt(level * (1 - level) / n_samples)
    assert outside == small, "the band and the test say the same"
    assert (1 - level) / 2 < small <= allowed


def posterior_ranks(n_rep, prior_sd, n_draws=99, n_obs=4):
    """Of a normal mean from a standard normal prior, by an analysis with a prior of its own."""
    rng = np.random.default_rng(3)
    truth = rng.normal(size=n_rep)
    mean = rng.normal(truth, 1 / np.sqrt(n_obs))
    variance = 1 / (n_obs + prior_sd**-2)
    draws = rng.normal(variance * n_obs * mean, np.sqrt(variance), (n_draws, n_rep))
    return (draws < truth).sum(axis=0)


def test_a_conjugate_posterior_is_calibrated_and_another_prior_s_is_not():
    assert check_ranks(posterior_ranks(2000, 1.0), 99).p_value > 0.01
    wrong = check_ranks(posterior_ranks(2000, 0.5), 99)
    assert wrong.p_value < 1e-6
    assert ((wrong.difference < wrong.lower) | (wrong.difference > wrong.upper)).any()


def test_missing_ranks_are_left_out():
    given = np.array([0, 1, np.nan, 2, 3.0])
    assert check_ranks(given, 3).n_rep == 4
    again = check_ranks(given[~np.isnan(given)], 3)
    for one, other in zip(check_ranks(given, 3), again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_many_replicates_take_no_longer_than_their_spread():
    check = check_ranks(np.random.default_rng(5).integers(0, 101, 50_000), 100)
    wide = stats.norm.ppf(0.975) * np.sqrt(check.position * (1 - check.position) / 50_000)
    assert (check.upper > wide).mean() > 0.95, "wider than at one place alone"
    assert (check.upper < 2 * wide).all()


@pytest.mark.parametrize(
    ("ranks", "n_draws", "text"),
    [
        ([0, 5], 4, "A rank is 5, but ranks among 4 draws are whole numbers from 0 to 4"),
        ([0.5], 4, "A rank is 0.5"),
        ([-1], 4, "A rank is -1"),
        ([np.nan], 4, "All ranks are missing"),
        ([0], 0, "n_draws=0 is not a number of draws"),
        (["a"], 9, "Ranks are not numbers: ValueError: could not convert string"),
        ([1.0], "9", "n_draws='9' is not a number of draws"),
    ],
)
def test_what_is_no_rank_is_refused(ranks, n_draws, text):
    with pytest.raises(DesignError, match=text):
        check_ranks(np.array(ranks), n_draws)


@dataclass(frozen=True)
class Posterior:
    prior_sd: float

    def simulate(self, streams, n_rep):
        rng = streams("data")
        truth = rng.normal(size=n_rep)
        variance = 1 / (4 + self.prior_sd**-2)
        center = variance * 4 * rng.normal(truth, 0.5)
        draws = rng.normal(center, variance**0.5, (99, n_rep))
        return {"rank": np.where(np.arange(n_rep) % 50, (draws < truth).sum(axis=0), np.nan)}


def test_the_check_is_a_row_of_the_summary():
    study = Study("sbc", grid(Posterior, prior_sd=[1.0, 0.5]), [rank_check("rank", n_draws=99)])
    result = study.run(500, n_jobs=1)
    row = result.row("rank_check", prior_sd=0.5)
    ranks = result.values("rank", prior_sd=0.5)
    assert row["estimate"] == check_ranks(ranks, 99).p_value < 1e-6
    assert result.row("rank_check", prior_sd=1.0)["estimate"] > 0.001
    assert (row["n_rep"], row["n_failed"]) == (490, 10)
    assert np.isnan(row["mcse"])
    assert "no Monte Carlo standard error" in row["reason"]
    assert "rank check" in repr(result)


def test_two_checks_have_no_contrast():
    with pytest.raises(StudyError, match="Contrast a mean of the ranks"):
        rank_check("rank", n_draws=9).influence({"rank": np.zeros(3)})
