import numpy as np
import pytest

from simstudy.errors import FigureError
from simstudy.figures import running_plot
from tests.figures.data import make_replicates, text_of

REPLICATES = make_replicates()
SMALL = REPLICATES[REPLICATES["n"] == 5]


def test_the_last_point_is_the_mean_with_its_monte_carlo_error():
    shuffled = SMALL.sample(frac=1, random_state=1)
    plot = running_plot(shuffled, value="estimate", color="method", panel="dgp", truth=0.0)
    plot.draw()
    last = plot.data[plot.data["n_rep"] == 40].set_index(["dgp", "method"]).sort_index()
    groups = SMALL.groupby(["dgp", "method"])["estimate"]
    np.testing.assert_allclose(last["estimate"], groups.mean())
    np.testing.assert_allclose(last["upper"] - last["lower"], 2 * 1.959963984540054 * groups.sem())


def test_curves_accrue_in_the_order_of_rep():
    one = SMALL[(SMALL["dgp"] == "normal") & (SMALL["method"] == "t")]
    drawn = running_plot(one[::-1], value="estimate", start=2).data
    expected = one["estimate"].expanding().mean().to_numpy()[1:]
    np.testing.assert_allclose(drawn["estimate"], expected)


def test_failures_are_left_out_and_counted():
    rows = SMALL.reset_index(drop=True)
    rows.loc[:6, "estimate"] = np.nan
    plot = running_plot(rows, value="estimate", color="method", panel="dgp")
    assert "Failed replicates, left out: at most 7 of 40 in one curve." in text_of(plot)


def test_a_truth_by_column_is_drawn_in_its_own_panel():
    rows = SMALL.assign(risk=np.where(SMALL["dgp"] == "normal", 0.0, 0.5))
    line = running_plot(rows, value="estimate", color="method", panel="dgp", truth="risk").layers[0]
    drawn = dict(zip(line._data["panel"], line._data["truth"], strict=True))
    assert drawn == {"normal": 0.0, "skewed": 0.5}


def test_hidden_replicates_are_refused():
    with pytest.raises(
        FigureError, match=r"80 points would .* differ in dgp \(2 levels\) once rep"
    ):
        running_plot(SMALL, value="estimate", color="method")


def test_a_curve_without_a_value_is_refused():
    with pytest.raises(FigureError, match="Every 'estimate' is NaN in one of the groups"):
        running_plot(SMALL.assign(estimate=np.nan), value="estimate", color="method", panel="dgp")
