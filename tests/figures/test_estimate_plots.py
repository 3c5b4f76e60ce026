import numpy as np
import pandas as pd
import pytest

from simstudy.errors import FigureError
from simstudy.figures import errors_plot, estimates_plot
from simstudy.figures.estimate_plots import MAX_POINTS
from tests.figures.data import make_replicates, points, segments, text_of

MANY = make_replicates(700)
FEW = MANY[MANY["rep"] < 40]


def of_one(replicates, method="t", dgp="normal", n=5):
    is_it = replicates[["method", "dgp", "n"]].eq([method, dgp, n]).all(axis=1)
    return replicates[is_it]


def test_points_stand_at_their_method_and_on_no_other():
    figure = estimates_plot(of_one(FEW), method="method").draw()
    assert sorted(points(figure)[:, 1]) == pytest.approx(sorted(of_one(FEW)["estimate"]))
    two = estimates_plot(MANY[(MANY["n"] == 5) & (MANY["dgp"] == "normal")], method="method").draw()
    assert np.abs(points(figure)[:, 0]).max() < 0.5
    at = points(two)[:, 0]
    assert set(np.round(at)) == {0, 1}
    assert len(np.unique(at)) == len(at)  # no two of a method stand above each other


def test_of_many_the_first_are_drawn_and_those_far_out():
    one = of_one(MANY).assign(estimate=lambda rows: rows["rep"])
    drawn = points(estimates_plot(one).draw())[:, 1]
    assert sorted(drawn) == [*range(MAX_POINTS), *range(695, 700)]


def test_means_are_of_all_replicates_with_their_errors():
    one = of_one(MANY)
    lines = segments(estimates_plot(one).draw())
    mean, half = one["estimate"].mean(), 2 * one["estimate"].std() / np.sqrt(len(one))
    across = next(line for line in lines if line[0, 1] == line[1, 1])
    upright = next(line for line in lines if line[0, 0] == line[1, 0])
    assert across[0, 1] == pytest.approx(mean)
    assert upright[:, 1] == pytest.approx([mean - half, mean + half])


def test_what_is_left_out_is_said():
    lacking = of_one(MANY).assign(estimate=lambda rows: rows["estimate"].where(rows["rep"] > 2))
    said = text_of(estimates_plot(lacking, truth=0.0))
    assert "Not drawn, missing or not finite: 3 of 700." in said
    n_points = len(points(estimates_plot(lacking).draw()))
    assert f"Points: {n_points} of 697 replicates, the first and the outermost." in said
    assert "Points:" not in text_of(estimates_plot(of_one(FEW)))


def test_the_truth_is_a_line_where_it_is_one_and_refused_where_it_is_several():
    both = MANY.assign(truth=MANY["n"])
    figure = estimates_plot(both, method="method", truth="truth", panel="n", rows="dgp")
    assert "Dashed: what is estimated." in text_of(figure)
    assert "Dashed" not in text_of(estimates_plot(of_one(FEW)))
    with pytest.raises(FigureError, match="several values in one panel"):
        estimates_plot(both, method="method", truth="truth", rows="dgp")


def test_lines_of_standard_errors_are_what_they_say_they_are():
    plot = errors_plot(MANY, method="method", rows="n", truth=0.0)
    told = next(
        layer._data
        for layer in plot.layers
        if isinstance(layer._data, pd.DataFrame) and "model_se" in layer._data
    )
    rows = MANY[(MANY["n"] == 20) & (MANY["method"] == "z")]
    found = told[(told["panel"] == "z") & (told["rows"] == "n = 20")].iloc[0]
    assert found["spread"] == pytest.approx(rows["estimate"].std())
    assert found["model_se"] == pytest.approx(np.sqrt((rows["std_error"] ** 2).mean()))
    plot.draw()


def test_far_out_standard_errors_are_drawn_too():
    one = of_one(MANY).assign(std_error=lambda rows: rows["std_error"] + 50 * (rows["rep"] == 650))
    assert points(errors_plot(one).draw())[:, 1].max() > 50


@pytest.mark.parametrize(
    ("changed", "asked", "said"),
    [
        ({"estimate": np.nan}, {}, "None of the 40 replicates has a finite estimate"),
        ({}, {"estimate": "dgp"}, "column 'dgp' holds .*Name a column of numbers"),
    ],
)
def test_what_cannot_be_drawn_is_refused(changed, asked, said):
    with pytest.raises(FigureError, match=said):
        estimates_plot(of_one(FEW).assign(**changed), **asked)


@pytest.mark.parametrize("plot", [estimates_plot, errors_plot])
def test_labels_of_rows_may_repeat_as_those_of_two_results_do(plot):
    two = [FEW[FEW["method"] == name].reset_index(drop=True) for name in ("t", "z")]
    stacked = pd.concat(two)
    assert stacked.index.has_duplicates
    asked = {"method": "method", "truth": 0.0}
    fresh, repeated = (plot(rows, **asked) for rows in (stacked.reset_index(drop=True), stacked))
    np.testing.assert_array_equal(points(fresh.draw()), points(repeated.draw()))


def test_more_methods_than_colours_stand_side_by_side_in_one():
    """Each has its label, so that colours need not tell them apart."""
    one = pd.DataFrame({"estimate": [0.0, 1.0]})
    frame = pd.concat([one.assign(method=f"method {i}") for i in range(9)])
    plot = estimates_plot(frame, method="method")
    assert len(set(plot.scales.get_scales("color").palette(9).values())) == 1
