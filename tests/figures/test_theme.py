import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from simstudy.errors import FigureError
from simstudy.figures import colors_of, measure_curves
from simstudy.figures.theme import (
    BLUE,
    GREY,
    MARKS,
    OKABE_ITO,
    SHAPES,
    SKY,
    color_scales,
    quantity_colors,
)
from tests.figures.data import make_summary


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("n_levels", [1, 2, 12])
def test_quantities_get_a_ramp_that_only_grows_lighter(n_levels):
    ramp = [luminance(color) for color in quantity_colors(n_levels)]
    assert ramp == sorted(ramp)
    assert len(set(ramp)) == n_levels


def test_every_mark_has_a_contrast_of_three_to_one_with_white():
    for color in [*MARKS, *quantity_colors(9)]:
        assert 1.05 / (luminance(color) + 0.05) >= 3, color


def test_a_key_has_as_many_columns_as_the_page_has_room_for():
    def n_columns(*names):
        levels = pd.Series(pd.Categorical(names, names))
        return color_scales(levels, "method", is_quantity=False)[0].guide.ncol

    assert n_columns("t", "z") == 2
    assert n_columns(*(f"{i}, a name of some thirty letters" for i in range(4))) == 2
    assert n_columns("a" * 90, "b" * 90) == 1


def test_a_key_has_the_colours_and_the_marks_of_what_it_stands_for():
    summary = make_summary()
    plot = measure_curves(summary[summary["dgp"] == "normal"], x="n", y="coverage", color="method")
    keys = [
        (key.get_marker(), to_hex(key.get_markerfacecolor()))
        for key in plot.draw().findobj(Line2D)
        if key.axes is None and key.get_marker() in SHAPES
    ]
    assert keys == list(zip(SHAPES[:2], map(str.lower, OKABE_ITO[:2]), strict=True))


def test_a_known_name_has_its_colour_in_any_company():
    known = {"umbrella": SKY, "unseen": BLUE}
    alone, among = colors_of(["umbrella"], known), colors_of(["mine", "umbrella", "yours"], known)
    assert alone["umbrella"] == among["umbrella"] == SKY
    assert list(among) == ["mine", "umbrella", "yours"]
    assert len(set(among.values())) == 3


def test_a_mark_goes_with_its_colour():
    colors = {"umbrella": SKY, "percentile": BLUE}
    levels = pd.Series(pd.Categorical(list(colors), list(colors)))
    shapes = color_scales(levels, "method", is_quantity=False, colors=colors)[2]
    assert shapes.palette(2) == {name: MARKS[color] for name, color in colors.items()}


def test_of_many_levels_a_few_stand_out():
    levels = pd.Series(pd.Categorical([f"m{i}" for i in range(12)]))
    scale = color_scales(levels, "method", is_quantity=False, colors={"m3": BLUE})[0]
    shown = dict(scale.palette(12))
    assert shown.pop("m3") == BLUE
    assert set(shown.values()) == {GREY}
    with pytest.raises(FigureError, match=r"name a few levels, colors=.* the others are then grey"):
        color_scales(levels, "method", is_quantity=False)
