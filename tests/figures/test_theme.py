import pytest

from simstudy.figures.theme import OKABE_ITO, level_colors


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_names_get_the_palette_in_order():
    assert level_colors(3, is_quantity=False) == list(OKABE_ITO[:3])


@pytest.mark.parametrize("n_levels", [1, 2, 12])
def test_quantities_get_a_ramp_that_only_grows_lighter(n_levels):
    ramp = [luminance(color) for color in level_colors(n_levels, is_quantity=True)]
    assert ramp == sorted(ramp)
    assert len(set(ramp)) == n_levels


def test_no_colour_vanishes_on_white():
    assert max(map(luminance, [*OKABE_ITO, *level_colors(9, is_quantity=True)])) < 0.66
