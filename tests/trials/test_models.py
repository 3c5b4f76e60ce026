"""The trial of any model by any metric: a plain loop, truths, and values that are none."""

import pickle
from dataclasses import replace

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge

from simstudy.dgps.linear import LinearModel
from simstudy.identity.names import identity
from simstudy.identity.streams import Streams
from simstudy.stats.bootstrap.losses import bootstrap_indices, replicate_seeds
from simstudy.stats.models.least_squares import fit_each, fit_least_squares
from simstudy.stats.models.metrics import MAE, MSE, R2, estimate, tweedie_deviance
from simstudy.trials import models
from simstudy.trials.models import Model, ModelTrial
from tests.support import assert_within_mcse

LEAST_SQUARES = Model("least_squares", LinearRegression)
RIDGE = Model("ridge", Ridge)
TWEEDIE = tweedie_deviance(1.5)
TRIAL = ModelTrial(
    dgp=LinearModel(n_feature=3), models=(LEAST_SQUARES,), metrics=(MSE, R2), sizes=(20,),
    n_train=25, n_boot=80, n_truth=400,
)  # fmt: skip


def streams() -> Streams:
    return Streams(1, "models", "scenario", 0)


# ---------------------------------------------------------------- the plain loop
def plain_stage(metric, y, prediction, seed, k):
    """Estimate and both standard errors of a loss: minus the metric, where more is better."""
    sign = 1 if metric.lower_is_better else -1
    value = estimate(metric, y[None], prediction[None]).value[0]
    draws = [
        estimate(metric, y[None, i], prediction[None, i])
        for i in bootstrap_indices(seed, len(y), TRIAL.n_boot)
    ]
    values = np.array([trial.value[0] for trial in draws])
    t = sign * (values - value) / np.array([trial.std_error[0] for trial in draws])
    quantile = np.quantile(t, 0.06680720126885807)  # Phi(-1.5)
    return sign * value, np.array([values.std() * -quantile / k, values.std()])


def test_a_block_is_the_plain_loop():
    n_rep, design = 2, TRIAL.design(20)
    found = TRIAL.simulate(streams(), n_rep)
    rng = streams()("data")
    train = TRIAL.dgp.draw(rng, n_rep, TRIAL.n_train)
    new = TRIAL.dgp.draw(rng, n_rep, 20 + design.n2 + TRIAL.n_truth, train.coefficients)
    for at, metric in enumerate(TRIAL.metrics):
        boot = streams()(f"bootstrap least_squares 20 {metric.name}")
        seeds = [replicate_seeds(boot, n_rep)[:, 0] for _ in range(2)]
        for rep in range(n_rep):
            model = LinearRegression().fit(train.features[rep], train.y[rep])
            said, y = model.predict(new.features[rep]), new.y[rep]
            first = plain_stage(metric, y[:20], said[:20], seeds[0][rep], TRIAL.k)
            part = slice(20, 20 + design.n2)
            second = plain_stage(metric, y[part], said[part], seeds[1][rep], TRIAL.k)
            truth = estimate(metric, y[None, -TRIAL.n_truth :], said[None, -TRIAL.n_truth :]).value[
                0
            ]
            bound = first[0] + TRIAL.k * first[1]
            z = (second[0] - bound) / second[1]
            sign = 1 if metric.lower_is_better else -1
            cell = rep, 0, 0, slice(None), at
            np.testing.assert_array_equal(found["reject"][cell], z < design.critical_value)
            np.testing.assert_array_equal(found["null_is_false"][cell], bound > sign * truth)


def test_fresh_observations_know_the_true_risk():
    """Against theory, in standard errors of the fresh sample."""
    model, n_rep, n_truth = LinearModel(n_feature=3), 20, 10000
    rng = np.random.default_rng(1)
    train = model.draw(rng, n_rep, 40)
    new = model.draw(rng, n_rep, n_truth, train.coefficients)
    fitted = fit_each(LinearRegression(), train.features, train.y, new.features, rng)
    trial = ModelTrial(model, (LEAST_SQUARES,), (MSE, MAE), (20,), n_truth=n_truth)
    truth = trial.true_metrics(new.y, fitted)[:, 0]
    risk = model.risk(train.coefficients, fit_least_squares(train.features, train.y))
    for at, kind in enumerate(("mse", "mae")):
        variance = getattr(risk, f"{kind}_variance") / n_truth
        assert_within_mcse(truth[:, at], getattr(risk, kind), np.sqrt(variance))


def test_models_and_metrics_do_not_move_each_other():
    few = replace(TRIAL, models=(RIDGE,), metrics=(R2,))
    many = replace(TRIAL, models=(LEAST_SQUARES, RIDGE), metrics=(MSE, R2))
    alone = few.simulate(streams(), 5)["null_is_false"][:, 0, :, :, 0]
    among_others = many.simulate(streams(), 5)["null_is_false"][:, 1, :, :, 1]
    np.testing.assert_array_equal(alone, among_others)


# ---------------------------------------------------------------- what a user brings
def test_a_model_and_a_metric_are_named_as_parts():
    """By their names alone, so that numbers stay where they were when a table named them."""
    assert identity(TRIAL) == (
        "ModelTrial(dgp=LinearModel(n_feature=3),metrics=('mse','r2'),models=('least_squares'),"
        "n_boot=80,n_train=25,n_truth=400,sizes=(20))"
    )


def test_an_estimator_is_as_good_as_a_function_that_makes_one():
    made, given = (
        replace(TRIAL, models=(Model("line", estimator),)).simulate(streams(), 3)
        for estimator in (LinearRegression, LinearRegression())
    )
    for name in made:
        np.testing.assert_array_equal(made[name], given[name])


def test_models_and_metrics_reach_a_worker_process():
    again = pickle.loads(pickle.dumps(replace(TRIAL, metrics=(MSE, R2, TWEEDIE))))
    assert [metric.name for metric in again.metrics] == ["mse", "r2", "tweedie_1.5"]
    assert again.models == TRIAL.models


# ---------------------------------------------------------------- what may go wrong
def test_a_metric_without_a_value_is_a_recorded_failure():
    trial = ModelTrial(LinearModel(n_feature=3), (LEAST_SQUARES,), (TWEEDIE, MSE), (20,))
    columns = trial.simulate(streams(), 3)  # responses below zero have no such deviance
    assert set(columns["error"][..., 0].ravel()) == {"the metric is not a finite number"}
    assert (columns["error"][..., 1] == None).all()  # noqa: E711


def test_a_truth_without_a_value_is_a_recorded_failure():
    """Responses are positive but for one of the fresh observations."""

    class Once(LinearModel):
        def draw(self, rng, n_rep, n_obs, coefficients=None):
            drawn = super().draw(rng, n_rep, n_obs, coefficients)
            y = np.exp(drawn.y / 10)
            y[1, -1] = np.nan if n_obs > 1000 else y[1, -1]
            return drawn._replace(y=y)

    trial = ModelTrial(Once(n_feature=3), (LEAST_SQUARES,), (MAE,), (20,), n_truth=2000)
    error = trial.simulate(streams(), 3)["error"][:, 0, 0, :, 0]
    assert [set(row) for row in error] == [{None}, {models.NO_TRUTH}, {None}]
