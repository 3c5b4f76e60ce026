"""Negative numbers in figures have a minus sign, and words keep their hyphens."""

import pytest

from simstudy.figures.save import _drawn
from simstudy.figures.signs import with_minus
from simstudy.lazy import p9, pd


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
    drawn = _drawn(plot, 100)
    drawn.canvas.draw()
    (axes,) = drawn.axes
    ticks = [
        label.get_text() for axis in (axes.xaxis, axes.yaxis) for label in axis.get_ticklabels()
    ]
    assert {"−2", "0", "1"} <= set(ticks)
    assert not any("-" in tick for tick in ticks)
    assert {text.get_text() for text in axes.texts} == {"type-1", "−3", "5"}
