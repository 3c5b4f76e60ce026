"""Of θ, α, β, σ and n any one follows from the others, by the document's formulas."""

import math
from statistics import NormalDist

import pytest

from simstudy.applied.settings import RELATED
from simstudy.applied.tasks import Task, answered
from simstudy.errors import DesignError

PHI = NormalDist()
ALPHA, BETA, SIGMA, N, RHO = 0.05, 0.2, 50.0, 512, 0.6
SE = SIGMA * math.sqrt(2 * (1 - RHO) / N)
THETA = -(PHI.inv_cdf(ALPHA) + PHI.inv_cdf(BETA)) * SE
KNOWN = {"theta": THETA, "alpha": ALPHA, "beta": BETA, "sigma": SIGMA, "n": N}


def with_all_but(name):
    rest = {known: value for known, value in KNOWN.items() if known != name}
    return answered(Task("mmlu", correlation=RHO, reference=70.0, **rest))


@pytest.mark.parametrize("missing", RELATED)
def test_the_one_that_is_missing_follows(missing):
    found = with_all_but(missing)
    assert found["solved"] == missing
    value = found["detectable_effect" if missing == "theta" else missing]
    if missing == "n":  # the formula's n is whole but for a rounding: it, or the next
        assert value in (N, N + 1)
    else:
        assert value == pytest.approx(KNOWN[missing])


@pytest.mark.parametrize("missing", ["alpha", "beta", "sigma"])
def test_what_follows_from_n_needs_no_more_than_n(missing):
    """Whatever way its last digit was rounded."""
    assert with_all_but(missing)["least_n"] in (N - 1, N)


def test_nothing_missing_is_a_wish_and_what_there_is():
    found = answered(Task("mmlu", reference=70.0, **{**KNOWN, "theta": 5.0, "n": 100}))
    se = SIGMA * math.sqrt(2 / 100)
    z = PHI.inv_cdf(ALPHA) + PHI.inv_cdf(BETA)
    assert (found["solved"], found["theta"], found["n"]) == ("", 5.0, 100)
    assert found["detectable_effect"] == pytest.approx(-z * se)
    assert found["margin"] == pytest.approx(-PHI.inv_cdf(ALPHA) * se)
    assert found["threshold"] == pytest.approx(70 + PHI.inv_cdf(ALPHA) * se)
    assert found["power"] == pytest.approx(PHI.cdf(PHI.inv_cdf(ALPHA) + 5 / se))
    assert found["least_n"] == math.ceil(2 * (z * SIGMA / 5) ** 2)


def test_where_lower_is_better_the_threshold_is_above():
    about = {"sigma": 0.3, "n": 100, "alpha": 0.05, "beta": 0.2, "reference": 7.0}
    found = answered(Task("wiki", "perplexity", lower_is_better=True, **about))
    assert found["threshold"] == pytest.approx(7 + found["margin"])


def test_without_theta_there_is_no_power_and_without_a_reference_no_threshold():
    found = answered(Task("mmlu", alpha=ALPHA, beta=BETA, sigma=SIGMA, n=N))
    assert all(math.isnan(found[name]) for name in ("theta", "power", "least_n", "threshold"))


def test_two_that_are_missing_are_named():
    with pytest.raises(DesignError, match="theta and n are not given, and each follows from the"):
        answered(Task("mmlu", alpha=ALPHA, beta=BETA, sigma=SIGMA))


def test_an_error_rate_beyond_doubles_leaves_the_effect_that_was_asked_for():
    """100 standard errors are missed never, 1e-25 of one at the rate of a coin."""
    about = {"alpha": 0.05, "sigma": 1.0, "n": 5000}
    never, coin = (answered(Task("mmlu", theta=theta, **about)) for theta in (2.0, 1e-25))
    assert (never["beta"], never["power"], never["detectable_effect"]) == (0, 1, 2)
    assert coin["power"] == pytest.approx(0.05)
    assert coin["beta"] == pytest.approx(0.95)
    assert coin["detectable_effect"] == 1e-25
    assert never["least_n"] == coin["least_n"] == 5000
    assert never["margin"] == pytest.approx(-PHI.inv_cdf(0.05) * math.sqrt(2 / 5000))


def test_a_level_beyond_doubles_is_said():
    with pytest.raises(DesignError, match=r"theta=2 with n=5000 and sigma=1 .* is below 1e-300"):
        answered(Task("mmlu", theta=2.0, beta=0.2, sigma=1.0, n=5000))


@pytest.mark.parametrize("n", [1e19, 2.0**53])
def test_more_scores_than_can_be_counted_are_refused(n):
    with pytest.raises(DesignError, match=r"more scores than can be counted exactly. Give"):
        answered(Task("mmlu", alpha=ALPHA, beta=BETA, sigma=SIGMA, n=n))
