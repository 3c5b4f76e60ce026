"""Alt texts name marks, axes, series and panels of a figure."""

import pandas as pd
import plotnine as p9
import pytest
from matplotlib.figure import Figure

from simstudy.output.alt_text import alt_text_of

FRAME = pd.DataFrame({
    "n_obs": [10, 20] * 4,
    "power": 0.5,
    "method": pd.Categorical(["t", "t", "exact_test", "exact_test"] * 2, ["t", "exact_test", "z"]),
    "k": [0.5] * 4 + [1.0] * 4,
    "panel": ["null is true"] * 4 + ["null is false"] * 4,
})  # fmt: skip
PLAIN = p9.ggplot(FRAME, p9.aes("n_obs", "power")) + p9.geom_point()


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (PLAIN, "Points of power against n obs."),
        (
            PLAIN + p9.geom_line() + p9.labs(title="Power", x="sample size\nn", caption="Bars: 1."),
            "Power. Points and lines of power against sample size n.",
        ),
        (PLAIN + p9.labs(y=""), "Points against n obs."),
        (
            PLAIN + p9.aes(color="method", shape="method") + p9.labs(color="test"),
            "Points of power against n obs; test: t, exact test.",
        ),
        (
            PLAIN + p9.facet_wrap("panel"),
            "Points of power against n obs; panels: null is true, null is false.",
        ),
        (
            PLAIN + p9.facet_grid("panel", "k") + p9.scale_x_log10(name="n"),
            "Points of power against n; panels: null is true, null is false; panels by k: 0.5, 1.",
        ),
        (
            p9.ggplot() + p9.geom_tile(p9.aes("n_obs", "k", fill="method"), FRAME),
            "Coloured cells of k against n obs; method: t, exact test.",
        ),
        (
            PLAIN | PLAIN + p9.labs(y="size"),
            "Points of power against n obs. Points of size against n obs.",
        ),
    ],
)  # fmt: skip
def test_a_ggplot_is_told_by_its_marks_axes_series_and_panels(figure, text):
    assert alt_text_of(figure) == text


def test_many_series_are_counted():
    frame = pd.DataFrame({"x": range(20), "y": 1, "name": [f"m{at}" for at in range(20)]})
    for values, text in ((frame["name"], "20 from m0 to m19"), (frame["x"] / 3, "0 to 6.33")):
        figure = p9.ggplot(frame.assign(name=values), p9.aes("x", "y", color="name"))
        expected = f"Points of y against x; name: {text}."
        assert alt_text_of(figure + p9.geom_point()) == expected


def test_a_matplotlib_figure_has_its_titles_axes_and_series_and_another_has_none():
    figure = Figure()
    first, second = figure.subplots(2)
    figure.suptitle("Two panels")
    first.plot([1, 2], label="t")
    first.set(xlabel="n", ylabel="power")
    second.set_title("size")
    assert alt_text_of(figure) == "Two panels. Power against n; series: t. Size."
    assert alt_text_of(object()) == ""
