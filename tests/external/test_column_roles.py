"""Columns and settings that cannot be are refused in a line, with the nearest that can."""

import pytest

from simstudy.errors import ConfigError
from simstudy.external.column_roles import factor_names
from simstudy.external.from_frame import from_frame
from simstudy.measures import mean
from tests.external.tables import COLUMNS, TRUTH


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"estimate": "B"}, "'B' is not a column of the table; did you mean 'b'?"),
        ({"by": ["dmg"]}, r"'dmg' is not a column of the table; did you mean 'dgm'\?"),
        ({"truth": "theta"}, "'theta' is not a column of the table; available: b, dataset, dgm"),
        ({"rep": None}, "rep is not given, and the levels of method have unequal numbers of rows"),
        ({"estimate": ["b", "se"]}, r"estimate=\['b', 'se'\] names several columns: give one row"),
        ({"lower": "b"}, "estimate and lower are both 'b'"),
        ({"truth": "b"}, "estimate and truth are both 'b'"),
        ({"se": "b"}, "estimate and se are both 'b'"),
        ({"se": None, "lower": "se", "upper": "se"}, "lower and upper are both 'se'"),
        ({"df": 3, "se": None}, "df is given and se is not: t intervals are made of both"),
        ({"level": 95}, "level=95 is not allowed"),
        ({"level": "0.95"}, "level='0.95' is not allowed"),
        ({"by": ["method"]}, "'method' tells two things apart: name it in method, rep or by"),
        ({"truth": {"normal": 1}}, "truth has normal, which are not the levels of any column"),
        ({"measures": ["bias"]}, "bias cannot be computed without truth=, a number, a column, or"),
        ({"measures": ["biass"]}, "'biass' is not a measure of .*; did you mean 'bias'"),
        ({"measures": [3]}, "3 is not a measure of these columns"),
        ({"estimate": 3}, "3 is not a column of the table"),
        ({"truth": float("nan")}, "truth=nan is neither a number nor a column's name"),
        ({"df": [3]}, r"df=\[3\] is neither a number nor a column's name"),
        ({"reference": 1}, "reference='1' is not a method of the table; available: new, old"),
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
    assert factor_names(["n.obs", "data gen"]) == {"n.obs": "n_obs", "data gen": "data_gen"}
    assert factor_names(["lambda", "\N{MICRO SIGN}"]) == {
        "lambda": "lambda_",
        "\N{MICRO SIGN}": "μ",
    }
    with pytest.raises(
        ConfigError, match=r"'n obs' is not a valid name of a factor, or is already taken"
    ):
        factor_names(["n.obs", "n obs"])
    with pytest.raises(ConfigError, match=r"'estimate' is not a valid name of a factor, or"):
        factor_names(["estimate"])
    with pytest.raises(ConfigError, match=r"'1' is not a valid name of a factor"):
        factor_names(["1"])
