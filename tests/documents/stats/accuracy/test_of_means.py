"""z and t tests: the formulas, p-values as SciPy's, power and sizes as statsmodels has them."""

import math
from functools import partial
from statistics import NormalDist

import numpy as np
import pytest
from scipy import integrate, stats
from statsmodels.stats.power import TTestIndPower, TTestPower

from simstudy.documents.applied.settings import MIN_ERROR_RATE
from simstudy.documents.stats.accuracy.of_scores import (
    Scores,
    about_enough,
    enough_scores,
    known_sigma,
    paired_t,
    pooled_t,
    welch,
)
from simstudy.errors import DesignError

RNG = np.random.default_rng(5)
REFERENCE = RNG.normal(70, 12, 40)
CANDIDATE = REFERENCE + RNG.normal(-2, 6, 40)
OTHER = RNG.normal(68, 20, 25)
ALPHA, BETA, SIGMA = 0.05, 0.2, 12.0
Z = -(NormalDist().inv_cdf(ALPHA) + NormalDist().inv_cdf(BETA))


def applied(rule, lower_is_better=False, alpha=ALPHA):
    """The paired test to pairs, the others to two samples of 40 and 25 scores."""
    candidate = CANDIDATE if rule is paired_t else OTHER
    return rule(Scores(REFERENCE, candidate, rule is paired_t, lower_is_better), alpha)


z_test = partial(known_sigma, sigma=SIGMA)
ALL_TESTS = pytest.mark.parametrize("rule", [z_test, paired_t, welch, pooled_t])


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_the_z_test_is_the_formulas(lower_is_better):
    rule = applied(z_test, lower_is_better)
    worse_by = (-1 if lower_is_better else 1) * (REFERENCE.mean() - OTHER.mean())
    se = SIGMA * math.sqrt(1 / 40 + 1 / 25)
    assert rule.standard_error == pytest.approx(se)
    assert rule.margin == pytest.approx(-NormalDist().inv_cdf(ALPHA) * se)
    assert rule.p_value == pytest.approx(NormalDist().cdf(-worse_by / se))
    assert rule.detectable_effect(BETA) == pytest.approx(Z * se)
    assert rule.fails == (rule.p_value <= ALPHA)


def test_pairs_take_their_correlation():
    rule = known_sigma(Scores(REFERENCE, REFERENCE - 3, True), ALPHA, SIGMA, 0.75)
    assert rule.standard_error == pytest.approx(SIGMA * math.sqrt(2 * 0.25 / 40))
    assert rule.p_value == pytest.approx(NormalDist().cdf(-3 / rule.standard_error))


def test_n_of_the_z_test_is_the_least():
    n = applied(z_test).n_needed(5.0, BETA)
    detectable = [Z * SIGMA * math.sqrt(2 / size) for size in (n - 1, n)]
    assert detectable[0] > 5 >= detectable[1]


@ALL_TESTS
def test_the_detectable_effect_has_its_power(rule):
    found = applied(rule)
    assert found.power(found.detectable_effect(BETA)) == pytest.approx(1 - BETA, abs=1e-9)


@ALL_TESTS
def test_unchanged_candidates_fail_at_the_level(rule):
    assert applied(rule).power(0.0) == pytest.approx(ALPHA)


@pytest.mark.parametrize(("lower_is_better", "alternative"), [(False, "less"), (True, "greater")])
def test_p_values_are_those_of_scipy(lower_is_better, alternative):
    by_scipy = {
        paired_t: stats.ttest_rel(CANDIDATE, REFERENCE, alternative=alternative),
        welch: stats.ttest_ind(OTHER, REFERENCE, equal_var=False, alternative=alternative),
        pooled_t: stats.ttest_ind(OTHER, REFERENCE, alternative=alternative),
    }
    for rule, expected in by_scipy.items():
        found = applied(rule, lower_is_better)
        assert found.p_value == pytest.approx(expected.pvalue, rel=1e-10)
        assert found.fails == (expected.pvalue <= ALPHA)


def test_margins_and_the_degrees_of_freedom_are_those_of_students_t():
    first, second = REFERENCE.var(ddof=1) / 40, OTHER.var(ddof=1) / 25
    quotient = (first + second) ** 2 / (first**2 / 39 + second**2 / 24)
    for rule, df in ((paired_t, 39), (pooled_t, 63), (welch, quotient)):
        found = applied(rule)
        assert found.margin == pytest.approx(stats.t.isf(ALPHA, df) * found.standard_error)
    assert applied(welch).words == f"Welch's t test ({quotient:.4g} degrees of freedom)"


