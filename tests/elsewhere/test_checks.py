"""Tables that cannot be what they are said to be are refused in a line, by row and value."""

import numpy as np
import pandas as pd
import pytest

from simstudy.elsewhere import from_frame
from simstudy.elsewhere.checks import numbers_in
from simstudy.errors import DesignError
from tests.elsewhere.tables import COLUMNS, TRUTH, long_table

pytestmark = pytest.mark.filterwarnings("ignore:method new has no row", "ignore:no truth is")


@pytest.fixture(scope="module")
def table():
    return long_table()


def changed(table, column, at, value):
    values = table[column].astype(object)
    values[at] = value
    return table.assign(**{column: values})


def refusal(table, **asked):
    with pytest.raises(DesignError) as refused:
        from_frame(table, **{**COLUMNS, **asked})
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("b", "abc", "row 5: b is 'abc', which is no number."),
        ("b", "1,5", "row 5: b is '1,5', which is no number."),
        ("b", np.inf, "row 5: b is inf, which is not finite, and no mean with it is (1 in all)."),
        ("se", 0.0, "1 standard errors are not above 0, the first in row 5 (se = 0), and no"),
        ("se", -0.2, "1 standard errors are not above 0, the first in row 5 (se = -0.2), and no"),
        ("dgm", None, "row 5 says nothing in 'dgm', so it is not known where it belongs"),
        ("method", None, "row 5 says nothing in 'method'"),
        ("dataset", None, "row 5 says nothing in 'dataset'"),
    ],
)
def test_a_cell_that_cannot_be_is_named(table, column, value, said):
    assert refusal(changed(table, column, 4, value)).startswith(said)


@pytest.mark.parametrize("text", ["", ".", "NA", "NaN", None, " "])
def test_what_stands_for_nothing_is_missing(text):
    frame = pd.DataFrame({"b": np.array([1.5, text, "2"], dtype=object)})
    np.testing.assert_array_equal(numbers_in(frame, "b"), [1.5, np.nan, 2.0])


@pytest.mark.parametrize("kind", ["Int64", "int8", "boolean", "bool", "float32", "object"])
def test_numbers_of_any_type_are_doubles(kind):
    found = numbers_in(pd.DataFrame({"b": pd.Series([1, 0, 1]).astype(kind)}), "b")
    assert found.dtype == float
    assert found.tolist() == [1.0, 0.0, 1.0]


def test_several_standard_errors_are_counted(table):
    said = refusal(table.assign(se=np.where(table.index < 7, 0, table["se"])))
    assert said.startswith("7 standard errors are not above 0, the first in row 1 (se = 0)")


def test_double_rows_are_named_by_what_they_say(table):
    said = refusal(pd.concat([table, table[2:4]]))
    assert said.startswith(
        "row 3 and row 196 are both dgm=normal, method=old, dataset=2, and a replicate counts once "
        "(2 such rows)."
    )


def test_a_method_seen_once_is_a_slip(table):
    assert refusal(changed(table, "method", 4, "odl")).startswith(
        "method 'odl' has one row, of which there is no spread and no error to tell"
    )


def test_a_cell_with_one_replicate_is_refused(table):
    rows = table[(table["dgm"] == "normal") | (table["dataset"] == 1)]
    assert refusal(rows).startswith("dgm=skewed has one replicate, of which there is no spread")
    with pytest.raises(DesignError, match="the table has one replicate"):
        from_frame(table[:1], estimate="b")


def test_crossed_limits_and_odd_p_values_are_refused(table):
    wide = table.assign(low=table["b"] + 1.0, high=table["b"], p=1.5)
    said = refusal(wide, lower="low", upper="high")
    assert said.startswith("row 1: low is ")
    assert said.endswith("so the interval is empty (194 in all). Are the two columns swapped?")
    assert refusal(wide, p_value="p").startswith(
        "row 1: p is 1.5, and a p-value lies between 0 and 1 (195 do not)."
    )


def test_an_estimate_without_a_truth_is_refused(table):
    beside = table.assign(theta=np.where(table.index == 3, np.nan, TRUTH))
    assert refusal(beside, truth="theta").startswith(
        "row 4 has an estimate, and no truth in 'theta' to compare it with (1 such rows)."
    )


def test_degrees_of_freedom_are_above_0(table):
    assert refusal(table, df=0).startswith("df=0 is not above 0, so there is no t interval")
