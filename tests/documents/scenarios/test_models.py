"""The trial of any model by any metric: a plain loop, truths, and values that are none."""

import pickle
from dataclasses import replace

import numpy as np

from simstudy.documents.dgps.linear import LinearModel
from simstudy.documents.scenarios import models
from simstudy.documents.scenarios.models import Model, ModelTrial, try_model
from simstudy.documents.stats.mean_bootstrap import replicate_seeds
from simstudy.documents.stats.models.metrics import MAE, MSE, R2, tweedie_deviance
from simstudy.provenance.scenario_id import identity
from tests.documents.draws import bootstrap_indices, streams
from tests.documents.stats.models.linear_models import LinearRegression, Ridge
from tests.documents.stats.models.test_metrics import estimate

LEAST_SQUARES = Model("least_squares", LinearRegression)
RIDGE = Model("ridge", Ridge)
TWEEDIE = tweedie_deviance(1.5)
TRIAL = ModelTrial(
    dgp=LinearModel(n_feature=3), metrics=(MSE, R2), sizes=(20,), n_train=25, n_boot=80,
    n_truth=400,
)  # fmt: skip


def tried(trial: ModelTrial, model: Model, n_rep: int):
    data = trial.draw(streams(), n_rep)
    return try_model(model, trial, streams(model.name), **data)


def plain_stage(metric, y, prediction, seed, k):
    """Estimate and both standard errors of a loss: minus the metric, where more is better."""
    sign, drawn = metric.lower_is_better or -1, bootstrap_indices(seed, len(y), TRIAL.n_boot)
    value = estimate(metric, y[None], prediction[None])[0][0]
    values, _, std_errors = estimate(metric, y[drawn], prediction[drawn])
    t = sign * (values - value) / std_errors
    quantile = np.quantile(t, 0.06680720126885807)  # Phi(-1.5)
    return sign * value, np.array([values.std() * -quantile / k, values.std()])


def test_a_block_is_the_plain_loop():
    n_rep, design = 2, TRIAL.design(20)
    found = tried(TRIAL, LEAST_SQUARES, n_rep)
    rng = streams()("data")
    train = TRIAL.dgp.draw(rng, n_rep, TRIAL.n_train)
    new = TRIAL.dgp.draw(rng, n_rep, 20 + design.n2 + TRIAL.n_truth, train.coefficients)
    for at, metric in enumerate(TRIAL.metrics):
        boot = streams("least_squares")(f"bootstrap 20 {metric.name}")
        seeds = [replicate_seeds(boot, n_rep)[:, 0] for _ in range(2)]
        for rep in range(n_rep):
            model = LinearRegression().fit(train.features[rep], train.y[rep])
            said, y = model.predict(new.features[rep]), new.y[rep]
            first = plain_stage(metric, y[:20], said[:20], seeds[0][rep], TRIAL.k)
            part = slice(20, 20 + design.n2)
            second = plain_stage(metric, y[part], said[part], seeds[1][rep], TRIAL.k)
            fresh = y[None, -TRIAL.n_truth :], said[None, -TRIAL.n_truth :]
            (truth,) = estimate(metric, *fresh)[0]
            bound = first[0] + TRIAL.k * first[1]
            z = (second[0] - bound) / second[1]
            sign = 1 if metric.lower_is_better else -1
            cell = rep, 0, slice(None), at
            np.testing.assert_array_equal(found["reject"][cell], z < design.critical_value)
            np.testing.assert_array_equal(found["null_is_false"][cell], bound > sign * truth)


def test_metrics_do_not_move_each_other():
    few, many = (replace(TRIAL, metrics=metrics) for metrics in ((R2,), (MSE, R2)))
    alone, among_others = (tried(trial, RIDGE, 5)["null_is_false"] for trial in (few, many))
    np.testing.assert_array_equal(alone[..., 0], among_others[..., 1])


def test_metrics_are_named_as_parts():
    """By their names alone, so that numbers stay where they were when a table named them."""
    assert identity(TRIAL) == (
        "ModelTrial(dgp=LinearModel(n_feature=3),metrics=('mse','r2'),n_boot=80,"
        "n_train=25,n_truth=400,sizes=(20))"
    )


def test_models_and_metrics_reach_a_worker_process():
    whole = replace(TRIAL, metrics=(MSE, R2, TWEEDIE)), RIDGE
    trial, model = pickle.loads(pickle.dumps(whole))
    assert [metric.name for metric in trial.metrics] == ["mse", "r2", "tweedie_1.5"]
    assert model == RIDGE


class Overwriting(LinearRegression):
    """Uses the memory of what it is given, as `copy_X=False` and the like allow."""

    def fit(self, X, y):
        super().fit(X.copy(), y.copy())
        X[:], y[:] = np.nan, np.nan
        return self

    def predict(self, X):
        said = super().predict(X.copy())
        X[:] = np.nan
        return said


def test_a_model_may_write_into_what_it_is_given():
    data = TRIAL.draw(streams(), 4)
    for array in data.values():
        array.flags.writeable = False
    found, expected = (
        try_model(Model("line", kind()), TRIAL, streams("line"), **data)
        for kind in (Overwriting, LinearRegression)
    )
    assert found.keys() == expected.keys()
    for name, column in expected.items():
        np.testing.assert_array_equal(found[name], column)


def test_a_metric_without_a_value_is_a_recorded_failure():
    trial = ModelTrial(LinearModel(n_feature=3), (TWEEDIE, MSE), (20,))
    columns = tried(trial, LEAST_SQUARES, 3)  # responses below zero have no such deviance
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

    trial = ModelTrial(Once(n_feature=3), (MAE,), (20,), n_truth=2000)
    error = tried(trial, LEAST_SQUARES, 3)["error"][:, 0, :, 0]
    assert [set(row) for row in error] == [{None}, {models.NO_TRUTH}, {None}]
