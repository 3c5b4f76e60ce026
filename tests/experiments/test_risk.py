"""The risk of a fitted linear model and its bootstrap: loops, theory, simulation, and claims."""

import numpy as np
import pytest

from experiments import bootstrap_se, regression_risk
from experiments.bootstrap_se import BootstrapSe
from experiments.regression_risk import RegressionRisk
from simstudy.documents.stats.mean_bootstrap import replicate_seeds
from tests.documents.draws import bootstrap_indices, streams
from tests.documents.stats.models.linear_models import plain_fits
from tests.experiments.claimed import assert_holds
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch


def test_a_block_is_the_plain_loop():
    scenario, n_rep = RegressionRisk(n_train=30, n_test=50, draws="raw"), 20
    found = scenario.simulate(streams(), n_rep)
    fits = plain_fits(scenario.model, streams()("data"), n_rep, 30, 50)
    for rep, (distance, intercept, (errors,)) in enumerate(fits):
        variance, empirical = 5.0 + distance, [np.mean(errors**2), np.mean(np.abs(errors))]
        printed = [variance, np.sqrt(2 * variance / np.pi)]
        np.testing.assert_allclose(found["empirical"][rep], empirical, rtol=1e-10)
        np.testing.assert_allclose(found["risk_printed"][rep], printed, rtol=1e-10)
        np.testing.assert_allclose(found["risk"][rep, 0], variance + intercept**2, rtol=1e-10)


def squared_intercepts(n_rep: int) -> np.ndarray:
    data = RegressionRisk(n_test=2).simulate(streams(), n_rep)
    return data["risk"][:, 0] - data["risk_printed"][:, 0]


def test_the_bias_of_the_printed_risk_is_known():
    truth = RegressionRisk().exact()["bias_printed"][0]
    sd = np.sqrt(2.2) * truth  # that of a square of a normal, its variance a little random
    n_rep = replicates_to_catch(0.2 * truth, sd=sd)
    mean = squared_intercepts(n_rep).mean()
    assert_within_mcse(mean, truth, sd / np.sqrt(n_rep))
    assert_caught(mean, 5.0 / 100, sd / np.sqrt(n_rep))  # the features' means forgotten


def test_a_block_of_bootstraps_is_the_plain_loop():
    scenario, n_rep = BootstrapSe(n_train=40, n_test=25, n_boot=60.0, draws="raw"), 10
    found = scenario.simulate(streams(), n_rep)
    seeds = replicate_seeds(streams()("bootstrap"), n_rep)
    fits = plain_fits(scenario.model, streams()("data"), n_rep, 40, 25)
    for rep, (distance, intercept, (errors,)) in enumerate(fits):
        spread = 5.0 + distance
        drawn = bootstrap_indices(seeds[rep, 0], 25, 60)
        variance = np.mean(errors[drawn] ** 2, axis=1).var() * 25
        truth = 2 * spread**2 + 4 * intercept**2 * spread
        np.testing.assert_allclose(found["variance"][rep], variance, rtol=1e-9)
        np.testing.assert_allclose(found["variance_true"][rep], truth, rtol=1e-10)
        np.testing.assert_allclose(found["variance_printed"][rep], 2 * spread**2, rtol=1e-10)


def test_the_limit_resamples_nothing():
    found = BootstrapSe(n_test=50).simulate(streams(), 5)
    again = BootstrapSe(n_test=50, n_boot=1e4).simulate(streams(), 5)
    np.testing.assert_array_equal(found["sd_true"], again["sd_true"])
    # Of the log of a root of a variance of 10000 draws.
    assert_within_mcse(np.log(found["sd"] / again["sd"]), 0.0, np.sqrt(1 / 2e4))


SIZE = 10  # where the divisors matter: a tenth each


def ratio_of_variances(n_boot: float, n_rep: int) -> np.ndarray:
    data = BootstrapSe(n_test=SIZE, n_boot=n_boot).simulate(streams(), n_rep)
    return data["variance"] / data["variance_true"]


def test_the_bias_of_the_variance_is_that_of_both_divisors():
    # Kurtosis 15 of a squared normal error: 14/n, and 2/B of the resamples, to first order.
    sd = np.sqrt(14 / SIZE + 2 / 10)
    n_rep = replicates_to_catch(0.08, sd=sd)
    mean = ratio_of_variances(10.0, n_rep).mean()
    exact = BootstrapSe(n_test=SIZE, n_boot=10.0).exact()["variance_bias"]
    assert_within_mcse(mean, 1 + exact, sd / np.sqrt(n_rep))
    assert_caught(mean, 1 - 1 / SIZE, sd / np.sqrt(n_rep))  # one divisor forgotten


@pytest.mark.slow
def test_all_numbers_of_resamples_see_the_same_data_and_few_reproduce_nothing():
    resampled = bootstrap_se.study(bootstrap_se.Config()).run(n_rep=200)
    plan = resampled.plan
    first, *others = (resampled.columns(each, "sd_true")["sd_true"] for each in plan.scenarios)
    for other in others:
        np.testing.assert_array_equal(first, other)
    assert resampled.claims["verdict"].tolist() == ["too few replicates", "differs"]


@pytest.mark.slow
def test_claims_on_the_bootstrap_come_out_as_foreseen_and_the_rival_falls():
    """Of the published number of replicates, and the document's resamples alone."""
    assert_holds(bootstrap_se.study(bootstrap_se.Config(n_boot=[1000])).run())


EXACT = ("variance of chi-square", "norm as a sum", "printed risk")  # which need no replicates


@pytest.mark.slow
def test_claims_on_the_risk_come_out_as_foreseen_and_rivals_fall():
    """As many replicates as are published, by the law of the fits instead of by fits."""
    published = regression_risk.study(regression_risk.Config(draws="law")).run()
    assert_holds(published)
    last = published.summary.query("n_test == 30000 and metric == 'mse'").set_index("measure")
    assert last.loc["rmse", "lower"] < last.loc["model_se", "estimate"] * 1.05
    assert last.loc["rmse_printed", "lower"] > 2 * last.loc["model_se", "estimate"]


@pytest.mark.slow
def test_few_replicates_reproduce_no_claim_on_the_risk():
    few = regression_risk.study(regression_risk.Config(n_test=[10000])).run(20).claims
    assert "reproduced" not in set(few.loc[~few["claim"].isin(EXACT), "verdict"])