SPREAD = (REFERENCE - CANDIDATE).std(ddof=1)
POOLED = applied(pooled_t).standard_error / math.sqrt(1 / 40 + 1 / 25)


@pytest.mark.parametrize(
    ("test", "known", "unit", "sizes", "effect"),
    [
        (paired_t, TTestPower(), SPREAD, {}, 2.0),
        (pooled_t, TTestIndPower(), POOLED, {"ratio": 25 / 40}, 4.0),
    ],
    ids=["pairs", "two samples"],
)
def test_power_and_n_are_those_of_statsmodels(test, known, unit, sizes, effect):
    one_sided = {"alpha": ALPHA, "alternative": "larger"}
    found = applied(test)
    power = known.power(3 / unit, 40, **sizes, **one_sided)
    assert found.power(3.0) == pytest.approx(power, rel=1e-8)
    n = known.solve_power(effect / unit, power=1 - BETA, **one_sided)
    assert found.n_needed(effect, BETA) == math.ceil(n)


def test_welch_is_the_pooled_test_where_sizes_and_variances_are_equal():
    scores = Scores(REFERENCE, REFERENCE[::-1] - 3, paired=False)
    one, other = welch(scores, ALPHA), pooled_t(scores, ALPHA)
    assert one.p_value == pytest.approx(other.p_value)
    assert one.power(4.0) == pytest.approx(other.power(4.0))
    assert one.n_needed(4.0, BETA) == other.n_needed(4.0, BETA)


@pytest.mark.parametrize("error", [MIN_ERROR_RATE, 0.499])
@pytest.mark.parametrize("size", [2, 40])
def test_errors_of_every_size_have_their_effect(error, size):
    few = paired_t(Scores(REFERENCE[:size], CANDIDATE[:size], True), error)
    assert few.power(few.detectable_effect(error)) == pytest.approx(1 - error, abs=1e-9)


@pytest.mark.parametrize("size", [2, 3, 40])
@pytest.mark.parametrize("theta", [1.0, 30.0, 1e4])
def test_power_at_the_least_level_is_that_of_quadrature(theta, size):
    """P(T > c) is the mean of P(S < (effect + z) / c) over a standard normal z."""
    few = paired_t(Scores(REFERENCE[:size], CANDIDATE[:size], True), MIN_ERROR_RATE)
    critical, effect = few.margin / few.standard_error, theta / few.standard_error

    def density(z):
        spread = stats.chi2.cdf((size - 1) * ((effect + z) / critical) ** 2, size - 1)
        return stats.norm.pdf(z) * spread

    expected = integrate.quad(density, max(-effect, -12), 12, epsabs=1e-12, limit=500)[0]
    assert few.power(theta) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(("rule", "theta"), [(paired_t, 1e300), (paired_t, 1e15), (welch, 1e6)])
def test_of_an_effect_that_cannot_be_missed_two_scores_are_enough(rule, theta):
    assert applied(rule).power(theta) == 1
    assert applied(rule).n_needed(theta, BETA) == 2


def test_an_effect_that_no_number_of_scores_finds_is_refused():
    with pytest.raises(DesignError, match=r"theta=1e-09 takes some .* scores, more than can be"):
        applied(paired_t).n_needed(1e-9, BETA)


def saw(n):
    return n / 100 - (0.03 if n % 7 == 0 else 0.0)


@pytest.mark.parametrize("about", [1, 5, 40, 60, 65, 70, 120, 500])
def test_where_power_is_a_saw_a_size_reaches_the_target_after_one_that_does_not(about):
    """However far the formula is off."""
    n = enough_scores(saw, 0.63, about)
    assert saw(n) >= 0.63 > saw(n - 1)


def test_the_least_may_be_enough_and_the_most_too_few():
    assert enough_scores(lambda _: 1.0, 0.8, 10) == 1
    assert enough_scores(lambda _: 1.0, 0.8, 1, least=2) == 2
    assert enough_scores(saw, 0.63, about=30, most=50) == 51


def test_beyond_the_most_the_formula_of_the_z_test_says_it():
    assert enough_scores(lambda _: math.nan, 0.8, 51, most=50) == 51
    assert about_enough(0.1, ALPHA, BETA, 0.5) == math.ceil(2 * (Z * 0.5 / 0.1) ** 2)
    assert about_enough(0.1, ALPHA, BETA, 0.0) == 1
