"""Draws against the declared truth, and the truth against adaptive quadrature."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy import special
from scipy import stats as scipy_stats

from simstudy.documents.dgps.linear import LinearModel
from simstudy.documents.dgps.prices import Prices
from simstudy.documents.stats.models.least_squares import LinearFit, fit_least_squares
from simstudy.documents.stats.models.risk import (
    folded_normal_mean,
    normal_expectation,
    student_mixture,
)
from tests.documents.stats.draws import rng_at
from tests.support import assert_within_mcse, replicates_to_catch

EPS = float(np.finfo(float).eps)
PLAIN = LinearModel(n_feature=3, noise_variance=1.5)
MODELS = {
    "plain": PLAIN,
    "correlated": replace(PLAIN, correlation=0.6),
    "curved": replace(PLAIN, curvature=0.8),
    "heteroskedastic": replace(PLAIN, heteroskedasticity=0.5),
    "heavy tails": replace(PLAIN, df=5.0),
    "all": replace(PLAIN, correlation=-0.4, curvature=0.5, heteroskedasticity=-0.3, df=6.0),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


def make_fit(n_rep: int = 1, intercept: float = 0.7) -> LinearFit:
    """Predictors that are wrong in every way: level, size and direction."""
    coefficients = np.array([0.8, -0.1, 0.3]) + 0.1 * np.arange(n_rep)[:, np.newaxis]
    return LinearFit(np.full(n_rep, intercept), coefficients, np.ones(n_rep, dtype=bool))


def truth(model: LinearModel, n_rep: int = 1) -> np.ndarray:
    return model.draw_coefficients(rng_at(3), n_rep)


# ---------------------------------------------------------------- theory
@pytest.mark.parametrize("mean", [-3.0, 0.0, 0.4])
def test_folded_normal_mean_is_its_integral(mean):
    with mpmath.workdps(20):
        integral = mpmath.quad(
            lambda e: abs(e) * mpmath.npdf(e, mean, mpmath.sqrt(2)), [-mpmath.inf, 0, mpmath.inf]
        )
    found = folded_normal_mean(np.array(mean), np.array(2.0))
    assert float(found) == pytest.approx(float(integral), rel=20 * EPS)


@pytest.mark.parametrize("df", [2.05, 3.0, 30.0, 1e6])
def test_student_mixture_has_the_absolute_mean_of_a_student_t(df):
    variance, weight = student_mixture(df)
    mixed = weight @ folded_normal_mean(np.zeros_like(variance), variance)
    assert mixed == pytest.approx(
        2 * np.sqrt(df - 2) / (df - 1) / special.beta(df / 2, 0.5), rel=1e-9
    )


def test_normal_expectation_is_nan_where_it_does_not_converge():
    found = normal_expectation(lambda z: np.stack([z**2, 1e3 * np.abs(z - 0.01), z * np.nan]))
    assert found[0] == pytest.approx(1, rel=10 * EPS)
    assert np.isnan(found).tolist() == [False, True, True]


def integral(model: LinearModel, fit: LinearFit, loss) -> float:
    """E of a loss over signal and noise by a product rule; `loss(mean, variance)` of a normal.

    The noise goes on a grid of sinh(x), so that its tail is reached as a power is: exponentially.
    """
    theta = truth(model)[0]
    covariance = float(model.correlation) ** np.abs(np.subtract.outer(range(3), range(3)))
    gap, tau = theta - fit.coefficients[0], np.sqrt(theta @ covariance @ theta)
    slope = gap @ covariance @ theta / tau
    z, x = np.arange(-14, 14, 1 / 32)[:, np.newaxis], np.arange(-45, 45, 1 / 16)
    normal = np.isinf(model.df)
    epsilon = np.sinh(x) * (1.0 if normal else np.sqrt((model.df - 2) / model.df))
    density = (
        scipy_stats.norm.pdf(np.sinh(x)) if normal else scipy_stats.t.pdf(np.sinh(x), model.df)
    )
    weight = scipy_stats.norm.pdf(z) / 32 * density * np.cosh(x) / 16
    spread = np.exp(model.heteroskedasticity * z - model.heteroskedasticity**2)
    mean = slope * z + model.curvature * tau * (z**2 - 1) / np.sqrt(2) - fit.intercept[0]
    mean = mean + np.sqrt(model.noise_variance) * spread * epsilon
    rest = np.full_like(mean, gap @ covariance @ gap - slope**2)
    return float((loss(mean, rest) * weight).sum())


@every_model
def test_risk_is_an_integral_over_signal_and_noise(model):
    fit = make_fit()
    risk = model.risk(truth(model), fit)
    mse = integral(model, fit, lambda m, v: m**2 + v)
    fourth = integral(model, fit, lambda m, v: m**4 + 6 * m**2 * v + 3 * v**2)
    mae = integral(model, fit, folded_normal_mean)
    assert risk.mse[0] == pytest.approx(mse, rel=1e-8)
    assert risk.mae[0] == pytest.approx(mae, rel=1e-8)
    assert risk.mse_variance[0] == pytest.approx(fourth - mse**2, rel=1e-8)
    assert risk.mae_variance[0] == pytest.approx(mse - mae**2, rel=1e-8)


def test_risk_of_the_plain_model_is_the_published_formula():
    coefficients, fit = truth(PLAIN, 4), make_fit(4)
    variance = 1.5 + ((coefficients - fit.coefficients) ** 2).sum(axis=1)
    published = PLAIN.risk(coefficients, fit, with_intercept=False)
    np.testing.assert_allclose(published.mse, variance, rtol=10 * EPS)
    np.testing.assert_allclose(published.mae, np.sqrt(variance * 2 / np.pi), rtol=10 * EPS)
    np.testing.assert_allclose(published.mse_variance, 2 * variance**2, rtol=20 * EPS)
    whole = PLAIN.risk(coefficients, fit)
    np.testing.assert_allclose(whole.mse, variance + 0.7**2, rtol=10 * EPS)
    np.testing.assert_allclose(
        whole.mse_variance, 2 * variance**2 + 4 * 0.7**2 * variance, rtol=20 * EPS
    )


def test_a_fourth_moment_that_does_not_exist_is_infinite():
    risk = replace(PLAIN, df=4.0).risk(truth(PLAIN), make_fit())
    assert np.isinf(risk.mse_variance).all()
    assert np.isfinite([risk.mse, risk.mae, risk.mae_variance]).all()


@every_model
def test_a_replicate_without_a_fit_has_no_risk(model):
    features, y, coefficients = model.draw(rng_at(), 3, 10)
    features[1, :, 2] = features[1, :, 0]
    fit = fit_least_squares(features, y)
    for with_intercept in (True, False):
        risk = model.risk(coefficients, fit, with_intercept=with_intercept)
        assert np.isnan(risk).all(axis=0).tolist() == [False, True, False]
    errors = model.draw_errors(rng_at(), coefficients, fit, 5)
    assert np.isnan(errors).all(axis=1).tolist() == [False, True, False]


# ---------------------------------------------------------------- draws
def errors_from_features(model, coefficients, fit, n_obs):
    features, y, _ = model.draw(rng_at(6), 1, n_obs, coefficients)
    return y - fit.predict(features)


def errors_from_outcomes(model, coefficients, fit, n_obs):
    y, prediction = model.draw_outcomes(rng_at(7), coefficients, fit, n_obs)
    return y - prediction


def errors_alone(model, coefficients, fit, n_obs):
    return model.draw_errors(rng_at(8), coefficients, fit, n_obs)


ROUTES = [errors_from_features, errors_from_outcomes, errors_alone]


def compare_with_risk(model, route, *, with_intercept=True):
    """Both metrics, in enough errors to notice the square of a fitted intercept of 0.7."""
    coefficients, fit = truth(model), make_fit()
    claim = model.risk(coefficients, fit, with_intercept=with_intercept)
    other = model.risk(coefficients, fit, with_intercept=not with_intercept)
    sds = np.sqrt([claim.mse_variance[0], claim.mae_variance[0]])
    gaps = np.abs([claim.mse[0] - other.mse[0], claim.mae[0] - other.mae[0]])
    n_obs = max(replicates_to_catch(gap / 4, sd, 2) for gap, sd in zip(gaps, sds, strict=True))
    error = route(model, coefficients, fit, n_obs)
    found = [(error**2).mean(), np.abs(error).mean()]
    assert_within_mcse(found, [claim.mse[0], claim.mae[0]], sds / np.sqrt(n_obs))


@pytest.mark.parametrize("model", [PLAIN, MODELS["all"]], ids=["plain", "all"])
@pytest.mark.parametrize("route", ROUTES)
def test_every_route_to_an_error_has_the_declared_risk(model, route):
    compare_with_risk(model, route)


def test_that_test_catches_the_risk_without_the_intercept():
    with pytest.raises(AssertionError, match="suspect the code"):
        compare_with_risk(PLAIN, errors_from_features, with_intercept=False)


@pytest.mark.parametrize("model", [PLAIN, MODELS["correlated"]])
def test_predictions_go_with_responses_as_features_make_them(model):
    coefficients, fit = truth(model), make_fit(intercept=0.0)
    covariance = model._inner(coefficients, fit.coefficients)[0]
    var_y = model.signal_sd(coefficients)[0] ** 2 + model.noise_variance
    var_prediction = model._inner(fit.coefficients, fit.coefficients)[0]
    sd = np.sqrt(var_y * var_prediction + covariance**2)  # of a product of two normals
    n_obs = replicates_to_catch(0.1 * sd, sd, 2)
    y, prediction = model.draw_outcomes(rng_at(), coefficients, fit, n_obs)
    features, response, _ = model.draw(rng_at(), 1, n_obs, coefficients)
    found = [(y * prediction).mean(), (response * fit.predict(features)).mean()]
    assert_within_mcse(found, covariance, sd / np.sqrt(n_obs))


@pytest.mark.parametrize("rho", [0.0, 0.6, -0.4])
def test_features_have_the_declared_correlations(rho):
    expected = rho ** np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    sd = np.sqrt(1 + expected**2)
    n_obs = replicates_to_catch(0.1, sd.max(), 16)
    features, _, _ = replace(PLAIN, n_feature=4, correlation=rho).draw(rng_at(), 1, n_obs)
    assert_within_mcse(features[0].T @ features[0] / n_obs, expected, sd / np.sqrt(n_obs))


def test_coefficients_are_redrawn_with_even_signs():
    n_rep = replicates_to_catch(0.05, 0.5, 20)
    _, _, coefficients = LinearModel().draw(rng_at(), n_rep, 1)
    assert (np.abs(coefficients) == 0.5).all()
    assert_within_mcse((coefficients > 0).mean(axis=0), 0.5, 0.5 / np.sqrt(n_rep))


def fit_to_data(model, n_rep, n_obs):
    train = model.draw(rng_at(6), n_rep, n_obs)
    return train.coefficients, fit_least_squares(train.features, train.y)


def fit_by_law(model, n_rep, n_obs):
    return model.draw_fit(rng_at(7), n_rep, n_obs)


N_TRAIN = 7
UNIFORM_SD = 1 / np.sqrt(12)
N_FIT = replicates_to_catch(0.02, UNIFORM_SD, 5)


def ranks_of_a_fit(model, route, df):
    """Of size, intercept and direction of a fit's error in their laws: uniform and independent."""
    coefficients, fit = route(model, N_FIT, N_TRAIN)
    gap, p = fit.coefficients - coefficients, model.n_feature
    lag = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    white = gap @ np.linalg.cholesky(float(model.correlation) ** lag)
    size = (white**2).sum(axis=1)
    level = fit.intercept / np.sqrt((model.noise_variance + size) / N_TRAIN)
    return np.stack(
        [
            scipy_stats.f.cdf(size / model.noise_variance * df / p, p, df),
            scipy_stats.norm.cdf(level),
            scipy_stats.beta.cdf(white[:, 0] ** 2 / size, 0.5, (p - 1) / 2),
        ]
    )


