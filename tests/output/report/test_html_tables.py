"""Data frames as tables: numbers to be read by their digits, and what a reader may choose by."""

import math

import pandas as pd
import pytest

from simstudy.output.report.study_page import SHOWN_ROWS, WIDE, cell_text, html_table, table_of_grid
from simstudy.tables import Column, Table

FRAME = pd.DataFrame(
    {
        "k": [0.5, 1.0, math.nan],
        "method": ["t", "z", "t"],
        "holds": [True, False, True],
        "replicates": [1000, 20_000, 3],
    }
)


def test_numbers_stand_to_the_right_and_counts_have_their_thousands():
    table = html_table(FRAME, "A table")
    assert [column.is_number for column in table.columns] == [True, False, False, True]
    assert table.rows == [
        ("0.5", "t", "True", "1,000"),
        ("1", "z", "False", "20,000"),
        ("–", "t", "True", "3"),
    ]


def test_a_reader_chooses_among_few_texts_and_among_numbers_where_it_is_said():
    assert [c.name for c in html_table(FRAME, "").columns if c.is_choice] == ["method", "holds"]
    chosen = html_table(FRAME, "", choices=["k"])
    assert [c.name for c in chosen.columns if c.is_choice] == ["k", "method", "holds"]
    many = pd.DataFrame({"name": [str(at) for at in range(100)], "same": "x"})
    assert not any(column.is_choice for column in html_table(many, "").columns)


def test_columns_of_one_name_many_columns_and_no_rows():
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    assert html_table(twice, "").rows == [("1", "2")]
    assert html_table(FRAME.head(0), "").rows == []
    tables = (html_table(pd.DataFrame([range(n)]), "") for n in (WIDE - 1, WIDE))
    assert [table.is_wide for table in tables] == [False, True], "on paper it lies lengthwise"


def test_a_long_table_is_cut_and_says_by_how_much():
    frame = pd.DataFrame({"k": range(SHOWN_ROWS + 5)})
    for table in (html_table(frame, ""), table_of_grid(Table(frame, "Long").grid, "")):
        assert (len(table.rows), table.n_left_out) == (SHOWN_ROWS, 5)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((None, "–"), (math.nan, "–"), (pd.NA, "–"), (pd.NaT, "–")),
        *((0.12345, "0.1235"), (-0.0, "0"), ((1, 2), "(1, 2)")),
    ],
)
def test_a_cell(value, text):
    assert cell_text(value) == text


def test_a_published_table_is_rounded_and_has_its_errors_beside_its_numbers():
    frame = pd.DataFrame({"method": ["t", "z"], "x": [0.51234, math.nan], "se": [0.0123, math.nan]})
    made = Table(frame, "A table", {"x": Column("share", mcse="se")})
    shown = table_of_grid(made.grid, "Table 1")
    assert [(c.name, c.is_number, c.is_choice) for c in shown.columns] == [
        ("method", False, True),
        ("share", True, False),
    ]
    assert shown.rows == [("t", "0.512 (0.012)"), ("z", "–")]
