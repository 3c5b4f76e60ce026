import numpy as np
import pandas as pd
import pytest

from simstudy.figures import density_plot
from simstudy.figures.kernel_density import kernel_density
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
