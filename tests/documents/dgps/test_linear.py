"""Draws against the declared truth, and the truth against adaptive quadrature."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy import stats

from simstudy.documents.dgps.friedman import Friedman
from simstudy.documents.dgps.linear import LinearModel, RandomCoefficients, folded_normal_mean
from simstudy.documents.dgps.prices import Prices
from simstudy.documents.stats.models.least_squares import LinearFit, fit_least_squares
from simstudy.errors import DesignError
from tests.documents.draws import rng_at
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

EPS = float(np.finfo(float).eps)
PLAIN = LinearModel(n_feature=3, noise_variance=1.5)


def make_fit(n_rep: int = 1, intercept: float = 0.7) -> LinearFit:
    """Predictors that are wrong in every way: level, size and direction."""
    coefficients = np.array([0.8, -0.1, 0.3]) + 0.1 * np.arange(n_rep)[:, np.newaxis]
    return LinearFit(np.full(n_rep, intercept), coefficients, np.ones(n_rep, dtype=bool))


def truth(model: LinearModel, n_rep: int = 1) -> np.ndarray:
    return model.draw_coefficients(rng_at(3), n_rep)


@pytest.mark.parametrize("mean", [-3.0, 0.0, 0.4])
def test_folded_normal_mean_is_its_integral(mean):
    with mpmath.workdps(20):
        integral = mpmath.quad(
            lambda e: abs(e) * mpmath.npdf(e, mean, mpmath.sqrt(2)), [-mpmath.inf, 0, mpmath.inf]
        )
    found = folded_normal_mean(np.array(mean), np.array(2.0))
    assert float(found) == pytest.approx(float(integral), rel=20 * EPS)


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


def test_a_replicate_without_a_fit_has_no_risk():
    features, y, coefficients = PLAIN.draw(rng_at(), 3, 10)
    features[1, :, 2] = features[1, :, 0]
    fit = fit_least_squares(features, y)
    for with_intercept in (True, False):
        risk = PLAIN.risk(coefficients, fit, with_intercept=with_intercept)
        assert np.isnan(risk).all(axis=0).tolist() == [False, True, False]
    errors = PLAIN.draw_errors(rng_at(), coefficients, fit, 5)
    assert np.isnan(errors).all(axis=1).tolist() == [False, True, False]


@pytest.mark.parametrize("about", [{"curvature": 1.0}, {"heteroskedasticity": 0.5}, {"df": 3.0}])
def test_models_without_a_known_law_refuse_its_use(about):
    model = replace(PLAIN, **about)
    with pytest.raises(DesignError, match=f"{next(iter(about))}.*no known law"):
        model.risk(truth(PLAIN), make_fit())
    with pytest.raises(DesignError, match="no known law"):
        model.draw_fit(rng_at(), 2, 10)


def errors_from_features(coefficients, fit, n_obs):
    features, y, _ = PLAIN.draw(rng_at(6), 1, n_obs, coefficients)
    return y - fit.predict(features)


def errors_by_law(coefficients, fit, n_obs):
    return PLAIN.draw_errors(rng_at(8), coefficients, fit, n_obs)


def compare_with_risk(route, *, with_intercept=True):
    """Both metrics, in enough errors to notice the square of a fitted intercept of 0.7."""
    coefficients, fit = truth(PLAIN), make_fit()
    claim = PLAIN.risk(coefficients, fit, with_intercept=with_intercept)
    other = PLAIN.risk(coefficients, fit, with_intercept=not with_intercept)
    sds = np.sqrt([claim.mse_variance[0], claim.mae_variance[0]])
    gaps = np.abs([claim.mse[0] - other.mse[0], claim.mae[0] - other.mae[0]])
    n_obs = max(replicates_to_catch(gap / 4, sd, 2) for gap, sd in zip(gaps, sds, strict=True))
    error = route(coefficients, fit, n_obs)
    found = [(error**2).mean(), np.abs(error).mean()]
    assert_within_mcse(found, [claim.mse[0], claim.mae[0]], sds / np.sqrt(n_obs))


@pytest.mark.parametrize("route", [errors_from_features, errors_by_law])
def test_every_route_to_an_error_has_the_declared_risk(route):
    compare_with_risk(route)


def test_that_test_catches_the_risk_without_the_intercept():
    with pytest.raises(AssertionError, match="suspect the code"):
        compare_with_risk(errors_from_features, with_intercept=False)


def test_bent_models_are_the_plain_one_with_the_stated_departures():
    """On the same random numbers: of signal u and noise ε, curvature and spread follow z = u/τ."""
    plain = PLAIN.draw(rng_at(), 2, 50)
    bent = replace(PLAIN, curvature=0.8, heteroskedasticity=-0.5).draw(rng_at(), 2, 50)
    assert (plain.features == bent.features).all()
    for rep in range(2):
        theta = plain.coefficients[rep]
        u, tau = plain.features[rep] @ theta, np.sqrt(theta @ theta)
        z, noise = u / tau, plain.y[rep] - u
        curved = u + 0.8 * tau * (z**2 - 1) / np.sqrt(2)
        wanted = curved + np.exp(-0.5 * z - 0.25) * noise
        np.testing.assert_allclose(bent.y[rep], wanted, rtol=100 * EPS, atol=100 * EPS)


def test_heavy_tails_have_unit_variance():
    n_obs, df = 10_000, 10.0
    model = LinearModel(n_feature=1, coefficient=0.0, noise_variance=4.0, df=df)
    noise = model.draw(rng_at(), 1, n_obs).y[0] / 2
    rank = stats.t.cdf(noise * np.sqrt(df / (df - 2)), df)
    assert_within_mcse(rank.mean(), 0.5, UNIFORM_SD / np.sqrt(n_obs))
    spread = np.sqrt(1 / 180)  # of the square of a uniform about its mean
    assert_within_mcse(((rank - 0.5) ** 2).mean(), 1 / 12, spread / np.sqrt(n_obs))
    normal = stats.norm.cdf(noise)
    assert_caught(((normal - 0.5) ** 2).mean(), 1 / 12, spread / np.sqrt(n_obs))


def test_coefficients_are_redrawn_with_even_signs():
    n_rep = replicates_to_catch(0.05, 0.5, 20)
    _, _, coefficients = LinearModel().draw(rng_at(), n_rep, 1)
    assert (np.abs(coefficients) == 0.5).all()
    assert_within_mcse((coefficients > 0).mean(axis=0), 0.5, 0.5 / np.sqrt(n_rep))


def test_random_coefficients_have_the_fourth_moment_of_normals():
    """Signs have 1 where normals have 3: the second moment does not tell them apart."""
    n = replicates_to_catch(1.0, sd=np.sqrt(96))
    fixed = LinearModel(n_feature=1, coefficient=1.0).draw_coefficients(rng_at(), n)
    normal = RandomCoefficients().draw_coefficients(rng_at(), n)
    assert_within_mcse((normal**4).mean(), 3, np.sqrt(96 / n))
    assert_caught((fixed**4).mean(), 3, np.sqrt(96 / n))


def fit_to_data(n_rep, n_obs):
    train = PLAIN.draw(rng_at(6), n_rep, n_obs)
    return train.coefficients, fit_least_squares(train.features, train.y)


def fit_by_law(n_rep, n_obs):
    return PLAIN.draw_fit(rng_at(7), n_rep, n_obs)


N_TRAIN = 7
UNIFORM_SD = 1 / np.sqrt(12)
N_FIT = replicates_to_catch(0.02, UNIFORM_SD, 5)


def compare_with_law(route, df):
    """Ranks of size, intercept and direction of a fit's error: uniform and independent."""
    coefficients, fit = route(N_FIT, N_TRAIN)
    gap, p = fit.coefficients - coefficients, PLAIN.n_feature
    size = (gap**2).sum(axis=1)
    level = fit.intercept / np.sqrt((PLAIN.noise_variance + size) / N_TRAIN)
    ranks = np.stack([
        stats.f.cdf(size / PLAIN.noise_variance * df / p, p, df),
        stats.norm.cdf(level),
        stats.beta.cdf(gap[:, 0] ** 2 / size, 0.5, (p - 1) / 2),
    ])  # fmt: skip
    products = [12 * (ranks[i] - 0.5) * (ranks[j] - 0.5) for i, j in ((0, 1), (0, 2))]
    found = [*ranks.mean(axis=1), *np.mean(products, axis=1)]
    sds = [UNIFORM_SD] * 3 + [1.0] * 2
    assert_within_mcse(found, [0.5] * 3 + [0.0] * 2, np.array(sds) / np.sqrt(N_FIT))


