"""What stands on something else is seen, and what only stands beside it is not taken for it."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnchoredOffsetbox, TextArea
from matplotlib.patches import Rectangle

from simstudy.figures.journal.crowding import crowding

PAPER = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3}


def panel() -> tuple[Figure, object]:
    """A panel of 3 by 3 inches whose axes say nothing, from 0 to 3."""
    figure = Figure(figsize=(4, 4))
    axes = figure.add_axes((0.125, 0.125, 0.75, 0.75), xlim=(0, 3), ylim=(0, 3))
    axes.set(xticks=[], yticks=[])
    return figure, axes


def among_marks(draw, **look) -> list[str]:
    figure, axes = panel()
    draw(axes)
    place = look.pop("at", (1.5, 1.5))
    axes.text(
        *place,
        look.pop("text", "words"),
        size=9,
        **{"ha": "center", "va": "center", "clip_on": True} | look,
    )
    return crowding(figure)


def points(axes):
    axes.scatter([1.45, 1.55, 2.5], [1.5, 1.5, 2.5], s=9)


def bars(axes):
    axes.add_collection(rectangles([(1.2, 0, 0.6, 1.5), (2, 0, 0.6, 2.5)], "#003355"))


def rectangles(places, colour):
    from matplotlib.collections import PatchCollection

    patches = [Rectangle((x, y), width, height) for x, y, width, height in places]
    return PatchCollection(patches, facecolor=colour)


def curve(axes):
    axes.plot([0, 3], [0.9, 2.1], zorder=2)


def whisker(axes):
    axes.vlines(1.5, 0.5, 1.5)


def nothing(axes):
    """An empty panel."""


SEEN = [
    ("two points", points, {}, ["'words' covers 2 points"]),
    ("the end of a bar", bars, {}, ["'words' covers the end of a bar"]),
    ("dark in a dark bar", bars, {"at": (2.3, 1)}, ["'words' is hardly seen on its ground"]),
    ("pale on white", nothing, {"color": "#CCCCCC"}, ["'words' is hardly seen on its ground"]),
    ("under a curve", curve, {"zorder": 3}, ["'words' is crossed by a line"]),
    ("on paper, below", curve, {"bbox": PAPER, "zorder": 1}, ["'words' is crossed by a line"]),
    (
        "most of its way",
        curve,
        {"bbox": PAPER, "zorder": 3, "text": "words and\nmore words"},
        ["'words and more words' covers much of a line"],
    ),
    ("its end", whisker, {"bbox": PAPER}, ["'words' covers the end of a line"]),
    ("beyond the panel", nothing, {"at": (2.9, 2)}, ["'words' is cut off by its panel"]),
]
NOT_SEEN = [
    ("beside points", points, {"at": (1.5, 1.65)}),
    ("above a bar", bars, {"at": (1.5, 1.62)}),
    ("light in a dark bar", bars, {"at": (2.3, 1), "color": "white"}),
    ("on paper", curve, {"bbox": PAPER, "zorder": 3}),
    ("above a whisker", whisker, {"at": (1.5, 1.6)}),
    ("beyond, and not cut", nothing, {"at": (2.9, 2), "clip_on": False}),
    ("at the edge", nothing, {"at": (2.8, 2)}),
]


@pytest.mark.parametrize(("draw", "look", "said"), [each[1:] for each in SEEN],
                         ids=[each[0] for each in SEEN])  # fmt: skip
def test_words_that_hide_marks_or_cannot_be_read_are_seen(draw, look, said):
    assert among_marks(draw, **look) == said


@pytest.mark.parametrize(("draw", "look"), [each[1:] for each in NOT_SEEN],
                         ids=[each[0] for each in NOT_SEEN])  # fmt: skip
def test_words_that_hide_none_are_not(draw, look):
    assert among_marks(draw, **look) == []


def with_key(place: tuple[float, float]) -> list[str]:
    figure, _ = panel()
    key = AnchoredOffsetbox("center", child=TextArea("key", textprops={"size": 9}), pad=0,
                            borderpad=0, frameon=False, bbox_to_anchor=place,
                            bbox_transform=figure.transFigure)  # fmt: skip
    figure.add_artist(key)
    figure.text(0.5, 0.95, "a title", size=9, ha="center", va="center")
    return crowding(figure)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ((0.5, 0.86), ["the key 'key' is on a panel"]),
        ((0.5, 0.95), ["'key' is on 'a title'", "the key 'key' is on 'a title'"]),
        ((0.02, 0.95), ["'key' goes beyond the page", "the key 'key' goes beyond the page"]),
        ((0.2, 0.95), []),
    ],
)
def test_keys_on_panels_on_words_and_beyond_the_page_are_seen(place, said):
    found = with_key(place)
    assert sorted(found) == sorted(said)


def test_numbers_in_the_tiles_of_a_heat_map_stand_well_as_long_as_they_are_narrower():
    def tiles(axes):
        axes.add_collection(rectangles([(1, 1, 1, 1), (2, 1, 1, 1)], "#DDDDDD"))

    def narrow_tiles(axes):
        axes.add_collection(rectangles([(1.3, 1, 0.3, 1), (1.6, 1, 0.3, 1)], "#DDDDDD"))

    assert among_marks(tiles) == []
    assert among_marks(narrow_tiles) == ["'words' covers the end of a bar"]


def test_bands_from_side_to_side_are_a_ground_and_no_marks():
    def band(axes):
        axes.axhspan(1.45, 1.55, color="#EEEEEE")
        axes.fill_between(np.linspace(0, 3, 50), 1.0, 1.5, alpha=0.2)

    assert among_marks(band) == []
