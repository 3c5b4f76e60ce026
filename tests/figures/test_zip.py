import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simstudy.errors import FigureError
from simstudy.figures import zip_plot
from simstudy.figures.zip import conflict
from tests.figures.data import make_replicates, segments, text_of

REPLICATES = make_replicates()
ONE = REPLICATES[(REPLICATES["dgp"] == "normal") & (REPLICATES["n"] == 5)]


def test_every_interval_is_drawn_at_its_rank():
    rows = ONE[ONE["method"] == "z"]
    figure = zip_plot(rows, truth=0.0).draw()
    width = 0.99 * np.ptp(figure.axes[0].get_xlim())  # reference lines cross the whole panel
    stacked = [s for s in segments(figure) if s[0, 1] == s[1, 1] and 0 < np.ptp(s[:, 0]) < width]
    rank = np.abs(rows["estimate"] / rows["std_error"]).rank().to_numpy() / len(rows)
    expected = np.column_stack([rank, rows["lower"], rows["upper"]])
    drawn = np.array([[start[1], start[0], end[0]] for start, end in stacked])
    np.testing.assert_allclose(drawn[np.argsort(drawn[:, 0])], expected[np.argsort(rank)])


def test_colour_changes_at_the_coverage():
    drawn = zip_plot(ONE, truth=0.0, panel="method").data
    for method, rows in drawn.groupby("panel", observed=True):
        coverage = ONE.loc[ONE["method"] == method, "covers"].mean()
        assert rows.loc[rows["outcome"] == "covers", "rank"].max() == pytest.approx(coverage)
        assert (rows["rank"] <= coverage + 1e-12).equals(rows["covers"])


@pytest.mark.parametrize(("column", "values"), [("std_error", 1.0), ("p_value", -1.0)])
def test_ranks_follow_a_given_standard_error_or_p_value(column, values):
    estimate = np.array([0.3, -0.1, 0.2])
    rows = pd.DataFrame({"rep": range(3), "estimate": estimate, "lower": -1.0, "upper": 1.0})
    rows["own"] = values if column == "std_error" else 1 - np.abs(estimate)
    drawn = zip_plot(rows, truth=0.0, **{column: "own"}).data
    assert drawn["rank"].tolist() == pytest.approx([1, 1 / 3, 2 / 3])


FINITE = st.floats(-1e3, 1e3)


@given(FINITE, st.floats(0, 1e3), st.floats(0, 1e3), FINITE)
@example(0.0, 0.0, 5e-324, 1.0)  # a width so small that the distance overflows in it
def test_conflict_is_at_most_one_exactly_where_the_interval_covers(estimate, below, above, truth):
    lower, upper = estimate - below, estimate + above
    value = conflict(*(np.array([v]) for v in (estimate, lower, upper, truth)))[0]
    covers = lower <= truth <= upper
    assert covers == (value <= 1) or abs(value - 1) < 1e-9


def test_an_interval_of_no_width_holds_only_its_own_estimate():
    zero = np.zeros(2)
    assert conflict(zero, zero, zero, np.array([0.0, 1.0])).tolist() == [0.0, np.inf]


def test_intervals_that_failed_are_counted_and_left_out():
    rows = ONE[ONE["method"] == "t"].reset_index(drop=True)
    rows.loc[:4, ["estimate", "lower", "upper"]] = np.nan
    plot = zip_plot(rows, truth=0.0)
    assert len(plot.data) == 35
    assert "Failed replicates, without an interval: 5 of 40." in text_of(plot)


def test_ranks_below_the_start_are_left_out_and_that_is_said():
    plot = zip_plot(ONE, truth=0.0, panel="method", start=0.5)
    assert plot.data["rank"].min() > 0.5
    assert "Not drawn: ranks up to 0.5." in text_of(plot)


def test_a_truth_of_each_replicate_is_taken_off_its_interval():
    rows = ONE[ONE["method"] == "t"].assign(risk=np.linspace(-1, 1, 40))
    drawn = zip_plot(rows, truth="risk").data
    np.testing.assert_allclose(drawn["x"], rows["lower"] - rows["risk"])
    assert set(drawn["origin"]) == {0.0}


def test_an_infinite_bound_ends_at_the_furthest_finite_one():
    rows = ONE[ONE["method"] == "t"].reset_index(drop=True)
    rows.loc[0, "upper"] = np.inf
    plot = zip_plot(rows, truth=0.0)
    assert plot.data["xend"].max() == rows["upper"].iloc[1:].max()
    assert "Infinite bounds end at the widest finite one." in text_of(plot)


def test_the_band_is_the_coverages_monte_carlo_interval():
    band = zip_plot(ONE, truth=0.0, panel="method").layers[0]._data
    assert band["coverage"].tolist() == ONE.groupby("method")["covers"].mean().tolist()
    assert ((band["low"] < band["coverage"]) & (band["coverage"] < band["high"])).all()


def test_replicates_of_several_scenarios_in_one_panel_are_refused():
    normal = REPLICATES[REPLICATES["dgp"] == "normal"]
    hidden = r"120 points would .* n \(2 levels\) and method \(2 levels\) once rep='rep' are fixed"
    with pytest.raises(FigureError, match=hidden):
        zip_plot(normal, truth=0.0)


def test_percentages_and_empty_ranks_are_refused():
    with pytest.raises(FigureError, match=r"level=95 is no coverage: .* Write 95% as 0\.95"):
        zip_plot(ONE, truth=0.0, level=95)
    with pytest.raises(FigureError, match="start=1 leaves nothing to draw"):
        zip_plot(ONE, truth=0.0, start=1)


def test_no_interval_at_all_is_refused():
    with pytest.raises(FigureError, match="None of the 40 replicates has an interval"):
        zip_plot(ONE[ONE["method"] == "t"].assign(lower=np.nan), truth=0.0)
