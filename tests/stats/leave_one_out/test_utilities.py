"""Taylor's formulas in exact fractions, against derivatives by dual numbers and by simulation."""

from fractions import Fraction
from math import isqrt
from typing import NamedTuple

import numpy as np
import pytest

from simstudy.stats.leave_one_out.utilities import (
    R2_FORMS,
    UTILITIES,
    Pointwise,
    influence,
    taylor,
    taylor_difference,
)
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

EPS = float(np.finfo(float).eps)

# Errors whose mean squares, and their product, have rational roots.
Y = [Fraction(v) for v in (0, 1, 5, 2)]
ERROR_A = [Fraction(v) for v in (0, -1, 2, 2)]  # mean square 9/4
ERROR_B = [Fraction(v) for v in (1, 1, -1, 1)]  # mean square 1
DENSITY_A = [Fraction(v, 3) for v in (-1, -2, -7, -4)]
DENSITY_B = [Fraction(v, 5) for v in (-3, -8, -2, -4)]


class Data(NamedTuple):
    y: list[Fraction]
    error: list[Fraction]
    density: list[Fraction]


A, B = Data(Y, ERROR_A, DENSITY_A), Data(Y, ERROR_B, DENSITY_B)


def as_pointwise(data: Data) -> Pointwise:
    return Pointwise(*(np.array([[float(v) for v in part]]) for part in data))


class Dual:
    """a + b ε with ε² = 0: the derivative of whatever is computed of it, exactly."""

    def __init__(self, value, slope=0):
        self.value, self.slope = Fraction(value), Fraction(slope)

    def __add__(self, other):
        other = as_dual(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __sub__(self, other):
        other = as_dual(other)
        return Dual(self.value - other.value, self.slope - other.slope)

    def __mul__(self, other):
        other = as_dual(other)
        return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)

    def __truediv__(self, other):
        other = as_dual(other)
        value = self.value / other.value
        return Dual(value, (self.slope - value * other.slope) / other.value)

    __radd__ = __add__

    def __rsub__(self, other):
        return as_dual(other) - self

    def sqrt(self):
        root = rational_root(self.value)
        return Dual(root, self.slope / (2 * root))


def as_dual(value):
    return value if isinstance(value, Dual) else Dual(value)


def rational_root(value: Fraction) -> Fraction:
    root = Fraction(isqrt(value.numerator), isqrt(value.denominator))
    assert root**2 == value, "the data were chosen to have rational roots"
    return root


def utility(name: str, data: Data, weights: list):
    """Any utility of any weights, by its definition; weights need not add up to one."""
    whole = sum(weights)
    mean = lambda column: sum(w * v for w, v in zip(weights, column, strict=True)) / whole  # noqa: E731
    squares = [e * e for e in data.error]
    center = sum(data.y) / len(data.y)
    if name == "mae":
        return mean([abs(e) for e in data.error])
    if name == "mse":
        return mean(squares)
    if name == "rmse":
        return mean(squares).sqrt()
    if name == "elpd":
        return mean(data.density) * len(data.y)
    if name == "r2_mean_square":
        return 1 - mean(squares) / mean([(y - center) * (y - center) for y in data.y])
    spread = mean([y * y for y in data.y]) - mean(data.y) * mean(data.y)
    if name == "r2_variance":
        own = mean(data.error) * mean(data.error)
    else:
        pairs = zip(weights, data.error, strict=True)
        own = sum((w * e / whole) * (w * e / whole) for w, e in pairs)
    return 1 - (mean(squares) - own) / spread


def slow_influence(name: str, data: Data) -> list[Fraction]:
    """Derivative of the utility by each weight, at weights 1/n, by dual numbers."""
    n = len(data.y)
    return [
        utility(name, data, [Dual(Fraction(1, n), i == j) for j in range(n)]).slope
        for i in range(n)
    ]


def slow_variance(psi: list[Fraction]) -> Fraction:
    n = len(psi)
    return sum(p * p for p in psi) / (n * (n - 1))


UNCLIPPED = [name for name in UTILITIES if name not in ("r2_clipped", "r2_published")]


# ---------------------------------------------------------------- the table, in fractions
def variance(first: list[Fraction], second: list[Fraction] | None = None) -> Fraction:
    """Of a mean, or the covariance of two, with the divisor n (n - 1)."""
    second, n = second or first, len(first)
    around = [sum(part) / n for part in (first, second)]
    products = [(u - around[0]) * (v - around[1]) for u, v in zip(first, second, strict=True)]
    return sum(products) / (n * (n - 1))


