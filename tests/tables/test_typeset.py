"""Published tables go through LaTeX without a complaint, and fit what they are laid out for."""

import shutil

import pytest

from simstudy.tables.latex import as_latex, in_columns
from tests.tables.published import TABLES, complaints, grid_of

NO_LATEX = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX here")
PAGE = r"\documentclass[{}pt]{{article}}\usepackage[margin=1in]{{geometry}}"
TWO_COLUMNS = (
    r"\documentclass[twocolumn]{article}\setlength{\columnsep}{0.2in}"
    r"\usepackage[textwidth=7.2in,textheight=9in]{geometry}"
)  # of 3.5 inches each
FEW = [path for path in TABLES if path.stem != "summary" or path.parts[-3] in ("two_stage",)]


@NO_LATEX
@pytest.mark.parametrize("points", [10, 12])
def test_tables_fit_a_page_whatever_the_size_of_its_letters(tmp_path, points):
    tables = [as_latex(grid_of(path), f"t{at}") for at, path in enumerate(FEW)]
    assert complaints(tmp_path, PAGE.format(points), tables) == []


@NO_LATEX
@pytest.mark.parametrize("inches", [3.5, 7.2])
def test_tables_fit_the_columns_of_a_journal(tmp_path, inches):
    tables = [in_columns(grid_of(path), inches, f"t{at}") for at, path in enumerate(TABLES)]
    assert complaints(tmp_path, TWO_COLUMNS, tables) == []


@NO_LATEX
def test_that_a_table_for_two_columns_is_too_wide_for_one(tmp_path):
    table = in_columns(grid_of(FEW[0]), 7.2).replace("table*", "table")
    assert any("Overfull" in said for said in complaints(tmp_path, TWO_COLUMNS, [table]))
