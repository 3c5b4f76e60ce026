r"""Tables in LaTeX with booktabs, to be included by `\input`."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from simstudy.tables.cells import Grid, as_frame

ROWS_OF_A_PAGE: Final = 40  # a table with more breaks over pages
NUMBER = re.compile(r"-?(∞|[\d,.]+(e[-+]?\d+)?)( \([^ ]+\))?")
SKIP: Final = "\\par\\smallskip\n"
END: Final = "\\end{table}\n"
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
    typeset = grid._replace(
        headings=[each._replace(text=escaped(each.text)) for each in grid.headings],
        rows=[list(map(_cell, row)) for row in grid.rows],
    )
    sides = "".join("r" if heading.is_number else "l" for heading in grid.headings)
    is_long = len(grid.rows) > ROWS_OF_A_PAGE
    table = (
        as_frame(typeset)
        .style.hide(axis="index")
        .to_latex(
            caption=escaped(grid.caption),
            label=f"tab:{re.sub(r'[^A-Za-z0-9:._-]+', '-', label)}" if label else None,
            column_format=f"@{{}}{sides}@{{}}",
            hrules=True,
            environment="longtable" if is_long else None,
            position_float=None if is_long else "centering",
        )
    )
    table = table.replace(r"\begin{tabular}", rf"{SKIP}\begin{{tabular}}")
    text = " ".join(map(escaped, grid.notes))
    notes = f"{SKIP}{{\\footnotesize\\raggedright\\noindent {text}\\par}}\n" if text else ""
    packages = r"% \usepackage{booktabs}" + r" \usepackage{longtable}" * is_long
    body, end = (table, "") if is_long else (table.removesuffix(END), END)
    return f"{packages}\n{body}{notes}{end}"


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


def _cell(text: str) -> str:
    r"""A text, or a number with minus sign and superscript exponent.

    A leading bracket or star would be an argument of the line end before it.
    """
    typeset = escaped(text)
    if NUMBER.fullmatch(text):
        signed = re.sub("(?<!e)-", "$-$", typeset)
        return re.sub(r"e([-+]?\d+)", r" $\\times$ 10\\textsuperscript{\1}", signed)
    return "{}" * typeset.startswith(("[", "*")) + typeset
