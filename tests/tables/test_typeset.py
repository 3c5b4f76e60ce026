"""Published tables go through LaTeX without a complaint, and fit what they are laid out for."""

import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from simstudy.tables import Column, Table
from simstudy.tables.latex import as_latex, in_columns
from simstudy.tables.latex_letters import KNOWN, typeset
from simstudy.tables.latex_widths import EMS, ems
from tests.tables.published import TABLES, complaints, grid_of

NO_LATEX = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX here")
PAGE = r"\documentclass[{}pt]{{article}}\usepackage[margin=1in]{{geometry}}"
TWO_COLUMNS = (
    r"\documentclass[twocolumn]{article}\setlength{\columnsep}{0.2in}"
    r"\usepackage[textwidth=7.2in,textheight=9in]{geometry}"
)  # of 3.5 inches each


@NO_LATEX
@pytest.mark.parametrize("points", [10, 12])
def test_tables_fit_a_page_whatever_the_size_of_its_letters(tmp_path, points):
    tables = [as_latex(grid_of(path), f"t{at}") for at, path in enumerate(TABLES)]
    assert complaints(tmp_path, PAGE.format(points), tables) == []


@NO_LATEX
@pytest.mark.parametrize("inches", [3.5, 7.2])
def test_tables_fit_the_columns_of_a_journal(tmp_path, inches):
    tables = [in_columns(grid_of(path), inches, f"t{at}") for at, path in enumerate(TABLES)]
    assert complaints(tmp_path, TWO_COLUMNS, tables) == []


@NO_LATEX
def test_that_a_table_for_two_columns_is_too_wide_for_one(tmp_path):
    table = in_columns(grid_of(TABLES[0]), 7.2).replace("table*", "table")
    assert any("Overfull" in said for said in complaints(tmp_path, TWO_COLUMNS, [table]))


# ---------------------------------------------------------------- whatever stands in a table
ANYTHING = [
    "a--b ?` !` '' #%&_{}~^\\$<>|\"", "\\input{x}", "[1ex]", "*", "", "esc\x1b[31m nul\x00",
    "σ̂ ≤k ±f x̂y β̂₁² n₁₂ x²₁² σ²", "✓ 汉字 😀 ﬁ ℝ ½ ⟨x⟩ «q» Łódź ą", "x" * 200,
    "some words " * 40, "https://example.org/" + "abc/" * 30,
]  # fmt: skip


def of_anything():
    words = pd.DataFrame({"σ̂ " + "w" * 90: ANYTHING, "n": range(len(ANYTHING))})
    said = " ".join(text for text in ANYTHING if len(text) < 100)
    rows = pd.DataFrame({"n": np.arange(2500), "v": np.arange(2500) / 7})
    as_words = {"n": Column(words={1: "a long word for one that is said " * 5})}
    return [
        Table(words, said, notes=[said]),
        Table(words, "Words in the place of a number", as_words),
        Table(words[:0], "None"),
        Table(words[:1], f"A word {'U+6F22' * 6} of {'W' * 39} that a line has no room for"),
        Table(pd.DataFrame({f"column_{at}": ["some text", "b"] for at in range(40)}), "Many"),
        Table(rows, "Long"),
    ]


@NO_LATEX
@pytest.mark.parametrize(("document", "inches"), [(PAGE.format(12), None), (TWO_COLUMNS, 3.5)])
def test_any_table_goes_through_latex(tmp_path, document, inches):
    texts = [made.latex(f"t{at}", width=inches) for at, made in enumerate(of_anything())]
    assert complaints(tmp_path, document, texts) == []


@NO_LATEX
@pytest.mark.parametrize("points", [12, 9, 8, 7])
def test_no_letter_is_wider_than_it_is_counted(tmp_path, points):
    letters = [letter for letter in sorted(KNOWN) if letter.strip() and letter.isprintable()]
    boxes = [rf"\setbox0\hbox{{{typeset(c)}}}\typeout{{W \the\wd0}}" for c in letters]
    size = rf"\fontsize{{{points}}}{{{points}}}\selectfont"
    whole = [r"\documentclass{article}", r"\begin{document}", size, *boxes, r"\end{document}"]
    (tmp_path / "w.tex").write_text("\n".join(whole))
    command = ["pdflatex", "-interaction=nonstopmode", "w.tex"]
    told = subprocess.run(
        command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, timeout=60
    ).stdout.decode(errors="replace")
    widths = [float(found) for found in re.findall(r"^W ([\d.]+)pt", told, re.MULTILINE)]
    pairs = zip(letters, widths, strict=True)
    assert [(c, w, ems(c) * EMS[points]) for c, w in pairs if w > ems(c) * EMS[points] + 0.05] == []
