"""One colour, and one mark, for one method, whatever stands beside it."""

import pandas as pd

from simstudy.figures import colors_of
from simstudy.figures.theme import MARKS, SHARED, color_scales


def test_a_method_has_its_colour_in_any_company():
    alone = colors_of(["BCa, ties left out", "umbrella"])
    among = colors_of(["percentile", "normal bootstrap", "BCa, ties left out", "umbrella"])
    assert alone == {name: among[name] for name in alone} == {n: SHARED[n] for n in alone}


def test_other_names_take_what_the_known_ones_leave():
    colors = colors_of(["mine", "percentile", "yours"])
    assert len(set(colors.values())) == 3
    assert list(colors) == ["mine", "percentile", "yours"]


def test_a_mark_goes_with_its_colour():
    names = ["umbrella", "percentile"]
    levels = pd.Series(pd.Categorical(names, names))
    shapes = color_scales(levels, "method", is_quantity=False, colors=colors_of(names))[2]
    assert shapes.palette(2) == {name: MARKS[SHARED[name]] for name in names}
