"""Exact leave-one-out against refits, against a finer quadrature, and at the edges."""

import numpy as np
import pytest

from simstudy.documents.dgps.linear import LinearModel
from simstudy.documents.dgps.random_coefficients import RandomCoefficients
from simstudy.documents.stats.leave_one_out.bayesian_bootstrap import bayesian_bootstrap
from simstudy.documents.stats.leave_one_out.priors import (
    MIN_SCALE,
    Prior,
    default_prior,
    wide_prior,
)
from simstudy.documents.stats.leave_one_out.regression import (
    ExactLeaveOneOut,
    decompose,
    exact_leave_one_out,
    leverages,
)
from simstudy.documents.stats.leave_one_out.utilities import MIN_SIZE, UTILITIES, Pointwise, taylor
from simstudy.errors import DesignError
from tests.documents.stats.leave_one_out.plain import draw_data, refit, standard_design
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

EPS = float(np.finfo(float).eps)


def nodes_for(features, y, prior, rep) -> np.ndarray:
    """A grid of log σ that is far too fine, from where nothing is left on either side.

    Without observation i the posterior falls as exp(-RSS / 2σ²) below its residuals, or as σ where
    the others leave none; above, as exp(-rate σ).
    """
    design, response = standard_design(features, prior, rep), y[rep] - y[rep].mean()
    n_obs, n_column = design.shape
    top = np.log(60 / prior.sigma_rate[rep])
    if n_obs - 1 <= n_column:
        return np.arange(top - 48, top, 1 / 30)
    least = np.log(min(squares_without(design, response, i) for i in range(n_obs))) / 2
    return np.arange(least - np.log(10), top, 1 / 30)


def squares_without(design, response, left_out: int) -> float:
    """Residual sum of squares of least squares without one observation."""
    rows, kept = np.delete(design, left_out, 0), np.delete(response, left_out)
    residual = kept - rows @ np.linalg.lstsq(rows, kept, rcond=None)[0]
    return float(residual @ residual)


def rounding_of_refits(features, prior, rep, nodes) -> float:
    """What a refit loses: relative, of its three answers.

    A covariance is known to eps of its largest value, so a solution to that over σ² where the data
    hold σ from 0. Where they do not, σ below sqrt(eps) of the design's size cannot be told from 0,
    and the posterior has a share of about rate · σ there.
    """
    design = standard_design(features, prior, rep)
    n_obs, n_column = design.shape
    size = np.linalg.norm(design, 2)
    if n_obs - 1 <= n_column:
        return float(10 * n_obs * np.sqrt(EPS) * size * prior.sigma_rate[rep])
    return float(10 * n_obs * EPS * size**2 / np.exp(2 * nodes[0]))


def prior_of(name: str, features, y) -> Prior:
    return default_prior(features, y) if name == "default" else wide_prior(features, y)


