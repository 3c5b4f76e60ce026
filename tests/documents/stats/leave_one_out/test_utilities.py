"""Taylor's formulas against derivatives by weights in many digits."""

import mpmath
import numpy as np
import pytest

from simstudy.documents.stats.leave_one_out.utilities import (
    R2_FORMS,
    UTILITIES,
    Pointwise,
    linearised,
    taylor,
    taylor_difference,
)
from tests.documents.stats.leave_one_out.plain import utilities_of

EPS = float(np.finfo(float).eps)
UNCLIPPED = [name for name in UTILITIES if name not in ("r2_clipped", "r2_published")]
Y = np.array([[0.0, 1.0, 5.0, 2.0]])
A = Pointwise(Y, np.array([[0.0, -1.0, 2.0, 2.0]]), np.array([[-1.0, -2.0, -7.0, -4.0]]) / 3)
B = Pointwise(Y, np.array([[1.0, 1.0, -1.0, 1.0]]), np.array([[-3.0, -8.0, -2.0, -4.0]]) / 5)


def slow_influence(name: str, data: Pointwise) -> np.ndarray:
    """Derivative of the utility by each weight, at weights 1/n, in 30 digits."""
    with mpmath.workdps(30):
        columns = [np.array([mpmath.mpf(v) for v in part[0]]) for part in data]
        equal = np.array([mpmath.mpf(1) / len(columns[0])] * len(columns[0]))
        slopes = [
            mpmath.diff(lambda step, way=way: utilities_of(equal + step * way, *columns)[name], 0)
            for way in np.eye(len(equal), dtype=int)
        ]
    return np.array(slopes, float)


@pytest.mark.parametrize("name", UNCLIPPED)
def test_values_influences_and_errors_are_those_of_the_reweighted_definition(name):
    at, n = UTILITIES.index(name), Y.size
    values = [utilities_of(np.ones(n), *(part[0] for part in data))[name] for data in (A, B)]
    slow = [slow_influence(name, data) for data in (A, B)]
    for data, psi in zip((A, B), slow, strict=True):
        size = np.abs(psi).max()
        found = linearised(data)[name][1][0]
        np.testing.assert_allclose(found, psi, rtol=0, atol=50 * EPS * size)
    for found, value, psi in (
        (taylor(A), values[0], slow[0]),
        (taylor_difference(A, B), values[0] - values[1], slow[0] - slow[1]),
    ):
        assert found.value[0, at] == pytest.approx(value, rel=50 * EPS)
        variance = (psi**2).sum() / (n * (n - 1))
        assert found.std_error[0, at] ** 2 == pytest.approx(variance, rel=100 * EPS)


@pytest.mark.parametrize("n", [2, 3, 10, 50])
def test_the_null_model_has_a_negative_r2_without_error(n):
    y = np.arange(n)[np.newaxis] ** 2 / 7
    error = y - (y.sum() - y) / (n - 1)  # y less the mean of the others
    found = taylor(Pointwise(y, error))
    for name in ("r2_mean_square", "r2_variance"):
        at = UTILITIES.index(name)
        assert found.value[0, at] == pytest.approx(1 - (n / (n - 1)) ** 2, rel=20 * n * EPS)
        assert abs(found.std_error[0, at]) <= 20 * n * EPS


def test_clipping_holds_the_value_and_takes_its_error():
    y = np.array([[0.0, 1.0, 2.0, 3.0]])
    bad = taylor(Pointwise(y, np.array([[4.0, -3.0, 5.0, -2.0]])))
    at = [UTILITIES.index(name) for name in R2_FORMS]
    values, errors = (dict(zip(R2_FORMS, part[0, at], strict=True)) for part in bad)
    assert values["r2_variance"] < -1 > values["r2_misplaced"]
    assert values["r2_clipped"] == values["r2_published"] == -1
    assert errors["r2_clipped"] == errors["r2_published"] == 0 < errors["r2_variance"]


def test_a_constant_response_has_no_r2_and_every_other_utility():
    y = np.full((1, 10), 0.1)  # ten tenths do not add up to one
    found = taylor(Pointwise(y, np.arange(10.0)[np.newaxis] - 4, -np.ones((1, 10))))
    is_r2 = np.array([name in R2_FORMS for name in UTILITIES])
    for part in found:
        assert (np.isnan(part[0]) == is_r2).all()


def test_a_model_without_error_is_certain():
    y = np.arange(5.0)[np.newaxis]
    found = taylor(Pointwise(y, np.zeros((1, 5))))
    pairs = zip(found.value[0], found.std_error[0], strict=True)
    by_name = dict(zip(UTILITIES, pairs, strict=True))
    assert by_name["rmse"] == by_name["mse"] == by_name["mae"] == (0, 0)
    assert by_name["r2_mean_square"] == by_name["r2_variance"] == (1, 0)
    assert np.isnan(by_name["elpd"]).all()
