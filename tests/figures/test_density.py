import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from simstudy.errors import FigureError
from simstudy.figures import density_plot, kernel_density
from tests.support import assert_within_mcse

N = 3000
NORMAL = np.random.default_rng(5).standard_normal(N)


def bandwidth(values):
    return 0.9 * min(values.std(), stats.iqr(values) / 1.349) * len(values) ** -0.2


def test_the_density_is_the_sum_of_its_kernels():
    curve, h = kernel_density(NORMAL), bandwidth(NORMAL)
    plain = [stats.norm.pdf(place, NORMAL, h).mean() for place in curve["value"]]
    # Values within a bin of 1/2000 of the range are moved by half of it at most.
    moved = np.ptp(NORMAL) / 2000 / 2 * stats.norm.pdf(1) / h**2
    np.testing.assert_allclose(curve["density"], plain, atol=moved)


def test_its_band_is_two_standard_errors_to_first_order():
    curve, h = kernel_density(NORMAL), bandwidth(NORMAL)
    half = curve["upper"] - curve["density"]
    squared_kernel, _ = integrate.quad(lambda x: stats.norm.pdf(x) ** 2, -9, 9)
    np.testing.assert_allclose(half, 2 * np.sqrt(curve["density"] * squared_kernel / (N * h)))


def test_mass_beyond_the_end_is_reflected():
    uniform = np.random.default_rng(6).random(N)
    inside, open_end = kernel_density(uniform, at_most=1.0), kernel_density(uniform)
    assert inside["value"].max() == 1.0
    last = inside.iloc[-1]
    assert_within_mcse(last["density"], 1.0, np.sqrt(2) * (last["upper"] - last["density"]) / 2)
    at_one = np.interp(1.0, open_end["value"], open_end["density"])
    with pytest.raises(AssertionError, match="suspect the code"):
        assert_within_mcse(at_one, 1.0, (last["upper"] - last["density"]) / 2)


def test_values_that_are_all_the_same_are_refused():
    with pytest.raises(FigureError, match="7 values, all the same, have no density to draw"):
        kernel_density(np.full(7, 2.0))


def test_each_colour_has_its_curve_and_its_median():
    frame = pd.DataFrame({"value": [*NORMAL[:50], *NORMAL[50:100] + 1],
                          "sample": np.repeat(["a", "b"], 50)})  # fmt: skip
    plot = density_plot(frame, x="value", color="sample")
    medians = next(la._data for la in plot.layers if type(la.geom).__name__ == "geom_vline")
    assert medians["value"].tolist() == pytest.approx(
        [np.median(NORMAL[:50]), np.median(NORMAL[50:100]) + 1]
    )
    assert len(plot.data) == 2 * 200
    plot.draw()
