"""Numbers of Stata's simsum, from the certification log of its authors.

I. R. White, github.com/UCL/simsum, test/cscript1.log of version 2.3.1 (22 September 2025):
`simsum b*, sep(se_) true(0) mcse`, and with `df(5)`. 100 data sets and two methods. The data sets
are not needed: made-up ones with the printed means and spreads must give the other numbers.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import special

from simstudy import from_frame
from simstudy import measures as m

N = 100


class Printed(NamedTuple):
    """Estimates with their Monte Carlo errors, percentages as shares."""

    bias: tuple[float, float]
    empirical_se: tuple[float, float]
    relative_precision: float
    mse: tuple[float, float]
    rmse: tuple[float, float]
    model_se: tuple[float, float]
    interval_width: tuple[float, float]
    relative_error_model_se: tuple[float, float]
    coverage: tuple[float, float]
    power: tuple[float, float]
    width_of_t: tuple[float, float]


PRINTED = {
    "1": Printed(
        (-0.0119478, 0.02102), (0.2101996, 0.0149382), 0.0, (0.0438848, 0.0070259),
        (0.2094869, 0.0167692), (0.2058237, 0.0014974), (0.8047793, 0.0057556),
        (-0.02081764, 0.06995112), (0.92, 0.02712932), (0.08, 0.02712932), (1.055505, 0.0075487),
    ),
    "2": Printed(
        (-0.0117727, 0.0206127), (0.2061269, 0.0146488), 0.03990678, (0.042202, 0.0067567),
        (0.2054313, 0.0164451), (0.2016575, 0.0014092), (0.7886414, 0.0054198),
        (-0.02168266, 0.0698613), (0.92, 0.02712932), (0.08, 0.02712932), (1.034339, 0.0071084),
    ),
}  # fmt: skip


def estimates(printed: Printed) -> np.ndarray:
    """Values with that mean and SD, 8 of them far away; squares have the spread of the log."""
    mean, variance = printed.bias[0], printed.empirical_se[0] ** 2 * (N - 1) / N
    of_squares = printed.mse[1] ** 2 * (N - 1) - 4 * mean**2 * variance
    apart = np.sqrt(of_squares / (0.08 * 0.92))
    far, near = np.sqrt([variance + 0.92 * apart, variance - 0.08 * apart])
    return mean + np.repeat([far, -far, near, -near], [4, 4, 46, 46])


def standard_errors(printed: Printed) -> np.ndarray:
    """Two values with the mean and spread of the widths, and about the error of the model SE."""
    mean, error = np.array(printed.interval_width) / (2 * special.ndtri(0.975))
    spread = error * np.sqrt(N - 1)
    of_squares = 2 * printed.model_se[0] * printed.model_se[1] * np.sqrt(N - 1)
    skew = (of_squares / spread - 2 * mean) / spread
    n_high = round(N * (1 - skew / np.hypot(2, skew)) / 2)
    odds = np.sqrt((N - n_high) / n_high)
    return np.roll(mean + spread * np.repeat([odds, -1 / odds], [n_high, N - n_high]), 30)


def rows() -> pd.DataFrame:
    """The wide table of the log, `b*` and `se_*`, with a row for each data set and method."""
    each = PRINTED.items()
    found = {f"b_{name}": estimates(printed) for name, printed in each}
    found |= {f"se_{name}": standard_errors(printed) for name, printed in each}
    wide = pd.DataFrame(found | {"set": range(N)})
    return pd.wide_to_long(wide, ["b", "se"], "set", "method", sep="_").reset_index()


MEASURES = [
    "bias", "relative_precision", "mse", "rmse", "model_se", "interval_width", "coverage", "power",
    m.empirical_se("b", mcse="normal"),
    m.relative_error_model_se("b", "se", mcse="normal"),
]  # fmt: skip


@pytest.fixture(scope="module")
def tables():
    """The two summaries: with normal intervals, and with t intervals of 5 degrees of freedom."""
    columns = {"estimate": "b", "se": "se", "method": "method", "rep": "set", "truth": 0}
    normal = from_frame(rows(), measures=MEASURES, **columns)
    return normal, from_frame(rows(), measures=["interval_width"], df=5, **columns)


@pytest.mark.parametrize("method", PRINTED)
@pytest.mark.parametrize("measure", [name for name in Printed._fields if name != "width_of_t"])
def test_every_number_of_the_log(tables, method, measure):
    row = tables[0].row(measure, method=method)
    printed = getattr(PRINTED[method], measure)
    if measure == "relative_precision":
        assert row["estimate"] == pytest.approx(printed, abs=3e-6)
        return
    assert row["estimate"] == pytest.approx(printed[0], rel=2e-6, abs=1e-7)
    close = {"model_se": 2e-3}  # their skewness is not printed
    assert row["mcse"] == pytest.approx(printed[1], rel=close.get(measure, 2e-5))


@pytest.mark.parametrize("method", PRINTED)
def test_widths_of_t_intervals(tables, method):
    row = tables[1].row("interval_width", method=method)
    assert (row["estimate"], row["mcse"]) == pytest.approx(PRINTED[method].width_of_t, rel=2e-5)
