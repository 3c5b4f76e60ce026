"""Columns, settings and tables that cannot be are refused in a line, with what can."""

import numpy as np
import pandas as pd
import pytest

from simstudy.errors import ConfigError, DesignError
from simstudy.external.from_frame import from_frame
from simstudy.external.quantities import factor_names, numbers_in
from simstudy.measures import mean
from tests.external.tables import COLUMNS, TRUTH

pytestmark = pytest.mark.filterwarnings("ignore:method new has no row", "ignore:no truth is")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"by": ["dmg"]}, r"'dmg' is not a column of the table; did you mean 'dgm'\?"),
        ({"truth": "theta"}, "'theta' is not a column of the table; available: b, dataset, dgm"),
        ({"rep": None}, "rep is not given, and the levels of method have unequal numbers of rows"),
        ({"estimate": ["b", "se"]}, r"estimate=\['b', 'se'\] names several columns: give one row"),
        ({"truth": "b"}, "estimate and truth are both 'b'"),
        ({"se": None, "lower": "se", "upper": "se"}, "lower and upper are both 'se'"),
        ({"df": 3, "se": None}, "df is given and se is not: t intervals are made of both"),
        ({"level": 95}, "level=95 is not allowed"),
        ({"by": ["method"]}, "'method' tells two things apart: name it in method, rep or by"),
        ({"truth": {"normal": 1}}, "truth has normal, which are not the levels of any column"),
        ({"measures": ["bias"]}, "bias cannot be computed without truth=, a number, a column, or"),
        ({"measures": ["biass"]}, "'biass' is not a measure of .*; did you mean 'bias'"),
        ({"measures": [3]}, "3 is not a measure of these columns"),
        ({"estimate": 3}, "3 is not a column of the table"),
        ({"truth": float("nan")}, "truth=nan is neither a number nor a column's name"),
        ({"df": [3]}, r"df=\[3\] is neither a number nor a column's name"),
        ({"reference": "odl"}, "reference='odl' is not a method of the table; did you mean 'old'"),
    ],
)
def test_what_is_asked_has_to_be_there(asked, said, table):
    with pytest.raises(ConfigError, match=said):
        from_frame(table, **{**COLUMNS, **asked})


def test_a_table_that_cannot_be_is_refused(table):
    with pytest.raises(ConfigError, match=r"rows is 'rows[.]csv', not a data frame of pandas"):
        from_frame("rows.csv", **COLUMNS)
    with pytest.raises(ConfigError, match="2 columns are named 'b'"):
        from_frame(table.rename(columns={"se": "b"}), **{**COLUMNS, "se": None})
    beside = table.assign(reject=1)
    with pytest.raises(ConfigError, match="column 'reject' is made of other columns"):
        from_frame(beside, measures=[mean("reject")], truth=TRUTH, **COLUMNS)


@pytest.mark.parametrize("name", ["error", "rep"])
def test_a_column_whose_name_rows_have_anyway_is_refused(name, table):
    renamed = table.rename(columns={"b": name})
    with pytest.raises(ConfigError, match="is a column that tables of replicates have anyway"):
        from_frame(renamed, **{**COLUMNS, "estimate": name})


def test_names_of_factors_are_names():
    named = {"n.obs": "n_obs", "data gen": "data_gen", "lambda": "lambda_", "\N{MICRO SIGN}": "μ"}
    assert factor_names(named) == named
    for columns in (["n.obs", "n obs"], ["estimate"], ["1"]):
        said = f"'{columns[-1]}' is not a valid name of a factor, or is already taken"
        with pytest.raises(ConfigError, match=said):
            factor_names(columns)


# ---------------------------------------------------------------- rows
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
        ("b", "1,5", "row 5: b=1,5 is not a number; write decimal points"),
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
