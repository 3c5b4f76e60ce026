from io import BytesIO

import plotnine as p9
import pytest
from simstudy.figures.page_edge import with_caption_at_edge

from simstudy.figures import measure_curves
from simstudy.figures.save import printed
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
