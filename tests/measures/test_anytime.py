"""Limits that hold at every look, where ordinary ones do not; and as wide as theory has them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from simstudy.errors import DesignError, StudyError
from simstudy.measures import bias_eliminated_coverage, outlier_rate
from simstudy.measures.intervals import anytime_mean, anytime_share, normal, wilson
from tests.factories import mean_study
from tests.support import INLINE, critical_z

LEVEL, N_RUNS = 0.9, 2000
LOOKS = np.unique(np.geomspace(20, 5000, 60).astype(int))
ALLOWED = 1 - LEVEL + critical_z(4) * np.sqrt(LEVEL * (1 - LEVEL) / N_RUNS)


def ever_outside(limits, truth):
    """The share of runs whose limits leave out the truth at some look: the last axis."""
    return ((limits.lower > truth) | (limits.upper < truth)).any(axis=1).mean()


@pytest.mark.parametrize("p", [0.5, 0.02])
@pytest.mark.slow
def test_a_share_is_left_out_at_any_look_as_rarely_as_was_asked(p):
    hits = (np.random.default_rng(1).random((N_RUNS, LOOKS[-1])) < p).cumsum(axis=1)
    share = hits[:, LOOKS - 1] / LOOKS
    assert ever_outside(anytime_share(share, LOOKS, level=LEVEL), p) <= ALLOWED
    assert ever_outside(wilson(share, LOOKS, level=LEVEL), p) > 3 * ALLOWED


@pytest.mark.parametrize("law", [stats.norm(3, 2), stats.expon(scale=2)], ids=["normal", "skewed"])
@pytest.mark.slow
def test_a_mean_is_left_out_at_any_look_as_rarely_as_was_asked(law):
    values = law.rvs((N_RUNS, LOOKS[-1]), random_state=2)
    sums, squares = values.cumsum(axis=1), (values**2).cumsum(axis=1)
    mean = sums[:, LOOKS - 1] / LOOKS
    sd = np.sqrt((squares[:, LOOKS - 1] - LOOKS * mean**2) / (LOOKS - 1))
    held = anytime_mean(mean, sd, LOOKS, level=LEVEL, planned=1000)
    assert ever_outside(held, law.mean()) <= ALLOWED
    naive = normal(mean, sd / np.sqrt(LOOKS), level=LEVEL)
    assert ever_outside(naive, law.mean()) > 3 * ALLOWED


@pytest.mark.parametrize("planned", [5, 20, 500])
@pytest.mark.slow
def test_a_mean_of_normal_values_is_held_from_the_second_value_on(planned):
    """Limits with the standard deviation found for the true one are left at 30% of runs here."""
    n = np.arange(2, 400)
    values = np.random.default_rng(3).normal(3, 2, (N_RUNS, n[-1]))
    sums, squares = values.cumsum(axis=1)[:, 1:], (values**2).cumsum(axis=1)[:, 1:]
    mean = sums / n
    sd = np.sqrt((squares - n * mean**2) / (n - 1))
    assert ever_outside(anytime_mean(mean, sd, n, level=LEVEL, planned=planned), 3.0) <= ALLOWED
    assert ever_outside(normal(mean, sd / np.sqrt(n), level=LEVEL), 3.0) > 3 * ALLOWED


def test_limits_of_a_mean_are_where_the_mixture_is_so_many_times_as_likely():
    """By quadrature over the effect, for 30 values of which only mean and deviation matter."""
    n, found_sd, planned = 30, 2.0, 40
    twice = -2 * np.log(1 - LEVEL)
    slopes = stats.norm(0, np.sqrt((twice + np.log(twice) + 1) / planned))

    def likelihood(effect, t):  # of Student's t under a number of standard deviations
        return stats.nct(n - 1, effect * np.sqrt(n)).pdf(t)

    limit = anytime_mean(0.0, found_sd, n, level=LEVEL, planned=planned).upper
    t = np.sqrt(n) * limit / found_sd
    mixed = integrate.quad(lambda e: slopes.pdf(e) * likelihood(e, t), -3, 6, limit=200)[0]
    assert mixed / stats.t(n - 1).pdf(t) == pytest.approx(1 / (1 - LEVEL), rel=1e-6)


def test_equal_values_and_a_single_one_limit_no_mean():
    found = anytime_mean(
        [0.0, 1.0, np.nan], [0.0, np.nan, np.nan], [200, 1, 0], level=0.9, planned=9
    )
    assert found.lower[:2].tolist() == [-np.inf] * 2
    assert found.upper[:2].tolist() == [np.inf] * 2
    assert np.isnan([found.lower[2], found.upper[2]]).all()


def test_limits_of_a_share_are_where_the_mixture_is_so_many_times_as_likely():
    def excess(p):
        ratio = stats.betabinom(40, 0.5, 0.5).logpmf(7) - stats.binom(40, p).logpmf(7)
        return ratio - np.log(1 / (1 - LEVEL))

    found = anytime_share(7 / 40, 40, level=LEVEL)
    for end, within in [(found.lower, (1e-9, 7 / 40)), (found.upper, (7 / 40, 1 - 1e-9))]:
        assert end == pytest.approx(optimize.brentq(excess, *within), rel=1e-9)


def test_shares_at_their_ends_and_without_trials():
    found = anytime_share([0.0, 1.0, np.nan, 0.0], [50, 50, 0, 0], level=0.95)
    assert found.lower[0] == 0.0
    assert 0 < found.upper[0] < 0.2
    assert found.upper[1] == 1.0
    assert found.lower[1] == pytest.approx(1 - found.upper[0], rel=1e-9)
    assert np.isnan([found.lower[2], found.upper[2]]).all()
    assert (found.lower[3], found.upper[3]) == (0.0, 1.0)


def test_limits_of_a_mean_are_closest_where_that_was_planned():
    def width(planned):
        limits = anytime_mean(0.0, 1.0, 1000, level=0.95, planned=planned)
        return limits.upper - limits.lower

    plans = [100, 500, 1000, 2000, 10_000]
    assert plans[int(np.argmin([width(planned) for planned in plans]))] == 1000
    assert 1.3 < width(1000) / (2 * 1.96 / np.sqrt(1000)) < 1.7, "what looking costs"


@pytest.mark.parametrize("planned", [0, "x"])
def test_a_plan_of_nothing_is_refused(planned):
    expected = f"planned={planned!r} is not a number of values at which"
    with pytest.raises(DesignError, match=expected):
        anytime_mean(0.0, 1.0, 10, level=0.95, planned=planned)


# ---------------------------------------------------------------- of a result
def test_a_result_gives_them_for_shares_and_means():
    result = mean_study().run(200, seed=1, **INLINE)
    usual = result.summary.set_index("measure")
    for measure, asked in [("coverage", {}), ("bias", {"planned": 200})]:
        rows = result.anytime(measure, **asked)
        assert (rows["lower"] < usual.loc[[measure], "lower"].to_numpy()).all()
        assert (rows["upper"] > usual.loc[[measure], "upper"].to_numpy()).all()
        assert rows["estimate"].equals(result.summary.loc[rows.index, "estimate"])


@pytest.mark.parametrize(
    ("measure", "text"),
    [
        ("empirical_se", "'empirical_se' is neither a share nor a mean of one value per replicate"),
        ("bias", "'bias' is a mean, whose limits hold at every look if all looks plan for the"),
        # each replicate is in these shares, or not, by a mean or median of all of them
        ("bias_eliminated_coverage", "is neither a share nor a mean"),
        ("outlier_rate_estimate", "is neither a share nor a mean"),
    ],
)
def test_what_has_no_such_limits_is_refused(measure, text):
    study = mean_study()
    shares = [bias_eliminated_coverage("estimate", "lower", "upper"), outlier_rate("estimate")]
    with pytest.raises(StudyError, match=text):
        replace(study, measures=[*study.measures, *shares]).run(50, **INLINE).anytime(measure)
