"""How wide a text is in LaTeX's own letters, Computer Modern, in which most others are narrower.

Widths are those that its font metrics state for ten points, in thousandths of an em. A size has an
em of its own: small letters are wider than scaled ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from simstudy.tables.latex_known import GREEK, HIGH, LOW, MARKS, MAY_BREAK, NOT_SEEN
from simstudy.tables.latex_letters import VARIABLE, known_letters

OF_EACH: Final = {
    284: "!',.:;[]`il", 306: "fj", 333: " ", 338: "-", 361: "I_", 389: "()t", 394: "rs", 444: "cez",
    298: "|", 472: "?", 500: "\"$*/0123456789^agov~–", 514: "J{}\\", 528: "kqvxy", 556: "Sbdhnpu",
    611: "Z", 625: "L", 653: "F", 681: "EP", 708: "B", 722: "CTw", 736: "R", 750: "AUVY", 758: "HN",
    764: "DX", 778: "&+<=>@KOQ", 785: "G", 833: "#%m", 924: "M", 1028: "W",
    490: "²³₀₁₂₃₄₅₆₇₈₉", 795: "−×·±≤≥≠≈", 855: "√", 1340: "…∑",
}  # fmt: skip
LETTERS: Final = {letter: width for width, letters in OF_EACH.items() for letter in letters}
ITALIC: Final = 150  # more than upright, a variable at most, but f and j
OF_F: Final = 300
OF_GREEK: Final = 862  # at most
OF_RAISED: Final = 750  # at most
OF_ANOTHER: Final = 1240  # at most: dots between operators
OF_NONE: Final = dict.fromkeys([*MARKS, NOT_SEEN, MAY_BREAK], 0)
WIDTHS: Final = (
    dict.fromkeys([*HIGH, *LOW], OF_RAISED) | dict.fromkeys(GREEK, OF_GREEK) | LETTERS | OF_NONE
)
EMS: Final = MappingProxyType({12: 11.75, 9: 9.25, 8: 8.5, 7: 7.98})
"""By size in points, points of an em: twice the width of a digit."""


def ems(text: str) -> float:
    """The width of a text in one line, in ems of its size."""
    said = known_letters(text)
    leaning = sum(OF_F if each[0] in "fj" else ITALIC for each in _variables(said))
    return (sum(map(_of_letter, said)) + leaning) / 1000


def _of_letter(letter: str) -> int:
    return WIDTHS.get(letter, OF_ANOTHER)


def _variables(text: str) -> Iterator[str]:
    return (found[1] for found in VARIABLE.finditer(text))
