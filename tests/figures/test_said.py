"""What a figure says of itself is found, whatever drew it."""

import pandas as pd
from matplotlib.figure import Figure

from simstudy.figures.said import caption_of
from simstudy.lazy import p9

DATA = pd.DataFrame({"x": [1, 2], "y": [1, 2]})


def plot(**said):
    return p9.ggplot(DATA, p9.aes("x", "y")) + p9.geom_point() + p9.labs(**said)


def test_a_plot_has_a_title_and_a_caption_however_it_is_wrapped():
    assert caption_of(plot(title="Power", caption="Bars: 95%\nintervals.")) == (
        "Power. Bars: 95% intervals."
    )
    assert caption_of(plot()) == ""


def test_parts_of_a_composition_speak_in_turn_and_say_nothing_twice():
    both = plot(title="First", caption="Bars.") | plot(title="Second?", caption="Bars.")
    assert caption_of(both) == "First. Bars. Second?"
    assert caption_of(both / plot(caption="Third")) == "First. Bars. Second? Third."


def test_a_matplotlib_figure_has_a_title():
    figure = Figure()
    assert caption_of(figure) == ""
    figure.suptitle("All of it")
    assert caption_of(figure) == "All of it."


def test_what_is_neither_says_nothing():
    assert caption_of({"items": 1}) == ""
