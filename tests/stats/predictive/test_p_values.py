"""Predictive p-values: the printed form, both tails, and uniform for a model that is right."""

import numpy as np
import pytest
from scipy import stats

from simstudy.stats.predictive.distributions import Custom, Empirical, Normal, StudentT
from simstudy.stats.predictive.p_values import log_p_value, p_value
from tests.support import critical_z, replicates_to_catch


def test_it_is_twice_the_smaller_tail():
    y = np.linspace(-4, 5, 19)
    known = [2 * min(stats.norm.cdf(v, 1, 2), 1 - stats.norm.cdf(v, 1, 2)) for v in y]
    np.testing.assert_allclose(p_value(Normal(1.0, 2.0), y), known, rtol=1e-10)


def test_tails():
    upper, lower = (p_value(Normal(0.0, 1.0), 1.0, tail=tail) for tail in ("upper", "lower"))
    assert upper == pytest.approx(stats.norm.sf(1))
    assert lower == pytest.approx(stats.norm.cdf(1))


def test_at_the_median_it_is_1_and_never_more():
    for model, y in ((Normal(0.0, 1.0), 0.0), (Empirical(np.ones(3)), 1.0)):
        assert p_value(model, y) == 1


def test_it_does_not_underflow():
    found = log_p_value(Normal(0.0, 1.0), [50.0, -50.0])
    assert found[0] == found[1] == pytest.approx(np.log(2) + stats.norm.logsf(50))
    assert p_value(Normal(0.0, 1.0), 50.0) == 0


# ---------------------------------------------------------------- uniform where the model is right
def log_tail_of_distance(distance: float, n: int) -> float:
    """Bound on the log of the chance that uniforms are so far from their law (Massart 1990)."""
    return np.log(2) - 2 * n * distance**2


ERROR = 0.02  # of a distribution function, anywhere
# Chance keeps the distance below z/2 standard errors 1/√n: of a share, at most 1/2 each.
N = replicates_to_catch(ERROR, sd=0.5)
CASES = {
    "normal": (lambda rng: rng.normal(2.0, 3.0, N), Normal(2.0, 3.0)),
    "t": (lambda rng: 2 + 3 * rng.standard_t(5, N), StudentT(2.0, 3.0, 5.0)),
    "custom": (lambda rng: rng.exponential(size=N), Custom(lambda y: -np.expm1(-y))),
}


def is_uniform(p: np.ndarray) -> bool:
    distance = stats.kstest(p, "uniform").statistic
    return log_tail_of_distance(distance, len(p)) > np.log(2 * stats.norm.sf(critical_z()))


@pytest.mark.parametrize(("draw", "model"), CASES.values(), ids=CASES)
def test_p_values_of_the_right_model_are_uniform(draw, model):
    assert is_uniform(p_value(model, draw(np.random.default_rng(1))))


def test_those_of_a_model_a_tenth_too_narrow_are_not():
    y = np.random.default_rng(1).normal(2.0, 3.0, N)
    assert not is_uniform(p_value(Normal(2.0, 2.7), y))


def test_a_rank_among_draws_is_uniform_with_the_value_among_them():
    """p is twice rank / 20 from the nearer end: 2/20, 4/20, ... 20/20, each with 1/10."""
    rng, n_draw = np.random.default_rng(2), 19
    draws = rng.normal(size=(N, n_draw))
    p = p_value(Empirical(draws, with_value=True), rng.normal(size=N))
    places, counts = np.unique(np.round(p * 20), return_counts=True)
    assert places.tolist() == list(range(2, 21, 2))
    limit = critical_z(10) * np.sqrt(0.1 * 0.9 * N)
    assert np.abs(counts - N / 10).max() < limit
