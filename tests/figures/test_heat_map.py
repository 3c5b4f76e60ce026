import numpy as np
import pandas as pd
import pytest
from matplotlib import colormaps
from matplotlib.colors import LinearSegmentedColormap

from simstudy.figures import heat_map_plot
from simstudy.figures.heat_map import DIVERGING, decimals_for
from tests.figures.data import make_summary, text_of, texts

SUMMARY = make_summary()
BLUE_ABOVE = LinearSegmentedColormap.from_list("", DIVERGING, N=257)


def test_each_cell_says_its_estimate_and_its_error():
    plot = heat_map_plot(SUMMARY, measure="bias", x="n", y="dgp", panel="method")
    bias = SUMMARY[SUMMARY["measure"] == "bias"]
    decimals = decimals_for(bias["mcse"].to_numpy())
    columns = zip(bias["estimate"], bias["mcse"], strict=True)
    words = [f"{estimate:.{decimals}f}\n({mcse:.{decimals}f})" for estimate, mcse in columns]
    assert sorted(texts(plot.draw())) == sorted(words)


@pytest.mark.parametrize(
    ("mcse", "decimals"), [(0.0094, 4), (0.0102, 3), (0.034, 3), (2.0, 1), (50.0, 0), (0.0, 3)]
)
def test_decimals_show_the_monte_carlo_error(mcse, decimals):
    assert decimals_for(np.array([mcse, np.nan])) == decimals


def test_nothing_is_minus_zero():
    rows = SUMMARY[SUMMARY["measure"] == "bias"].assign(estimate=-0.0001, mcse=np.nan)
    plot = heat_map_plot(rows, measure="bias", x="n", y="dgp", panel="method")
    assert set(plot.data["words"]) == {"0.000"}, "an exact number has no MCSE"


def test_cells_that_were_not_run_are_said_to_be_blank():
    bias = SUMMARY[SUMMARY["measure"] == "bias"]
    whole, less = (
        heat_map_plot(rows, measure="bias", x="n", y="dgp", panel="method")
        for rows in (bias, bias.iloc[1:])
    )
    assert "Blank: not run." in text_of(less)
    assert "Blank" not in text_of(whole)


def test_a_scenario_without_an_estimate_has_a_dash_and_is_counted():
    rows = SUMMARY[SUMMARY["measure"] == "bias"].reset_index(drop=True)
    rows.loc[0, "estimate"] = np.nan
    plot = heat_map_plot(rows, measure="bias", x="n", y="dgp", panel="method", center=0.0)
    assert plot.data["words"].iloc[0] == "–"
    assert "Dashes: 1 of 8 estimates are not finite." in text_of(plot)


@pytest.mark.parametrize("center", [None, 0.0])
def test_text_is_white_only_on_dark_cells(center):
    """Where the relative luminance (WCAG 2.1) of the cell is below 0.19."""
    rows = SUMMARY[SUMMARY["measure"] == "bias"].iloc[[0] * 41]
    rows = rows.assign(n=np.arange(41), estimate=np.linspace(-1, 1, 41))
    plot = heat_map_plot(rows, measure="bias", x="n", y="dgp", center=center)
    ramp = colormaps["cividis"] if center is None else BLUE_ABOVE
    rgb = ramp((rows["estimate"].to_numpy() + 1) / 2)[:, :3]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    is_dark = linear @ [0.2126, 0.7152, 0.0722] < 0.19
    assert 0 < is_dark.sum() < 41
    np.testing.assert_array_equal(plot.data["ink"] == "#FFFFFF", is_dark)


def test_numbers_are_left_out_where_cells_have_no_room_for_them():
    rows = make_summary().query("measure == 'bias' and method == 't' and n == 5")
    one = rows.iloc[[0]].assign(estimate=0.123, mcse=0.001)

    def words(n_columns):
        wide = pd.concat([one.assign(n=n) for n in range(n_columns)])
        return set(heat_map_plot(wide, measure="bias", x="n", y="dgp").data["words"])

    assert words(5) == {"0.1230\n(0.0010)"}
    assert words(13) == {"0.1230"}
    assert words(40) == {""}
    tall = heat_map_plot(
        pd.concat([one.assign(n=n) for n in range(40)]), measure="bias", x="dgp", y="n"
    )
    assert set(tall.data["words"]) == {"0.1230"}
