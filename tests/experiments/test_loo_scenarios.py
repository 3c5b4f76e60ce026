"""Scenarios of leave-one-out standard errors: a block against a loop, truth against plain sums."""

import numpy as np
from scipy import stats

from simstudy.documents.scenarios.leave_one_out import ImportanceSampling, LeaveOneOut
from simstudy.documents.stats.leave_one_out.bayesian_bootstrap import bayesian_bootstrap
from simstudy.documents.stats.leave_one_out.priors import default_prior, wide_prior
from simstudy.documents.stats.leave_one_out.regression import exact_leave_one_out
from simstudy.documents.stats.leave_one_out.utilities import R2_FORMS, UTILITIES
from tests.documents.draws import streams
from tests.support import FALSE_ALARM, assert_caught, assert_within_mcse, replicates_to_catch

SMALL = LeaveOneOut(
    n_obs=9, n_feature=3, noise_sd=0.7, n_draw=50, against=("half", "useless"), prior="wide"
)
N_REP = 6
AT = {name: place for place, name in enumerate(UTILITIES)}


def models_of(scenario: LeaveOneOut):
    """Features of the three models, one after the other, with responses and coefficients."""
    data = scenario.dgp.draw(streams()("data"), N_REP, scenario.n_obs)
    extra = streams()("useless feature").standard_normal((N_REP, scenario.n_obs, 1))
    half = data.features[:, :, : scenario.n_feature // 2]
    more = np.concatenate([data.features, extra], axis=2)
    return data, [data.features, half, more]


def plain_fits(features, y, prior_of):
    """Errors, log densities, intercept and coefficients, one data set at a time."""
    fits = [
        exact_leave_one_out(x[None], r[None], prior_of(x[None], r[None]))
        for x, r in zip(features, y, strict=True)
    ]
    parts = [
        (f.pointwise.error, f.pointwise.log_density, f.intercept, f.coefficients) for f in fits
    ]
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


def test_a_block_is_the_plain_loop():
    found = SMALL.simulate(streams(), N_REP)
    data, models = models_of(SMALL)
    fits = [plain_fits(features, data.y, wide_prior) for features in models]
    for rep in range(N_REP):
        y = data.y[rep]
        mse = [np.mean(error[rep] ** 2) for error, *_ in fits]
        r2 = [1 - m / np.mean((y - y.mean()) ** 2) for m in mse]
        for name, wanted in (("mse", mse), ("r2_mean_square", r2)):
            differences = [wanted[0], wanted[0] - wanted[1], wanted[0] - wanted[2]]
            at = rep, slice(None), AT[name], 0
            np.testing.assert_allclose(found["estimate"][at], differences, rtol=1e-9)
        squares = [error[rep] ** 2 for error, *_ in fits]
        for place, losses in enumerate((squares[0], squares[0] - squares[1])):
            wanted = losses.std(ddof=1) / np.sqrt(len(y))
            np.testing.assert_allclose(
                found["std_error"][rep, place, AT["mse"], 0], wanted, rtol=1e-9
            )


def test_the_bootstrap_is_that_of_each_model_and_pair():
    found = SMALL.simulate(streams(), N_REP)
    data, models = models_of(SMALL)
    fits = [exact_leave_one_out(x, data.y, wide_prior(x, data.y)).pointwise for x in models]

    def rng():
        return streams()("bootstrap")

    each = bayesian_bootstrap(fits, rng(), n_draw=SMALL.n_draw)
    for place, wanted in enumerate(each):
        np.testing.assert_array_equal(found["estimate"][:, place, :, 1], wanted.value)
        np.testing.assert_array_equal(found["std_error"][:, place, :, 1], wanted.std_error)


def test_truth_is_the_risk_of_the_fitted_predictor():
    found = SMALL.simulate(streams(), N_REP)
    data, models = models_of(SMALL)
    truths = []
    for features in models:
        *_, intercept, fitted = plain_fits(features, data.y, wide_prior)
        mse = []
        for rep in range(N_REP):
            missed = np.zeros(max(3, fitted.shape[1]))
            missed[:3] = data.coefficients[rep]
            missed[: fitted.shape[1]] -= fitted[rep]
            mse.append(SMALL.noise_sd**2 + missed @ missed + intercept[rep] ** 2)
        truths.append(np.array(mse))
    total = SMALL.noise_sd**2 + (data.coefficients**2).sum(axis=1)
    truth = found["estimate"] - found["distance"]
    np.testing.assert_allclose(truth[:, 0, AT["mse"], 0], truths[0], rtol=1e-8)
    np.testing.assert_allclose(truth[:, 1, AT["mse"], 1], truths[0] - truths[1], rtol=1e-8)
    for form in R2_FORMS:
        wanted = (truths[2] - truths[0]) / total
        np.testing.assert_allclose(truth[:, 2, AT[form], 0], wanted, rtol=1e-6)
    assert np.isnan(truth[:, :, AT["elpd"]]).all()


def test_taylor_over_bootstrap_of_a_mean_has_its_known_value():
    scenario = LeaveOneOut(n_obs=6, n_draw=400)
    n_rep = replicates_to_catch(0.05, sd=0.06)  # n - 1 taken for n + 1 is an error of 0.18
    ratio = scenario.simulate(streams(), n_rep)["taylor_over"][:, 0, AT["mae"], 1]
    # To first order in the draws: scatter √((κ - 1)/4S) for kurtosis κ of a weighted mean, below 5.
    known = np.sqrt(7 / 5)  # √((n + 1) / (n - 1))
    sd = known * np.sqrt(4 / (4 * 400))
    assert_within_mcse(ratio.mean(), known, sd / np.sqrt(n_rep))
    assert_caught(ratio.mean(), np.sqrt(6 / 5), sd / np.sqrt(n_rep))


def test_coefficients_of_equal_size_are_those_of_the_linear_model():
    data = LeaveOneOut(coefficients="equal", n_feature=4).dgp.draw(streams()("data"), 5, 10)
    np.testing.assert_array_equal(np.abs(data.coefficients), 1.0)
    drawn = LeaveOneOut(n_feature=4).dgp.draw(streams()("data"), 5, 10)
    assert len(np.unique(drawn.coefficients)) == 20


def test_importance_sampling_is_beside_the_exact_answer():
    scenario = ImportanceSampling(n_obs=30, n_feature=2, n_draw=2000)
    found = scenario.simulate(streams(), 4)
    exact = LeaveOneOut(n_obs=30, n_feature=2, n_draw=2000).simulate(streams(), 4)
    for name in ("estimate", "distance"):
        np.testing.assert_array_equal(found[name][:, 0, :, 0], exact[name][:, 0, :, 0])
    data = scenario.dgp.draw(streams()("data"), 4, 30)
    fit = exact_leave_one_out(data.features, data.y, default_prior(data.features, data.y))
    rmse = found["estimate"][:, :, AT["rmse"], 0]
    fitted = fit.intercept[:, None] + np.einsum("ijk,ik->ij", data.features, fit.coefficients)
    nothing_left_out = np.sqrt(((data.y - fitted) ** 2).mean(axis=1))
    assert (np.abs(rmse[:, 1] - rmse[:, 0]) < np.abs(nothing_left_out - rmse[:, 0])).all()
    np.testing.assert_allclose(found["leverage"], 3 / 30, rtol=0.02)


def test_an_interpolating_fit_hides_the_error_that_importance_sampling_should_see():
    n_rep = 100
    found = ImportanceSampling(n_obs=20, n_feature=20, prior="wide", n_draw=500).simulate(
        streams(), n_rep
    )
    r2 = found["estimate"][:, :, AT["r2_variance"], 0]
    higher = int((r2[:, 1] > r2[:, 0]).sum())
    assert higher > stats.binom.isf(FALSE_ALARM, n_rep, 0.5)  # a sign test
