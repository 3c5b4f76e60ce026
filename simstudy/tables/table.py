"""A table: a frame, the format of its columns, and its forms: CSV, Markdown, LaTeX, plain text."""

from __future__ import annotations

import math
import numbers
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from textwrap import wrap
from typing import Any, Final, NamedTuple

import numpy as np

from simstudy.errors import TableError, nearest, writable
from simstudy.lazy import pd
from simstudy.places import Place, place_of, write_bytes
from simstudy.tables.rounding import to_decimals, with_commas, with_error
from simstudy.validation import check_file_name, file_name

MISSING: Final = "–"
DAGGER: Final = "†"  # after a number with a warning, which a note below the table tells
GAP: Final = "  "  # between columns in a terminal
MIN_FIRST_WIDTH: Final = 20  # letters in a line of the first column
PAGE_ROWS: Final = 40  # a LaTeX table with more rows breaks over pages
SKIP: Final = "\\par\\smallskip\n"
DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")  # a number in a text, without its sign
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


@dataclass(frozen=True)
class Column:
    """The heading and rounding of a column.

    Parameters
    ----------
    heading
        Heading of the column. Default: its name.
    mcse
        Name of the column with its Monte Carlo standard errors. Errors are shown in parentheses,
        and each value is rounded to its error (`simstudy.tables.rounding`).
    decimals
        Decimal places of a column without errors, such as published numbers. Default: whole numbers
        in full, four significant digits of others.
    percent
        Whether proportions are shown as percentages: 0.0635 as 6.35, with % in the heading.
    words
        Labels shown instead of values, such as `{0: "∞"}`. The CSV keeps the values.
    warning
        Name of the column with warnings about its values, as texts. A value with a warning is
        marked by a dagger, and the notes tell the warning.
    """

    heading: str = ""
    mcse: str = ""
    decimals: int | None = None
    percent: bool = False
    words: Mapping[Any, str] = field(default_factory=dict)
    warning: str = ""

    def cell(self, value: Any, mcse: Any = None) -> str:
        """Format a value of the column, with its error if the column has one.

        Parameters
        ----------
        value
            A value of the frame's column.
        mcse
            Monte Carlo standard error of the value; ignored without an error column.

        Returns
        -------
        str
            The formatted value.
        """
        if isinstance(value, str | numbers.Real) and value in self.words:
            return self.words[value]
        if value is None or value is pd.NA or value is pd.NaT:
            return MISSING
        if isinstance(value, bool | np.bool_):
            return "yes" if value else "no"
        if not isinstance(value, numbers.Real):
            return str(value)
        if isinstance(value, numbers.Integral) and not (self.mcse or self.decimals or self.percent):
            return f"{int(value):,}"
        error = float(mcse) if self.mcse and is_number(mcse) else math.nan
        shown: Any = value
        if self.percent:
            shown, error = (float(f"{100 * share:.15g}") for share in (shown, error))  # 0.29: 29
        if self.decimals is not None and not self.mcse:
            return with_commas(to_decimals(shown, self.decimals))
        rounded = with_error(shown, error)
        return with_commas(rounded.value) + f" ({with_commas(rounded.error)})" * bool(rounded.error)


