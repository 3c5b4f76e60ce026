"""What a study returned, checked: shapes, types, names, and what is missing."""

from dataclasses import dataclass

import numpy as np
import pytest

from simstudy.design.plan import Derived
from simstudy.engine.columns import apply_derived_columns, check_columns_read, derived_column
from simstudy.errors import StudyError
from simstudy.measures import mean
from simstudy.store.arrow_schema import columns_of
from simstudy.study import Rules, Study
from tests.factories import SIZE, Named, X, giving, plan_of, read_back, simulated, stored
from tests.support import INLINE


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (X[:1], (1,)),
        (X[:-1], (5,)),
        (np.zeros((SIZE, 4)), (6, 4)),
        (np.zeros((SIZE, 3, 2)), (6, 3, 2)),
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
        "(axes method: 2, metric: 3; 1 for one that it lacks)."
    )


def test_nan_that_was_not_announced_is_a_failure():
    x = np.where(X == 2, np.nan, X)
    made, table = stored({"x": x, "y": X}, axes={})
    assert made.n_failed == 1
    assert table["error"].to_pylist() == [None, None, "NaN in x", None, None, None]
    assert table["y"].to_pylist() == [0, 1, 2, 3, 4, 5], "other columns are kept"
    assert table["x"].to_pylist() == [0, 1, None, 3, 4, 5]


def test_nan_that_was_announced_is_a_result_and_infinity_always_is():
    made, table = stored(
        {"x": np.where(X == 2, np.nan, X), "y": np.where(X == 2, np.inf, X)},
        axes={},
        may_be_missing=("x",),
    )
    assert made.n_failed == 0
    assert "error" not in table.column_names
    assert np.isnan(table["x"].to_numpy()[2])
    assert table["y"].to_pylist()[2] == np.inf


def test_a_scalar_that_is_nan_fails_the_whole_block():
    made, table = stored({"x": X, "truth": np.nan}, axes={})
    assert made.n_failed == SIZE
    assert table["error"].to_pylist() == ["NaN in truth"] * SIZE
    assert table["x"].null_count == 0


def test_errors_of_the_study_and_of_nan_are_both_told():
    error = np.full((SIZE, 2, 3), None, dtype=object)
    error[0, 0, 0] = error[3, 1, 2] = "mine"
    x = np.where(X == 3, np.nan, X)
    _, table = stored({"x": x, "error": error})
    told = columns_of(plan_of(), table, ("error",))["error"]
    assert told[0, 0, 0] == told[3, 1, 2] == "mine"
    assert (told[3] == "NaN in x").sum() == 5
    assert sum(one is not None for one in told.flat) == 7


# ---------------------------------------------------------------- what was returned is the store's
def test_a_buffer_that_is_used_again_changes_nothing_stored():
    """The blocks of a task are written when all are drawn."""
    buffer = np.empty(SIZE)

    def reusing(streams, n_rep):
        return {"x": streams("data").standard_normal(out=buffer)}

    x = Study("reusing", [giving(reusing)], block_size=SIZE).run(50 * SIZE, **INLINE)
    assert len(set(x.replicates["x"])) == 50 * SIZE


def test_bytes_in_another_order_are_numbers_too():
    found = read_back({"x": X.astype(">f8"), "n": X.astype(">i4")}, axes={})
    np.testing.assert_array_equal(found["x"], X)
    np.testing.assert_array_equal(found["n"], X)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"x": X, "error": X > 1}, "column 'error' holds bool: return text, and None where"),
        ({"x": X.astype(np.longdouble)}, "column 'x' holds float128"),
        ({"x": np.array(["2020-01-01"] * SIZE, "M8[D]")}, "return booleans, integers, floats or"),
        ({"x": [object()] * SIZE}, "return booleans, integers, floats or text"),
        ({"converged": X}, r"reserved name or .* rename it, such as 'is_converged'"),
        (
            {"error": np.array([None] * 5 + [3], object)},
            "'error' holds object such as 3: return te",
        ),
        ({"": X}, "a column named '': the name"),
        ({"x": np.ma.array(np.arange(SIZE) + 2**53)}, "column 'x' holds 9007199254740997, a whole"),
        ({0: X}, "a column named 0: the name"),
        ({"method": X}, "a column 'method', which is a reserved name or that of an axis"),
    ],
)
def test_what_cannot_be_told_apart_or_stored_is_refused(columns, said):
    with pytest.raises(StudyError, match=said):
        stored(columns)


def test_an_empty_error_is_none():
    made, table = stored({"x": X, "error": np.where(X > 3, "lost", "")}, axes={})
    assert made.n_failed == 2
    assert table["error"].to_pylist() == [None] * 4 + ["lost"] * 2
    assert stored({"x": X, "error": ""}, axes={})[0].n_failed == 0


