"""Leave-one-out by a third way, and at the edges of what doubles hold."""

import numpy as np
import pytest

from simstudy.errors import DesignError
from simstudy.stats.leave_one_out.bayesian_bootstrap import bayesian_bootstrap
from simstudy.stats.leave_one_out.priors import LEAST_SCALE, default_prior, wide_prior
from simstudy.stats.leave_one_out.regression import ExactLeaveOneOut, exact_leave_one_out
from simstudy.stats.leave_one_out.utilities import (
    LEAST_SIZE,
    UTILITIES,
    Pointwise,
    taylor,
    taylor_difference,
)
from tests.stats.leave_one_out.plain import draw_data

EPS = float(np.finfo(float).eps)
N_NODE = 600  # Gauss-Legendre, of an analytic function: more move nothing


# ---------------------------------------------------------------- a third way
def by_pseudo_observations(features, y, coefficient_sd, left_out: int) -> tuple[float, float]:
    """Error and log density of one observation: least squares with a row for each prior.

    The priors are written out as the vignette has them, with scales of all observations. σ runs
    over (0, ∞) as sd · t/(1 - t).
    """
    n_obs, n_feature = features.shape
    sd, kept = y.std(ddof=1), np.arange(n_obs) != left_out
    prior_sd = np.concatenate([[2.5 * sd], coefficient_sd])
    design = np.column_stack([np.ones(n_obs), features - features.mean(axis=0)])
    at, weight = np.polynomial.legendre.leggauss(N_NODE)
    t = (at + 1) / 2
    logs, means, variances = [], [], []
    for sigma in sd * t / (1 - t):
        rows = np.vstack([design[kept] / sigma, np.diag(1 / prior_sd)])
        goal = np.concatenate([(y[kept] - y.mean()) / sigma, np.zeros(n_feature + 1)])
        q, r = np.linalg.qr(rows)
        fit = np.linalg.solve(r, q.T @ goal)
        scales = np.log(np.abs(np.diag(r))).sum() + np.log(prior_sd).sum()
        square = ((goal - rows @ fit) ** 2).sum()
        logs.append(-sigma / sd - square / 2 - scales - (n_obs - 1) * np.log(sigma))
        means.append(y.mean() + design[left_out] @ fit)
        variances.append(sigma**2 + (np.linalg.solve(r.T, design[left_out]) ** 2).sum())
    share = weight / (1 - t) ** 2 * np.exp(np.array(logs) - max(logs))
    error, variance = y[left_out] - np.array(means), np.array(variances)
    density = np.exp(-(error**2) / variance / 2) / np.sqrt(2 * np.pi * variance)
    return share @ error / share.sum(), np.log(share @ density / share.sum())


def duplicated(n_obs: int, n_feature: int):
    """Every row of the features twice, with two responses."""
    features, y = draw_data(1, n_obs, n_feature)
    return np.concatenate([features, features], axis=1), np.concatenate([y, y[:, ::-1]], axis=1)


