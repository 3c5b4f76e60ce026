"""The trial of any model by any metric: a plain loop, truths, and models that fail."""

import doctest
import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

from experiments import regression_trial_models, regression_trial_prices
from experiments.regression_trial_models import Config, study
from experiments.regression_trial_prices import METRICS, MODELS
from simstudy.dgps.linear import LinearModel
from simstudy.dgps.prices import Prices
from simstudy.errors import ConfigError, DesignError
from simstudy.identity.names import identity
from simstudy.identity.streams import Streams
from simstudy.stats.bootstrap.losses import bootstrap_indices, replicate_seeds
from simstudy.stats.models.least_squares import fit_each, fit_least_squares
from simstudy.stats.models.metrics import MAE, MSE, R2, estimate
from simstudy.trials import models
from simstudy.trials import study as trial_study
from simstudy.trials.models import Model, ModelTrial
from tests.support import assert_within_mcse

TRIAL = ModelTrial(
    dgp=LinearModel(n_feature=3), models=(MODELS["least_squares"],), metrics=(MSE, R2), sizes=(20,),
    n_train=25, n_boot=80, n_truth=400,
)  # fmt: skip
FAST = {"n_test": [20], "n_truth": 1000, "n_boot": 80, "n_train": 40, "dgps": ["linear"]}


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
    trial = ModelTrial(model, (MODELS["least_squares"],), (MSE, MAE), (20,), n_truth=n_truth)
    truth = trial.true_metrics(new.y, fitted)[:, 0]
    risk = model.risk(train.coefficients, fit_least_squares(train.features, train.y))
    for at, kind in enumerate(("mse", "mae")):
        variance = getattr(risk, f"{kind}_variance") / n_truth
        assert_within_mcse(truth[:, at], getattr(risk, kind), np.sqrt(variance))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_predicts(name):
    drawn = Prices(0.5).draw(np.random.default_rng(1), 1, 60)
    said = MODELS[name].fresh().fit(drawn.features[0], drawn.y[0]).predict(drawn.features[0])
    assert np.corrcoef(said, drawn.y[0])[0, 1] > 0.5


def test_prices_have_the_spread_and_signal_they_declare():
    drawn = Prices(0.5, signal=0.75).draw(np.random.default_rng(2), 40, 5000)
    log = np.log(drawn.y)
    # A replicate's variance has a relative spread of the root of 2 over n.
    assert_within_mcse(log.var(axis=1).mean(), 0.25, 0.25 * np.sqrt(2 / 200000))
    assert drawn.coefficients[0] @ drawn.coefficients[0] == pytest.approx(0.75 * 0.25)


# ---------------------------------------------------------------- the study
def test_models_and_metrics_do_not_move_each_other():
    few = study(Config(**FAST, models=["ridge"], metrics=["r2"])).run(n_rep=5)
    many = study(Config(**FAST, models=["least_squares", "ridge"], metrics=["mse", "r2"]))
    trial = few.plan.scenarios[0]
    two = many.scenarios[0]
    a = trial.simulate(streams(), 5)["null_is_false"][:, 0, :, :, 0]
    b = two.simulate(streams(), 5)["null_is_false"][:, 1, :, :, 1]
    np.testing.assert_array_equal(a, b)


def test_figures_name_sizes_and_data():
    result = study(Config(**FAST, models=["least_squares"], metrics=["mae"])).run(n_rep=100)
    for name in result.figures:
        drawn = result.figure(name).data
        assert set(drawn["x"]) == {20}
    prices = regression_trial_prices.study(
        regression_trial_prices.Config(
            spreads=[0.5], models=["log_least_squares"], metrics=["tweedie_1.5"], n_test=[20],
            n_truth=1000, n_boot=80,
        )
    ).run(n_rep=20)  # fmt: skip
    assert set(prices.figure("null_is_false").data["panel"]) == {"spread of log price 0.5"}


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
    again = pickle.loads(pickle.dumps(replace(TRIAL, metrics=tuple(METRICS.values()))))
    assert [metric.name for metric in again.metrics] == list(METRICS)
    assert again.models == TRIAL.models


