from itertools import product

import numpy as np
import pandas as pd
import pytest

from simstudy.errors import FigureError
from simstudy.figures import dots_plot, nested_loop_plot, trade_off_plot
from simstudy.figures.comparisons import EDGE, ROOM, staircase
from tests.figures.data import DGPS, NS, boxes, make_summary, points, segments, text_of, texts

SUMMARY = make_summary()
SMALL = SUMMARY[SUMMARY["n"] == 5]
COVERAGE = SMALL[SMALL["measure"] == "coverage"]
PUBLISHED = pd.DataFrame({"method": ["t"], "dgp": ["normal"], "estimate": [0.91], "mcse": [0.02]})


def test_every_estimate_is_a_dot_on_its_interval():
    plot = dots_plot(SMALL, measure="coverage", y="method", rows="dgp")
    drawn = plot.draw()
    assert {*COVERAGE["estimate"], 0.9} <= set(points(drawn)[:, 0])
    assert "Vertical marks: exact theory." in text_of(plot)
    ends = {tuple(np.sort(bar[:, 0]).round(9)) for bar in segments(drawn)}
    given = zip(COVERAGE["lower"].round(9), COVERAGE["upper"].round(9), strict=True)
    assert set(given) <= ends


def test_the_first_method_is_on_top_and_colours_are_set_apart():
    plot = dots_plot(SMALL, measure="coverage", y="method", color="dgp")
    places = plot.data.groupby("y", observed=True)["place"]
    assert places.mean().to_dict() == pytest.approx({"t": 1.0, "z": 0.0})
    assert places.nunique().tolist() == [2, 2]
    some = SMALL[(SMALL["dgp"] == "normal") | (SMALL["method"] == "t")]
    alone = dots_plot(some, measure="coverage", y="method", color="dgp").data
    assert alone.loc[alone["y"] == "z", "place"].tolist() == [0.0]


@pytest.mark.parametrize("n_color", [2, 4, 8])
def test_dots_of_one_row_share_it_evenly_and_the_next_row_is_further(n_color):
    normal = COVERAGE[COVERAGE["dgp"] == "normal"]
    kinds = pd.concat(normal.assign(dgp=f"kind {number}") for number in range(n_color))
    places = dots_plot(kinds, measure="coverage", y="method", color="dgp").data["place"]
    gaps = np.diff(np.sort(places))
    to_next_row = gaps[n_color - 1]
    assert np.delete(gaps, n_color - 1) == pytest.approx(to_next_row / ROOM)
    assert places.min() >= -EDGE  # what is beyond has no place
    assert places.max() <= 1 + EDGE


def test_what_is_published_is_a_cross_on_its_own_interval():
    plot = dots_plot(SMALL, measure="coverage", y="method", rows="dgp", published=PUBLISHED)
    drawn = plot.draw()
    assert 0.91 in points(drawn)[:, 0]
    ends = {tuple(np.sort(bar[:, 0]).round(4)) for bar in segments(drawn)}
    assert (0.91 - 0.0392, 0.91 + 0.0392) in {(round(a, 4), round(b, 4)) for a, b in ends}
    assert "Crosses: published values" in text_of(plot)


def test_measures_are_panels_with_levels_of_their_own():
    plot = dots_plot(
        SMALL, measure=["coverage", "bias"], y="method", rows="dgp", nominal={"coverage": 0.9}
    )
    assert list(plot.data["panel"].cat.categories) == ["coverage", "bias"]
    line = plot.layers[0]._data
    assert set(line["panel"]) == {"coverage"}
    assert "Dashed: the level asked for." in text_of(plot)


def test_estimates_may_stand_in_figures():
    plot = dots_plot(SMALL, measure="coverage", y="method", rows="dgp", in_figures=True)
    wanted = [f"{e:.3f} ({m:.3f})" for e, m in zip(COVERAGE["estimate"], COVERAGE["mcse"],
                                                     strict=True)]  # fmt: skip
    assert sorted(texts(plot.draw())) == sorted(wanted)


def test_every_point_stands_on_a_cross_of_both_intervals():
    """The summary's interval of a share, and two MCSE of a bias, which has none."""
    plot = trade_off_plot(SMALL, x="coverage", y="bias", color="method", panel="dgp")
    where = SMALL.set_index(["measure", "dgp", "method"])
    places, bars = [], []
    for (_, bias), (_, share) in zip(
        where.loc["bias"].iterrows(), where.loc["coverage"].iterrows(), strict=True
    ):
        x, y, half = share["estimate"], bias["estimate"], 2 * bias["mcse"]
        places.append((x, y))
        bars += [[share["lower"], y, share["upper"], y], [x, y - half, x, y + half]]
    drawn = plot.draw()
    assert sorted(map(tuple, points(drawn))) == sorted(places)
    assert sorted(segments(drawn).reshape(-1, 4).tolist()) == sorted(bars)
    assert text_of(plot).startswith("Bars: 95% Monte Carlo intervals (hidden")
    assert (plot.labels.x, plot.labels.y) == ("coverage", "bias")
    one = SMALL[(SMALL["dgp"] == "normal") & (SMALL["method"] == "t")]
    assert len(points(trade_off_plot(one, x="coverage", y="bias").draw())) == 1


def test_levels_asked_for_are_dashed_on_their_own_axis():
    levels = {"coverage": 0.9, "bias": 0.0}
    plot = trade_off_plot(
        SMALL, x="coverage", y="bias", color="method", panel="dgp", nominal=levels
    )
    upright, level = (layer.geom for layer in plot.layers[:2])
    assert (type(upright).__name__, type(level).__name__) == ("geom_vline", "geom_hline")
    assert plot.layers[0]._data["xintercept"].tolist() == [0.9]
    assert plot.layers[1]._data["yintercept"].tolist() == [0.0]
    assert "Dashed: 0, or the level asked for." in text_of(plot)


# ---------------------------------------------------------------- refusals
def test_a_point_with_one_of_the_measures_is_refused():
    alone = (SMALL["measure"] == "bias") & (SMALL["method"] == "z")
    with pytest.raises(FigureError, match="2 of 4 points have only one of 'coverage' and 'bias'"):
        trade_off_plot(SMALL[~alone], x="coverage", y="bias", color="method", panel="dgp")


def test_each_scenario_has_its_step_in_the_order_of_the_factors():
    plot = nested_loop_plot(SUMMARY, y="coverage", color="method", factors=["n", "dgp"])
    drawn = plot.data.sort_values("scenario")
    t = drawn[drawn["method"] == "t"]
    assert list(zip(t["n"], t["dgp"], strict=True)) == list(product(NS, DGPS))
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
