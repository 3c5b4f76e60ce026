"""What a study returned, checked: shapes, types, names, and what is missing."""

from dataclasses import dataclass

import numpy as np
import pytest

from simstudy.engine.workers import Workers
from simstudy.errors import StudyError
from simstudy.measures import mean
from simstudy.store.columns import columns_of
from simstudy.study import Study
from tests.engine.giving import SIZE, X, plan_of, read_back, simulated, stored


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (X[:1], (1,)),
        (X[:-1], (5,)),
        (np.zeros((SIZE, 2)), (6, 2)),
        (np.zeros((SIZE, 3, 2)), (6, 3, 2)),
        (np.zeros((1, 2, 3)), (1, 2, 3)),
        (np.zeros((2, 3)), (2, 3)),
        (np.zeros((SIZE, 2, 3, 1)), (6, 2, 3, 1)),
    ],
    ids=lambda x: str(np.shape(x)) if isinstance(x, np.ndarray) else "",
)
def test_a_shape_that_is_not_a_replicate_per_row_is_refused(column, shown):
    with pytest.raises(StudyError) as refusal:
        simulated({"x": column})
    assert str(refusal.value) == (
        f"column 'x' has shape {shown}; with n_rep=6 it must be (6,) or (6, 2, 3) "
        "(axes method: 2, metric: 3)."
    )


def test_without_axes_only_a_replicate_per_row_will_do():
    with pytest.raises(StudyError, match=r"\(6, 2\); with n_rep=6 it must be \(6,\)\.$"):
        simulated({"x": np.zeros((SIZE, 2))}, axes={})


@pytest.mark.parametrize("name", ["scenario", "rep", "x[a]", "a,b", ""])
def test_names_of_the_engines_own_are_refused(name):
    with pytest.raises(StudyError, match=r"a name that is the engine's own\. Rename it"):
        simulated({name: X})


@pytest.mark.parametrize(
    "column",
    [X + 1j, np.array(["2020-01-01"] * SIZE, "M8[D]"), [object()] * SIZE],
    ids=["complex", "dates", "objects"],
)
def test_what_is_no_number_truth_or_text_is_refused(column):
    with pytest.raises(StudyError, match="return booleans, integers, floats or text"):
        simulated({"x": column})


def test_what_is_not_columns_by_name_is_refused():
    with pytest.raises(StudyError, match=r"returned ndarray, not columns by name: return a dict"):
        simulated(X)


def test_nan_that_was_not_announced_is_a_failure():
    x = np.where(X == 2, np.nan, X)
    made, table = stored({"x": x, "y": X}, axes={})
    assert made.n_failed == 1
    assert table["error"].to_pylist() == [None, None, "NaN in x", None, None, None]
    assert table["y"].to_pylist() == [0, 1, None, 3, 4, 5], "no value of a failed row is kept"
    assert table["x"].to_pylist() == [0, 1, None, 3, 4, 5]


def test_nan_that_was_announced_is_a_result():
    x = np.where(X == 2, np.nan, X)
    made, table = stored({"x": x}, axes={}, may_be_missing=("x",))
    assert made.n_failed == 0
    assert "error" not in table.column_names
    assert np.isnan(table["x"].to_numpy()[2])


def test_a_scalar_that_is_nan_fails_the_whole_block():
    made, table = stored({"x": X, "truth": np.nan}, axes={})
    assert made.n_failed == SIZE
    assert table["error"].to_pylist() == ["NaN in truth"] * SIZE
    assert table["x"].null_count == SIZE


def test_an_infinite_value_is_a_value():
    made, table = stored({"x": np.where(X == 2, np.inf, X)}, axes={})
    assert made.n_failed == 0
    assert table["x"].to_pylist()[2] == np.inf


def test_one_error_for_the_whole_block():
    made, _ = stored({"x": X, "error": "out of luck"}, axes={})
    assert made.n_failed == SIZE


def test_errors_of_the_study_and_of_nan_are_both_told():
    error = np.full((SIZE, 2, 3), None, dtype=object)
    error[0, 0, 0] = "mine"
    x = np.where(X == 3, np.nan, X)
    _, table = stored({"x": x, "error": error})
    told = columns_of(plan_of(), table, ("error",))["error"]
    assert told[0, 0, 0] == "mine"
    assert (told[3] == "NaN in x").all()
    assert sum(one is not None for one in told.flat) == 7


def test_the_studys_own_word_goes_before_nan():
    error = np.array(["mine", *[None] * 5], dtype=object)
    _, table = stored({"x": np.where(X == 0, np.nan, X), "error": error}, axes={})
    assert table["error"].to_pylist() == ["mine", *[None] * 5]


# ---------------------------------------------------------------- what was returned is the store's
def test_a_buffer_that_is_used_again_changes_nothing_stored():
    """The blocks of a task are written when all are drawn."""
    buffer = np.empty(SIZE)

    @dataclass(frozen=True)
    class Reusing:
        def simulate(self, streams, n_rep):
            streams("data").standard_normal(out=buffer)
            return {"x": buffer}

    x = Study("reusing", [Reusing()], block_size=SIZE).run(50 * SIZE, workers=Workers("inline"))
    assert len(set(x.replicates["x"])) == 50 * SIZE


def test_what_a_mask_hides_is_missing():
    made, _ = stored({"x": np.ma.masked_greater(X, 2.5)}, axes={})
    assert made.n_failed == 3


def test_bytes_in_another_order_are_numbers_too():
    found = read_back({"x": X.astype(">f8"), "n": X.astype(">i4")}, axes={})
    np.testing.assert_array_equal(found["x"], X)
    np.testing.assert_array_equal(found["n"], X)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"x": X, "error": X > 1}, "column 'error' holds bool: return text, and None where"),
        ({"x": X.astype(np.longdouble)}, "column 'x' holds float128"),
        ({1: X}, "a column 1, a name that is the engine's own"),
        ({"method": X}, "a column 'method', which is the name of an axis"),
    ],
)
def test_what_cannot_be_told_apart_or_stored_is_refused(columns, said):
    with pytest.raises(StudyError, match=said):
        stored(columns)


def test_a_column_that_some_blocks_lack_is_a_mistake_and_no_failure():
    @dataclass(frozen=True)
    class Forgetful:
        def simulate(self, streams, n_rep):
            columns = {"x": X, "y": X}
            return columns if streams.block else {"x": X}

    result = Study("forgetful", [Forgetful()], [mean("y")], block_size=SIZE).run(
        2 * SIZE, workers=Workers("inline")
    )
    with pytest.raises(StudyError, match=r"column 'y' is not there in 6 of 12 replicates that did"):
        _ = result.summary
