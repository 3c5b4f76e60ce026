"""Metrics against their definitions in mpmath, and loops over the same resamples."""

import mpmath
import numpy as np
import pytest
from scipy import special

from simstudy.documents.stats.bootstrap.losses import (
    bootstrap_indices,
    ideal_variance,
    replicate_seeds,
)
from simstudy.documents.stats.models import metrics
from simstudy.documents.stats.models.metrics import (
    CALIBRATION_SLOPE,
    CORRELATION,
    MAE,
    MAPE,
    MSE,
    R2,
    RMSE,
    absolute_error,
    estimate,
    influence,
    metric_bootstrap,
    squared_error,
    tweedie_deviance,
)
from simstudy.errors import DesignError
from tests.documents.stats.draws import rng_at

EPS = float(np.finfo(float).eps)
K = 1.5
TWEEDIE = [tweedie_deviance(power) for power in (-1.5, 0, 1, 1.5, 2, 3)]
METRICS = [MSE, MAE, RMSE, MAPE, R2, CORRELATION, CALIBRATION_SLOPE, *TWEEDIE]
every_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)


def make_pair(n_rep: int = 3, n_obs: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Positive responses and predictions that go together, for metrics that need a logarithm."""
    y = rng_at(4).gamma(3.0, size=(n_rep, n_obs))
    return y, 0.5 + 0.8 * y * rng_at(5).gamma(9.0, 1 / 9, size=(n_rep, n_obs))


# ---------------------------------------------------------------- definitions
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
    **{metric.name: tweedie(float(metric.name.split("_")[1])) for metric in TWEEDIE},
}


@every_metric
def test_value_influence_and_error_are_those_of_the_reweighted_definition(metric):
    """The influence value is n times the derivative of the metric by an observation's weight."""
    y, prediction = make_pair(1, 6)
    args = [mpmath.mpf(x) for x in y[0]], [mpmath.mpf(x) for x in prediction[0]]
    with mpmath.workdps(30):
        value = DEFINITIONS[metric.name]([mpmath.mpf(1)] * 6, *args)
        slopes = [
            6 * mpmath.diff(lambda w, i=i: DEFINITIONS[metric.name](one_at(i, w), *args), 1)
            for i in range(6)
        ]
    found, psi = estimate(metric, y, prediction), np.array(slopes, float)
    assert found.value[0] == pytest.approx(float(value), rel=1000 * EPS)
    limit = 1000 * EPS * np.abs(psi).max()
    np.testing.assert_allclose(influence(metric, y, prediction)[0], psi, 1000 * EPS, limit)
    assert found.std_error[0] == pytest.approx(np.sqrt((psi**2).sum()) / 6, rel=1000 * EPS)


def one_at(i: int, w):
    return [w if j == i else mpmath.mpf(1) for j in range(6)]


@pytest.mark.parametrize("metric", [R2, CORRELATION, CALIBRATION_SLOPE], ids=lambda m: m.name)
def test_a_large_common_level_costs_no_digits(metric):
    y, prediction = (np.round(x * 2**20) / 2**20 for x in make_pair())
    level = 2.0**25  # added without rounding
    rounding = 10 * EPS * level  # of a mean at that level; squares about zero would lose level²
    near, far = estimate(metric, y, prediction), estimate(metric, y + level, prediction + level)
    np.testing.assert_allclose(far.value, near.value, rtol=rounding)
    np.testing.assert_allclose(far.std_error, near.std_error, rtol=rounding)


def test_the_standard_error_of_a_mean_is_its_bootstrap_of_infinitely_many_resamples():
    y, prediction = make_pair()
    losses = np.stack([loss(y, prediction) for loss in (squared_error, absolute_error)], axis=-1)
    for m, metric in enumerate((MSE, MAE)):
        found = estimate(metric, y, prediction).std_error
        np.testing.assert_allclose(found, np.sqrt(ideal_variance(losses)[:, m]), rtol=100 * EPS)
        textbook = losses[..., m].std(axis=1, ddof=1) / np.sqrt(y.shape[1])
        found = estimate(metric, y, prediction, ddof=1).std_error
        np.testing.assert_allclose(found, textbook, rtol=100 * EPS)


# ---------------------------------------------------------------- bootstraps
@every_metric
def test_metric_bootstrap_is_a_loop_over_resamples(metric):
    (y, prediction), n_boot = make_pair(2, 40), 99
    found = metric_bootstrap(metric, y, prediction, rng_at(), k=K, n_boot=n_boot)
    whole = estimate(metric, y, prediction).value
    for rep, seeds in enumerate(replicate_seeds(rng_at(), 2)):
        indices = bootstrap_indices(seeds[0], 40, n_boot)
        draws = estimate(metric, y[rep][indices], prediction[rep][indices])
        t = (draws.value - whole[rep]) / draws.std_error
        rounding = 1e3 * 40 * n_boot * EPS
        assert found.mean[rep] == whole[rep]
        assert found.variance[rep] == pytest.approx(draws.value.var(ddof=1), rel=rounding)
        assert found.quantile[rep] == pytest.approx(np.quantile(t, special.ndtr(-K)), rel=rounding)


def test_the_share_of_memory_moves_no_number(monkeypatch):
    y, prediction = make_pair(5, 30)
    whole = metric_bootstrap(R2, y, prediction, rng_at(), k=K)
    monkeypatch.setattr(metrics, "MAX_DOUBLES", 20_000)  # two replicates at a time
    parts = metric_bootstrap(R2, y, prediction, rng_at(), k=K)
    assert (parts.quantile == whole.quantile).all()
    assert (parts.variance == whole.variance).all()


# ---------------------------------------------------------------- what has no answer
@every_metric
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_prediction_that_is_not_finite_fails_its_replicate_alone(metric, bad):
    y, prediction = make_pair()
    spoilt = prediction.copy()
    spoilt[1, 2] = bad
    found, clean = estimate(metric, y, spoilt), estimate(metric, y, prediction)
    boot = metric_bootstrap(metric, y, spoilt, rng_at(), k=K, n_boot=99)
    for values in (*found, boot.variance, boot.quantile, boot.adjusted_std_error):
        assert np.isnan(values).tolist() == [False, True, False]
    assert (found.std_error[::2] == clean.std_error[::2]).all()


@pytest.mark.parametrize("metric", [R2, CORRELATION], ids=lambda metric: metric.name)
def test_a_constant_response_has_no_explained_share(metric):
    y, prediction = make_pair()
    y[1] = 0.1  # tenths do not add up
    assert np.isnan(estimate(metric, y, prediction).value).tolist() == [False, True, False]
    found = metric_bootstrap(metric, y, prediction, rng_at(), k=K)
    assert found.failed.tolist() == [False, True, False]


def test_a_perfect_prediction_has_no_studentized_quantile():
    y, _ = make_pair()
    for metric in (MSE, MAE, R2):
        found = metric_bootstrap(metric, y, y.copy(), rng_at(), k=K)
        assert found.failed.all()
        assert (found.variance == 0).all()


@pytest.mark.parametrize(
    ("power", "y", "prediction", "defined"),
    [
        (0, -1.0, -2.0, True), (-1, -1.0, 2.0, True), (-1, 1.0, -2.0, False),
        (1, 0.0, 2.0, True), (1, -0.1, 2.0, False), (1, 1.0, 0.0, False),
        (1.5, 0.0, 2.0, True), (2, 0.0, 2.0, False), (2, 1.0, 2.0, True), (3, 0.0, 1.0, False),
    ],
)  # fmt: skip
def test_tweedie_deviance_exists_on_its_domain_only(power, y, prediction, defined):
    ys, predictions = make_pair(1, 5)
    ys[0, 2], predictions[0, 2] = y, prediction
    assert np.isfinite(estimate(tweedie_deviance(power), ys, predictions).value[0]) == defined


# ---------------------------------------------------------------- what is refused
@pytest.mark.parametrize("power", [0.5, np.nan, np.inf])
def test_powers_without_a_distribution_are_refused(power):
    with pytest.raises(DesignError, match=r"belongs to no Tweedie distribution.*at most 0"):
        tweedie_deviance(power)


def test_a_bootstrap_of_no_replicate_is_refused():
    nothing = np.empty((0, 20))
    with pytest.raises(DesignError, match="holds no replicate, so there is nothing to resample"):
        metric_bootstrap(metrics.MSE, nothing, nothing, rng_at(), k=1.5, n_boot=100)
