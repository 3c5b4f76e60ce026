"""How wide a text is in LaTeX's own letters, Computer Modern, in which most others are narrower.

Widths are those that its font metrics state for ten points, in thousandths of an em. A size has an
em of its own: small letters are wider than scaled ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from simstudy.tables.latex_letters import GREEK, VARIABLE

OF_EACH: Final = {
    278: "!',./:;[]`|il", 306: "fj", 333: " -", 361: "I_", 389: "()t", 394: "rs", 444: "cez",
    472: "?", 500: "\"$*0123456789\\^agov{}~–", 514: "J", 528: "kqvxy", 556: "Sbdhnpu", 611: "Z",
    625: "L", 653: "F", 681: "EP", 708: "B", 722: "CTw", 736: "R", 750: "AHNUVXY", 764: "D",
    778: "&+<=>@KOQ−×·±≤≥≠≈√", 785: "G", 833: "#%m", 917: "M", 1028: "W", 440: "²³₀₁₂₃₄₅₆₇₈₉",
}  # fmt: skip
LETTERS: Final = {letter: width for width, letters in OF_EACH.items() for letter in letters}
ITALIC: Final = 150  # more than upright, a variable at most: m, which is 878
OF_GREEK: Final = 850  # at most
OF_ANOTHER: Final = 1000  # of whatever is not known
EMS: Final = MappingProxyType({12: 11.75, 9: 9.25, 8: 8.5, 7: 7.98})
"""By size in points, points of an em: twice the width of a digit."""


def ems(text: str) -> float:
    """The width of a text in one line, in ems of its size."""
    said = " ".join(text.split())
    return (sum(map(_of_letter, said)) + ITALIC * sum(1 for _ in _variables(said))) / 1000


def _of_letter(letter: str) -> int:
    return LETTERS.get(letter, OF_GREEK if letter in GREEK else OF_ANOTHER)


def _variables(text: str) -> Iterator[str]:
    return (found[1] for found in VARIABLE.finditer(text))