def test_the_example_of_the_docstring_runs():
    found = doctest.DocTestFinder().find(trial_study.model_trial_study, globs={})
    assert sum(len(test.examples) for test in found) > 5
    runner = doctest.DocTestRunner()
    assert [runner.run(test).failed for test in found] == [0]


# ---------------------------------------------------------------- what may go wrong
class Faulty(RegressorMixin, BaseEstimator):
    """Fails, or predicts what is no number, where the first response is below zero."""

    def __init__(self, kind: str = "raise") -> None:
        self.kind = kind

    def fit(self, features, y):
        if self.kind == "raise" and y[0] < 0:
            raise ValueError("the solver did not converge")
        self.value_ = np.mean(y)
        self.bad_ = {"nan": np.nan, "inf": np.inf}.get(self.kind, 0.0) if y[0] < 0 else 0.0
        return self

    def predict(self, features):
        return features[:, 0] + self.value_ + self.bad_


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("raise", "ValueError: the solver did not converge"),
        ("nan", "predictions are not finite"),
        ("inf", "predictions are not finite"),
    ],
)
def test_a_model_that_fails_costs_its_own_replicates(monkeypatch, kind, said):
    faulty = Model("ridge", Faulty(kind))
    monkeypatch.setitem(regression_trial_models.MODELS, "ridge", faulty)
    result = study(Config(**FAST, models=["least_squares", "ridge"], metrics=["mse"])).run(20)
    failures = result.failures
    assert 0 < failures["rep"].nunique() < 20
    assert set(failures["model"]) == {"ridge"}
    assert failures["error"].str.contains(said, regex=False).all()
    rows = result.summary.query("measure == 'null_is_false'").set_index("model")
    assert (rows.loc["least_squares", "n_failed"] == 0).all()
    assert (rows.loc["ridge", "n_failed"] == failures["rep"].nunique()).all()


def test_a_metric_without_a_value_is_a_recorded_failure():
    trial = ModelTrial(
        LinearModel(n_feature=3), (MODELS["least_squares"],), (METRICS["tweedie_1.5"], MSE), (20,)
    )
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

    trial = ModelTrial(
        Once(n_feature=3), (MODELS["log_least_squares"],), (MAE,), (20,), n_truth=2000
    )
    error = trial.simulate(streams(), 3)["error"][:, 0, 0, :, 0]
    assert [set(row) for row in error] == [{None}, {models.NO_TRUTH}, {None}]


def test_without_scikit_learn_the_study_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    for module in (regression_trial_models, regression_trial_prices):
        with pytest.raises(ConfigError, match=r"pip install 'simstudy\[models\]'"):
            module.study(module.Config())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"n_boot": 20}, r"n_boot=20 leaves 1\.3 resamples beyond the quantile"),
        ({"n_test": [500]}, r"n_truth=1000 fresh observations know the true metric hardly better"),
        ({"power": 0.01}, r"power=0\.01 is not above alpha=0\.05"),
    ],
)
def test_a_study_without_an_answer_is_refused(settings, said):
    with pytest.raises(DesignError, match=said):
        study(Config(**FAST | settings))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"models": ["tree"]}, r"models=\[tree\]: allowed is text one of least_squares, ridge"),
        ({"metrics": ["mape"]}, r"metrics=\[mape\]: allowed is text one of mse, mae"),
        ({"n_truth": 10}, r"n_truth=10: allowed is a whole number at least 1000"),
    ],
)
def test_a_setting_out_of_range_is_refused(settings, said):
    with pytest.raises(ConfigError, match=said):
        Config(**settings)


def test_prices_without_noise_are_refused():
    with pytest.raises(DesignError, match=r"Prices\(spread=0, signal=0\.5\) has no prices"):
        Prices(0.0, signal=0.5)