@pytest.mark.parametrize("route", [fit_to_data, fit_by_law])
def test_a_fit_by_its_law_is_a_fit_to_data(route):
    compare_with_law(route, N_TRAIN - 3)


def test_that_test_catches_a_degree_of_freedom_lost():
    with pytest.raises(AssertionError, match="suspect the code"):
        compare_with_law(fit_to_data, N_TRAIN - 4)  # counts the intercept twice


def test_prices_have_the_spread_and_signal_they_declare():
    drawn = Prices(0.5, signal=0.75).draw(np.random.default_rng(2), 40, 5000)
    log = np.log(drawn.y)
    # A replicate's variance has a relative spread of the root of 2 over n.
    assert_within_mcse(log.var(axis=1).mean(), 0.25, 0.25 * np.sqrt(2 / 200000))
    assert drawn.coefficients[0] @ drawn.coefficients[0] == pytest.approx(0.75 * 0.25)
    np.testing.assert_array_equal(drawn.y, drawn.y.astype(np.float32))  # alike on all processors


def test_friedmans_function_is_the_published_one():
    features = np.random.default_rng(1).random((3, 4, 6))
    found = Friedman(n_feature=6).mean_of(features)
    for rep, obs in np.ndindex(3, 4):
        a, b, c, d, e, _ = features[rep, obs]
        expected = 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
        np.testing.assert_allclose(found[rep, obs], expected, rtol=4 * np.finfo(float).eps)


def test_noise_of_friedmans_function_is_about_the_mean_of_the_features():
    process = Friedman(n_feature=5, noise_sd=3.0)
    drawn = process.sample(np.random.default_rng(4), 400, 50)
    noise = (drawn.y - process.mean_of(drawn.features)) / 3.0
    assert_within_mcse((noise**2).mean(), 1.0, np.sqrt(2 / noise.size))
