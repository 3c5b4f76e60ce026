"""A table in LaTeX is as wide as its page or column at most, by the least that makes it so."""

import re

import numpy as np
import pandas as pd
import pytest

from simstudy.errors import TableError
from simstudy.tables import Column, Table
from simstudy.tables.grid import in_words
from simstudy.tables.latex_cells import pad_of, room_behind
from simstudy.tables.latex_room import INCH, OWN, PAGE, UNBROKEN, layout_of
from simstudy.tables.latex_widths import ems
from tests.tables.published import TABLES, grid_of


def table(n, heading="share", n_rows=2):
    """A name, and so many numbers with their errors."""
    data = {"method": ["a method"] * n_rows, "n": [100] * n_rows}
    data |= {f"{name}{at}": [0.01] * n_rows for at in range(n) for name in ("x", "se")}
    columns = {f"x{at}": Column(f"{heading} {at}", mcse=f"se{at}") for at in range(n)}
    return Table(pd.DataFrame(data), "Shares", columns)


def headings(part):
    return [heading.text for heading in part.grid.headings]


def test_one_that_fits_is_written_as_it_is():
    assert layout_of(table(3).grid).style == OWN


def test_long_headings_take_several_lines_before_letters_become_smaller():
    made = table(3, "the mean of all shares in the trial")
    style = layout_of(made.grid).style
    assert style.room < UNBROKEN
    assert not style.points
    head = made.latex().splitlines()[6]
    assert r"\begin{tabular}[b]{@{}r@{}}the mean of all shares \\ in the trial 0" in head


def test_then_letters_become_smaller():
    layout = layout_of(table(7).grid)
    assert layout.style.points == 8
    assert len(layout.parts) == 1
    assert r"\fontsize{8}{9.5}\selectfont\setlength{\tabcolsep}{3pt}" in table(7).latex()


@pytest.mark.parametrize("inches", [3.5, PAGE])
@pytest.mark.parametrize("n", [1, 8, 20])
def test_no_part_is_wider_than_the_page_and_no_column_is_lost(n, inches):
    grid = table(n, "the prospective share").grid
    layout = layout_of(grid, inches)
    assert layout.width <= inches * INCH
    shown = [text for part in layout.parts for text in headings(part)[2:]]
    assert shown == [heading.text for heading in grid.headings[2:]]


def test_every_part_begins_with_what_names_its_rows():
    layout = layout_of(table(12).grid)
    assert len(layout.parts) > 1
    assert all(headings(part)[:2] == ["method", "n"] for part in layout.parts)


def test_a_long_one_in_parts_is_a_long_table_each_under_one_number():
    text = table(12, n_rows=30).latex("shares")
    n_parts = len(layout_of(table(12).grid).parts)
    assert text.count(r"\begin{longtable}") == n_parts > 1
    assert text.count(r"\label{") == 1
    assert text.count(r"\caption{Shares (continued)}") == n_parts - 1
    assert text.count(r"\addtocounter{table}{-1}") == n_parts - 1
    assert text.count(r"\begingroup") == text.count(r"\endgroup") == 1


def test_columns_that_all_have_errors_are_shown_beside_the_first():
    frame = pd.DataFrame({f"{kind}{at}": [0.25] for at in range(12) for kind in ("x", "se")})
    made = Table(frame, "Shares", {f"x{at}": Column(mcse=f"se{at}") for at in range(12)})
    assert all(headings(part)[0] == "x0" for part in layout_of(made.grid).parts)


def test_a_line_of_a_heading_is_no_argument_of_the_line_above():
    text = table(6, "a share of [0, 1]").latex()
    assert r"\\ [" not in text
    assert r"\\ {}[" in text


# ---------------------------------------------------------------- numbers below each other
def test_points_stand_below_points():
    values, errors = [0.0635, 12.5, -0.25, np.nan, 1234.0], [0.0034, 0.4, 0.011, np.nan, 0]
    frame = pd.DataFrame({"x": values, "se": errors})
    cells = [row[0] for row in Table(frame, "Numbers", {"x": Column(mcse="se")}).grid.rows]
    room = room_behind(cells)
    ends = [re.sub(r"^[-–]?[\d,]*", "", in_words(cell)) for cell in cells]
    behind = [ems(f"0{end}{pad_of(cell, room)}") for end, cell in zip(ends, cells, strict=True)]
    assert behind == [pytest.approx(behind[0])] * len(cells)
    assert len(set(map(ems, ends))) > 2, "of numbers that end alike this would say nothing"


# ---------------------------------------------------------------- columns of a journal
def grouped(n_rows):
    frame = pd.DataFrame(
        {
            "process": np.repeat(
                ["StudentT(df=5, scale=2, mean=0)", "Normal(scale=2)"], n_rows // 2
            ),
            "n": np.tile(np.arange(n_rows // 2), 2),
        }
        | {name: np.full(n_rows, 0.25) for name in ("a", "b", "c", "se")}
    )
    return Table(frame, "Shares", {name: Column(f"share {name}", mcse="se") for name in "abc"})


def test_what_stays_the_same_is_said_above_the_rows_where_a_column_is_narrow():
    (part,) = layout_of(grouped(20).grid, 3.5).parts
    assert headings(part) == ["n", "share a", "share b", "share c"], part.above
    text = grouped(20).latex(width=3.5)
    assert text.count("process = StudentT(df=5,") == 1
    assert layout_of(grouped(20).grid).parts[0].above == ()  # of 6.5 inches
    mixed = grouped(20).frame.sort_values("n")
    alone = Table(mixed, "Shares", grouped(20).columns)
    assert all(not part.above for part in layout_of(alone.grid, 3.5).parts)


def test_a_long_one_is_several_tables_of_one_number_and_loses_no_row():
    made = grouped(200)
    text = made.latex("shares", width=3.5)
    tables = text.split(r"\begin{table}")[1:]
    assert len(tables) > 1
    assert "longtable" not in text
    assert text.count(r"\label{") == text.count(r"\par\smallskip") + 1 == 1
    assert text.count(r"\addtocounter{table}{-1}\n".replace(r"\n", "\n")) == len(tables) - 1
    assert len(re.findall(r"^\d+ &.*0\.25", text, re.MULTILINE)) == 200
    assert all("process = " in each for each in tables)


def test_a_table_for_both_columns_spans_them():
    assert r"\begin{table*}" in table(3).latex(width=7.2)
    assert r"\begin{table}" in table(3).latex(width=3.5)


def test_a_width_that_is_none_is_refused():
    with pytest.raises(TableError, match="is 89 wide: a width is a number of inches"):
        table(3).latex(width=89)


@pytest.mark.parametrize("inches", [3.5, PAGE, 7.2])
def test_published_tables_have_room(inches):
    assert len(TABLES) > 20
    for path in TABLES:
        assert layout_of(grid_of(path), inches).width <= inches * INCH, path
