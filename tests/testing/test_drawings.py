"""A drawing is saved only where it would be the same."""

import threading

import pandas as pd
import plotnine as p9
import pytest

from simstudy.figures.save import save_figure
from simstudy.testing.figures import drawings_noted, is_drawn_from, saved, specification


def points(y: float = 1.0, **aesthetics):
    """A figure of two points, made anew."""
    frame = pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, y]})
    return p9.ggplot(frame, p9.aes("x", "y")) + p9.geom_point(**aesthetics) + p9.theme_void()


@pytest.fixture
def drawn(tmp_path):
    """Draw figures, and give what was noted of each with its files."""

    def draw(figure):
        with drawings_noted() as noted:
            save_figure(figure, tmp_path, "it", dpi=20)
        return saved(tmp_path, "it"), noted

    return draw


def test_files_are_known_by_the_figure_they_were_drawn_from(drawn):
    files, noted = drawn(points())
    assert is_drawn_from(points(), files, noted)
    for other in (points(2.0), points(color="red"), points() + p9.labs(title="a")):
        assert not is_drawn_from(other, files, noted)
    assert not is_drawn_from(points(), files[::-1], noted), "files that nobody drew"


def test_a_drawing_with_a_share_of_chance_is_not_noted(drawn):
    assert drawn(points(position=p9.position_jitter()))[1] == {}
    assert len(drawn(points(position=p9.position_jitter(random_state=1)))[1]) == 1


def test_functions_without_a_name_are_told_apart():
    def labelled(end):
        return points() + p9.scale_x_continuous(labels=lambda at: [f"{x}{end}" for x in at])

    assert specification(labelled("a")) == specification(labelled("a"))
    assert specification(labelled("a")) != specification(labelled("b"))


def test_a_figure_that_has_no_bytes_is_drawn_again():
    lock = threading.Lock()
    figure = p9.ggplot() + p9.scale_x_continuous(labels=lambda at: [lock for _ in at])
    assert specification(figure) is None