# ---------------------------------------------------------------- one value for a block
def run_of(columns, *, n_blocks=4, **changes):
    """A run of several tasks of one scenario, whose blocks return these columns of their data."""

    @dataclass(frozen=True)
    class Drawing:
        deviation: float = 1.0

        def simulate(self, streams, n_rep):
            return columns(streams("data").normal(3, size=(n_rep, 5)))

    study = Study("constants", [Drawing()], **{"block_size": SIZE, **changes})
    return study.run(n_blocks * SIZE, **INLINE)


def test_one_value_for_all_replicates_is_that_of_each():
    made = run_of(lambda x: {"truth": 3.0, "kind": "normal", "x": x[:, 0]}, measures=[mean("x")])
    assert made.replicates["truth"].eq(3.0).all()
    assert made.outcome.warnings == []


def test_a_derived_column_that_depends_on_how_many_there_are_is_no_constant():
    def summary_of(derived):
        made = run_of(
            lambda x: {"x": x[:, 0], "v": x},
            rules=Rules(vectors={"v": 5}),
            derived={"m": derived},
            measures=[mean("m")],
        )
        return made.summary

    with pytest.raises(StudyError, match=r"derived column 'm' is one value for all replicates: "):
        summary_of(lambda v: v.mean())
    assert summary_of(lambda v, deviation: np.full(len(v), deviation))["estimate"].item() == 1.0


# ---------------------------------------------------------------- names in settings
def test_settings_that_name_no_column_are_refused_in_the_first_block():
    rules = Rules(may_be_missing=("xx",))
    with pytest.raises(StudyError, match=r"may_be_missing names column 'xx', .* did you mean 'x'"):
        run_of(lambda x: {"x": x[:, 0], "r": x[:, 1]}, rules=rules)


@pytest.mark.parametrize(
    ("vectors", "stored"), [(["v"], ("a", "b", "c")), (["w"], ("e",)), ([], ())]
)
def test_columns_of_vectors_and_those_that_they_read_are_computed_when_drawn(vectors, stored):
    functions = {
        "a": lambda x: x,
        "b": lambda a, k: a,
        "c": lambda v, b: b,
        "d": lambda c, scenario: c,
        "e": lambda w: w,
    }
    derived = [Derived(name, function) for name, function in functions.items()]
    rules = Rules(vectors=dict.fromkeys(vectors, 2))
    assert plan_of(derived=tuple(derived), rules=rules).stored_derived == stored


# ---------------------------------------------------------------- guards
def test_a_declared_vector_that_is_not_returned_is_named():
    with pytest.raises(StudyError, match=r"did not return the vector 'curve'.* did you mean 'curv"):
        simulated({"curves": X}, axes={}, vectors={"curve": 3})


def test_a_vector_with_one_missing_value_is_a_failure():
    curve = np.ones((SIZE, 3))
    curve[2, 1] = np.nan
    made, table = stored({"curve": curve}, axes={}, vectors={"curve": 3})
    assert made.n_failed == 1
    assert table["error"].to_pylist()[2] == "NaN in curve"
    assert table["curve"].to_pylist()[2] == [None] * 3


@pytest.mark.parametrize("off", [1e-9, 1e-6, 1e-3])
def test_a_column_with_the_name_of_a_factor_has_its_value_up_to_rounding(off):
    values = np.where(X == 3, np.nan, 2.0 * (1 + off))
    plan = plan_of(axes={}, may_be_missing=("k",), reads={"bias": ("k", "x")})
    columns = {"k": values, "x": X}
    if off < 1e-8:
        check_columns_read(plan, Named(2), columns)
    else:
        with pytest.raises(StudyError, match="'k' has the name of a factor"):
            check_columns_read(plan, Named(2), columns)


def test_missing_values_count_as_equal_only_in_the_column():
    plan = plan_of(axes={}, reads={"bias": ("k", "x")})
    with pytest.raises(StudyError, match="'k' has the name of a factor"):
        check_columns_read(plan, Named(np.nan), {"k": X, "x": X})


def test_a_derived_column_is_missing_in_failed_rows_and_cannot_change_what_it_reads():
    def marked(x):
        with pytest.raises(ValueError, match="read-only"):
            x[:] = 7.0
        return np.ones(len(x))

    plan = plan_of(axes={})
    errors = np.array([None, "no fit", None, None, None, None], dtype=object)
    columns = {"x": X, "error": errors}
    found = derived_column(plan, Derived("one", marked), Named(1), columns)
    assert np.flatnonzero(np.isnan(found)).tolist() == [1]
    assert columns["x"] is X
    assert X.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("store_vectors", [(), ("curve",)])
def test_a_derived_column_takes_the_place_of_its_vector_unless_both_are_to_be_stored(store_vectors):
    rules = Rules(vectors={"curve": 3, "rest": 2}, store_vectors=store_vectors)
    derived = (Derived("top", lambda curve: curve.max(axis=1)),)
    plan = plan_of(axes={}, rules=rules, derived=derived)
    columns = {"curve": np.ones((SIZE, 3)), "rest": np.ones((SIZE, 2))}
    found = apply_derived_columns(plan, Named(1), columns)
    assert found.keys() == {"rest", "top", *store_vectors}
