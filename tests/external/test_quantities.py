"""Tables that cannot be what they are said to be are refused in a line, by row and value."""

import numpy as np
import pandas as pd
import pytest

from simstudy.errors import DesignError
from simstudy.external.from_frame import from_frame
from simstudy.external.quantities import numbers_in
from tests.external.tables import COLUMNS, TRUTH

pytestmark = pytest.mark.filterwarnings("ignore:method new has no row", "ignore:no truth is")


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
        ("b", "abc", "row 5: b=abc is not a number; leave it empty where a method failed (1 such"),
        ("b", "1,5", "row 5: b=1,5 is not a number"),
        ("b", np.inf, "row 5: b=inf is not finite"),
        ("se", 0.0, "row 5: se=0.0 is not above 0"),
        ("se", -0.2, "row 5: se=-0.2 is not above 0"),
        ("dgm", None, "row 5: dgm=None is missing, and every row needs it"),
        ("method", None, "row 5: method=None is missing"),
        ("dataset", None, "row 5: dataset=None is missing"),
    ],
)
def test_a_cell_that_cannot_be_is_named(table, column, value, said):
    assert refusal(changed(table, column, 4, value)).startswith(said)


@pytest.mark.parametrize("text", ["", ".", "NA", "NaN", None, " "])
def test_what_stands_for_nothing_is_missing(text):
    frame = pd.DataFrame({"b": np.array([1.5, text, "2"], dtype=object)})
    np.testing.assert_array_equal(numbers_in(frame, "b"), [1.5, np.nan, 2.0])


def test_double_rows_are_named_by_what_they_say(table):
    said = refusal(pd.concat([table, table[2:4]]))
    assert said.startswith("row 196: dgm=normal, method=old, dataset=2 was there before")
    assert said.endswith("(2 such rows).")


def test_other_numbers_that_cannot_be_are_refused(table):
    wide = table.assign(low=table["b"] + 1.0, high=table["b"], p=1.5)
    said = refusal(wide, lower="low", upper="high")
    assert said.startswith("row 1: low=")
    assert said.endswith("is an empty interval; are the two columns swapped? (194 such rows).")
    said = refusal(wide, p_value="p")
    assert said.startswith("row 1: p=1.5 is not a p-value, which lies between 0 and 1")
    assert refusal(table, df=0).startswith("df=0 gives no t interval")
    beside = table.assign(theta=np.where(table.index == 3, np.nan, TRUTH))
    assert "has no truth in 'theta'" in refusal(beside, truth="theta")