def table(name: str, a: Data, b: Data | None = None) -> Fraction:
    """The closed formulas of the documentation's table, cell by cell."""
    n, center = len(a.y), sum(a.y) / len(a.y)
    baseline = [(y - center) ** 2 for y in a.y]
    v_y, mse_y = variance(baseline), sum(baseline) / n
    sq_a, abs_a = [e**2 for e in a.error], [abs(e) for e in a.error]
    mse_a = sum(sq_a) / n
    if b is None:
        return {
            "mae": lambda: variance(abs_a),
            "mse": lambda: variance(sq_a),
            "rmse": lambda: variance(sq_a) / (4 * mse_a),
            "r2_mean_square": lambda: (
                (
                    variance(sq_a)
                    - 2 * mse_a / mse_y * variance(sq_a, baseline)
                    + (mse_a / mse_y) ** 2 * v_y
                )
                / mse_y**2
            ),
            "elpd": lambda: n**2 * variance(a.density),
        }[name]()
    sq_b, abs_b = [e**2 for e in b.error], [abs(e) for e in b.error]
    mse_b = sum(sq_b) / n
    gap, gap_mse = [u - v for u, v in zip(sq_a, sq_b, strict=True)], mse_a - mse_b
    return {
        "mae": lambda: variance(abs_a) + variance(abs_b) - 2 * variance(abs_a, abs_b),
        "mse": lambda: variance(gap),
        "rmse": lambda: (
            (
                variance(sq_a) / mse_a
                + variance(sq_b) / mse_b
                - 2 * variance(sq_a, sq_b) / rational_root(mse_a * mse_b)
            )
            / 4
        ),
        "r2_mean_square": lambda: (
            (
                variance(gap)
                - 2 * gap_mse / mse_y * variance(gap, baseline)
                + (gap_mse / mse_y) ** 2 * v_y
            )
            / mse_y**2
        ),
        "elpd": lambda: n**2 * variance([u - v for u, v in zip(a.density, b.density, strict=True)]),
    }[name]()


IN_TABLE = ("mae", "mse", "rmse", "r2_mean_square", "elpd")


@pytest.mark.parametrize("name", IN_TABLE)
def test_the_table_is_the_sum_of_squared_derivatives(name):
    assert table(name, A) == slow_variance(slow_influence(name, A))
    gaps = [a - b for a, b in zip(slow_influence(name, A), slow_influence(name, B), strict=True)]
    assert table(name, A, B) == slow_variance(gaps)


def test_that_test_catches_the_printed_centre():
    """With predictions for the mean of y, as printed, the baseline's variance is another."""
    predicted = [y - e for y, e in zip(A.y, A.error, strict=True)]
    center = sum(A.y) / len(A.y)
    right = variance([(y - center) ** 2 for y in A.y])
    printed = variance([(y - p) ** 2 for y, p in zip(A.y, predicted, strict=True)])
    assert right != printed


@pytest.mark.parametrize("name", UNCLIPPED)
@pytest.mark.parametrize("data", [A, B], ids=["A", "B"])
def test_influences_are_the_derivatives_by_dual_numbers(name, data):
    slow = [float(v) for v in slow_influence(name, data)]
    found = influence(as_pointwise(data), name)[0]
    np.testing.assert_allclose(found, slow, rtol=20 * EPS, atol=20 * EPS * np.abs(slow).max())
    assert sum(slow_influence(name, data)) == 0


@pytest.mark.parametrize("name", UNCLIPPED)
def test_values_and_standard_errors_are_those_of_the_fractions(name):
    at, n = UTILITIES.index(name), len(Y)
    equal = [Dual(Fraction(1, n))] * n
    found, gap = taylor(as_pointwise(A)), taylor_difference(as_pointwise(A), as_pointwise(B))
    value = utility(name, A, equal).value
    psi = [slow_influence(name, data) for data in (A, B)]
    gaps = [a - b for a, b in zip(*psi, strict=True)]
    assert found.value[0, at] == pytest.approx(float(value), rel=20 * EPS)
    assert found.std_error[0, at] ** 2 == pytest.approx(float(slow_variance(psi[0])), rel=50 * EPS)
    assert gap.value[0, at] == pytest.approx(
        float(value - utility(name, B, equal).value), rel=50 * EPS
    )
    assert gap.std_error[0, at] ** 2 == pytest.approx(float(slow_variance(gaps)), rel=50 * EPS)


# ---------------------------------------------------------------- what the forms of R² are
@pytest.mark.parametrize("n", [2, 3, 10, 50])
def test_the_null_model_has_a_negative_r2(n):
    y = [Fraction(i**2, 7) for i in range(n)]
    error = [(v - sum(y) / n) * Fraction(n, n - 1) for v in y]  # y less the mean of the others
    for i in range(n):
        assert error[i] == y[i] - (sum(y) - y[i]) / (n - 1)
    exact = 1 - Fraction(n, n - 1) ** 2
    data = Data(y, error, y)
    for name in ("r2_mean_square", "r2_variance"):
        equal = [Dual(Fraction(1, n))] * n
        assert utility(name, data, equal).value == exact
        found, at = taylor(as_pointwise(data)), UTILITIES.index(name)
        assert found.value[0, at] == pytest.approx(float(exact), rel=20 * n * EPS)
        assert abs(found.std_error[0, at]) <= 20 * n * EPS
        assert set(slow_influence(name, data)) == {0}


