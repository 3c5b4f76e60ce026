"""Letters as LaTeX typesets them: none means more than itself, and variables are italic."""

from __future__ import annotations

import re
import unicodedata

from simstudy.tables.latex_known import (
    ACCENTED_LETTERS,
    GREEK,
    HIGH,
    LOW,
    MARKS,
    MAY_BREAK,
    NOT_SEEN,
    SIGNS,
)

TEXT = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "<": "$<$", ">": "$>$", "|": "$|$", "–": "--", "—": "---", "…": r"\ldots{}",
    NOT_SEEN: "{}", MAY_BREAK: r"\allowbreak{}",
}  # fmt: skip
LETTERS = str.maketrans(
    TEXT
    | {letter: rf"$\{name}$" for letter, name in GREEK.items()}
    | {sign: f"${command}$" for sign, command in SIGNS.items()}
)
KNOWN = frozenset(
    [*TEXT, *GREEK, *SIGNS, *HIGH, *LOW, *ACCENTED_LETTERS, *map(chr, range(32, 127))]
)
HAS_A_PLAIN_FORM = ("<compat>", "<font>", "<noBreak>", "<wide>", "<narrow>")
NEIGHBOURS = re.compile(r"(?<!\\)\$\$")  # the end of a formula and the beginning of another
COMMAND_AND_LETTER = re.compile(r"(\\[A-Za-z]+)\$\$(?=[A-Za-z])")
OPERATOR = re.compile(r"(?<!\\)\$ \$(-|\\(?:times|cdot|pm|le|ge|ne|approx|to))\$ \$")
ON_TOP = f"[{''.join(MARKS)}]"
# One letter alone, other than an article or a pronoun; a mark on it and its index may follow.
VARIABLE = re.compile(
    rf"(?<![\w'’.\-{''.join(MARKS)}])([b-zB-HJ-Z]{ON_TOP}?)(?![^\W₀-₉²³]|['’.]\w|{ON_TOP})"
)  # fmt: skip
RAISED = re.compile(f"[{''.join({**HIGH, **LOW})}]+")
MARKED = re.compile(rf"\$(\\\w+)\$({ON_TOP})|([A-Za-z])({ON_TOP})")
LIGATURE = re.compile(r"-(?=-)|[?!](?=`)|'(?=')|`(?=`)")  # letters that LaTeX would join


def typeset(text: str) -> str:
    """A text in one line; formulas beside each other, or joined by an operator, are one."""
    pieces = VARIABLE.split(known_letters(text))
    said = [_variable(piece) if at % 2 else _piece(piece) for at, piece in enumerate(pieces)]
    apart = COMMAND_AND_LETTER.sub(r"\1 ", "".join(said))
    return OPERATOR.sub(r" \1 ", NEIGHBOURS.sub("", apart))


def known_letters(text: str) -> str:
    """A text in one line, of letters that LaTeX has in its own fonts.

    Any other is shown as its plain form, where it has one, else as its number: 漢 is U+6F22.
    """
    said = unicodedata.normalize("NFC", " ".join(text.split()))
    return (
        said
        if said.isascii() and said.isprintable()
        else "".join(_shown(said, at) for at in range(len(said)))
    )


def _shown(text: str, at: int) -> str:
    letter, before = text[at], text[at - 1 : at]
    if letter in MARKS:
        return (
            letter
            if before in GREEK or (before.isascii() and before.isalpha())
            else _number(letter)
        )
    if letter in KNOWN:
        return letter
    if unicodedata.category(letter) == "Cf":  # says how others are shown, and is not seen
        return ""
    form, _, plain = unicodedata.decomposition(letter).partition(" ")
    if form in HAS_A_PLAIN_FORM:
        letters = [chr(int(each, 16)) for each in plain.split()]
        if KNOWN.issuperset(letters):
            return "".join(letters)
    return _number(letter)


def _number(letter: str) -> str:
    return f"U+{ord(letter):04X}"


def _piece(piece: str) -> str:
    """Letters of no variable; marks last, since they stand on what is typeset by then."""
    apart = LIGATURE.sub(rf"\g<0>{NOT_SEEN}", piece)
    return MARKED.sub(_marked, RAISED.sub(_raised, apart.translate(LETTERS)))


def _variable(letter: str) -> str:
    mark = MARKS[letter[1]] if letter[1:] else None
    return rf"$\{mark.formula}{{{letter[0]}}}$" if mark else f"${letter}$"


def _marked(found: re.Match[str]) -> str:
    if found[1]:
        return rf"$\{MARKS[found[2]].formula}{{{found[1]}}}$"
    return rf"\{MARKS[found[4]].text}{{{found[3]}}}"


def _raised(found: re.Match[str]) -> str:
    """Indices and powers of one letter: LaTeX takes one of each, of several digits in braces."""
    order = (("_", LOW), ("^", HIGH))[:: 1 if found[0][0] in LOW else -1]
    said = ((place, [signs[each] for each in found[0] if each in signs]) for place, signs in order)
    return f"${''.join(place + _one(each) for place, each in said if each)}$"


def _one(said: list[str]) -> str:
    whole = "".join(said)
    return whole if len(whole) == 1 else f"{{{whole}}}"
