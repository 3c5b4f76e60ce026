"""Densities of a sample, also up to an end."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from simstudy.errors import DesignError
from simstudy.figures import density_plot
from simstudy.figures.distributions import _kernel_before, kernel_density
from tests.figures.data import text_of

N = 3000
NORMAL = np.random.default_rng(5).standard_normal(N)


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


def test_the_widest_band_is_a_share_of_its_own_panels_highest_density():
    samples = {"wide": NORMAL[:50], "narrow": NORMAL / 1000}
    frame = pd.concat(pd.DataFrame({"value": drawn, "panel": name, "sample": "all"})
                      for name, drawn in samples.items())  # fmt: skip
    curve = kernel_density(NORMAL[:50])
    half = 100 * (curve.upper - curve.density).max() / curve.density.max()
    plot = density_plot(frame, x="value", color="sample", panel="panel")
    assert f"at most {half:.2g}% of the highest density" in text_of(plot)


# ---------------------------------------------------------------- the estimate
def bandwidth(values):
    return 0.9 * min(values.std(), stats.iqr(values) / 1.349) * len(values) ** -0.2


def test_the_density_is_the_sum_of_its_kernels():
    curve, h = kernel_density(NORMAL), bandwidth(NORMAL)
    plain = [stats.norm.pdf(place, NORMAL, h).mean() for place in curve.value]
    # Values within a bin of 1/2000 of the range are moved by half of it at most.
    moved = np.ptp(NORMAL) / 2000 / 2 * stats.norm.pdf(1) / h**2
    np.testing.assert_allclose(curve.density, plain, atol=moved)


def test_its_band_is_two_standard_errors_to_first_order():
    curve, h = kernel_density(NORMAL), bandwidth(NORMAL)
    half = curve.upper - curve.density
    squared_kernel, _ = integrate.quad(lambda x: stats.norm.pdf(x) ** 2, -9, 9)
    np.testing.assert_allclose(half, 2 * np.sqrt(curve.density * squared_kernel / (N * h)))


def exponential_before(end: float, n: int = N) -> np.ndarray:
    """Quantiles of a density that rises to 1 at its end, so that only smoothing is in error."""
    return end + np.log((np.arange(n) + 0.5) / n)


def test_a_density_that_rises_to_its_end_is_not_levelled_there():
    """The bias of a local linear fit to exp(x) at 0 is 0.375 h², before terms of h³."""
    values = exponential_before(2.0)
    h, curve = bandwidth(values), kernel_density(values, at_most=2.0)
    assert curve.value.max() == 2.0
    near = curve.value > 2.0 - 4 * h
    np.testing.assert_allclose(curve.density[near], np.exp(curve.value[near] - 2.0), rtol=h**2)
    reflected = 2 * stats.norm.pdf(2.0, values, h).mean()
    assert abs(reflected - 1) > 3 * h**2


@pytest.mark.parametrize("room", [0.0, 0.3, 2.0, 40.0])
def test_the_kernel_before_an_end_has_a_whole_integral_and_no_mean(room):
    constant, slope, squared = _kernel_before(np.array([room]))[:, 0]

    def integral(power, of):
        return integrate.quad(lambda u: u**power * of(u), -12, min(room, 12))[0]

    def kernel(u):
        return (constant + slope * u) * stats.norm.pdf(u)

    assert integral(0, kernel) == pytest.approx(1)
    assert integral(1, kernel) == pytest.approx(0, abs=1e-7)
    assert integral(0, lambda u: kernel(u) ** 2) == pytest.approx(squared)


def test_no_density_is_below_zero():
    values = stats.norm.ppf((np.arange(N) + 0.5) / N)
    assert kernel_density(values, at_most=values.max() + 0.1).density.min() >= 0


def test_values_that_are_all_the_same_are_refused():
    with pytest.raises(DesignError, match="7 equal values have no density to draw"):
        kernel_density(np.full(7, 2.0))
