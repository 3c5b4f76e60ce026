"""Words in lines: whole where there is room, else in pieces."""

from __future__ import annotations

import re
import textwrap

from simstudy.tables.latex_known import MAY_BREAK
from simstudy.tables.latex_letters import known_letters
from simstudy.tables.latex_widths import ems

OF_A_CAPTION, OF_A_NOTE = 12, 17  # ems of a word, from which on it may go on in the next line
PIECE = 8
LAST_OF_A_LINE = re.compile(r"[_,;:=/|()&.+-](?!.*[_,;:=/|()&.+-])")


def wrapped(text: str, room: int, breaks: bool = False) -> list[str]:
    """Lines of so many letters, or of one word that is longer, unless words may be broken."""
    said = known_letters(text)
    if not breaks:
        return textwrap.wrap(said, room, break_long_words=False, break_on_hyphens=False)
    lines = [""]
    for word in said.split():
        first, *rest = in_pieces(word, room)
        longer = f"{lines[-1]} {first}".strip()
        lines = [*lines[:-1], longer] if len(longer) <= room else [*lines, first]
        lines += rest
    return [line for line in lines if line]


def in_pieces(word: str, most: int) -> list[str]:
    """A word in pieces of so many letters at most, which end with a sign where there is one."""
    pieces = []
    while len(word) > most:
        sign = LAST_OF_A_LINE.search(word[:most], most // 2)
        end = sign.end() if sign else most
        pieces.append(word[:end])
        word = word[end:]
    return [*pieces, word]


def breakable(text: str, longest: float) -> str:
    """A text whose words that are wider than so many ems say where a line may end in them."""
    words = known_letters(text).split()
    return " ".join(MAY_BREAK.join(in_pieces(w, PIECE)) if ems(w) > longest else w for w in words)
