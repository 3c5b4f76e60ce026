"""Cells as numbers: every spelling of one, and every cell that is none by its place."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from simstudy.applied.cells import (
    numbers_of,
    numbers_of_any,
    refuse_two_notations,
    without_blank_end,
)
from simstudy.errors import DesignError


def place(row):
    return f"line {row + 2}"


def read(*cells):
    return numbers_of("score", cells, place).tolist()


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (("1", "0.5", ".25", "2.", "-3", "+4", "1e-3", "2E2"), [1, 0.5, 0.25, 2, -3, 4, 1e-3, 200]),
        (("0,5", ",25", "2,", "-1,5e1", "3"), [0.5, 0.25, 2, -15, 3]),
        (("True", "false", "TRUE"), [1, 0, 1]),
        (("\N{MINUS SIGN}0.5", "1"), [-0.5, 1]),
        (("0,851", "1,234"), [0.851, 1.234]),
    ],
)
def test_numbers_are_read(cells, numbers):
    assert read(*cells) == numbers


def test_a_blank_cell_is_left_open():
    numbers = read("1", "", "0")
    assert numbers[0] == 1
    assert math.isnan(numbers[1])


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (("1", "foo"), "line 3: score is 'foo', which is no number"),
        (("1", "1_0"), "line 3: score is '1_0', which is no number"),
        (("1", "0x1"), "line 3: score is '0x1', which is no number"),
        (("1", "1,234.5"), "line 3: score is '1,234.5', which is no number"),
        (("1", "\N{ARABIC-INDIC DIGIT THREE}"), "which is no number"),
        (("nan", "1"), "line 2: score is 'nan', which is no score, and a mean without it is of"),
        (("N/A", "1"), "line 2: score is 'N/A', which is no score"),
        (("inf", "1"), "line 2: score is 'inf', which is not finite"),
        (("1e999", "1"), "line 2: score is '1e999', which is not finite"),
        (("85%", "1"), "line 2: score is '85%', with a sign after the number"),
        (("0,5", "1.5"), "line 2: score is '0,5', and '1.5' at line 3, so a comma may part"),
        (("1,234", "2"), "line 2: score is '1,234', whose comma may part thousands or decimals"),
    ],
)
def test_a_cell_that_is_no_number_is_named(cells, said):
    with pytest.raises(DesignError) as refusal:
        read(*cells)
    assert said in str(refusal.value)


@pytest.mark.parametrize(
    "values",
    [
        [1, 0, 1],
        [True, False, True],
        np.array([1, 0, 1], dtype=np.float32),
        pd.Series([1, 0, 1], dtype="Int64"),
        pd.Series(["1", "0", "1"]),
        np.array([1, 0, 1], dtype=object),
        np.ma.array([1, 0, 1]),
    ],
)
def test_scores_in_memory_are_read_alike(values):
    assert numbers_of_any("score", values, place).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "values",
    [
        [1, None],
        [1.0, math.nan],
        pd.Series([1, pd.NA], dtype="Int64"),
        ["1", ""],
        np.array([1, np.float32("nan")], dtype=object),
        np.array([1, Decimal("NaN")], dtype=object),
        np.ma.array([1, 2], mask=[0, 1]),
    ],
)
def test_a_missing_value_in_memory_is_left_open(values):
    numbers = numbers_of_any("score", values, place)
    assert numbers[0] == 1
    assert math.isnan(numbers[1])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([[1, 0], [0, 1]], "score has shape (2, 2), so it is not known which scores"),
        ([1.0, math.inf], "line 3: score is 'inf', which is not finite"),
        ([1.0, -math.inf], "line 3: score is '-inf', which is not finite"),
        (["1", "x"], "line 3: score is 'x', which is no number"),
        ([1, object], "which is no number"),
        (["1", 50 * "x"], f"line 3: score is '{40 * 'x'}...', which is no number"),
    ],
)
def test_what_is_no_column_of_numbers_is_refused(values, said):
    with pytest.raises(DesignError) as refusal:
        numbers_of_any("score", values, place)
    assert said in str(refusal.value)


def test_two_notations_of_numbers_are_refused_across_columns():
    columns = {"n": ["512", "10.000"], "sigma": ["50", ""], "reference": ["72", "72,1"]}
    with pytest.raises(DesignError) as refusal:
        refuse_two_notations(columns, place)
    assert "line 3: reference is '72,1', and n is '10.000' at line 3, so" in str(refusal.value)
    refuse_two_notations({"n": ["10.000"], "reference": ["72.1"]}, place)
    refuse_two_notations({"n": ["512"], "reference": ["72,1"]}, place)


def test_a_column_may_end_in_blanks():
    nan = math.nan
    assert without_blank_end("a", np.array([1.0, 0.0, nan, nan]), place).tolist() == [1, 0]
    with pytest.raises(DesignError, match="line 3: a is blank or missing"):
        without_blank_end("a", np.array([1.0, nan, 0.0]), place)
    with pytest.raises(DesignError, match="a has no scores: every cell is blank"):
        without_blank_end("a", np.array([nan, nan]), place)
