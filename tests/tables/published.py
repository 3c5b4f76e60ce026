"""Published tables as grids again, read from their Markdown, and put through LaTeX."""

import re
import subprocess

from simstudy.tables.grid import Grid, Heading
from simstudy.tables.rounding import Rounded
from tests.support import ROOT

TABLES = sorted(ROOT.glob("results/*/tables/*.md"))
BETWEEN_CELLS = re.compile(r"(?<!\\)\|")
NUMBER = re.compile(r"(-?[\d,.]+(?:e[-+]?\d+)?)(?: \(([\d,.]+(?:e[-+]?\d+)?)\))?")
COMPLAINT = re.compile(r"^(?:!|Overfull|LaTeX Warning: (?!Label|There were)).*", re.MULTILINE)


def grid_of(path):
    """The cells of a table, each a text, or a number with its error."""
    caption, table, *notes = path.read_text().strip().split("\n\n")
    heads, rule, *rows = [_cells(line) for line in table.splitlines()]
    headings = [Heading(head, side.endswith(":")) for head, side in zip(heads, rule, strict=True)]
    cells = [[_cell(cell, head) for cell, head in zip(r, headings, strict=True)] for r in rows]
    return Grid(headings, cells, _plain(caption), tuple(map(_plain, notes)))


def _cells(line):
    return [_plain(cell) for cell in BETWEEN_CELLS.split(line)[1:-1]]


def _plain(text):
    return re.sub(r"\\(.)", r"\1", text.strip())


def _cell(text, heading):
    if not heading.is_number:
        return text
    found = NUMBER.fullmatch(text)
    if found is None:  # words in place of a number are a text
        return Rounded("nan") if text == "–" else text
    return Rounded(*((part or "").replace(",", "") for part in found.groups()))


def complaints(folder, document, tables, *preamble):
    """What LaTeX finds wrong with some tables, by their text: errors, boxes too wide, warnings."""
    packages = {name for text in tables for name in re.findall(r"\\usepackage\{\w+\}", text)}
    body = [line for text in tables for line in ["Text.", text, r"\clearpage"]]
    whole = [document, *preamble, *sorted(packages), r"\begin{document}", *body, r"\end{document}"]
    (folder / "all.tex").write_text("\n".join(whole))
    command = ["pdflatex", "-interaction=nonstopmode", "all.tex"]
    for _ in range(2):  # long tables learn their columns' widths in the first
        told = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=300
        )
    return COMPLAINT.findall(told.stdout.decode(errors="replace"))
