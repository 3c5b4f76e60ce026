"""The z test as the document has it, from the normal distribution of the standard library."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from simstudy.applied.mean_tests import KnownSigma
from simstudy.applied.scores import Scores

PHI = NormalDist()
REFERENCE, CANDIDATE = np.array([71.0, 80, 66, 90]), np.array([70.0, 62, 60])
SIGMA, ALPHA, BETA = 12.0, 0.05, 0.2


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_it_is_the_formulas(lower_is_better):
    rule = KnownSigma(Scores(REFERENCE, CANDIDATE, False, lower_is_better), ALPHA, SIGMA)
    sign = -1 if lower_is_better else 1
    se = SIGMA * math.sqrt(1 / 4 + 1 / 3)
    worse_by = sign * (REFERENCE.mean() - CANDIDATE.mean())
    theta = -(PHI.inv_cdf(ALPHA) + PHI.inv_cdf(BETA)) * se
    assert rule.standard_error == pytest.approx(se)
    assert rule.margin == pytest.approx(-PHI.inv_cdf(ALPHA) * se)
    assert rule.p_value == pytest.approx(PHI.cdf(-worse_by / se))
    assert rule.detectable_effect(BETA) == pytest.approx(theta)
    assert rule.power(theta) == pytest.approx(1 - BETA)
    assert rule.fails == (rule.p_value <= ALPHA)


def test_pairs_take_their_correlation():
    scores = Scores(REFERENCE, REFERENCE - 3, paired=True)
    rule = KnownSigma(scores, ALPHA, SIGMA, correlation=0.75)
    assert rule.standard_error == pytest.approx(SIGMA * math.sqrt(2 * 0.25 / 4))
    assert rule.p_value == pytest.approx(PHI.cdf(-3 / rule.standard_error))


def test_n_is_the_least():
    rule = KnownSigma(Scores(REFERENCE, CANDIDATE, False), ALPHA, SIGMA)
    n = rule.n_needed(5.0, BETA)
    z = -(PHI.inv_cdf(ALPHA) + PHI.inv_cdf(BETA))
    detectable = [z * SIGMA * math.sqrt(2 / size) for size in (n - 1, n)]
    assert detectable[0] > 5 >= detectable[1]


def test_its_law_has_the_level_beyond_the_margin():
    rule = KnownSigma(Scores(REFERENCE, CANDIDATE, False), ALPHA, SIGMA)
    assert rule.law(0.0).sf(rule.margin) == pytest.approx(ALPHA)
    assert rule.law(7.0).sf(rule.margin) == pytest.approx(rule.power(7.0))