@dataclass(frozen=True)
class Table:
    """A table for publication: exact as CSV, rounded as Markdown and LaTeX.

    Parameters
    ----------
    frame
        Rows of the table, with distinct names of columns. A column that another names as its `mcse`
        or `warning` is shown with that one.
    caption
        Content of the table, in a sentence.
    columns
        Format or heading of each column, by name. Default: the name is the heading.
    notes
        Sentences below the table, such as the meaning of parentheses.

    Raises
    ------
    TableError
        If a named column does not exist.
    """

    frame: pd.DataFrame
    caption: str
    columns: Mapping[str, Column | str] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        names, shown = list(self.frame.columns), self._shown.values()
        beside = [name for how in shown for name in (how.mcse, how.warning) if name]
        for name in (*self.columns, *beside):
            if name not in names:
                raise TableError(f"the table has no column {name!r}; {nearest(name, names)}")

    @cached_property
    def _shown(self) -> dict[str, Column]:
        """The columns to show, with their headings, without those of errors and of warnings."""
        shown, beside = {}, set[str]()
        for name in self.frame.columns:
            given = self.columns.get(name, "")
            how = Column(given) if isinstance(given, str) else given
            shown[name] = replace(how, heading=how.heading or str(name).replace("_", " "))
            beside |= {how.mcse, how.warning}
        return {name: how for name, how in shown.items() if name not in beside}

    def csv(self) -> str:
        """Format as CSV with all digits; errors and warnings have separate columns.

        Headings are the names of the columns. Missing values are empty.

        Returns
        -------
        str
            The text.
        """
        shown = self._shown.items()
        names = [name for own, how in shown for name in (own, how.mcse, how.warning) if name]
        return as_csv(self.frame[list(dict.fromkeys(names))])  # two columns may have one error

    def markdown(self) -> str:
        """Format as Markdown, rounded: caption, table, notes.

        The pipe syntax is that of GitHub, Pandoc and Jupyter.

        Returns
        -------
        str
            The text.
        """
        shown = _mapped(self.grid, escaped)
        head, rule, *rows = _aligned(shown, least=3)
        sides = zip(rule, shown.headings, strict=True)
        rule = [f"{line[1:]}:" if heading.is_number else line for line, heading in sides]
        table = "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))
        return writable("\n\n".join([shown.caption, table, *shown.notes]) + "\n")

    def latex(self, label: str = "") -> str:
        r"""Format as LaTeX for `\input`, rounded, with caption, label and notes.

        The first line is a comment with the packages it needs. Numbers are right-aligned. Tables of
        more than 40 rows break over pages.

        Parameters
        ----------
        label
            Label of the table, without `tab:`. Empty: no label.

        Returns
        -------
        str
            The text.
        """
        typeset = _mapped(self.grid, _latex_cell)
        names = pd.Index([heading.text for heading in typeset.headings], dtype=object)
        style = pd.DataFrame(typeset.rows, columns=names, dtype=object).style.hide(axis="index")
        sides = "".join("r" if heading.is_number else "l" for heading in typeset.headings)
        is_long = len(typeset.rows) > PAGE_ROWS
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
        end = "" if is_long else "\\end{table}\n"
        return writable(f"{packages}\n{table.removesuffix(end)}{notes}{end}")

    def __str__(self) -> str:
        """The table as text, rounded."""
        return writable(as_text(self.grid))

    _repr_markdown_ = markdown  # for notebooks

    @cached_property
    def grid(self) -> Grid:
        """The rounded cells, which all formats but CSV use."""
        columns = [self._column(name, how) for name, how in self._shown.items()]
        headings, cells = zip(*columns, strict=True)
        rows = list(map(list, zip(*cells, strict=True)))
        return Grid(list(headings), rows, self.caption, (*self.notes, *self._warnings()))

    def _warnings(self) -> list[str]:
        """A note for each kind of warning: how many values of which columns, with what text.

        Of texts that differ in their numbers alone, it tells the least and the greatest.
        """
        found: dict[str, tuple[Counter[str], list[str]]] = {}
        for how in self._shown.values():
            for text in filter(None, self.frame[how.warning] if how.warning else ()):
                counts, texts = found.setdefault(DIGITS.sub("", str(text)), (Counter(), []))
                counts[how.heading] += 1
                texts.append(str(text))
        return [
            f"{DAGGER} {', '.join(f'{name} ({n:,})' for name, n in counts.items())}: "
            f"{_with_ranges(texts)}."
            for counts, texts in found.values()
        ]

    def _column(self, name: str, how: Column) -> tuple[Heading, list[str]]:
        """The heading and the cells of a column; labels may stand among numbers."""
        values = self.frame[name].tolist()
        nothing = [None] * len(values)
        cells = list(map(how.cell, values, self.frame[how.mcse] if how.mcse else nothing))
        warned = self.frame[how.warning] if how.warning else nothing
        words, both = {MISSING, *how.words.values()}, zip(values, cells, strict=True)
        are_numbers = [is_number(value) for value, cell in both if cell not in words]
        heading = how.heading + ", %" * (how.percent and "%" not in how.heading)
        marked = [cell + DAGGER * bool(text) for cell, text in zip(cells, warned, strict=True)]
        return Heading(heading, bool(are_numbers) and all(are_numbers)), marked


def _with_ranges(texts: Sequence[str]) -> str:
    """One text for several that differ in their numbers alone: "carries 71 to 87%"."""
    places = zip(*map(DIGITS.findall, texts), strict=True)
    ends = [sorted({*each}, key=lambda text: float(text.replace(",", ""))) for each in places]
    ranges = (each[0] if len(each) == 1 else f"{each[0]} to {each[-1]}" for each in ends)
    return DIGITS.sub(lambda _: next(ranges), texts[0])


def is_number(value: Any) -> bool:
    """Whether a cell is a number and not a boolean."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


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
    headings = [Heading(change(text), is_number) for text, is_number in grid.headings]
    rows = [list(map(change, row)) for row in grid.rows]
    return Grid(headings, rows, change(grid.caption), tuple(map(change, grid.notes)))


def save_table(table: Any, folder: str | Place, name: str, *, label: str = "") -> list[Place]:
    """Write `<name>.csv`, `<name>.md` and `<name>.tex`, reproducibly.

    Parameters
    ----------
    table
        A table.
    folder
        Folder of the files; created if it does not exist.
    name
        File name without its ending, such as "outcomes". Letters that Windows does not allow in
        names of files become `_`.
    label
        Label of the LaTeX table, without `tab:`. Default: `name`.

    Returns
    -------
    list
        Paths of the three files, in this order.

    Raises
    ------
    TableError
        If `table` is not a table, or `name` is not a file name. Nothing is written then.
    """
    check_file_name(name, "table", TableError)
    if not isinstance(table, Table):
        raise TableError(f"a {type(table).__name__} is no table: return a simstudy.tables.Table")
    paths = [place_of(folder) / f"{file_name(name)}.{ending}" for ending in ("csv", "md", "tex")]
    forms = [table.csv(), table.markdown(), table.latex(label or name)]
    for path, text in zip(paths, forms, strict=True):
        write_bytes(path, text.encode())
    return paths


def as_csv(frame: pd.DataFrame) -> str:
    """Format a frame as CSV with all digits; its index is left out."""
    return writable(str(frame.to_csv(index=False, lineterminator="\n")))
