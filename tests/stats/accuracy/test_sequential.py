"""Group-sequential boundaries against published tables, scipy's normal law and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from simstudy.errors import DesignError
from simstudy.stats.accuracy import design
from simstudy.stats.accuracy import sequential as sq
from tests.support import assert_within_mcse, replicates_to_catch

# Jennison & Turnbull (2000), Group Sequential Methods with Applications to Clinical Trials,
# two-sided constants for K = 1, …, 10 looks: C_P of Table 2.1 and C_B of Table 2.3.
POCOCK = {
    0.01: [2.576, 2.772, 2.873, 2.939, 2.986, 3.023, 3.053, 3.078, 3.099, 3.117],
    0.05: [1.960, 2.178, 2.289, 2.361, 2.413, 2.453, 2.485, 2.512, 2.535, 2.555],
    0.10: [1.645, 1.875, 1.992, 2.067, 2.122, 2.164, 2.197, 2.225, 2.249, 2.270],
}
OBRIEN_FLEMING = {
    0.01: [2.576, 2.580, 2.595, 2.609, 2.621, 2.631, 2.640, 2.648, 2.654, 2.660],
    0.05: [1.960, 1.977, 2.004, 2.024, 2.040, 2.053, 2.063, 2.072, 2.080, 2.087],
    0.10: [1.645, 1.678, 1.710, 1.733, 1.751, 1.765, 1.776, 1.786, 1.794, 1.801],
}
# The same book, Tables 2.2 and 2.4 at alpha = 0.05: R for K = 1, …, 5 looks, by power.
INFLATION = {
    (sq.pocock, 0.8): [1.000, 1.110, 1.166, 1.202, 1.229],
    (sq.pocock, 0.9): [1.000, 1.100, 1.151, 1.183, 1.207],
    (sq.obrien_fleming, 0.8): [1.000, 1.008, 1.017, 1.024, 1.028],
    (sq.obrien_fleming, 0.9): [1.000, 1.007, 1.016, 1.022, 1.026],
}
# Reboussin, DeMets, Kim & Lan (2000), Control. Clin. Trials 21, 190-207: five equal looks, 0.025 a
# side, by both spending functions. The fourth decimals of their program are those of its grid.
SPENDING = {
    "obrien_fleming": [4.877, 3.357, 2.680, 2.290, 2.031],
    "pocock": [2.438, 2.427, 2.410, 2.397, 2.386],
}
UNEQUAL = np.array([1.0, 2.5, 3.0, 7.0])


# ---------------------------------------------------------------- published tables
@pytest.mark.parametrize("alpha", POCOCK)
def test_constants_are_those_of_jennison_and_turnbull(alpha):
    for table, boundaries in ((POCOCK, sq.pocock), (OBRIEN_FLEMING, sq.obrien_fleming)):
        last = [boundaries(k, alpha, sides=2)[-1] for k in range(1, 11)]
        np.testing.assert_array_equal(np.round(last, 3), table[alpha])


@pytest.mark.parametrize(("boundaries", "power"), INFLATION)
def test_inflation_is_that_of_jennison_and_turnbull(boundaries, power):
    found = [
        sq.inflation(boundaries(k, 0.05, sides=2), 0.05, 1 - power, sides=2) for k in range(1, 6)
    ]
    np.testing.assert_array_equal(np.round(found, 3), INFLATION[boundaries, power])


def test_costs_are_those_of_sas():
    """SAS/STAT User's Guide, SEQDESIGN, two-sided Pocock, four stages, power 0.9."""
    boundaries = sq.pocock(4, 0.05, sides=2)
    ratio = sq.inflation(boundaries, 0.05, 0.1, sides=2)
    at = ratio * np.arange(1, 5) / 4
    drift = np.array([0.0, stats.norm.isf(0.025) + stats.norm.isf(0.1)])
    mean = sq.expected_sample_size(boundaries, 100 * at, at, drift, sides=2)
    np.testing.assert_allclose([100 * ratio, *mean], [118.3143, 115.6074, 69.74805], rtol=1e-6)


@pytest.mark.parametrize("kind", sq.KINDS)
def test_spending_boundaries_are_those_published(kind):
    found = sq.lan_demets(np.arange(1, 6), 0.05, kind=kind, sides=2)
    np.testing.assert_array_equal(np.round(found, 3), SPENDING[kind])


# ---------------------------------------------------------------- scipy's normal law
PRECISELY = {"seed": 1, "maxpts": 4_000_000, "abseps": 1e-8, "releps": 1e-8}


def plain_crossing(boundaries, information, drift):
    """1 − P(no look at or above its boundary), by SciPy's multivariate normal."""
    between = np.minimum.outer(information, information)
    correlation = between / np.sqrt(np.multiply.outer(information, information))
    law = stats.multivariate_normal(drift * np.sqrt(information), correlation, **PRECISELY)
    return 1 - law.cdf(boundaries)


