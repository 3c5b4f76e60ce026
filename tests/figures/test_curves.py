import numpy as np
import pandas as pd
import plotnine as p9
import pytest

from simstudy.errors import FigureError
from simstudy.figures import measure_curves
from simstudy.figures.curves import staircase
from tests.figures.data import make_summary, points, segments, text_of

SUMMARY = make_summary()
NORMAL = SUMMARY[SUMMARY["dgp"] == "normal"]
SPECIFIC = {"x": "n", "color": "method", "panel": "dgp"}


@pytest.fixture
def lines_through_few(monkeypatch):
    """Theory at two places is a line, too."""
    monkeypatch.setattr("simstudy.figures.curves.MIN_FOR_LINE", 2)


@pytest.mark.parametrize(("n_places", "said"), [(4, "Level marks"), (5, "Solid lines")])
def test_theory_at_few_places_is_no_line(n_places, said):
    rows = [NORMAL[NORMAL["n"] == 5].assign(n=5 * (place + 1)) for place in range(n_places)]
    plot = measure_curves(pd.concat(rows, ignore_index=True), x="n", y="coverage", color="method")
    assert f"{said}: exact theory." in text_of(plot)


def of(measure: str) -> pd.DataFrame:
    return SUMMARY[SUMMARY["measure"] == measure]


@pytest.mark.usefixtures("lines_through_few")
def test_every_estimate_is_a_point_and_every_interval_a_bar():
    drawn = measure_curves(SUMMARY, y="coverage", **SPECIFIC).draw()
    coverage = of("coverage")
    assert sorted(points(drawn)[:, 1]) == pytest.approx(sorted(coverage["estimate"]))
    bars = {tuple(np.sort(bar[:, 1]).round(9)) for bar in segments(drawn) if np.ptp(bar[:, 0]) == 0}
    given = zip(coverage["lower"].round(9), coverage["upper"].round(9), strict=True)
    assert set(given) <= bars


def test_points_stay_nearer_to_their_own_x_than_to_the_next():
    drawn = measure_curves(NORMAL, x="n", y="coverage", color="method", log_x=True).draw()
    at = points(drawn)[:, 0]
    nearest = np.abs(at[:, None] - np.log10([5, 20])).min(axis=1)
    assert nearest.max() < 0.25 * np.log10(20 / 5)
    alone = NORMAL[NORMAL["n"] == 20]
    one_place = measure_curves(alone, x="n", y="coverage", color="method", log_x=True)
    assert len(points(one_place.draw())) == 3, "two points and a mark of theory"


def test_theory_may_come_on_a_finer_grid():
    grid = pd.DataFrame({"n": np.arange(5, 21), "method": "t", "exact": 0.9})
    plot = measure_curves(NORMAL, x="n", y="coverage", color="method", exact=grid)
    (theory,) = exact_layers(plot)
    assert len(theory) == 16
    assert list(theory["color"].cat.categories) == ["t", "z"]
    declared = exact_layers(measure_curves(NORMAL, x="n", y="coverage", color="method"))[0]
    assert declared[["x", "exact"]].to_numpy().tolist() == [[5, 0.9], [20, 0.9]]
    assert list(declared["color"]) == ["t", "t"]


def test_theory_for_what_was_not_simulated_is_refused():
    grid = pd.DataFrame({"n": [5, 20], "method": "bayes", "exact": 0.9})
    with pytest.raises(FigureError, match="theory has method at bayes, which was not simu"):
        measure_curves(NORMAL, x="n", y="coverage", color="method", exact=grid)
    twice = pd.DataFrame({"n": [5, 5], "method": "t", "dgp": ["a", "b"], "exact": 0.9})
    with pytest.raises(FigureError, match=r"1 point would .* differ in dgp \(2 levels\)"):
        measure_curves(NORMAL, x="n", y="coverage", color="method", exact=twice)


def test_several_measures_take_the_free_role_and_their_own_scales():
    plot = measure_curves(SUMMARY, y=["coverage", "bias"], **SPECIFIC)
    assert list(plot.data["rows"].cat.categories) == ["coverage", "bias"]
    assert plot.facet.free == {"x": False, "y": True}


def test_categories_make_an_axis_and_are_not_joined():
    plot = measure_curves(SUMMARY, x="dgp", y="coverage", color="n", panel="method", nominal=0.9)
    drawn = plot.draw()
    assert sorted(points(drawn)[:, 1])[-1] <= 1
    assert "Level marks: exact theory." in text_of(plot)
    places = np.round(points(drawn)[:, 0])
    assert set(places) == {1.0, 2.0}


def test_nominal_levels_may_differ_by_measure_or_by_row():
    plot = measure_curves(SUMMARY, y=["coverage", "bias"], nominal={"coverage": 0.9}, **SPECIFIC)
    line = plot.layers[0]._data
    assert set(line["rows"]) == {"coverage"}
    assert set(line["nominal"]) == {0.9}
    by_row = SUMMARY.assign(level=np.where(SUMMARY["dgp"] == "normal", 0.9, 0.8))
    line = measure_curves(by_row, y="coverage", nominal="level", **SPECIFIC).layers[0]._data
    assert dict(zip(line["panel"], line["nominal"], strict=True)) == {"normal": 0.9, "skewed": 0.8}


def test_zero_has_no_place_on_a_logarithmic_axis():
    with pytest.raises(FigureError, match="log_x=True with x=0"):
        measure_curves(
            NORMAL.assign(n=NORMAL["n"] - 5), x="n", y="bias", color="method", log_x=True
        )


