"""A table as cells of text, and its forms: Markdown, plain text, LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import wrap
from typing import Final, NamedTuple

from simstudy.lazy import pd

GAP: Final = "  "  # between columns in a terminal
MIN_FIRST_WIDTH: Final = 20  # letters in a line of the first column
PAGE_ROWS: Final = 40  # a LaTeX table with more rows breaks over pages
SKIP: Final = "\\par\\smallskip\n"
END: Final = "\\end{table}\n"
NUMBER = re.compile(r"-?(∞|[\d,.]+(e[-+]?\d+)?)( \([^ ]+\))?†?")
MARKDOWN: Final = str.maketrans({letter: f"\\{letter}" for letter in r"\`*_[]<>|$~&#"})
SIGNS: Final = (  # each followed by its name in LaTeX
    "×times ·cdot ±pm ≤le ≥ge ≠ne ≈approx ∞infty √surd →to ∈in αalpha βbeta γgamma δdelta "
    "εepsilon ζzeta ηeta θtheta ιiota κkappa λlambda μmu νnu ξxi πpi ρrho σsigma τtau υupsilon "
    "φphi χchi ψpsi ωomega ΓGamma ΔDelta ΘTheta ΛLambda ΞXi ΠPi ΣSigma ΥUpsilon ΦPhi ΨPsi ΩOmega"
)
LETTERS: Final = r"\backslash ~asciitilde ^asciicircum <less >greater |bar"  # likewise, of text
LATEX: Final = str.maketrans(
    dict.fromkeys(range(32))  # control characters are left out
    | {letter: f"\\{letter}" for letter in "{}$&#%_"}
    | {word[0]: rf"\text{word[1:]}{{}}" for word in LETTERS.split()}
    | {word[0]: f"$\\{word[1:]}$" for word in SIGNS.split()}
    | {letter: rf"\textsuperscript{{{digit}}}" for digit, letter in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
    | {letter: rf"\textsubscript{{{digit}}}" for digit, letter in enumerate("₀₁₂₃₄₅₆₇₈₉")}
    | {"−": "$-$", "⁻": r"\textsuperscript{$-$}", "′": "$'$", "†": r"\dag{}"}
)


class Heading(NamedTuple):
    """The heading of a column, and whether the column holds numbers."""

    text: str
    is_number: bool


class Grid(NamedTuple):
    """A table of text cells: headings, rows, caption, notes."""

    headings: list[Heading]
    rows: list[list[str]]
    caption: str
    notes: tuple[str, ...] = ()


def as_markdown(grid: Grid) -> str:
    """Format as Markdown: caption, table, notes.

    The pipe syntax is that of GitHub, Pandoc and Jupyter.
    """
    shown = _mapped(grid, escaped)
    head, rule, *rows = _aligned(shown, least=3)
    sides = zip(rule, shown.headings, strict=True)
    rule = [f"{line[1:]}:" if heading.is_number else line for line, heading in sides]
    table = "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))
    return "\n\n".join([shown.caption, table, *shown.notes]) + "\n"


def as_text(grid: Grid, width: int | None = None) -> str:
    """Format as plain text: caption, headings, rows, notes.

    Parameters
    ----------
    width
        Letters in a line: texts of the first column are folded to fit. Default: no folding.
    """
    shown = _mapped(grid, with_minus)
    if width is not None:
        others = sum(map(len, _aligned(shown)[0][1:])) + len(GAP) * (len(shown.headings) - 1)
        first = max(width - others, MIN_FIRST_WIDTH)
        shown = shown._replace(rows=[line for row in shown.rows for line in _folded(row, first)])
    table = "\n".join(GAP.join(row).rstrip() for row in _aligned(shown))
    return "\n\n".join([shown.caption, table, *shown.notes])


def _folded(row: list[str], width: int) -> list[list[str]]:
    """A row in several lines, with the first text folded to a width."""
    name, *others = row
    first, *more = wrap(name, width) or [""]
    return [[first, *others], *([text, *([""] * len(others))] for text in more)]


def _aligned(grid: Grid, least: int = 0) -> list[list[str]]:
    """Headings, a rule and rows, with all cells of a column as wide as the widest."""
    columns = []
    for heading, *texts in zip(grid.headings, *grid.rows, strict=True):
        width = max(least, *map(len, (heading.text, *texts)))
        side = str.rjust if heading.is_number else str.ljust
        columns.append([side(text, width) for text in (heading.text, "-" * width, *texts)])
    return [list(row) for row in zip(*columns, strict=True)]


def as_latex(grid: Grid, label: str = "") -> str:
    r"""Format as LaTeX for `\input`, with caption, label and notes; long tables break over pages.

    The first line is a comment with the packages it needs. Numbers are right-aligned.

    Parameters
    ----------
    label
        Label without `tab:`. Empty: no label.
    """
    typeset = _mapped(grid, _latex_cell)
    names = pd.Index([heading.text for heading in typeset.headings], dtype=object)
    style = pd.DataFrame(typeset.rows, columns=names, dtype=object).style.hide(axis="index")
    sides = "".join("r" if heading.is_number else "l" for heading in grid.headings)
    is_long = len(grid.rows) > PAGE_ROWS
    table = style.to_latex(
        caption=typeset.caption,
        label=f"tab:{re.sub(r'[^A-Za-z0-9:._-]+', '-', label)}" if label else None,
        column_format=f"@{{}}{sides}@{{}}",
        hrules=True,
        environment="longtable" if is_long else None,
        position_float=None if is_long else "centering",
    )
    table = table.replace(r"\begin{tabular}", rf"{SKIP}\begin{{tabular}}")
    text = " ".join(typeset.notes)
    notes = f"{SKIP}{{\\footnotesize\\raggedright\\noindent {text}\\par}}\n" if text else ""
    packages = r"% \usepackage{booktabs}" + r" \usepackage{longtable}" * is_long
    body, end = (table, "") if is_long else (table.removesuffix(END), END)
    return f"{packages}\n{body}{notes}{end}"


def escaped(text: str) -> str:
    """Escape a text for Markdown, in one line."""
    return _in_one_line(text).translate(MARKDOWN)


def latex_escaped(text: str) -> str:
    """Escape a text for LaTeX, in one line; Greek letters become formulas.

    Other letters beyond ASCII stay as they are: LaTeX takes those of European languages, and
    LuaLaTeX and XeLaTeX all that the font has.
    """
    return _in_one_line(text).translate(LATEX)


def _latex_cell(text: str) -> str:
    r"""A text, or a number with minus sign and superscript exponent.

    A leading bracket or star would be an argument of the line end before it.
    """
    typeset = latex_escaped(text)
    if NUMBER.fullmatch(text):
        signed = re.sub("(?<!e)-", "$-$", typeset)
        return re.sub(r"e([-+]?\d+)", r" $\\times$ 10\\textsuperscript{\1}", signed)
    return "{}" * typeset.startswith(("[", "*")) + typeset


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def with_minus(text: str) -> str:
    """A text in one line; a number begins with a minus sign instead of a hyphen."""
    line = _in_one_line(text)
    return f"−{line[1:]}" if line.startswith("-") and NUMBER.fullmatch(line) else line


def _mapped(grid: Grid, change: Callable[[str], str]) -> Grid:
    """A grid with every text changed."""
    return Grid(
        [Heading(change(text), is_number) for text, is_number in grid.headings],
        [list(map(change, row)) for row in grid.rows],
        change(grid.caption),
        tuple(map(change, grid.notes)),
    )
