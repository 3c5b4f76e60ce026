"""Predictive p-values of networks and of others: plain loops, shared data, and what is refused."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from simstudy import Data
from simstudy.documents.dgps.friedman import Friedman
from simstudy.documents.scenarios import predictions as module
from simstudy.documents.scenarios.models import Model
from simstudy.documents.stats.compatible import ESTIMATORS
from simstudy.documents.stats.networks import Network, Training, ensemble_predictions
from simstudy.provenance.scenario_id import identity
from tests.documents.draws import streams
from tests.documents.stats.models.linear_models import LinearRegression
from tests.support import assert_within_mcse, critical_z, replicates_to_catch

EPOCHS = (2, 3)
TRIAL = module.Predictions(Friedman(n_feature=5), n_train=30, n_test=12, n_boot=(4, 6))
NET = module.Networks(Network((6, 4)), Training(EPOCHS, batch_size=10))
LINE = module.Regressor(Model("line", LinearRegression), n_epochs=2)
N_REP = 3


def asked(method, trial=TRIAL, n_rep=N_REP):
    known = {"scenario": trial, "streams": streams("m"), **trial.draw(streams(), n_rep)}
    return method(**{name: known[name] for name in inspect.signature(method).parameters})


def test_every_position_is_a_plain_computation():
    data, found = TRIAL.draw(streams(), N_REP), asked(NET)
    initial, order = (streams("m")(name) for name in ("initial weights", "mini-batches"))
    for rep in range(N_REP):
        y, resamples = data["y"][rep], data["resamples"][rep]
        said = ensemble_predictions(
            NET.network,
            NET.training,
            data["features"][rep],
            y[:30],
            np.vstack([np.arange(30), resamples]),
            initial=initial,
            order=order,
        )
        for at, by_epoch in enumerate(said):
            for place, n_boot in enumerate(TRIAL.n_boot):
                cells = plain_cells(y, resamples[:n_boot], by_epoch[: n_boot + 1])
                for name, expected in cells.items():
                    cell = found[name][rep, at, place]
                    np.testing.assert_allclose(cell, expected, rtol=1e-10)


def plain_cells(y, resamples, said):
    """By SciPy's normal distribution, where none of its tails is lost."""
    unseen = [[m for m in range(len(resamples)) if row not in resamples[m]] for row in range(30)]
    errors = [y[row] - np.mean([said[1 + m, row] for m in seen_not])
              for row, seen_not in enumerate(unseen) if seen_not]  # fmt: skip
    noise, spread = np.sqrt(np.mean(np.square(errors))), said[1:, 30:].std(axis=0, ddof=1)
    about = {"centered": said[0, 30:], "fitted": said[1:, 30:].mean(axis=0)}
    cells = {"log_p": [], "crps": [], "rmse": [], "residual_sd": [noise] * 4}
    for name in module.DISTRIBUTIONS:
        mean = about[name.removesuffix("_noise")]
        sd = np.hypot(spread, noise) if name.endswith("_noise") else spread
        z = (y[30:] - mean) / sd
        cells["log_p"].append(np.log(2) + stats.norm.logsf(np.abs(z)))
        crps = z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi)
        cells["crps"].append(np.mean(sd * crps))
        cells["rmse"].append(np.sqrt(np.mean((mean - y[30:]) ** 2)))
    return cells


def test_a_regressor_is_fitted_to_the_same_samples():
    data, found = TRIAL.draw(streams(), N_REP), asked(LINE)
    for rep in range(N_REP):
        features, y, resamples = (data[name][rep] for name in ("features", "y", "resamples"))
        fits = [LinearRegression().fit(features[r], y[r]) for r in (np.arange(30), *resamples)]
        said = np.stack([fit.predict(features) for fit in fits])
        for place, n_boot in enumerate(TRIAL.n_boot):
            cells = plain_cells(y, resamples[:n_boot], said[: n_boot + 1])
            for name, expected in cells.items():
                for at in range(2):
                    cell = found[name][rep, at, place]
                    np.testing.assert_allclose(cell, expected, rtol=1e-7)


