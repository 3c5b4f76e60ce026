"""Published tables of the example of White (2010), recomputed from their own summary statistics.

One thousand data sets with missing covariates, analysed by complete cases (CC) and by multiple
imputation (MI_LOGT, MI_T); truth 0.5. Numbers as printed to 7 decimals by the R package rsimsum
(Gasparini 2018, J. Open Source Software 3(26), 739), vignette "Introduction to rsimsum", which
agrees with Stata's simsum (White 2010, Stata Journal 10, 369-385). The replicates are not needed:
data with the published count, means and standard deviations must give the published errors.
"""

from typing import NamedTuple

import numpy as np
import pytest

from simstudy import measures as m

N_REP = 1000
TRUTH = 0.5
HALF = 5.0e-8  # half a unit in the last printed place


class Printed(NamedTuple):
    thetamean: float
    se2mean: float
    bias: tuple[float, float]
    relative_bias: tuple[float, float]
    empirical_se: tuple[float, float]
    mse: tuple[float, float]
    gain: float
    model_se: tuple[float, float]
    relative_error: tuple[float, float]
    coverage: tuple[float, float]
    bias_eliminated: tuple[float, float]
    power: tuple[float, float]


PRINTED = {
    "CC": Printed(
        0.5167662, 0.0216373, (0.0167662, 0.0047787), (0.0335323, 0.0095574),
        (0.1511150, 0.0033807), (0.0230940, 0.0011338), 0.0, (0.1470963, 0.0005274),
        (-2.6593842, 2.2054817), (0.943, 0.0073315), (0.940, 0.0075100), (0.946, 0.0071473),
    ),
    "MI_LOGT": Printed(
        0.5009231, 0.0182091, (0.0009231, 0.0041744), (0.0018462, 0.0083488),
        (0.1320064, 0.0029532), (0.0174091, 0.0008813), 31.0463410, (0.1349413, 0.0006046),
        (2.2232593, 2.3323382), (0.949, 0.0069569), (0.949, 0.0069569), (0.969, 0.0054808),
    ),
    "MI_T": Printed(
        0.4988092, 0.0179117, (-0.0011908, 0.0042510), (-0.0023817, 0.0085020),
        (0.1344277, 0.0030074), (0.0180542, 0.0009112), 26.3681613, (0.1338346, 0.0005856),
        (-0.4412233, 2.2695216), (0.943, 0.0073315), (0.943, 0.0073315), (0.963, 0.0059692),
    ),
}  # fmt: skip


def values_with(mean, sd, *, high=0.5):
    """As many values as the study has replicates, with that mean and standard deviation.

    A share `high` of them is above the mean: a small one for values that cannot be negative.
    """
    up = events(high)
    scale = np.sqrt((N_REP - 1) / N_REP / (high * (1 - high)))
    return mean + sd * scale * (up - high)


def events(share):
    return np.arange(N_REP) < round(share * N_REP)


@pytest.fixture(params=PRINTED)
def printed(request):
    return PRINTED[request.param]


def columns(printed):
    model, mcse = printed.model_se
    squares = values_with(printed.se2mean, 2 * model * mcse * np.sqrt(N_REP))
    x = values_with(printed.thetamean, printed.empirical_se[0])
    return {
        "x": x,
        "se": np.sqrt(np.roll(squares, N_REP // 4)),
        "flag": events(printed.coverage[0]),
    }


def pair(result, scale=1.0):
    return float(scale * result.estimate), float(scale * result.mcse)


def test_bias_and_relative_bias(printed):
    data = columns(printed)
    assert pair(m.bias("x", TRUTH).estimate(data)) == pytest.approx(printed.bias, abs=2 * HALF)
    relative = pair(m.relative_bias("x", TRUTH).estimate(data))
    assert relative == pytest.approx(printed.relative_bias, abs=4 * HALF)


def test_empirical_se_with_its_normal_error(printed):
    result = m.empirical_se("x", mcse="normal").estimate(columns(printed))
    assert pair(result) == pytest.approx(printed.empirical_se, abs=2 * HALF)


def test_mse_is_squared_bias_plus_variance(printed):
    result = m.mse("x", TRUTH).estimate(columns(printed))
    assert float(result.estimate) == pytest.approx(printed.mse[0], abs=2 * HALF)


def test_mse_and_its_error_from_squared_errors(printed):
    value, mcse = printed.mse
    squares = values_with(value, mcse * np.sqrt(N_REP), high=0.2)
    result = m.mse("x", TRUTH).estimate({"x": TRUTH + np.sqrt(squares)})
    assert pair(result) == pytest.approx(printed.mse, abs=HALF)


def test_relative_precision(printed):
    spread = [PRINTED["CC"].empirical_se[0], printed.empirical_se[0]]
    data = {"x": np.stack([values_with(0.0, sd) for sd in spread], axis=1)}
    gain = 100 * m.relative_precision("x").estimate(data).estimate[1]
    relative = 2 * HALF * sum(1 / sd for sd in spread)
    assert gain == pytest.approx(printed.gain, abs=100 * 1.4 * relative)


def test_model_se(printed):
    result = m.model_se("se").estimate(columns(printed))
    assert pair(result) == pytest.approx(printed.model_se, abs=5 * HALF)  # se2mean has 6 digits


def test_relative_error_of_the_model_se_with_its_normal_error(printed):
    measure = m.relative_error_model_se("x", "se", mcse="normal")
    relative = HALF * (1 / printed.empirical_se[0] + 1 / (2 * printed.se2mean))
    got = pair(measure.estimate(columns(printed)), scale=100)
    assert got == pytest.approx(printed.relative_error, abs=100 * 1.1 * relative)


@pytest.mark.parametrize("which", ["coverage", "bias_eliminated", "power"])
def test_proportions_have_binomial_errors(printed, which):
    value, mcse = getattr(printed, which)
    result = m.rejection_rate("flag").estimate({"flag": events(value)})
    assert pair(result) == pytest.approx((value, mcse), abs=HALF)


def test_these_comparisons_catch_the_other_divisor(printed):
    """A variance with divisor n instead of n - 1 is off by more than the printed digits."""
    data = columns(printed)
    assert float(data["x"].std()) != pytest.approx(printed.empirical_se[0], abs=2 * HALF)