def compare_with_law(model, route, df):
    ranks = ranks_of_a_fit(model, route, df)
    products = [12 * (ranks[i] - 0.5) * (ranks[j] - 0.5) for i, j in ((0, 1), (0, 2))]
    found = [*ranks.mean(axis=1), *np.mean(products, axis=1)]
    sds = [UNIFORM_SD] * 3 + [1.0] * 2
    assert_within_mcse(found, [0.5] * 3 + [0.0] * 2, np.array(sds) / np.sqrt(N_FIT))


@pytest.mark.parametrize("route", [fit_to_data, fit_by_law])
@pytest.mark.parametrize("model", [PLAIN, MODELS["correlated"]], ids=["plain", "correlated"])
def test_a_fit_by_its_law_is_a_fit_to_data(model, route):
    compare_with_law(model, route, N_TRAIN - 3)


def test_that_test_catches_a_degree_of_freedom_lost():
    with pytest.raises(AssertionError, match="suspect the code"):
        compare_with_law(PLAIN, fit_to_data, N_TRAIN - 4)  # counts the intercept twice


def test_models_whose_fit_has_no_law_are_fitted_to_data():
    for name in ("curved", "heteroskedastic", "heavy tails"):
        coefficients, fit = MODELS[name].draw_fit(rng_at(6), 4, 30)
        again, refit = fit_to_data(MODELS[name], 4, 30)
        assert (coefficients == again).all()
        assert (fit.coefficients == refit.coefficients).all()


def test_prices_have_the_spread_and_signal_they_declare():
    drawn = Prices(0.5, signal=0.75).draw(np.random.default_rng(2), 40, 5000)
    log = np.log(drawn.y)
    # A replicate's variance has a relative spread of the root of 2 over n.
    assert_within_mcse(log.var(axis=1).mean(), 0.25, 0.25 * np.sqrt(2 / 200000))
    assert drawn.coefficients[0] @ drawn.coefficients[0] == pytest.approx(0.75 * 0.25)
