"""Least squares against scikit-learn, exact fits, and designs that have no answer."""

import numpy as np
import pytest

from simstudy.documents.stats.models.least_squares import fit_each, fit_least_squares
from tests.documents.draws import rng_at
from tests.documents.stats.models.linear_models import LinearRegression, Ridge

EPS = float(np.finfo(float).eps)


def make_training(n_rep: int = 4, n_obs: int = 30, n_feature: int = 5):
    features = rng_at(1).standard_normal((n_rep, n_obs, n_feature)) + 2.0
    return features, features.sum(axis=2) + rng_at(2).standard_normal((n_rep, n_obs))


@pytest.mark.parametrize(("n_obs", "n_feature"), [(30, 5), (150, 20), (6, 5), (12, 1)])
def test_fit_and_prediction_are_those_of_scikit_learn(n_obs, n_feature):
    features, y = make_training(4, n_obs, n_feature)
    fit, new = fit_least_squares(features, y), rng_at(3).standard_normal((4, 7, n_feature))
    assert fit.full_rank.all()
    for rep in range(4):
        model = LinearRegression().fit(features[rep], y[rep])
        # Two backward-stable solutions differ by rounding times the condition of the design.
        rounding = 100 * n_obs * EPS * np.linalg.cond(features[rep] - features[rep].mean(axis=0))
        size = np.abs(model.coef_).max() + abs(model.intercept_)
        np.testing.assert_allclose(fit.coefficients[rep], model.coef_, atol=rounding * size)
        np.testing.assert_allclose(fit.intercept[rep], model.intercept_, atol=rounding * size)
        found = fit.predict(new)[rep]
        np.testing.assert_allclose(found, model.predict(new[rep]), atol=10 * rounding * size)


def test_units_of_the_features_do_not_decide_their_rank():
    features, y = make_training()
    units = np.array([1e-9, 1.0, 1e12, 1e3, 1e-3])
    fit, plain = fit_least_squares(features * units, y), fit_least_squares(features, y)
    assert fit.full_rank.all()
    np.testing.assert_allclose(fit.coefficients * units, plain.coefficients, rtol=1e4 * EPS)


SPOIL = {  # replicate 2
    "repeated feature": lambda x, y: np.copyto(x[2, :, 4], x[2, :, 0]),
    "linear combination": lambda x, y: np.copyto(x[2, :, 1], 0.3 * x[2, :, 0] - 0.7 * x[2, :, 3]),
    "constant feature": lambda x, y: x[2, :, 3].fill(0.1),  # tenths do not add up
    "zero feature": lambda x, y: x[2, :, 0].fill(0),
    "feature not finite": lambda x, y: x[2, 5:6, 0].fill(np.inf),
    "response not finite": lambda x, y: y[2, 5:6].fill(np.inf),
}


@pytest.mark.parametrize("spoil", SPOIL.values(), ids=SPOIL)
def test_a_replicate_without_a_fit_is_recorded_and_spoils_no_other(spoil):
    features, y = make_training()
    clean = fit_least_squares(features, y)
    spoil(features, y)
    fit = fit_least_squares(features, y)
    assert fit.full_rank.tolist() == [True, True, False, True]
    assert np.isnan(fit.coefficients[2]).all()
    assert np.isnan(fit.predict(np.ones((4, 3, 5)))[2]).all()
    assert np.isnan(fit.intercept[2])
    rest = fit.full_rank
    assert (fit.coefficients[rest] == clean.coefficients[rest]).all()


def test_each_replicate_has_its_own_fit():
    features, y = make_training()
    new = rng_at(3).standard_normal((4, 7, 5))
    found = fit_each(Ridge(alpha=2.0), features, y, new, rng_at())
    assert found.failures == ()
    for rep in range(4):
        assert (
            found.prediction[rep] == Ridge(2.0).fit(features[rep], y[rep]).predict(new[rep])
        ).all()


def test_random_states_come_from_the_generator_alone():
    features, y = make_training()
    new = rng_at(3).standard_normal((4, 50, 5))
    tree_module = pytest.importorskip("sklearn.tree")
    pipeline = pytest.importorskip("sklearn.pipeline").make_pipeline
    scaler = pytest.importorskip("sklearn.preprocessing").StandardScaler()
    tree = pipeline(scaler, tree_module.DecisionTreeRegressor(max_features=1))
    first, again, other = (
        fit_each(tree, features, y, new, rng_at(seed)).prediction for seed in (1, 1, 2)
    )
    assert (first == again).all()
    assert (first != other).any()
    assert (fit_each(tree, features[:2], y[:2], new[:2], rng_at(1)).prediction == first[:2]).all()
    assert not hasattr(tree, "n_features_in_")
    assert tree.get_params()["decisiontreeregressor__random_state"] is None


class Diverging(Ridge):
    def predict(self, features):
        prediction = super().predict(features)
        return np.where(features[:, 0] > 1e3, np.inf, prediction)


def test_failures_are_data():
    features, y = make_training()
    y[1, 3] = np.nan
    new = rng_at(3).standard_normal((4, 7, 5))
    new[2, :2, 0] = 1e6
    found = fit_each(Diverging(), features, y, new, rng_at())
    assert [failure.replicate for failure in found.failures] == [1, 2]
    assert found.failures[0].error.startswith("ValueError: Input y contains NaN")
    assert found.failures[1].error == "FloatingPointError: 2 of 7 predictions are not finite"
    assert np.isnan(found.prediction).all(axis=1).tolist() == [False, True, True, False]
    assert np.isfinite(found.prediction[[0, 3]]).all()
