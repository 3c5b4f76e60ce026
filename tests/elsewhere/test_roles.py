"""Columns and settings that cannot be are refused in a line, with the nearest that can."""

import pytest

from simstudy.elsewhere import from_frame
from simstudy.elsewhere.roles import plain_names
from simstudy.errors import ConfigError, DesignError
from simstudy.measures import mean
from tests.elsewhere.tables import COLUMNS, TRUTH, long_table


@pytest.fixture(scope="module")
def table():
    return long_table()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"estimate": "B"}, "estimate='B' is no column of the table; did you mean 'b'?"),
        ({"by": ["dmg"]}, r"by\[0\]='dmg' is no column of the table; did you mean 'dgm'\?"),
        ({"truth": "theta"}, "truth='theta' is no column of the table; there is: b, dataset, dgm"),
        ({"rep": None}, "method is given and rep is not, so it is not known which rows are of one"),
        ({"lower": "b"}, "lower is given and upper is not: an interval has two limits"),
        ({"df": 3, "se": None}, "df is given and se is not: t intervals are made of both"),
        ({"level": 95}, "level=95 is no coverage: say one between 0 and 1"),
        ({"by": ["method"]}, "'method' tells two things apart: name it in method, rep or by"),
        ({"truth": {"normal": 1}}, "truth has no value for dgm=skewed, so nothing there can be"),
        ({"measures": ["bias"]}, "bias cannot be computed without truth=, a number, a column, or"),
        ({"measures": ["biass"]}, "'biass' is no measure that goes by its name; did you mean"),
        ({"estimate": 3}, "estimate=3 is no name of a column: give a text"),
        (
            {"by": {"dgm"}},
            r"by=\{'dgm'\} are no names of columns in an order: give a list of texts",
        ),
        ({"level": "0.95"}, "level='0.95' is no number to go by: give one"),
        (
            {"truth": float("nan")},
            "truth=nan is no number to go by: give one, or the name of a col",
        ),
        ({"truth": {"normal": "a"}}, r"truth\['normal'\]='a' is no number to go by"),
        ({"measures": [3]}, "measures has 3 in it, which is no measure: give a list such as"),
        ({"reference": 1}, "reference='1' is no method of the table; there is: new, old"),
        ({"reference": "odl"}, "reference='odl' is no method of the table; did you mean 'old'"),
    ],
)
def test_what_is_asked_has_to_be_there(asked, said, table):
    with pytest.raises(ConfigError, match=said):
        from_frame(table, **{**COLUMNS, **asked})


def test_what_is_no_frame_is_refused():
    with pytest.raises(ConfigError, match=r"rows is 'rows[.]csv', and no data frame: give one of"):
        from_frame("rows.csv", **COLUMNS)


def test_levels_that_cannot_be_told_apart_are_refused(table):
    listed = table.assign(dgm=[[dgm] for dgm in table["dgm"]])
    with pytest.raises(DesignError, match=r"row 1: dgm is \['normal'\], a list, by which rows"):
        from_frame(listed, **COLUMNS)


def test_a_column_that_is_there_twice_is_refused(table):
    twice = table.rename(columns={"se": "b"})
    with pytest.raises(ConfigError, match="2 columns are named 'b', so it is not known which"):
        from_frame(twice, **{**COLUMNS, "se": None})


def test_a_column_that_hides_what_is_made_is_refused(table):
    beside = table.assign(reject=1)
    with pytest.raises(ConfigError, match="a measure reads column 'reject', and what follows"):
        from_frame(beside, measures=[mean("reject")], truth=TRUTH, **COLUMNS)


@pytest.mark.parametrize("name", ["error", "rep", "b[1]"])
def test_a_column_whose_name_rows_have_anyway_is_refused(name, table):
    renamed = table.rename(columns={"b": name})
    with pytest.raises(ConfigError, match="is a name that stored replicates have for something"):
        from_frame(renamed, **{**COLUMNS, "estimate": name})


def test_names_of_factors_are_names():
    assert plain_names(["n.obs", "data gen"]) == {"n.obs": "n_obs", "data gen": "data_gen"}
    assert plain_names(["lambda", "\N{MICRO SIGN}"]) == {"lambda": "lambda_", "\N{MICRO SIGN}": "μ"}
    with pytest.raises(ConfigError, match=r"'n obs' would be called 'n_obs' in summaries"):
        plain_names(["n.obs", "n obs"])
    with pytest.raises(ConfigError, match=r"'estimate' would be called 'estimate' in summaries"):
        plain_names(["estimate"])
    with pytest.raises(ConfigError, match=r"'1' can be no factor's name: rename it"):
        plain_names(["1"])
