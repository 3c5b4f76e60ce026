"""Exact leave-one-out against refits, against a finer quadrature, and at the edges."""

import numpy as np
import pytest

from simstudy.documents.stats.leave_one_out import regression
from simstudy.documents.stats.leave_one_out.priors import Prior, default_prior, wide_prior
from simstudy.errors import DesignError
from tests.documents.stats.leave_one_out.plain import draw_data, refit, standard_design

EPS = float(np.finfo(float).eps)
PRIORS = {"default": default_prior, "wide": wide_prior}


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
    """What a refit loses: relative, of its two answers.

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


def compare_with_refits(features, y, prior, rep, left_out):
    found = regression.exact_leave_one_out(features, y, prior).pointwise
    nodes = nodes_for(features, y, prior, rep)
    tolerance = rounding_of_refits(features, prior, rep, nodes)
    for i in left_out:
        slow = refit(features, y, prior, rep, i, nodes)
        fast = found.error[rep, i], found.log_density[rep, i]
        atol = tolerance / prior.sigma_rate[rep]
        np.testing.assert_allclose(fast, slow, rtol=tolerance, atol=atol)


@pytest.mark.parametrize("prior_of", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize(
    ("n_obs", "n_feature"), [(2, 0), (2, 5), (3, 1), (5, 3), (10, 5), (12, 11), (9, 20)]
)
def test_observations_are_as_after_refits(n_obs, n_feature, prior_of):
    features, y = draw_data(2, n_obs, n_feature)
    for rep in range(2):
        some = range(rep, n_obs, 1 + n_obs // 6)
        compare_with_refits(features, y, prior_of(features, y), rep, some)


def test_without_an_outlier_the_posterior_lies_elsewhere():
    features, y = draw_data(1, 40, 1)
    y[0, 7] += 1000
    compare_with_refits(features, y, default_prior(features, y), 0, [0, 7])


def test_one_observation_that_alone_shows_a_feature():
    """Its leverage is 1: the others say nothing of that coefficient, and the prior predicts."""
    features, y = draw_data(1, 8, 1)
    only = np.zeros((1, 8, 1))
    only[0, 3] = 1
    both = np.concatenate([features, only], axis=2)
    compare_with_refits(both, y, wide_prior(both, y), 0, [3])


FINER = [
    (2, 1, "default"), (5, 1, "default"), (10, 10, "default"), (100, 5, "default"),
    (3000, 10, "default"), (50, 20, "wide"), (50, 50, "wide"), (50, 100, "wide"),
]  # fmt: skip


def gap_to_step(monkeypatch, n_obs, n_feature, name, step):
    """Largest change of errors, log densities and posterior means, relative above 1."""
    features, y = draw_data(3, n_obs, n_feature)
    found = []
    for each in (regression.STEP, step):
        monkeypatch.setattr(regression, "STEP", each)
        answer = regression.exact_leave_one_out(features, y, PRIORS[name](features, y))
        found.append([answer.pointwise.error, answer.pointwise.log_density, *answer[1:]])
    return max((np.abs(a - b) / (1 + np.abs(a))).max() for a, b in zip(*found, strict=True))


@pytest.mark.parametrize(("n_obs", "n_feature", "name"), FINER)
def test_a_finer_quadrature_changes_nothing_but_roundings(monkeypatch, n_obs, n_feature, name):
    gap = gap_to_step(monkeypatch, n_obs, n_feature, name, regression.STEP / 3.7)
    assert gap <= 100 * n_obs * EPS  # sums over the observations, in logs near n


def test_that_test_catches_a_step_too_long(monkeypatch):
    assert gap_to_step(monkeypatch, 10, 1, "default", 8 * regression.STEP) > 1e3 * EPS


def test_a_flat_prior_gives_least_squares():
    """To the order of the prior's precision over the data's, which is (sd / wide)²."""
    features, y = draw_data(3, 40, 3)
    wide = 1e5
    prior = default_prior(features, y)._replace(
        coefficient_sd=np.full((3, 3), wide), intercept_sd=np.full(3, wide)
    )
    found = regression.exact_leave_one_out(features, y, prior)
    design = np.concatenate([np.ones((3, 40, 1)), features], axis=2)
    hat = design @ np.linalg.pinv(design)
    residual = y - np.einsum("ijk,ik->ij", hat, y)
    classical = residual / (1 - np.einsum("ijj->ij", hat))
    order = (np.abs(y).max() / wide) ** 2 * 40
    np.testing.assert_allclose(found.pointwise.error, classical, atol=order)
    fitted = found.intercept[:, None] + np.einsum("ijk,ik->ij", features, found.coefficients)
    np.testing.assert_allclose(fitted, y - residual, atol=order)


@pytest.mark.parametrize("n_feature", [2, 9, 14])
def test_leverages_are_the_diagonal_of_the_smoother(n_feature):
    features, y = draw_data(1, 9, n_feature)
    prior = wide_prior(features, y)
    data = regression.decompose(features[0], y[0], Prior(*(part[0] for part in prior)))
    design = standard_design(features, prior, 0)
    covariance = design @ design.T
    for sigma in (0.3, 1.0, 4.0):
        smoother = np.linalg.solve(covariance + sigma**2 * np.eye(9), covariance)
        np.testing.assert_allclose(regression.leverages(data, sigma), np.diag(smoother), rtol=1e-9)


def test_a_constant_column_predicts_nothing():
    features, y = draw_data(3, 12, 2)
    constant = np.concatenate([features, np.full((3, 12, 1), 5.0)], axis=2)
    with_it = regression.exact_leave_one_out(constant, y, default_prior(constant, y))
    without = regression.exact_leave_one_out(features, y, default_prior(features, y)).pointwise
    np.testing.assert_allclose(with_it.pointwise.error, without.error, atol=1e4 * EPS)
    assert np.abs(with_it.coefficients[:, 2]).max() <= 1e4 * EPS


LINE = np.arange(5.0).reshape(1, 5, 1)


@pytest.mark.parametrize(
    ("features", "y"),
    [
        (np.empty((1, 3, 0)), [[0.0, 0.0, 1.0]]),  # without the third, two equal responses
        (LINE, [[1.0, 3.0, 5.0, 7.0, 9.0]]),
        (LINE, [[1.0, 3.0, 5.0, 7.0, 19.0]]),
    ],
    ids=["equal but for one", "on a line", "on a line but for one"],
)
def test_data_without_error_have_no_posterior(features, y):
    with pytest.raises(DesignError, match=r"fitted without any error.*piles up"):
        regression.exact_leave_one_out(features, np.array(y), default_prior(features, np.array(y)))


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


def by_default(features, y):
    return regression.exact_leave_one_out(features, y, default_prior(features, y)).pointwise


@pytest.mark.parametrize("unit", [1e-69, 1e69])
def test_units_of_any_size_change_nothing(unit):
    features, y = draw_data(2, 12, 3)
    usual, rounding = by_default(features, y), 1e4 * EPS
    response, feature = by_default(features, unit * y), by_default(unit * features, y)
    for found, scale in ((response, unit), (feature, 1.0)):
        np.testing.assert_allclose(found.error / scale, usual.error, rtol=rounding, atol=rounding)
        log_density = found.log_density + np.log(scale)
        np.testing.assert_allclose(log_density, usual.log_density, atol=rounding)


@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_an_offset_costs_the_digits_that_it_takes_and_no_more(offset):
    features, y = draw_data(2, 12, 3)
    usual, rounding = by_default(features, y), 1e3 * EPS * offset
    for found in (by_default(features, y + offset), by_default(features + offset, y)):
        np.testing.assert_allclose(found.error, usual.error, atol=rounding)
        np.testing.assert_allclose(found.log_density, usual.log_density, atol=rounding)
