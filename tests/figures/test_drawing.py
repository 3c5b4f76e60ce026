"""A drawn figure: captions at the page's edge, and minus signs."""

from io import BytesIO

import plotnine as p9
import pytest

from simstudy.figures import measure_curves
from simstudy.figures.drawing import drawn_figure, printed, with_caption_at_edge, with_minus
from simstudy.lazy import pd
from tests.figures.data import make_summary

LONG = "A caption of many words, each of which a reader has to see to the end. " * 4


def drawn(aspect_ratio: float | None, at_edge: bool):
    """A figure of one row of panels, laid out, with what it says beneath."""
    summary = make_summary()
    plot = measure_curves(summary[summary["dgp"] == "normal"], x="n", y="coverage", color="method")
    plot = printed(plot + p9.labs(caption=LONG), (6.5, 3))
    plot = plot + p9.theme(aspect_ratio=aspect_ratio) if aspect_ratio else plot
    figure = with_caption_at_edge(plot.draw(), plot) if at_edge else plot.draw()
    figure.savefig(BytesIO())  # puts everything in its place
    (caption,) = (text for text in figure.texts if text.get_text() == plot.labels.caption)
    return figure, caption.get_window_extent()


def test_a_caption_under_narrow_panels_ends_on_the_page():
    figure, box = drawn(3.0, at_edge=True)
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1


def test_that_test_catches_a_caption_that_starts_at_the_panels():
    figure, box = drawn(3.0, at_edge=False)
    assert box.x1 > figure.bbox.x1


@pytest.mark.parametrize("aspect_ratio", [None, 0.1])
def test_where_panels_fill_the_width_nothing_moves(aspect_ratio):
    places = [drawn(aspect_ratio, at_edge)[1].x0 for at_edge in (True, False)]
    assert places[0] == pytest.approx(places[1])


# ---------------------------------------------------------------- minus signs
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-1.5", "−1.5"),
        ("from -2 to -.5", "from −2 to −.5"),
        ("(-3)", "(−3)"),
        ("type-1 error", "type-1 error"),
        ("10-20", "10-20"),
        ("f(x)-1", "f(x)-1"),
        ("--n", "--n"),
    ],
)
def test_only_negative_numbers_have_the_sign(text, said):
    assert with_minus(text) == said


def test_ticks_and_words_of_a_figure_have_it():
    rows = pd.DataFrame({"x": [-2.0, 0.0, 1.0], "label": ["type-1", "-3", "5"]})
    plot = p9.ggplot(rows, p9.aes("x", "x", label="label")) + p9.geom_text()
    drawn = drawn_figure(plot, 100)
    drawn.canvas.draw()
    (axes,) = drawn.axes
    ticks = [
        label.get_text() for axis in (axes.xaxis, axes.yaxis) for label in axis.get_ticklabels()
    ]
    assert {"−2", "0", "1"} <= set(ticks)
    assert not any("-" in tick for tick in ticks)
    assert {text.get_text() for text in axes.texts} == {"type-1", "−3", "5"}
