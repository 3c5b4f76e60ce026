import numpy as np
import pandas as pd
import pytest

from simstudy.figures import dots_plot
from simstudy.figures.dots import EDGE, ROOM
from tests.figures.data import make_summary, points, segments, text_of, texts

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