@pytest.mark.usefixtures("lines_through_few")
def test_the_caption_counts_replicates_failures_and_what_is_not_drawn():
    coverage = of("coverage").reset_index(drop=True)
    coverage.loc[0, "n_failed"] = 3
    coverage.loc[1, ["estimate", "mcse", "lower", "upper"]] = np.nan
    plot = measure_curves(coverage, y="coverage", **SPECIFIC)
    assert text_of(plot) == (
        "Bars: 95% Monte Carlo intervals (hidden if smaller than the marker). "
        "Solid lines: exact theory. Dotted lines only join points. "
        "Points of one value are set apart by colour. "
        "40 replicates per point. Failed replicates: 1 of 8 points have some, at most 3 of 43. "
        "1 of 8 estimates are not finite and not drawn."
    )


@pytest.mark.parametrize("exact", [True, False])
def test_what_only_joins_points_is_dotted_and_said_to_be(exact):
    plot = measure_curves(NORMAL, x="n", y="coverage", color="method", exact=exact)
    joins = [layer for layer in plot.layers if layer.geom.aes_params.get("linetype") == "dotted"]
    assert [set(layer._data["color"]) for layer in joins] == [{"t", "z"}]
    assert "Dotted lines only join points." in text_of(plot)
    alone = measure_curves(NORMAL, x="n", y="coverage", color="method", joined=False)
    assert "Dotted" not in text_of(alone)
    assert not [layer for layer in alone.layers if layer.geom.aes_params.get("linetype")]


# ---------------------------------------------------------------- theory, colours
def exact_layers(plot):
    return [layer._data for layer in plot.layers if "exact" in layer.mapping.get("y", "")]


def test_theory_may_be_a_function_of_the_columns_that_are_drawn():
    def known(n, method, factor=2.0):
        return factor * n if method == "t" else np.nan

    plot = measure_curves(NORMAL, x="n", y="coverage", color="method", log_x=True, exact=known)
    line = exact_layers(plot)[0]
    assert set(line["color"]) == {"t"}
    np.testing.assert_allclose(line["exact"].iloc[[0, -1]], [10, 40])
    assert np.ptp(np.diff(np.log(line["exact"]))) < 1e-9  # even on the logarithmic axis
    drawn = measure_curves(SUMMARY, y="coverage", **SPECIFIC, exact=lambda n: 1 / n)
    assert "color" not in exact_layers(drawn)[0]
    said = measure_curves(SUMMARY, y="coverage", **SPECIFIC, exact=lambda n: 1 / n, solid="1/n")
    assert "Solid lines: 1/n." in text_of(said)
    assert set(exact_layers(drawn)[0]["panel"]) == set(SUMMARY["dgp"])


def test_a_measure_known_without_simulation_is_a_panel_of_its_own():
    n = np.arange(5, 21)
    both = [pd.DataFrame({"n": n, "exact": v, "measure": m}) for m, v in (("coverage", 0.9),
            ("width", 2.0))]  # fmt: skip
    plot = measure_curves(
        NORMAL[NORMAL["method"] == "t"], x="n", y="coverage", panel="measure",
        exact=pd.concat(both),
    )  # fmt: skip
    assert list(plot.data["panel"].cat.categories) == ["coverage", "width"]
    assert len(plot.draw().axes) == 2


def test_two_methods_of_one_colour_are_refused_in_one_figure():
    colors = {"t": "#000000", "z": "#000000"}
    with pytest.raises(FigureError, match="'t' and 'z' have the same colour, #000000"):
        measure_curves(NORMAL, x="n", y="coverage", color="method", colors=colors)


# ---------------------------------------------------------------- what a reader takes from a mark
def test_points_that_are_set_apart_take_their_theory_with_them():
    """On a slope a point beside its line would lie above it or below."""
    plot = measure_curves(NORMAL, x="n", y="coverage", color="method", log_x=True)
    t = plot.data[plot.data["color"] == "t"]
    assert (t["place"] != t["x"]).all()
    line = exact_layers(plot)[0]
    assert line["place"].tolist() == t["place"].tolist()
    together = measure_curves(NORMAL, x="n", y="coverage", color="method", dodge=False)
    assert (together.data["place"] == together.data["x"]).all()


@pytest.mark.usefixtures("lines_through_few")
def test_a_key_shows_a_line_only_where_every_colour_has_one():
    def in_key(summary):
        plot = measure_curves(summary, x="n", y="coverage", color="method")
        exact = [layer for layer in plot.layers if layer.mapping.get("y", "") == "exact"]
        return exact[0].show_legend, plot.scales.get_scales("linetype")

    assert in_key(NORMAL) == (False, None)  # of t only
    assert in_key(NORMAL.assign(exact=0.9)) == (True, None)


def test_theory_of_whole_numbers_jumps_half_way_between_them():
    steps = staircase(pd.DataFrame({"n": [4, 5], "exact": [0.1, 0.9]}), "n")
    assert list(steps["exact"]) == [0.1, 0.1, 0.9, 0.9]
    assert list(steps["n"]) == pytest.approx([3.5, 4.5, 4.5, 5.5], abs=1e-5)
    assert steps["n"].is_monotonic_increasing
    assert steps["n"].is_unique


def test_a_logarithmic_axis_of_its_own_has_labels_in_each_panel():
    rows = SUMMARY[(SUMMARY["dgp"] == "normal") == (SUMMARY["n"] == SUMMARY["n"].min())]
    plot = measure_curves(rows, x="n", y="coverage", color="method", panel="dgp", log_x=True)
    labels = [
        {tick.get_text() for tick in axes.get_xticklabels()} - {""}
        for axes in (plot + p9.facet_wrap("panel", scales="free_x")).draw().axes
    ]
    assert all(labels)
    assert labels[0] != labels[1]
