r"""Tables in LaTeX with booktabs, to be included by `\input`."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from simstudy.tables.cells import Cell, Grid, format_cell

ROWS_OF_A_PAGE: Final = 40  # a table with more breaks over pages
SPECIAL = re.compile(r"[^ -~]|[\\{}$&#%_~^<>|]")
TEXT: Final = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
}  # fmt: skip
SIGNS: Final = {
    "−": "-", "×": r"\times", "·": r"\cdot", "±": r"\pm", "≤": r"\le", "≥": r"\ge", "≠": r"\ne",
    "≈": r"\approx", "∞": r"\infty", "√": r"\surd", "→": r"\to", "∈": r"\in", "′": "'",
}  # fmt: skip
GREEK = re.compile(
    r"GREEK (?:(SMALL) LETTER (?!OMICRON)(\w+)|CAPITAL LETTER "
    r"(GAMMA|DELTA|THETA|LAMDA|XI|PI|SIGMA|UPSILON|PHI|PSI|OMEGA))"
)


def as_latex(grid: Grid, label: str = "") -> str:
    r"""Format as LaTeX, with caption, label and notes; long tables break over pages.

    The first line is a comment with the packages it needs. Numbers are right-aligned.

    Parameters
    ----------
    label
        Label without `tab:`. Empty: no label.
    """
    sides = "".join("r" if heading.is_number else "l" for heading in grid.headings)
    head = [r"\toprule", _line([escaped(each.text) for each in grid.headings]), r"\midrule"]
    rows = [_line(list(map(_cell, row))) for row in grid.rows]
    caption = rf"\caption{{{escaped(grid.caption)}}}{_labelled(label)}"
    columns = f"{{@{{}}{sides}@{{}}}}"
    text = " ".join(map(escaped, grid.notes))
    notes = [rf"{{\footnotesize\raggedright\noindent {text}\par}}"] if text else []
    if len(rows) > ROWS_OF_A_PAGE:
        lines = [
            r"% \usepackage{booktabs} \usepackage{longtable}",
            *[rf"\begin{{longtable}}{columns}", rf"{caption} \\"],
            *[*head, r"\endfirsthead", *head, r"\endhead", r"\bottomrule", r"\endfoot"],
            *[*rows, r"\end{longtable}", *notes],
        ]
    else:
        lines = [
            *[r"% \usepackage{booktabs}", r"\begin{table}", r"\centering"],
            *[caption, r"\par\smallskip", rf"\begin{{tabular}}{columns}"],
            *[*head, *rows, r"\bottomrule", r"\end{tabular}", r"\par\smallskip"],
            *[*notes, r"\end{table}"],
        ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Escape a text for LaTeX, in one line; Greek letters become formulas.

    Other letters beyond ASCII stay as they are: LaTeX takes those of European languages, and
    LuaLaTeX and XeLaTeX all that the font has.
    """
    return SPECIAL.sub(lambda found: _typeset(found[0]), " ".join(text.split()))


def _typeset(letter: str) -> str:
    if letter.isascii():
        return TEXT.get(letter, f"\\{letter}" if letter.isprintable() else "")
    if letter in SIGNS:
        return f"${SIGNS[letter]}$"
    greek = GREEK.fullmatch(unicodedata.name(letter, ""))
    if greek:
        name = (greek[2] or greek[3]).lower().replace("lamda", "lambda")
        return rf"$\{name if greek[1] else name.capitalize()}$"
    kind, _, plain = unicodedata.decomposition(letter).partition(" ")
    if kind in ("<super>", "<sub>"):
        return rf"\text{kind[1:-1]}script{{{escaped(chr(int(plain, 16)))}}}"
    return letter


def _labelled(label: str) -> str:
    """A valid label."""
    return rf"\label{{tab:{re.sub(r'[^A-Za-z0-9:._-]+', '-', label)}}}" if label else ""


def _line(cells: list[str]) -> str:
    r"""A row; a leading bracket or star is protected from the line end before it."""
    guard = "{}" if cells[0].startswith(("[", "*")) else ""
    return rf"{guard}{' & '.join(cells)} \\"


def _cell(cell: Cell) -> str:
    """A text, or a number with minus sign and superscript exponent."""
    if isinstance(cell, str):
        return escaped(cell)
    signed = re.sub("(?<!e)-", "$-$", escaped(format_cell(cell)))
    return re.sub(
        r"e([-+]?\d+)", lambda power: rf" $\times$ 10\textsuperscript{{{power[1]}}}", signed
    )
