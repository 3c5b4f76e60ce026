"""Limits that hold at every look, where ordinary ones do not; and as wide as theory has them."""

import numpy as np
import pytest
from scipy import optimize, stats

from simstudy.errors import DesignError, StudyError
from simstudy.measures.anytime import anytime_mean, anytime_share
from simstudy.measures.intervals import normal, wilson
from tests.support import critical_z
from tests.toy import study

LEVEL, N_RUNS = 0.9, 2000
LOOKS = np.unique(np.geomspace(20, 5000, 60).astype(int))
ALLOWED = 1 - LEVEL + critical_z(4) * np.sqrt(LEVEL * (1 - LEVEL) / N_RUNS)


def ever_outside(limits, truth):
    """The share of runs whose limits leave out the truth at some look: the last axis."""
    return ((limits.lower > truth) | (limits.upper < truth)).any(axis=1).mean()


@pytest.mark.parametrize("p", [0.5, 0.02])
def test_a_share_is_left_out_at_any_look_as_rarely_as_was_asked(p):
    hits = (np.random.default_rng(1).random((N_RUNS, LOOKS[-1])) < p).cumsum(axis=1)
    share = hits[:, LOOKS - 1] / LOOKS
    assert ever_outside(anytime_share(share, LOOKS, level=LEVEL), p) <= ALLOWED
    assert ever_outside(wilson(share, LOOKS, level=LEVEL), p) > 3 * ALLOWED


@pytest.mark.parametrize("law", [stats.norm(3, 2), stats.expon(scale=2)], ids=["normal", "skewed"])
def test_a_mean_is_left_out_at_any_look_as_rarely_as_was_asked(law):
    values = law.rvs((N_RUNS, LOOKS[-1]), random_state=2)
    sums, squares = values.cumsum(axis=1), (values**2).cumsum(axis=1)
    mean = sums[:, LOOKS - 1] / LOOKS
    sd = np.sqrt((squares[:, LOOKS - 1] - LOOKS * mean**2) / (LOOKS - 1))
    held = anytime_mean(mean, sd, LOOKS, level=LEVEL, planned=1000)
    assert ever_outside(held, law.mean()) <= ALLOWED
    naive = normal(mean, sd / np.sqrt(LOOKS), level=LEVEL)
    assert ever_outside(naive, law.mean()) > 3 * ALLOWED


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


def test_a_plan_of_nothing_is_refused():
    with pytest.raises(DesignError, match="planned=0 is no number of values at which limits"):
        anytime_mean(0.0, 1.0, 10, level=0.95, planned=0)


# ---------------------------------------------------------------- of a result
def test_a_result_gives_them_for_shares_and_means():
    result = study().run(200, seed=1)
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
        ("bias", "'bias' is a mean, whose limits hold at every look if all looks have the same"),
    ],
)
def test_what_has_no_such_limits_is_refused(measure, text):
    with pytest.raises(StudyError, match=text):
        study().run(50).anytime(measure)
