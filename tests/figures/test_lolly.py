import pytest

from simstudy.errors import FigureError
from simstudy.figures import lolly_plot
from tests.figures.data import make_summary, points, text_of, texts

SUMMARY = make_summary()
SMALL = SUMMARY[SUMMARY["n"] == 5]
BOTH = ["coverage", "bias"]


def test_each_estimate_is_a_lolly_between_its_parentheses():
    plot = lolly_plot(SMALL, measure=BOTH, y="method", rows="dgp", reference={"coverage": 0.9})
    figure = plot.draw()
    given = SMALL[SMALL["measure"].isin(BOTH)]
    assert set(given["estimate"].round(9)) <= set(points(figure)[:, 0].round(9))
    assert sorted(texts(figure)) == ["("] * 8 + [")"] * 8
    assert "Vertical ticks: exact theory." in text_of(plot)


def test_parentheses_stand_at_the_interval():
    figure = lolly_plot(SMALL, measure="bias", y="method", rows="dgp").draw()
    bias = SMALL[SMALL["measure"] == "bias"]
    at = {glyph: set() for glyph in "()"}
    for ax in figure.axes:
        for text in ax.texts:
            at[text.get_text()].add(round(text.get_position()[0], 9))
    assert at["("] == set((bias["estimate"] - 2 * bias["mcse"]).round(9))
    assert at[")"] == set((bias["estimate"] + 2 * bias["mcse"]).round(9))


def test_sticks_begin_at_the_reference_of_their_measure():
    plot = lolly_plot(SMALL, measure=BOTH, y="method", rows="dgp", reference={"coverage": 0.9})
    starts = plot.data.groupby("panel", observed=True)["start"].unique()
    assert {k: v.tolist() for k, v in starts.items()} == {"coverage": [0.9], "bias": [0.0]}


def test_measures_stand_in_the_order_asked_for():
    plot = lolly_plot(SMALL, measure=["relative_error_model_se", "bias"], y="method", rows="dgp")
    assert list(plot.data["panel"].cat.categories) == ["relative error model se", "bias"]


def test_a_reference_for_another_measure_is_refused():
    with pytest.raises(FigureError, match="reference has a value for 'power', which is not drawn"):
        lolly_plot(SMALL, measure=BOTH, y="method", rows="dgp", reference={"power": 0.8})


def test_hidden_lollies_are_refused():
    with pytest.raises(FigureError, match=r"2 points would be drawn .* differ in dgp \(2 levels\)"):
        lolly_plot(SMALL, measure="bias", y="method")
