"""Metrics against their definitions in mpmath, and loops over the same resamples."""

import mpmath
import numpy as np
import pytest
from scipy import special

from simstudy.documents.stats.mean_bootstrap import (
    plain_resampled_means,
    replicate_seeds,
    resampled_means,
)
from simstudy.documents.stats.models import trial
from simstudy.documents.stats.models.metrics import (
    CALIBRATION_SLOPE,
    CORRELATION,
    MAE,
    MAPE,
    MSE,
    R2,
    RMSE,
    tweedie_deviance,
)
from simstudy.documents.stats.models.trial import stage_of_metric
from tests.documents.draws import bootstrap_indices, rng_at

EPS = float(np.finfo(float).eps)
K = 1.5
METRICS = [MSE, MAE, RMSE, MAPE, R2, CORRELATION, CALIBRATION_SLOPE, tweedie_deviance(1.5)]
every_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)


def make_pair(n_rep: int = 3, n_obs: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Positive responses and predictions that go together, for metrics that need a logarithm."""
    y = rng_at(4).gamma(3.0, size=(n_rep, n_obs))
    return y, 0.5 + 0.8 * y * rng_at(5).gamma(9.0, 1 / 9, size=(n_rep, n_obs))


def tweedie(power: float):
    def unit(y, mu):
        """Twice the integral that defines it: (y - t) / t^power, from the prediction to y."""
        return 2 * mpmath.quad(lambda t: (y - t) / t**power, [mu, y])

    return lambda w, y, f: mean(w, [unit(a, b) for a, b in zip(y, f, strict=True)])


def mean(w, x):
    return mpmath.fdot(w, x) / mpmath.fsum(w)


def covariance(w, x, z):
    return mean(w, [a * b for a, b in zip(x, z, strict=True)]) - mean(w, x) * mean(w, z)


def mse(w, y, f):
    return mean(w, [(a - b) ** 2 for a, b in zip(y, f, strict=True)])


DEFINITIONS = {
    "mse": mse,
    "mae": lambda w, y, f: mean(w, [abs(a - b) for a, b in zip(y, f, strict=True)]),
    "rmse": lambda w, y, f: mpmath.sqrt(mse(w, y, f)),
    "mape": lambda w, y, f: mean(w, [abs((a - b) / a) for a, b in zip(y, f, strict=True)]),
    "r2": lambda w, y, f: 1 - mse(w, y, f) / covariance(w, y, y),
    "correlation": lambda w, y, f: (
        covariance(w, y, f) / mpmath.sqrt(covariance(w, y, y) * covariance(w, f, f))
    ),
    "calibration_slope": lambda w, y, f: covariance(w, y, f) / covariance(w, f, f),
    "tweedie_1.5": tweedie(1.5),
}


def estimate(metric, y, prediction):
    """The metric of each sample, influences of its observations, and its standard error."""
    moments = metric.moments(y, prediction)
    means = moments.mean(axis=1)
    pulls = (metric.gradient(means)[:, np.newaxis] * (moments - means[:, np.newaxis])).sum(axis=2)
    return metric.value(means), pulls, pulls.std(axis=1) / np.sqrt(y.shape[1])


@every_metric
def test_value_and_influence_are_those_of_the_reweighted_definition(metric):
    """The influence value is n times the derivative of the metric by an observation's weight."""
    y, prediction = make_pair(1, 6)
    args = [mpmath.mpf(x) for x in y[0]], [mpmath.mpf(x) for x in prediction[0]]
    with mpmath.workdps(30):
        value = DEFINITIONS[metric.name]([mpmath.mpf(1)] * 6, *args)
        slopes = [
            6 * mpmath.diff(lambda w, i=i: DEFINITIONS[metric.name](one_at(i, w), *args), 1)
            for i in range(6)
        ]
    (found,), (pulls,), _ = estimate(metric, y, prediction)
    psi = np.array(slopes, float)
    assert found == pytest.approx(float(value), rel=1000 * EPS)
    np.testing.assert_allclose(pulls, psi, 1000 * EPS, 1000 * EPS * np.abs(psi).max())


def one_at(i: int, w):
    return [w if j == i else mpmath.mpf(1) for j in range(6)]


@pytest.mark.parametrize("metric", [R2, CORRELATION, CALIBRATION_SLOPE], ids=lambda m: m.name)
def test_a_large_common_level_costs_no_digits(metric):
    y, prediction = (np.round(x * 2**20) / 2**20 for x in make_pair())
    level = 2.0**25  # added without rounding
    rounding = 10 * EPS * level  # of a mean at that level; squares about zero would lose level²
    near, far = estimate(metric, y, prediction), estimate(metric, y + level, prediction + level)
    np.testing.assert_allclose(far[0], near[0], rtol=rounding)
    np.testing.assert_allclose(far[2], near[2], rtol=rounding)


def stage_of(metric, y, prediction, n_boot=99, resample=resampled_means):
    with np.errstate(all="ignore"):
        moments = metric.moments(y, prediction)
    return stage_of_metric(metric, moments, rng_at(), k=K, n_boot=n_boot, resample=resample)


@every_metric
@pytest.mark.parametrize("compiled", [True, False])
def test_a_stage_is_a_loop_over_resamples(metric, compiled):
    (y, prediction), drawn = make_pair(2, 40), rng_at()
    resample = resampled_means if compiled else plain_resampled_means
    found, sign = stage_of(metric, y, prediction, resample=resample), metric.lower_is_better or -1
    whole = estimate(metric, y, prediction)[0]
    for rep, seeds in enumerate(replicate_seeds(rng_at(), 2)):
        indices = drawn.integers(0, 40, (99, 40))
        if compiled:
            indices = bootstrap_indices(seeds[0], 40, 99)
        values, _, std_errors = estimate(metric, y[rep][indices], prediction[rep][indices])
        reach = -np.quantile(sign * (values - whole[rep]) / std_errors, special.ndtr(-K))
        expected = [values.std() * reach / K, values.std()]
        assert found.estimate[rep, 0, 0] == pytest.approx(whole[rep], rel=1e-14)
        np.testing.assert_allclose(found.std_error[rep, :, 0], expected, rtol=1e-9)


def test_the_share_of_memory_moves_no_number(monkeypatch):
    y, prediction = make_pair(5, 30)
    whole = stage_of(R2, y, prediction)
    monkeypatch.setattr(trial, "MAX_DOUBLES", 2_000)  # two replicates at a time
    np.testing.assert_array_equal(stage_of(R2, y, prediction).std_error, whole.std_error)


@every_metric
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_prediction_that_is_not_finite_fails_its_replicate_alone(metric, bad):
    y, prediction = make_pair()
    spoilt = prediction.copy()
    spoilt[1, 2] = bad
    found, clean = stage_of(metric, y, spoilt), stage_of(metric, y, prediction)
    assert np.isnan(found.estimate[1]).all()
    assert np.isnan(found.std_error[1]).all()
    np.testing.assert_array_equal(found.std_error[::2], clean.std_error[::2])


@pytest.mark.parametrize("metric", [R2, CORRELATION], ids=lambda metric: metric.name)
def test_a_constant_response_has_no_explained_share(metric):
    y, prediction = make_pair()
    y[1] = 0.1  # tenths do not add up
    found = stage_of(metric, y, prediction)
    assert np.isnan(found.std_error).all(axis=(1, 2)).tolist() == [False, True, False]


def test_a_perfect_prediction_has_no_standard_error():
    y, _ = make_pair()
    for metric in (MSE, MAE, R2):
        found = stage_of(metric, y, y.copy())
        assert (found.std_error[:, 1] == 0).all()
        assert np.isnan(found.std_error[:, 0]).all()


@pytest.mark.parametrize(
    ("y", "prediction", "defined"), [(0.0, 2.0, True), (-0.1, 2.0, False), (1.0, 0.0, False)]
)
def test_tweedie_deviance_exists_on_its_domain_only(y, prediction, defined):
    ys, predictions = make_pair(1, 5)
    ys[0, 2], predictions[0, 2] = y, prediction
    moments = tweedie_deviance(1.5).moments(ys, predictions)
    assert np.isfinite(moments[0, 2, 0]) == defined