@pytest.mark.parametrize("drift", [0.0, 0.7])
def test_crossing_probabilities_are_differences_of_multivariate_normal_ones(drift):
    boundaries = np.array([2.5, 2.0, 2.1, 1.8])
    found = np.cumsum(sq.crossing_probabilities(boundaries, UNEQUAL, drift))
    plain = [plain_crossing(boundaries[:k], UNEQUAL[:k], drift) for k in range(1, 5)]
    np.testing.assert_allclose(found, plain, atol=1e-7)


def test_two_sided_ones_are_those_of_a_rectangle():
    upper = np.array([2.2, 2.0, 1.9])
    at = UNEQUAL[:3]
    correlation = np.minimum.outer(at, at) / np.sqrt(np.multiply.outer(at, at))
    law = stats.multivariate_normal(0.4 * np.sqrt(at), correlation, **PRECISELY)
    stays = law.cdf(upper, lower_limit=-upper)
    found = sq.crossing_probabilities(upper, at, 0.4, sides=2)
    assert found.sum() == pytest.approx(1 - stays, abs=1e-7)


def test_more_nodes_change_nothing(monkeypatch):
    """Also where a look follows another almost at once."""
    at = np.cumsum([1.0, 0.001, 0.5, 3.0, 0.01])
    found = sq.crossing_probabilities(np.full(5, 2.0), at, 0.8)
    monkeypatch.setattr(sq, "PER_SCALE", 2 * sq.PER_SCALE)
    np.testing.assert_allclose(
        sq.crossing_probabilities(np.full(5, 2.0), at, 0.8), found, atol=1e-12
    )


# ---------------------------------------------------------------- levels
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("n_looks", [1, 2, 7])
def test_boundaries_are_crossed_with_their_level(n_looks, sides):
    at = np.arange(1.0, n_looks + 1)
    sequences = [sq.pocock, sq.obrien_fleming]
    for alpha in (0.001, 0.05, 0.4):
        for boundaries in [sequence(n_looks, alpha, sides=sides) for sequence in sequences]:
            crossed = sq.crossing_probabilities(boundaries, at, sides=sides).sum()
            assert crossed == pytest.approx(alpha, rel=1e-10)


@pytest.mark.parametrize("kind", sq.KINDS)
@pytest.mark.parametrize("sides", [1, 2])
def test_spending_spends_as_it_says_at_every_look(kind, sides):
    boundaries = sq.lan_demets(UNEQUAL, 0.05, kind=kind, sides=sides)
    crossed = np.cumsum(sq.crossing_probabilities(boundaries, UNEQUAL, sides=sides))
    spent = sides * sq.spent(UNEQUAL / UNEQUAL[-1], 0.05 / sides, kind=kind)
    np.testing.assert_allclose(crossed, spent, rtol=1e-9)
    assert crossed[-1] == pytest.approx(0.05, rel=1e-9)


def test_a_look_too_early_to_spend_anything_has_no_boundary():
    found = sq.lan_demets([0.0001, 0.5, 1.0], 0.05)
    assert found[0] == math.inf
    np.testing.assert_allclose(found[1:], sq.lan_demets([0.5, 1.0], 0.05), rtol=1e-12)


def test_one_look_is_the_fixed_test():
    z = stats.norm.isf(0.05)
    for found in (sq.pocock(1, 0.05), sq.obrien_fleming(1, 0.05), sq.lan_demets([3.0], 0.05)):
        assert found == pytest.approx([z], rel=1e-12)
    information = 1 / design.standard_error(50, 512) ** 2
    power = sq.crossing_probabilities([z], [information], 5.0).sum()
    assert power == pytest.approx(design.power(5.0, 0.05, 50, 512), rel=1e-12)
    assert sq.inflation([z], 0.05, 0.2) == pytest.approx(1.0, rel=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 6), st.floats(0.001, 0.2), st.floats(0, 4))
def test_more_level_and_more_drift_cross_more(n_looks, alpha, drift):
    at = np.arange(1.0, n_looks + 1)
    low, high = (sq.pocock(n_looks, level) for level in (1.2 * alpha, alpha))
    assert (low < high).all()
    power = sq.crossing_probabilities(high, at, np.array([drift, drift + 0.1])).sum(axis=1)
    assert power[0] < power[1] or power[0] > 1 - 1e-9


# ---------------------------------------------------------------- exits and costs
def test_a_boundary_below_takes_checks_out():
    upper, lower = np.array([2.0, 2.0, 2.0]), np.array([-1.0, 0.0, 2.0])
    at = UNEQUAL[:3]
    exits = sq.exit_probabilities(lower, upper, at, 0.3)
    assert np.sum(exits) == pytest.approx(1.0, rel=1e-12)  # the last look decides
    mirrored = sq.exit_probabilities(-upper, -lower, at, -0.3)
    np.testing.assert_allclose(mirrored, exits[::-1], rtol=1e-10)
    alone = sq.crossing_probabilities(upper, at, 0.3)
    assert exits.above[0] == pytest.approx(alone[0], rel=1e-12)
    assert (exits.above[1:] < alone[1:]).all()