@pytest.mark.parametrize("name", ["default", "wide"])
@pytest.mark.parametrize(
    ("n_obs", "n_feature"), [(2, 0), (2, 5), (3, 1), (5, 3), (10, 5), (12, 11), (9, 20)]
)
def test_every_observation_is_as_after_a_refit(n_obs, n_feature, name):
    features, y = draw_data(2, n_obs, n_feature)
    prior = prior_of(name, features, y)
    found = exact_leave_one_out(features, y, prior)
    for rep in range(2):
        nodes = nodes_for(features, y, prior, rep)
        tolerance = rounding_of_refits(features, prior, rep, nodes)
        for i in range(n_obs):
            slow = refit(features, y, prior, rep, i, nodes)
            fast = found.error[rep, i], found.sd[rep, i], found.log_density[rep, i]
            scale = 1 / prior.sigma_rate[rep]
            np.testing.assert_allclose(fast, slow, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize(
    ("n_obs", "n_feature", "name"),
    [(2, 1, "default"), (5, 1, "default"), (10, 10, "default"), (100, 5, "default"),
     (1000, 10, "default"), (50, 20, "wide"), (50, 50, "wide"), (50, 100, "wide")],
)  # fmt: skip
def test_a_finer_quadrature_changes_nothing_but_roundings(n_obs, n_feature, name):
    features, y = draw_data(3, n_obs, n_feature)
    prior = prior_of(name, features, y)
    usual, finer = (exact_leave_one_out(features, y, prior, refine=r) for r in (1, 3.7))
    assert (finer.n_node > 3 * usual.n_node).all()
    rounding = 100 * n_obs * EPS  # sums over the observations, in logs near n
    for field in ("error", "sd", "fitted", "coefficients", "sigma"):
        np.testing.assert_allclose(
            getattr(usual, field), getattr(finer, field), rtol=rounding, atol=rounding
        )
    for field in ("log_density", "log_evidence"):
        np.testing.assert_allclose(getattr(usual, field), getattr(finer, field), atol=rounding)


def test_that_test_catches_a_step_too_long():
    features, y = draw_data(3, 10, 1)
    prior = default_prior(features, y)
    usual, coarse = (exact_leave_one_out(features, y, prior, refine=r) for r in (1, 1 / 8))
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(usual.error, coarse.error, rtol=1e3 * EPS, atol=1e3 * EPS)


# ---------------------------------------------------------------- the full posterior
def test_log_density_is_the_evidence_that_an_observation_adds():
    """Of a model of the mean, which has no features to centre, by two separate fits."""
    y = draw_data(4, 9, 0)[1]
    prior = default_prior(np.empty((4, 9, 0)), y)
    found = exact_leave_one_out(np.empty((4, 9, 0)), y, prior)
    for i in range(9):
        others = np.delete(y, i, axis=1)
        without = exact_leave_one_out(np.empty((4, 8, 0)), others, prior)
        np.testing.assert_allclose(
            found.log_density[:, i], found.log_evidence - without.log_evidence, atol=1e3 * EPS
        )
        np.testing.assert_allclose(found.error[:, i], y[:, i] - without.intercept, atol=1e3 * EPS)


def test_a_flat_prior_gives_least_squares():
    """To the order of the prior's precision over the data's, which is (sd / wide)²."""
    features, y = draw_data(3, 40, 3)
    wide = 1e5
    prior = wide_prior(features, y, coefficient_sd=wide)
    prior = prior._replace(intercept_sd=np.full(3, wide))
    found = exact_leave_one_out(features, y, prior)
    design = np.concatenate([np.ones((3, 40, 1)), features], axis=2)
    hat = design @ np.linalg.pinv(design)
    residual = y - np.einsum("ijk,ik->ij", hat, y)
    classical = residual / (1 - np.einsum("ijj->ij", hat))
    order = (np.abs(y).max() / wide) ** 2 * 40
    np.testing.assert_allclose(found.error, classical, atol=order)
    np.testing.assert_allclose(found.fitted, y - residual, atol=order)


@pytest.mark.parametrize("n_feature", [2, 9, 14])
def test_leverages_are_the_diagonal_of_the_smoother(n_feature):
    features, y = draw_data(3, 9, n_feature)
    prior, sigma = wide_prior(features, y), np.array([0.3, 1.0, 4.0])
    found = leverages(decompose(features, y, prior), sigma)
    for rep in range(3):
        design = standard_design(features, prior, rep)
        covariance = design @ design.T
        smoother = np.linalg.solve(covariance + sigma[rep] ** 2 * np.eye(9), covariance)
        np.testing.assert_allclose(found[rep], np.diag(smoother), rtol=1e-9)


def test_replicates_do_not_touch_each_other():
    features, y = draw_data(4, 15, 3)
    whole = exact_leave_one_out(features, y, default_prior(features, y))
    one = exact_leave_one_out(features[2:3], y[2:3], default_prior(features[2:3], y[2:3]))
    assert (whole.error[2] == one.error[0]).all()
    assert (whole.log_density[2] == one.log_density[0]).all()


# ---------------------------------------------------------------- collinear, constant, too many
def test_two_equal_columns_are_one_with_the_variances_added():
    features, y = draw_data(3, 12, 2)
    prior = wide_prior(features, y, coefficient_sd=2.0)
    twice = np.concatenate([features, features[:, :, :1]], axis=2)
    halved = np.sqrt(np.array([2.0, 4.0, 2.0]))
    doubled = exact_leave_one_out(twice, y, prior._replace(coefficient_sd=np.tile(halved, (3, 1))))
    once = exact_leave_one_out(features, y, prior)
    np.testing.assert_allclose(doubled.error, once.error, rtol=1e4 * EPS, atol=1e4 * EPS)
    np.testing.assert_allclose(doubled.log_density, once.log_density, atol=1e4 * EPS)
    shared = doubled.coefficients[:, 0] + doubled.coefficients[:, 2]
    np.testing.assert_allclose(shared, once.coefficients[:, 0], rtol=1e4 * EPS)


def test_a_constant_column_predicts_nothing():
    features, y = draw_data(3, 12, 2)
    constant = np.concatenate([features, np.full((3, 12, 1), 5.0)], axis=2)
    with_it = exact_leave_one_out(constant, y, default_prior(constant, y))
    without = exact_leave_one_out(features, y, default_prior(features, y))
    np.testing.assert_allclose(with_it.error, without.error, rtol=1e4 * EPS, atol=1e4 * EPS)
    assert np.abs(with_it.coefficients[:, 2]).max() <= 1e4 * EPS


def test_one_observation_that_alone_shows_a_feature():
    """Its leverage is 1: the others say nothing of that coefficient, and the prior predicts."""
    features, y = draw_data(1, 8, 1)
    only = np.zeros((1, 8, 1))
    only[0, 3] = 1
    both = np.concatenate([features, only], axis=2)
    prior = wide_prior(both, y, coefficient_sd=4.0)
    found = exact_leave_one_out(both, y, prior)
    nodes = nodes_for(both, y, prior, 0)
    slow = refit(both, y, prior, 0, 3, nodes)
    fast = found.error[0, 3], found.sd[0, 3], found.log_density[0, 3]
    tolerance = rounding_of_refits(both, prior, 0, nodes)
    np.testing.assert_allclose(fast, slow, rtol=tolerance)


@pytest.mark.parametrize(
    ("features", "y"),
    [
        (np.empty((1, 3, 0)), [[0.0, 0.0, 1.0]]),  # without the third, two equal responses
        (np.arange(5.0).reshape(1, 5, 1), [[1.0, 3.0, 5.0, 7.0, 9.0]]),
        (np.arange(5.0).reshape(1, 5, 1), [[1.0, 3.0, 5.0, 7.0, 19.0]]),
    ],
    ids=["equal but for one", "on a line", "on a line but for one"],
)
def test_data_without_error_have_no_posterior(features, y):
    y = np.array(y)
    with pytest.raises(DesignError, match=r"replicate 0 is fitted without any error.*piles up"):
        exact_leave_one_out(features, y, default_prior(features, y))


def test_a_constant_response_scales_no_prior():
    features, y = draw_data(3, 5, 1)
    y[1] = 0.1
    with pytest.raises(DesignError, match=r"y of replicate 1 is constant \(0.1\).*every prior"):
        default_prior(features, y)


# ---------------------------------------------------------------- priors
def test_the_default_prior_is_the_documented_one():
    features, y = draw_data(2, 9, 3)
    prior = default_prior(features, y)
    for rep in range(2):
        sd_y = np.sqrt(((y[rep] - y[rep].mean()) ** 2).sum() / 8)
        sd_x = np.sqrt(((features[rep] - features[rep].mean(axis=0)) ** 2).sum(axis=0) / 8)
        assert prior.intercept_mean[rep] == pytest.approx(y[rep].sum() / 9, rel=20 * EPS)
        assert prior.intercept_sd[rep] == pytest.approx(2.5 * sd_y, rel=20 * EPS)
        assert prior.coefficient_sd[rep] == pytest.approx(2.5 * sd_y / sd_x, rel=20 * EPS)
        assert prior.sigma_rate[rep] == pytest.approx(1 / sd_y, rel=20 * EPS)


def test_directions_outside_the_design_are_counted_by_replicate():
    features, y = draw_data(2, 6, 2)
    features[1, :, 1] = 2 * features[1, :, 0]
    spectrum = decompose(features, y, wide_prior(features, y))
    assert spectrum.n_rest.tolist() == [3, 4]


def test_random_coefficients_have_the_fourth_moment_of_normals():
    """Signs have 1 where normals have 3: the second moment does not tell them apart."""
    n = replicates_to_catch(1.0, sd=np.sqrt(96))
    fixed = LinearModel(n_feature=1, coefficient=1.0).draw_coefficients(np.random.default_rng(1), n)
    normal = RandomCoefficients().draw_coefficients(np.random.default_rng(1), n)
    assert_within_mcse((normal**4).mean(), 3, np.sqrt(96 / n))
    assert_caught((fixed**4).mean(), 3, np.sqrt(96 / n))


def test_responses_are_the_signal_plus_noise_of_the_stated_size():
    n_obs = replicates_to_catch(0.05, sd=np.sqrt(2))
    model = RandomCoefficients(n_feature=3, noise_variance=4.0)
    drawn = model.draw(np.random.default_rng(1), 1, n_obs)
    noise = drawn.y - np.einsum("ijk,ik->ij", drawn.features, drawn.coefficients)
    assert_within_mcse((noise**2).mean() / 4, 1, np.sqrt(2 / n_obs))


# ---------------------------------------------------------------- units and offsets
def by_default(features, y) -> ExactLeaveOneOut:
    return exact_leave_one_out(features, y, default_prior(features, y))


@pytest.mark.parametrize("unit", [1e-100, 1e9])
def test_units_of_any_size_change_nothing(unit):
    features, y = draw_data(2, 12, 3)
    usual = by_default(features, y)
    rounding = 1e4 * EPS
    response, feature = by_default(features, unit * y), by_default(unit * features, y)
    for found, scale in ((response, unit), (feature, 1.0)):
        np.testing.assert_allclose(found.error / scale, usual.error, rtol=rounding, atol=rounding)
        np.testing.assert_allclose(
            found.log_density + np.log(scale), usual.log_density, atol=rounding
        )


@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_an_offset_costs_the_digits_that_it_takes_and_no_more(offset):
    features, y = draw_data(2, 12, 3)
    usual = by_default(features, y)
    rounding = 1e3 * EPS * offset
    for found in (by_default(features, y + offset), by_default(features + offset, y)):
        np.testing.assert_allclose(found.error, usual.error, atol=rounding)
        np.testing.assert_allclose(found.log_density, usual.log_density, atol=rounding)
    moved, here = (taylor(Pointwise(r, usual.error)) for r in (y + offset, y))
    np.testing.assert_allclose(moved.std_error, here.std_error, rtol=rounding)
    rng = [np.random.default_rng(3) for _ in range(2)]
    drawn = [
        bayesian_bootstrap(Pointwise(r, usual.error), g, n_draw=200).std_error
        for r, g in zip((y + offset, y), rng, strict=True)
    ]
    np.testing.assert_allclose(*drawn, rtol=rounding)


@pytest.mark.parametrize("unit", [1e-145, 1e145])
def test_scales_that_have_no_square_are_refused(unit):
    assert not MIN_SCALE < unit < 1 / MIN_SCALE
    features, y = draw_data(1, 6, 1)
    for data in ((features, unit * y), (unit * features, y)):
        with pytest.raises(DesignError, match=r"scale .* from 7e-139 to 1e\+138, whose squares"):
            by_default(*data)


def test_just_within_those_limits_every_digit_is_there():
    y, error = np.random.default_rng(1).standard_normal((2, 1, 9))
    at = UTILITIES.index("mse")
    usual = taylor(Pointwise(y, error)).std_error[0]
    for unit in (100 * MIN_SIZE, 0.01 / MIN_SIZE):
        found = taylor(Pointwise(unit * y, unit * error)).std_error[0]
        assert found[at] / unit**2 == pytest.approx(usual[at], rel=100 * EPS)
        same = [UTILITIES.index(name) for name in ("r2_mean_square", "r2_variance")]
        np.testing.assert_allclose(found[same], usual[same], rtol=100 * EPS)
