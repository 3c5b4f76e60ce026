"""Every distribution of scores keeps the truth it declares."""

import itertools

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.dgps import scores as laws
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

CONTINUOUS = [
    laws.NormalScores(),
    laws.NormalScores(mean=-2.0, sd=0.3),
    laws.SkewedScores(),
    laws.SkewedScores(mean=0.0, sd=2.0, skewness=1.5),
    laws.HeavyTailedScores(),
    laws.HeavyTailedScores(df=1.0),
]
LATTICES = [
    laws.DiscretisedScores(),
    laws.DiscretisedScores(base=laws.SkewedScores(), step=0.1),
    laws.DiscretisedScores(base=laws.HeavyTailedScores(), step=1.0),
]
LEVELS = np.array([0.01, 0.05, 0.3, 0.5, 0.8, 0.95, 0.999])
REFERENCES = [
    (laws.NormalScores(0.5, 2.0), stats.norm(0.5, 2.0)),
    (laws.HeavyTailedScores(0.5, 2.0, 4.0), stats.t(4.0, 0.5, 2.0)),
    (laws.SkewedScores(0.5, 2.0, 1.2), stats.pearson3(1.2, 0.5, 2.0)),
    (laws.SkewedScores(0.5, 2.0, -1.2), stats.pearson3(-1.2, 0.5, 2.0)),
]


@pytest.mark.parametrize(("scores", "reference"), REFERENCES)
def test_truths_are_those_of_scipy(scores, reference):
    at = reference.ppf(LEVELS)
    np.testing.assert_allclose(scores.quantile(LEVELS), at, rtol=1e-9)
    np.testing.assert_allclose(scores.threshold(1 - LEVELS), at, rtol=1e-9)
    np.testing.assert_allclose(scores.sensitivity(at), reference.sf(at), rtol=1e-9)
    np.testing.assert_allclose(scores.cdf(at), reference.cdf(at), rtol=1e-9)


@pytest.mark.parametrize("scores", CONTINUOUS + LATTICES)
def test_everybody_is_positive_at_minus_infinity_and_nobody_at_infinity(scores):
    np.testing.assert_array_equal(scores.sensitivity([-np.inf, np.inf]), [1.0, 0.0])
    np.testing.assert_array_equal(scores.cdf([-np.inf, np.inf]), [0.0, 1.0])


@pytest.mark.parametrize("scores", LATTICES)
def test_threshold_on_a_lattice_is_the_largest_that_is_safe(scores):
    threshold = scores.threshold(LEVELS)
    assert (scores.sensitivity(threshold) >= LEVELS - 1e-12).all()
    assert (scores.sensitivity(threshold + scores.step) < LEVELS).all()
    assert (scores.sensitivity(threshold + 0.01 * scores.step) < LEVELS).all()
    np.testing.assert_allclose(scores.quantile(1 - LEVELS), threshold)


@pytest.mark.parametrize("scores", LATTICES)
def test_lattice_points_are_hit_exactly(scores):
    """Multiples of the step that rounding has moved count as the multiples."""
    points = scores.step * np.arange(-30, 30)
    moved = [np.nextafter(points, way) for way in (-np.inf, np.inf)]
    for other, truth in itertools.product(moved, (scores.sensitivity, scores.cdf)):
        np.testing.assert_array_equal(truth(points), truth(other))
    draws = scores.draw(np.random.default_rng(2), 2, 50)
    np.testing.assert_array_equal(draws, scores.step * np.round(draws / scores.step))


def test_lattice_points_have_the_probability_of_their_cell():
    scores, points = laws.DiscretisedScores(step=0.5), 0.5 * np.arange(-20, 25)
    probability = scores.sensitivity(points) - scores.sensitivity(points + 0.5)
    cells = np.diff(stats.norm(1, 1).cdf([*(points - 0.25), points[-1] + 0.25]))
    np.testing.assert_allclose(probability, cells, atol=1e-12)


N_DRAWS = replicates_to_catch(0.01, sd=0.5, comparisons=LEVELS.size)


def shares(scores, positive):
    """Share called positive at the true thresholds, the truth, and its MCSE."""
    thresholds = scores.threshold(LEVELS)
    draws = scores.draw(np.random.default_rng(6), 1, N_DRAWS)[0]
    truth = scores.sensitivity(thresholds)
    found = [positive(draws, threshold).mean() for threshold in thresholds]
    return found, truth, np.sqrt(truth * (1 - truth) / N_DRAWS)


@pytest.mark.parametrize("scores", CONTINUOUS + LATTICES)
def test_draws_keep_the_declared_truth(scores):
    assert_within_mcse(*shares(scores, np.greater_equal))


@pytest.mark.parametrize("scores", LATTICES)
def test_that_test_catches_strictly_above(scores):
    assert_caught(*shares(scores, np.greater))
