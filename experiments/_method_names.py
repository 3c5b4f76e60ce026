"""Colours of methods that several studies use, by their labels in figures.

Methods with the same colour are equal under another name, or never in the same figure.
"""

from collections.abc import Iterable
from typing import Final

from simstudy.figures import theme
from simstudy.figures.theme import BLACK, BLUE, GREEN, GREY, OLIVE, ORANGE, PURPLE, SKY, VERMILLION

METHOD_COLORS: Final = {
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


def colors_of(names: Iterable[str]) -> dict[str, str]:
    """A colour for each method of a study: from `METHOD_COLORS`, or one of the others."""
    return theme.colors_of(names, METHOD_COLORS)