def test_forms_of_r2_differ_where_errors_have_a_mean():
    values = dict(zip(UTILITIES, taylor(as_pointwise(A)).value[0], strict=True))
    n, mse = 4, 9 / 4
    assert values["r2_variance"] - values["r2_mean_square"] == pytest.approx(
        (3 / 4) ** 2 / np.var([0, 1, 5, 2]), rel=20 * EPS
    )
    assert values["r2_misplaced"] == pytest.approx(
        1 - (mse - mse / n) / np.var([0, 1, 5, 2]), rel=20 * EPS
    )


def test_clipping_holds_the_value_and_takes_its_error():
    y = np.array([[0.0, 1.0, 2.0, 3.0]])
    bad = taylor(Pointwise(y, np.array([[4.0, -3.0, 5.0, -2.0]])))
    at = [UTILITIES.index(name) for name in R2_FORMS]
    values, errors = (dict(zip(R2_FORMS, part[0, at], strict=True)) for part in bad)
    assert values["r2_variance"] < -1 > values["r2_misplaced"]
    assert values["r2_clipped"] == values["r2_published"] == -1
    assert errors["r2_clipped"] == errors["r2_published"] == 0 < errors["r2_variance"]


# ---------------------------------------------------------------- differences
def test_a_model_does_not_differ_from_itself():
    found = taylor_difference(as_pointwise(A), as_pointwise(A))
    assert (found.value == 0).all()
    assert (found.std_error == 0).all()


def test_the_order_of_models_changes_the_sign_alone():
    one = taylor_difference(as_pointwise(A), as_pointwise(B))
    other = taylor_difference(as_pointwise(B), as_pointwise(A))
    assert (one.value == -other.value).all()
    assert (one.std_error == other.std_error).all()


# ---------------------------------------------------------------- large samples
N_OBS, CORRELATION = 150, 0.6
ERROR_WORTH_CATCHING = 0.05  # relative, of a standard error
N_REP = replicates_to_catch(ERROR_WORTH_CATCHING, sd=1 / np.sqrt(2))  # of a standard deviation


def draw_errors(n_rep: int) -> tuple[Pointwise, Pointwise]:
    """Two models whose errors share the response's noise, with known mean squares."""
    rng = np.random.default_rng(11)
    y, z, other = rng.standard_normal((3, n_rep, N_OBS))
    first = CORRELATION * y + np.sqrt(1 - CORRELATION**2) * z
    second = 0.8 * first + 0.6 * other
    return (
        Pointwise(y, first, -0.5 * first**2),
        Pointwise(y, second, -0.5 * second**2),
    )


@pytest.fixture(scope="module")
def many():
    """Of one model, of the difference, and of a difference that takes the two for independent."""
    first, second = draw_errors(N_REP)
    one, gap = taylor(first), taylor_difference(first, second)
    unpaired = np.hypot(one.std_error, taylor(second).std_error)
    return one, gap, gap._replace(std_error=unpaired)


def relative_error(estimate, at: int) -> float:
    return estimate.std_error[:, at].mean() / estimate.value[:, at].std(ddof=1) - 1


@pytest.mark.parametrize("which", [0, 1], ids=["one model", "difference"])
@pytest.mark.parametrize("name", UTILITIES)
def test_standard_errors_are_the_spread_over_replicates(many, name, which):
    """The spread of N replicates is known to 1/sqrt(2N); terms of order 1/n are far below it."""
    found = relative_error(many[which], UTILITIES.index(name))
    assert_within_mcse(found, 0, 1 / np.sqrt(2 * N_REP), comparisons=2 * len(UTILITIES))


def test_that_test_catches_an_unpaired_difference(many):
    found = relative_error(many[2], UTILITIES.index("mse"))
    assert_caught(found, 0, 1 / np.sqrt(2 * N_REP), comparisons=2 * len(UTILITIES))


# ---------------------------------------------------------------- edges
def test_a_constant_response_has_no_r2_and_every_other_utility():
    y = np.full((1, 10), 0.1)  # ten tenths do not add up to one
    found = taylor(Pointwise(y, np.arange(10.0)[np.newaxis] - 4, -np.ones((1, 10))))
    is_r2 = np.array([name in R2_FORMS for name in UTILITIES])
    for part in found:
        assert (np.isnan(part[0]) == is_r2).all()


def test_a_model_without_error_is_certain():
    y = np.arange(5.0)[np.newaxis]
    found = taylor(Pointwise(y, np.zeros((1, 5))))
    by_name = dict(
        zip(UTILITIES, zip(found.value[0], found.std_error[0], strict=True), strict=True)
    )
    assert by_name["rmse"] == by_name["mse"] == by_name["mae"] == (0, 0)
    assert by_name["r2_mean_square"] == by_name["r2_variance"] == (1, 0)
    assert np.isnan(by_name["elpd"]).all()
