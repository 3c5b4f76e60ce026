"""A table in LaTeX is as wide as its page at most, by the least that makes it so."""

import pandas as pd
import pytest

from simstudy.tables import Column, Table
from simstudy.tables.latex_room import PAGE, UNBROKEN, layout_of


def table(n, heading="share", n_rows=2):
    """A name, and so many numbers with their errors."""
    data = {"method": ["a method"] * n_rows, "n": [100] * n_rows}
    data |= {f"{name}{at}": [0.01] * n_rows for at in range(n) for name in ("x", "se")}
    columns = {f"x{at}": Column(f"{heading} {at}", mcse=f"se{at}") for at in range(n)}
    return Table(pd.DataFrame(data), "Shares", columns)


def test_one_that_fits_is_written_as_it_is():
    layout = layout_of(table(3).grid)
    assert layout.room == UNBROKEN
    assert not layout.is_small


def test_long_headings_take_several_lines_before_letters_become_smaller():
    made = table(3, "the mean of all shares in the trial")
    layout = layout_of(made.grid)
    assert layout.room < UNBROKEN
    assert not layout.is_small
    head = made.latex().splitlines()[6]
    assert r"\begin{tabular}[b]{@{}r@{}}the mean of all shares \\ in the" in head


def test_then_letters_become_smaller():
    layout = layout_of(table(6).grid)
    assert layout.is_small
    assert len(layout.parts) == 1
    assert r"\footnotesize\setlength{\tabcolsep}{3pt}" in table(6).latex()


@pytest.mark.parametrize("n", [1, 4, 8, 20])
def test_no_part_is_wider_than_the_page_and_no_column_is_lost(n):
    grid = table(n, "the prospective share").grid
    layout = layout_of(grid)
    assert all(layout.width(part) <= PAGE for part in layout.parts)
    shown = [heading.text for part in layout.parts for heading in part.headings[2:]]
    assert shown == [heading.text for heading in grid.headings[2:]]


def test_every_part_begins_with_what_names_its_rows():
    layout = layout_of(table(12).grid)
    assert len(layout.parts) > 1
    for part in layout.parts:
        assert [heading.text for heading in part.headings[:2]] == ["method", "n"]


def test_a_long_one_in_parts_is_a_long_table_each_under_one_number():
    text = table(12, n_rows=30).latex("shares")
    n_parts = len(layout_of(table(12).grid).parts)
    assert text.count(r"\begin{longtable}") == n_parts > 1
    assert text.count(r"\caption{") == text.count(r"\label{") == 1
    assert text.count(r"\caption*{Shares (continued)}") == n_parts - 1
    assert text.count(r"\begingroup") == text.count(r"\endgroup") == 1


def test_columns_that_all_have_errors_are_shown_beside_the_first():
    frame = pd.DataFrame({f"{kind}{at}": [0.25] for at in range(12) for kind in ("x", "se")})
    made = Table(frame, "Shares", {f"x{at}": Column(mcse=f"se{at}") for at in range(12)})
    assert all(part.headings[0].text == "x0" for part in layout_of(made.grid).parts)


def test_a_line_of_a_heading_is_no_argument_of_the_line_above():
    text = table(6, "a share of [0, 1]").latex()
    assert r"\\ [" not in text
    assert r"\\ {}[" in text
