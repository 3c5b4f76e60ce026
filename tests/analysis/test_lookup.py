"""Scenarios, and rows, by their factors: the one, none with what there is, several."""

import math
from dataclasses import dataclass

import pandas as pd
import pytest

from simstudy.analysis.summary import factor_rows, one_with, rows_with
from simstudy.design import grid
from simstudy.design.plan import Plan


@dataclass(frozen=True)
class Point:
    n: int
    k: float
    way: str = "raw"


POINTS = grid(Point, n=[10, 50], k=[0.1 + 0.2, math.inf], way=["raw", "law"])
PLAN = Plan(name="points", seed=1, scenarios=tuple(POINTS), axes={}, block_size=1)
FACTORS = factor_rows(PLAN, POINTS)


def test_the_one_scenario_with_these_factors():
    at = one_with(FACTORS, {"n": 50, "k": 0.3, "way": "law"}).name
    assert POINTS[at] == Point(50, 0.1 + 0.2, "law")
    at = one_with(FACTORS, {"n": 10, "k": math.inf, "way": "raw"}).name
    assert POINTS[at] == Point(10, math.inf)


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        (
            {"n": 40, "way": "law"},
            r"0 rows have n=40, way='law'; available: n=\[10, 50\], way=\['raw', 'law'\]",
        ),
        ({"n": 10}, "4 rows have n=10, and it is not clear which is meant: name k, way too"),
        ({}, "8 rows, and it is not clear which is meant: name n, k, way too"),
        ({"m": 10}, "there is no column 'm'; available: k, n, way"),
    ],
)
def test_what_names_no_one_scenario_is_refused(factors, said):
    with pytest.raises(LookupError, match=said):
        one_with(FACTORS, factors)


def test_numbers_are_equal_up_to_rounding():
    rows = pd.DataFrame({"p": [1e-9, 2e-9, 2e-9], "method": list("aab"), "measure": "bias"})
    assert one_with(rows, {"p": 1e-9 * (1 + 1e-12)}).name == 0
    with pytest.raises(LookupError, match=r"0 rows have p=0\.0; available: p=\[1e-09, 2e-09\]"):
        one_with(rows, {"p": 0.0})


def test_none_is_a_level():
    rows = pd.DataFrame(
        {"max_depth": [None, 3.0, None], "measure": ["bias", "bias", "mse"], "estimate": 1.0}
    )
    assert one_with(rows, {"measure": "bias", "max_depth": None}).name == 0
    assert list(rows_with(rows, {"max_depth": [None, 3]}).index) == [0, 1, 2]
    assert list(rows_with(rows, {"max_depth": 3}).index) == [1]
    with pytest.raises(LookupError, match="name max_depth too"):
        one_with(rows, {"measure": "bias"})


def test_what_is_said_of_a_row_does_not_tell_rows_apart():
    rows = pd.DataFrame({"n": [1, 2], "measure": "bias", "estimate": 1.0, "warning": ["", "few"]})
    with pytest.raises(LookupError, match="name n too"):
        one_with(rows, {"measure": "bias"})