def test_checks_that_have_all_left_cross_no_more():
    exits = sq.exit_probabilities([-1.0, -1.0], [1.0, 1.0], [1.0, 1.5], 100.0)
    np.testing.assert_allclose(exits.above, [1.0, 0.0], atol=1e-15)


def test_the_expected_size_is_the_plain_sum():
    boundaries, sizes = sq.pocock(3, 0.05), np.array([100, 200, 300])
    crossed = sq.crossing_probabilities(boundaries, np.arange(1.0, 4.0), 1.2)
    plain = crossed[0] * 100 + crossed[1] * 200 + (1 - crossed[0] - crossed[1]) * 300
    found = sq.expected_sample_size(boundaries, sizes, np.arange(1.0, 4.0), np.array([1.2, 0.0]))
    assert found[0] == pytest.approx(plain, rel=1e-12)
    assert found[0] < found[1] < 300


N_REP = replicates_to_catch(0.01, sd=0.5, comparisons=3)


def simulated_failures(boundaries, sizes, n, theta):
    """Where checks that grow against a reference of fixed n first fail, score by score."""
    rng = np.random.default_rng(9)
    reference = rng.normal(scale=1 / math.sqrt(n), size=N_REP)
    steps = np.diff(sizes, prepend=0)
    sums = np.cumsum(rng.normal(-theta * steps, np.sqrt(steps), (N_REP, len(sizes))), axis=1)
    error = np.array([design.standard_error(1.0, n, m) for m in sizes])
    failing = (reference[:, np.newaxis] - sums / sizes) / error >= boundaries
    first = np.where(failing.any(axis=1), failing.argmax(axis=1), -1)
    return np.mean(first[:, np.newaxis] == np.arange(len(sizes)), axis=0)


SIZES, N, THETA = np.array([20, 50, 120]), 80, 0.25
INFORMATION = np.array([1 / design.standard_error(1.0, N, m) ** 2 for m in SIZES])


def test_simulated_checks_against_a_fixed_reference_fail_when_they_should():
    boundaries = sq.lan_demets(INFORMATION, 0.3, kind="pocock")
    theory = sq.crossing_probabilities(boundaries, INFORMATION, THETA)
    found = simulated_failures(boundaries, SIZES, N, THETA)
    assert_within_mcse(found, theory, np.sqrt(theory * (1 - theory) / N_REP))


def test_that_test_catches_information_taken_for_the_size_of_the_check():
    wrong = INFORMATION[-1] * SIZES / SIZES[-1]
    boundaries = sq.lan_demets(INFORMATION, 0.3, kind="pocock")
    theory = sq.crossing_probabilities(boundaries, wrong, THETA)
    found = simulated_failures(boundaries, SIZES, N, THETA)
    with pytest.raises(AssertionError, match="suspect the code"):
        assert_within_mcse(found, theory, np.sqrt(theory * (1 - theory) / N_REP))


# ---------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sq.pocock(0, 0.05), "n_looks=0 is not a whole number"),
        (lambda: sq.pocock(3, 5), "alpha=5 is not a proportion"),
        (lambda: sq.pocock(3, 0.6), "alpha=0.6 leaves 0.6 to a side, where a coin does as well"),
        (lambda: sq.pocock(3, 0.05, sides=3), "sides=3 is no number of sides"),
        (lambda: sq.lan_demets([1.0], 0.05, kind="haybittle"), "kind='haybittle' is unknown"),
        (lambda: sq.lan_demets([1.0, 1.0], 0.05), "information goes from 1 to 1 between looks 1"),
        (lambda: sq.lan_demets([], 0.05), r"information has shape \(0,\)"),
        (lambda: sq.lan_demets([0.0, 1.0], 0.05), "information=0 is not positive"),
        (lambda: sq.spent(1.5, 0.05), r"fraction=1.5 is not in \(0, 1\]"),
        (
            lambda: sq.crossing_probabilities([2.0, 2.0], [1.0]),
            r"boundaries of shape \(2,\) for 1 looks",
        ),
        (lambda: sq.crossing_probabilities([np.nan], [1.0]), "a boundary is NaN"),
        (lambda: sq.crossing_probabilities([2.0], [1.0], np.inf), "drift=inf is not finite"),
        (
            lambda: sq.expected_sample_size([2.0, 2.0], [5, 4], [1.0, 2.0]),
            "sizes goes from 5 to 4 between looks 1 and 2",
        ),
        (
            lambda: sq.inflation([np.inf, np.inf], 0.05, 0.2),
            "no sample size up to 1e.06 times that of one look reaches the power",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(DesignError, match=message):
        call()
