"""The t tests: p-values as SciPy's, power and sample sizes as statsmodels has them."""

import math

import numpy as np
import pytest
from scipy import integrate, stats
from statsmodels.stats.power import TTestIndPower, TTestPower

from simstudy.applied.mean_tests import PairedT, PooledT, Welch
from simstudy.applied.scores import Scores
from simstudy.applied.settings import LEAST_ERROR
from simstudy.errors import DesignError

RNG = np.random.default_rng(5)
REFERENCE = RNG.normal(70, 12, 40)
CANDIDATE = REFERENCE + RNG.normal(-2, 6, 40)
OTHER = RNG.normal(68, 20, 25)
ALPHA, BETA = 0.05, 0.2


def paired(lower_is_better=False):
    return PairedT(Scores(REFERENCE, CANDIDATE, True, lower_is_better), ALPHA)


def of_two(rule, lower_is_better=False):
    return rule(Scores(REFERENCE, OTHER, False, lower_is_better), ALPHA)


@pytest.mark.parametrize(("lower_is_better", "alternative"), [(False, "less"), (True, "greater")])
def test_p_values_are_those_of_scipy(lower_is_better, alternative):
    samples = OTHER, REFERENCE
    by_scipy = [
        stats.ttest_rel(CANDIDATE, REFERENCE, alternative=alternative),
        stats.ttest_ind(*samples, equal_var=False, alternative=alternative),
        stats.ttest_ind(*samples, equal_var=True, alternative=alternative),
    ]
    rules = paired(lower_is_better), *(of_two(r, lower_is_better) for r in (Welch, PooledT))
    for rule, expected in zip(rules, by_scipy, strict=True):
        assert rule.p_value == pytest.approx(expected.pvalue, rel=1e-10)
        assert rule.fails == (expected.pvalue <= ALPHA)


@pytest.mark.parametrize("rule", [paired(), of_two(Welch), of_two(PooledT)])
def test_a_candidate_at_the_margin_has_p_alpha(rule):
    assert stats.t.sf(rule.margin / rule.standard_error, rule.spread().df) == pytest.approx(ALPHA)


def test_power_is_that_of_statsmodels():
    differences = REFERENCE - CANDIDATE
    sd = differences.std(ddof=1)
    expected = TTestPower().power(3 / sd, len(differences), ALPHA, alternative="larger")
    assert paired().power(3.0) == pytest.approx(expected, rel=1e-8)
    pooled = of_two(PooledT)
    sd = pooled.standard_error / math.sqrt(1 / 40 + 1 / 25)
    expected = TTestIndPower().power(3 / sd, 40, ALPHA, ratio=25 / 40, alternative="larger")
    assert pooled.power(3.0) == pytest.approx(expected, rel=1e-8)


def test_welch_is_the_pooled_test_where_sizes_and_variances_are_equal():
    scores = Scores(REFERENCE, REFERENCE[::-1] - 3, paired=False)
    welch, pooled = Welch(scores, ALPHA), PooledT(scores, ALPHA)
    assert welch.p_value == pytest.approx(pooled.p_value)
    assert welch.power(4.0) == pytest.approx(pooled.power(4.0))
    assert welch.n_needed(4.0, BETA) == pooled.n_needed(4.0, BETA)


@pytest.mark.parametrize("rule", [paired(), of_two(Welch), of_two(PooledT)])
def test_the_detectable_effect_has_its_power(rule):
    assert rule.power(rule.detectable_effect(BETA)) == pytest.approx(1 - BETA, abs=1e-9)


def test_n_is_that_of_statsmodels():
    sd = (REFERENCE - CANDIDATE).std(ddof=1)
    real = TTestPower().solve_power(2 / sd, None, ALPHA, 1 - BETA, alternative="larger")
    assert paired().n_needed(2.0, BETA) == math.ceil(real)
    pooled = of_two(PooledT)
    sd = pooled.standard_error / math.sqrt(1 / 40 + 1 / 25)
    real = TTestIndPower().solve_power(4 / sd, None, ALPHA, 1 - BETA, alternative="larger")
    assert pooled.n_needed(4.0, BETA) == math.ceil(real)


@pytest.mark.parametrize("rule", [paired(), of_two(Welch)])
def test_two_scores_of_each_are_the_fewest(rule):
    assert rule.n_needed(1e6, BETA) == 2


@pytest.mark.parametrize("rule", [paired(), of_two(Welch)])
def test_its_laws_have_the_errors_on_either_side_of_the_margin(rule):
    assert rule.law(0.0).sf(rule.margin) == pytest.approx(ALPHA)
    assert rule.law(4.0).sf(rule.margin) == pytest.approx(rule.power(4.0))


@pytest.mark.parametrize("theta", [1e15, 1e300])
def test_an_effect_that_cannot_be_missed(theta):
    assert paired().power(theta) == 1
    assert paired().n_needed(theta, BETA) == 2


@pytest.mark.parametrize("error", [LEAST_ERROR, 0.499])
@pytest.mark.parametrize("size", [2, 40])
def test_errors_of_every_size_have_their_effect(error, size):
    few = PairedT(Scores(REFERENCE[:size], CANDIDATE[:size], True), error)
    assert few.power(few.detectable_effect(error)) == pytest.approx(1 - error, abs=1e-9)


@pytest.mark.parametrize("size", [2, 3, 40])
@pytest.mark.parametrize("theta", [1.0, 30.0, 1e4])
def test_power_at_the_least_level_is_that_of_quadrature(theta, size):
    """P(T > c) is the mean of P(S < (effect + z) / c) over a standard normal z."""
    few = PairedT(Scores(REFERENCE[:size], CANDIDATE[:size], True), LEAST_ERROR)
    critical, effect = few.margin / few.standard_error, theta / few.standard_error

    def density(z):
        spread = stats.chi2.cdf((size - 1) * ((effect + z) / critical) ** 2, size - 1)
        return stats.norm.pdf(z) * spread

    expected = integrate.quad(density, max(-effect, -12), 12, epsabs=1e-12, limit=500)[0]
    assert few.power(theta) == pytest.approx(expected, abs=1e-7)


def test_an_effect_that_no_number_of_scores_finds_is_refused():
    with pytest.raises(DesignError, match=r"theta=1e-09 takes some .* scores, more than can be"):
        paired().n_needed(1e-9, BETA)


def test_degrees_of_freedom_are_the_quotient_of_squares():
    first, second = REFERENCE.var(ddof=1) / 40, OTHER.var(ddof=1) / 25
    quotient = (first + second) ** 2 / (first**2 / 39 + second**2 / 24)
    assert of_two(Welch).spread().df == quotient
