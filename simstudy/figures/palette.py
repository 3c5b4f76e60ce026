"""Colours by name: a method has one colour and one mark, whatever study it stands in.

The colours are those of Okabe and Ito (2008), "Color universal design", in an order that puts the
hues with the strongest contrast on white first, and a grey.
"""

from typing import Final

BLUE: Final = "#0072B2"
VERMILLION: Final = "#D55E00"
GREEN: Final = "#009E73"
PURPLE: Final = "#CC79A7"
SKY: Final = "#56B4E9"
ORANGE: Final = "#E69F00"
BLACK: Final = "#000000"
OLIVE: Final = "#8C7B00"  # yellow, darkened: the original #F0E442 vanishes on white
GREY: Final = "#7F7F7F"
PALE: Final = "#BCCDDC"  # of bars and bands that stand behind what they are held against

OKABE_ITO: Final = (BLUE, VERMILLION, GREEN, PURPLE, SKY, ORANGE, BLACK, OLIVE)
SHAPES: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
MARKS: Final = dict(zip((*OKABE_ITO, GREY), (*SHAPES, "p"), strict=True))
STROKES: Final = (
    "solid",
    "dashdot",
    (0, (8, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
)  # short dashes and dots say other things

# By the words that figures have for a method. Two of one colour are the same method under another
# name, or never meet in a figure.
SHARED: Final = {
    # bounds of a quantile
    "empirical quantile": GREY,
    "percentile": BLUE,
    "normal bootstrap": VERMILLION,
    "BCa, ties left out": GREEN,
    "BCa, ties by half": PURPLE,
    "umbrella": SKY,
    "umbrella, interpolated": ORANGE,
    "smoothed bootstrap": BLACK,
    "normal tolerance": OLIVE,
    # standard errors
    "studentized": BLUE,
    "vanilla": VERMILLION,
    # samples of a trial
    "test": GREEN,
    "prospective": PURPLE,
    # tests of a score
    "z, true σ": VERMILLION,
    "paired z": BLACK,
    "paired t": OLIVE,
    # models on trial
    "least squares": BLUE,
    "ridge": VERMILLION,
    "random forest": GREEN,
    "gradient boosting": PURPLE,
    "log least squares": SKY,
    "log gradient boosting": ORANGE,
    # estimators of a share
    "CFDR, by NFDR": BLACK,
    "CFDR, by p": GREY,
    "CFDR, clipped": BLUE,
    "CFDR clipped, by NFDR": BLUE,
    "CFDR clipped, by p": SKY,
    "RFDR": VERMILLION,
    "RFDR, by NFDR": VERMILLION,
    "RFDR, by p": ORANGE,
    "Storey, λ = 0.5": GREEN,
    "Storey, smoother": PURPLE,
    "Storey, bootstrap": SKY,
    "Jiang & Doerge": ORANGE,
    "Pounds & Cheng": BLACK,
    "Langaas et al.": OLIVE,
}