def test_a_fit_that_fails_is_a_recorded_failure():
    class Picky(LinearRegression):
        def fit(self, X, y):
            if y.max() > 24:
                raise ValueError("too high")
            return super().fit(X, y)

    found = asked(replace(LINE, model=Model("picky", Picky)), n_rep=8)
    failed = found["error"] == "ValueError: too high"
    assert 0 < failed.sum() < 8
    np.testing.assert_array_equal(np.isnan(found["rmse"]).any(axis=(1, 2, 3)), failed)


def test_an_observation_that_all_samples_hold_has_no_error():
    y, said = np.array([1.0, 2.0]), np.array([[1.0, 0.0], [3.0, 4.0]])
    assert (
        module.residual_sd(y, said, np.array([[0, 0], [0, 1]])) == 2.0
    )  # of the second, by the first
    assert np.isnan(module.residual_sd(y, said, np.array([[0, 1], [0, 1]])))


def test_a_table_is_split_without_repeating_a_row():
    table = np.arange(30.0).reshape(10, 3)
    drawn = module.TableRows(Data.from_array(table, name="t")).sample(
        np.random.default_rng(1), 4, 10
    )
    for rep in range(4):
        rows = np.column_stack([drawn.features[rep], drawn.y[rep]])
        np.testing.assert_array_equal(rows[rows[:, 0].argsort()], table)
    assert len({tuple(y) for y in drawn.y}) > 1


def test_the_log_is_what_is_predicted():
    value, log = (replace(TRIAL, response=r).draw(streams(), 2) for r in ("value", "log"))
    np.testing.assert_array_equal(log["y"], np.log(value["y"]))
    np.testing.assert_array_equal(log["features"], value["features"])


def test_a_data_set_is_named_by_what_it_holds():
    part = Data.from_array(np.ones((4, 2)), name="ones")
    named = identity(replace(TRIAL, source=module.TableRows(part)))
    assert f"TableRows(data=Data(#{part.sha256[:16]}))" in named


def test_the_truth_has_the_law_of_the_responses():
    found, data = asked(module.Truth(2)), TRIAL.draw(streams(), N_REP)
    mean = TRIAL.source.mean_of(data["features"][:, 30:])
    expected = np.log(2) + stats.norm.logsf(np.abs(data["y"][:, 30:] - mean))
    for place in np.ndindex(2, 2, 4):
        np.testing.assert_allclose(found["log_p"][:, *place], expected, rtol=1e-12)


TOO_NARROW = 0.9  # of the noise: the smallest error worth catching
OFF = 0.5 - 2 / np.pi * np.arctan(TOO_NARROW)  # what it does to the mean of 2 Φ(-|Z| / 0.9)
N_UNIFORM = replicates_to_catch(OFF, sd=np.sqrt(1 / 12), comparisons=2) // TRIAL.n_test + 1


@pytest.mark.parametrize("method", [module.Truth(), module.TrueNulls()])
def test_controls_are_uniform(method):
    p = np.exp(asked(method, n_rep=N_UNIFORM)["log_p"][:, 0, 0, 0]).ravel()
    n = p.size
    for power in (1, 2):
        mean, square = 1 / (power + 1), 1 / (2 * power + 1)
        assert_within_mcse((p**power).mean(), mean, np.sqrt((square - mean**2) / n), comparisons=2)


def test_that_test_catches_a_spread_that_is_too_small():
    data = TRIAL.draw(streams(), N_UNIFORM)
    mean = TRIAL.source.mean_of(data["features"][:, 30:])
    p = 2 * stats.norm.sf(np.abs(data["y"][:, 30:] - mean) / TOO_NARROW).ravel()
    assert abs(p.mean() - 0.5) > critical_z(2) * np.sqrt(1 / 12 / p.size)


def test_derived_numbers_are_those_of_their_estimators():
    p = np.random.default_rng(1).random((3, 8))
    found = {name: derived(np.log(p)) for name, derived in module.DERIVED.items()}
    combined = np.log10(stats.combine_pvalues(p, axis=1).pvalue)
    np.testing.assert_allclose(found.pop("log10_p"), combined, rtol=1e-12)
    np.testing.assert_array_equal(found.pop("coverage"), (p >= 0.1).mean(axis=1))
    for name, share in found.items():
        np.testing.assert_allclose(share, ESTIMATORS[name](p), rtol=1e-12)
