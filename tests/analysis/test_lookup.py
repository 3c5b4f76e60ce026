"""Scenarios, and rows, by their factors: the one, none with what there is, several."""

import math
from dataclasses import dataclass

import pandas as pd
import pytest

from simstudy.analysis.summary import factor_rows, row_with, rows_with, scenario_with
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
    assert scenario_with(POINTS, FACTORS, {"n": 50, "k": 0.3, "way": "law"}) == Point(
        50, 0.1 + 0.2, "law"
    )
    assert scenario_with(POINTS, FACTORS, {"n": 10, "k": math.inf, "way": "raw"}) == Point(
        10, math.inf
    )


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        (
            {"n": 40, "way": "law"},
            r"run has n=40, way='law'; available: n=\[10, 50\], way=\['raw', 'law'\]",
        ),
        ({"n": 10}, "4 scenarios have n=10, so it is not clear which is meant"),
        ({"m": 10}, "'m' is not a factor of these scenarios: available: k, n, way"),
    ],
    ids=["none", "several", "no factor"],
)
def test_what_names_no_one_scenario_is_refused(factors, said):
    with pytest.raises(LookupError, match=said):
        scenario_with(POINTS, FACTORS, factors)


def test_one_row_of_a_summary_and_what_is_near_where_there_is_none():
    rows = pd.DataFrame({"p": [1e-9, 2e-9, 2e-9], "method": list("aab"), "measure": "bias"})
    assert row_with(rows, "bias", {"p": 1e-9 * (1 + 1e-12)}).name == 0
    for where, said in [
        ({"p": 2e-9}, "2 rows have measure 'bias' and p=2e-09, .* name method too"),
        ({"p": 0.0}, r"0 rows have measure 'bias' and p=0\.0; available: p=\[1e-09, 2e-09\]"),
        ({"q": 1}, "there is no column 'q'"),
    ]:
        with pytest.raises(LookupError, match=said):
            row_with(rows, "bias", where)
    with pytest.raises(LookupError, match="0 rows have measure 'bia'; did you mean 'bias'"):
        row_with(rows, "bia", {})


def test_none_is_a_level():
    rows = pd.DataFrame(
        {"max_depth": [None, 3.0, None], "measure": ["bias", "bias", "mse"], "estimate": 1.0}
    )
    assert row_with(rows, "bias", {"max_depth": None}).name == 0
    assert list(rows_with(rows, {"max_depth": [None, 3]}).index) == [0, 1, 2]
    assert list(rows_with(rows, {"max_depth": 3}).index) == [1]
    with pytest.raises(LookupError, match="name max_depth too"):
        row_with(rows, "bias", {})


def test_what_is_said_of_a_row_does_not_tell_rows_apart():
    rows = pd.DataFrame({"n": [1, 2], "measure": "bias", "estimate": 1.0, "warning": ["", "few"]})
    with pytest.raises(LookupError, match="name n too"):
        row_with(rows, "bias", {})
