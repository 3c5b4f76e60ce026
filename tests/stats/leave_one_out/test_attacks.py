"""Leave-one-out at the edges of what doubles hold, and what its formulas leave out."""

import numpy as np
import pytest

from simstudy.errors import DesignError
from simstudy.stats.leave_one_out.bayesian_bootstrap import bayesian_bootstrap
from simstudy.stats.leave_one_out.priors import LEAST_SCALE, default_prior
from simstudy.stats.leave_one_out.regression import ExactLeaveOneOut, exact_leave_one_out
from simstudy.stats.leave_one_out.utilities import LEAST_SIZE, UTILITIES, Pointwise, taylor
from tests.stats.leave_one_out.plain import draw_data

EPS = float(np.finfo(float).eps)


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