DATA = {
    "few": draw_data(1, 5, 1),
    "more features": draw_data(1, 6, 9),
    "duplicated rows": duplicated(4, 2),
    "collinear": (np.tile(draw_data(1, 9, 1)[0], 3), draw_data(1, 9, 1)[1]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("wide", [False, True], ids=["default", "wide"])
def test_exact_answers_are_those_of_least_squares_with_a_row_for_each_prior(name, wide):
    features, y = DATA[name]
    prior = (wide_prior if wide else default_prior)(features, y)
    found = exact_leave_one_out(features, y, prior)
    n_feature = features.shape[2]
    scales = 2.5 * y[0].std(ddof=1) / features[0].std(axis=0, ddof=1)
    coefficient_sd = np.full(n_feature, 10.0) if wide else scales
    # Rows over σ lose the digits that the design's size has over σ; at the lowest node that counts
    # with p >= n the posterior's share is about σ itself.
    rounding = 100 * N_NODE * EPS * max(1.0, coefficient_sd.max() / y[0].std(ddof=1)) ** 2
    for i in range(y.shape[1]):
        error, log_density = by_pseudo_observations(features[0], y[0], coefficient_sd, i)
        scale = np.abs(y[0] - y[0].mean()).max()
        assert found.error[0, i] == pytest.approx(error, abs=rounding * scale)
        assert found.log_density[0, i] == pytest.approx(log_density, abs=rounding)


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
    assert not LEAST_SCALE < unit < 1 / LEAST_SCALE
    features, y = draw_data(1, 6, 1)
    for data in ((features, unit * y), (unit * features, y)):
        with pytest.raises(DesignError, match=r"scale .* from 7e-139 to 1e\+138, whose squares"):
            by_default(*data)


def test_just_within_those_limits_every_digit_is_there():
    y, error = np.random.default_rng(1).standard_normal((2, 1, 9))
    at = UTILITIES.index("mse")
    usual = taylor(Pointwise(y, error)).std_error[0]
    for unit in (100 * LEAST_SIZE, 0.01 / LEAST_SIZE):
        found = taylor(Pointwise(unit * y, unit * error)).std_error[0]
        assert found[at] / unit**2 == pytest.approx(usual[at], rel=100 * EPS)
        same = [UTILITIES.index(name) for name in ("r2_mean_square", "r2_variance")]
        np.testing.assert_allclose(found[same], usual[same], rtol=100 * EPS)


# ---------------------------------------------------------------- what the formulas leave out
def relative_error_of_mse(n_obs: int, n_feature: int) -> float:
    """Of Taylor's standard error of the mean square, for least squares with normal errors.

    Exactly: e = D M ε with M = I - H and D = 1/(1 - h), and fourth moments of normals (Isserlis).
    """
    rng = np.random.default_rng(7)
    design = np.column_stack([np.ones(50), rng.standard_normal((50, n_feature))])
    design = np.tile(design, (n_obs // 50, 1))
    left_over = np.eye(n_obs) - design @ np.linalg.pinv(design)
    inverse = 1 / np.diag(left_over)
    covariance = left_over * np.outer(inverse, inverse)
    own, all_pairs = np.diag(covariance), (covariance**2).sum()
    about_mean = 3 * (own**2).sum() - (own.sum() ** 2 + 2 * all_pairs) / n_obs
    estimated, true = about_mean / (n_obs * (n_obs - 1)), 2 * all_pairs / n_obs**2
    return float(np.sqrt(estimated / true) - 1)


@pytest.mark.parametrize("n_feature", [1, 5, 10])
def test_errors_that_share_a_fit_spread_more_by_half_the_parameters_over_n(n_feature):
    """Relative error -(p + 1)/(2n) + O(1/n²): n times what it lacks halves as n doubles."""
    lacking = [
        n_obs * relative_error_of_mse(n_obs, n_feature) + (n_feature + 1) / 2
        for n_obs in (200, 400, 800)
    ]
    np.testing.assert_allclose(np.divide(lacking[1:], lacking[:-1]), 0.5, atol=1 / 8)


# ---------------------------------------------------------------- differences, by finite steps
def weighted(name: str, y, error, density, weights) -> float:
    """A utility by its definition, of any weights."""
    w = weights / weights.sum()
    mse = w @ error**2
    values = {
        "mae": w @ np.abs(error),
        "mse": mse,
        "rmse": np.sqrt(mse),
        "r2_mean_square": 1 - mse / (w @ (y - y.mean()) ** 2),
        "r2_variance": 1 - (mse - (w @ error) ** 2) / (w @ y**2 - (w @ y) ** 2),
        "r2_misplaced": 1 - (mse - ((w * error) ** 2).sum()) / (w @ y**2 - (w @ y) ** 2),
        "elpd": len(y) * (w @ density),
    }
    return float(values[name])


@pytest.mark.parametrize("name", [u for u in UTILITIES if u not in ("r2_clipped", "r2_published")])
def test_standard_errors_of_differences_are_those_of_numerical_derivatives(name):
    """Central differences of step h are off by h² and eps/h: least at h = eps^(1/3)."""
    n_obs, step = 8, EPS ** (1 / 3)
    y, one, other, *densities = np.random.default_rng(2).standard_normal((5, n_obs))
    parts = [(one, densities[0]), (other, densities[1])]

    def gap(weights):
        first, second = (weighted(name, y, e, density, weights) for e, density in parts)
        return first - second

    moves = step / n_obs * np.eye(n_obs)
    equal = np.full(n_obs, 1 / n_obs)
    psi = np.array([(gap(equal + move) - gap(equal - move)) / (2 * step / n_obs) for move in moves])
    first, second = (Pointwise(y[None], e[None], density[None]) for e, density in parts)
    found = taylor_difference(first, second).std_error[0, UTILITIES.index(name)]
    slow = np.sqrt((psi**2).sum() / (n_obs * (n_obs - 1)))
    assert found == pytest.approx(slow, rel=100 * n_obs * step**2)
