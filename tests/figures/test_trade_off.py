import pytest

from simstudy.errors import FigureError
from simstudy.figures import trade_off_plot
from tests.figures.data import make_summary, points, segments, text_of

SUMMARY = make_summary()
SMALL = SUMMARY[SUMMARY["n"] == 5]


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


def test_an_estimate_that_is_none_is_counted_and_its_point_not_drawn():
    bad = (SMALL["measure"] == "bias") & (SMALL["method"] == "z") & (SMALL["dgp"] == "normal")
    rows = SMALL.assign(estimate=SMALL["estimate"].mask(bad))
    plot = trade_off_plot(rows, x="coverage", y="bias", color="method", panel="dgp")
    assert len(points(plot.draw())) == 3
    assert "1 of 8 estimates are not finite and not drawn." in text_of(plot)


# ---------------------------------------------------------------- refusals
def test_a_point_with_one_of_the_measures_is_refused():
    alone = (SMALL["measure"] == "bias") & (SMALL["method"] == "z")
    with pytest.raises(FigureError, match="2 of 4 points have only one of 'coverage' and 'bias'"):
        trade_off_plot(SMALL[~alone], x="coverage", y="bias", color="method", panel="dgp")
