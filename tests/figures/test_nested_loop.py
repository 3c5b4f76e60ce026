import pandas as pd
import pytest

from simstudy.errors import FigureError
from simstudy.figures import nested_loop_plot
from simstudy.figures.nested_loop import staircase
from tests.figures.data import boxes, make_summary, text_of, texts

SUMMARY = make_summary()


def test_each_scenario_has_its_step_in_the_order_of_the_factors():
    plot = nested_loop_plot(SUMMARY, y="coverage", color="method", factors=["n", "dgp"])
    drawn = plot.data.sort_values("scenario")
    t = drawn[drawn["method"] == "t"]
    assert list(zip(t["n"], t["dgp"], strict=True)) == [
        (5, "normal"),
        (5, "skewed"),
        (20, "normal"),
        (20, "skewed"),
    ]
    given = SUMMARY[(SUMMARY["measure"] == "coverage") & (SUMMARY["method"] == "t")]
    assert t["estimate"].tolist() == given.sort_values(["n", "dgp"])["estimate"].tolist()


def test_intervals_and_factor_names_are_drawn():
    figure = nested_loop_plot(SUMMARY, y="coverage", color="method", factors=["n", "dgp"]).draw()
    coverage = SUMMARY[SUMMARY["measure"] == "coverage"]
    heights = {(round(y0, 9), round(y1, 9)) for _, y0, _, y1 in boxes(figure)}
    assert set(zip(coverage["lower"].round(9), coverage["upper"].round(9), strict=True)) <= heights
    assert texts(figure) == ["n: 5, 20", "dgp: normal, skewed"]


def test_a_design_that_is_no_full_grid_has_places_only_for_what_is_there():
    some = SUMMARY[~((SUMMARY["dgp"] == "skewed") & (SUMMARY["n"] == 5))]
    plot = nested_loop_plot(some, y="coverage", color="method", factors=["dgp", "n"])
    assert sorted(plot.data["scenario"].unique()) == [0, 1, 2]
    assert plot.labels.x == "3 scenarios, ordered by dgp, n"


def test_a_line_breaks_where_a_result_is_missing():
    rows = pd.DataFrame({"scenario": [0, 1, 3], "estimate": [1.0, 2.0, 3.0]})
    steps = staircase(rows, "estimate")
    assert steps["x"].tolist() == [-0.5, 0.5, 0.5, 1.5, 2.5, 3.5]
    assert steps["y"].tolist() == [1, 1, 2, 2, 3, 3]
    assert steps["run"].tolist()[:4] == [steps["run"].iloc[0]] * 4
    assert steps["run"].iloc[4] != steps["run"].iloc[3]


def test_the_caption_says_what_is_shaded_dotted_and_dashed():
    plot = nested_loop_plot(SUMMARY, y="coverage", color="method", nominal=0.9)
    assert plot.labels.x == "4 scenarios, ordered by dgp, n", "the factors that vary"
    said = text_of(plot)
    assert "Shaded: 95% Monte Carlo intervals" in said
    assert "Dotted: exact theory. Dashed: the level asked for." in said
    unknown = SUMMARY.assign(exact=float("nan"))
    without = text_of(nested_loop_plot(unknown, y="coverage", color="method"))
    assert not {"Dotted:", "Dashed:"} & set(without.split())


def test_lines_that_agree_are_both_seen():
    """The last of the key on top, with gaps through which the others show."""
    rows = SUMMARY.assign(method=SUMMARY["method"].replace("z", "a"))
    plot = nested_loop_plot(rows, y="coverage", color="method", factors=["dgp", "n"])
    assert list(plot.data["color"].cat.categories) == ["t", "a"]
    strokes = plot.scales.get_scales("linetype").palette(2)
    assert strokes["t"] == "solid"
    assert strokes["a"] != "solid"
    lines = next(layer._data for layer in plot.layers if "linetype" in layer.mapping)
    first = lines.groupby("color", observed=True)["run"].min()
    assert first["t"] < first["a"]
    assert "Where lines coincide, the last in the key is on top" in text_of(plot)
    plot.draw()


def test_a_design_without_factors_is_refused():
    scenario = SUMMARY[(SUMMARY["dgp"] == "normal") & (SUMMARY["n"] == 5)]
    with pytest.raises(FigureError, match="No factor varies among the 2 rows of 'coverage'"):
        nested_loop_plot(scenario, y="coverage", color="method")
