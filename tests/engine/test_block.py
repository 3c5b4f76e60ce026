"""A block as a table and back: what a study returned, what failed, and nothing else."""

import errno
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstudy.design import Plan, scenario_key
from simstudy.engine.block import Address, draw_block, failed_block, simulate_columns
from simstudy.engine.failures import by_method, each_replicate
from simstudy.errors import StudyError, describe
from simstudy.store.columns import columns_of, simulated_columns, with_failures_missing
from simstudy.store.layout import KeepReplicates

SIZE = 6
AXES = {"method": ("a", "b"), "metric": ("mse", "mae", "r2")}
X = np.arange(SIZE, dtype=float)
WIDE = np.arange(SIZE * 6, dtype=float).reshape(SIZE, 2, 3)


@dataclass(frozen=True)
class Named:
    """Returns what it was given, which is no factor: it has the name of its k."""

    k: float

    def simulate(self, streams, n_rep):
        assert n_rep == SIZE
        return self.given(streams, n_rep) if callable(self.given) else self.given


def giving(columns, k=1.0):
    """A scenario that returns these columns, or the outcome of calling them."""
    one = Named(k)
    object.__setattr__(one, "given", columns)
    return one


def plan_of(axes=AXES, **changes):
    plan = {"name": "fixed", "seed": 1, "scenarios": (Named(1), Named(2)), "block_size": SIZE}
    return Plan(axes=axes, **{**plan, **changes})


def simulated(columns, **changes):
    return simulate_columns(plan_of(**changes), giving(columns), 0)


def stored(columns, *, number=0, **changes):
    """The block, and its columns as a table of the store."""
    plan = plan_of(**changes)
    made = draw_block(plan, giving(columns), number)
    return made, KeepReplicates()(plan, [made])


def read_back(columns, **changes):
    plan = plan_of(**changes)
    return columns_of(plan, stored(columns, **changes)[1], tuple(columns))


# ---------------------------------------------------------------- shapes, types, names
@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (X, X),
        (X.tolist(), X),
        (X.astype(np.int32), X.astype(np.int32)),
        (X > 2, X > 2),
        (WIDE, WIDE),
        (WIDE[:, :1], np.repeat(WIDE[:, :1], 2, axis=1)),
        (WIDE[:, :, :1], np.repeat(WIDE[:, :, :1], 3, axis=2)),
        (3.5, np.full(SIZE, 3.5)),
        (np.int64(3), np.full(SIZE, 3)),
        (np.array(list("abcdef")), np.array(list("abcdef"), dtype=object)),
        (["a", None, "c", None, "e", "f"], np.array(["a", None, "c", None, "e", "f"])),
    ],
    ids=lambda x: f"{np.asarray(x).dtype}{np.shape(x)}",
)
def test_layout_and_back(column, expected):
    found = read_back({"x": column})["x"]
    np.testing.assert_array_equal(found, expected)
    assert found.dtype.kind == np.asarray(expected).dtype.kind


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


@pytest.mark.parametrize("on_failure", ["record", "abort", "impute_worst"])
def test_a_mistake_in_the_study_is_raised_with_its_scenario_and_not_recorded(on_failure):
    plan, scenario = plan_of(on_failure=on_failure), giving({"x": X[:-1]})
    with pytest.raises(StudyError, match=r": column 'x' has shape \(5,\)") as refusal:
        draw_block(plan, scenario, 0)
    assert str(refusal.value).startswith(f"{scenario!r}: ")


# ---------------------------------------------------------------- failures
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


def test_a_failed_cell_voids_its_own_cell_only():
    wide = WIDE.copy()
    wide[4, 1, 2] = np.nan
    made, table = stored({"x": wide, "y": WIDE, "n": X.astype(int)})
    assert made.n_failed == 1
    assert table["error[b,r2]"].to_pylist()[4] == "NaN in x"
    assert table["error[a,mse]"].null_count == SIZE
    assert table["y[b,r2]"].to_pylist()[4] is None
    assert table["y[b,mae]"].null_count == 0
    assert table["n"].null_count == 0, "a column without the axes belongs to no cell"


def test_a_failed_replicate_voids_all_of_its_cells():
    error = np.array([None, "no convergence", None, None, None, None], dtype=object)
    columns = {"x": WIDE, "hit": WIDE > 5, "label": np.array(list("abcdef")), "error": error}
    made, table = stored(columns)
    back = columns_of(plan_of(), table, ("x", "hit", "label"))
    assert made.n_failed == 1
    assert np.isnan(back["x"][1]).all()
    assert np.isnan(back["hit"][1]).all()
    assert back["label"].tolist() == ["a", None, "c", "d", "e", "f"]
    np.testing.assert_array_equal(np.delete(back["x"], 1, axis=0), np.delete(WIDE, 1, axis=0))


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


def test_an_exception_is_rows_with_its_text():
    def simulate(streams, n_rep):
        raise ZeroDivisionError("nothing to divide by")

    made, table = stored(simulate)
    assert made.n_failed == SIZE
    assert table["error"].to_pylist() == ["ZeroDivisionError: nothing to divide by"] * SIZE
    with pytest.raises(ZeroDivisionError):
        draw_block(plan_of(on_failure="abort"), giving(simulate), 0)


@pytest.mark.parametrize(
    ("error", "machine"),
    [
        (MemoryError("no room"), True),
        (OSError(errno.ENOSPC, "disk is full"), True),
        (ValueError("no solution"), False),
        (OSError(errno.ENOENT, "no such file"), False),
    ],
    ids=repr,
)
def test_a_block_says_whether_the_machine_failed_it(error, machine):
    def simulate(streams, n_rep):
        return by_method({"a": lambda: each_replicate(analyse, X, returns=["x"])}, n_rep)

    def analyse(x):
        raise error

    axes = {"method": ("a",)}
    made, table = stored(simulate, axes=axes)
    assert made.machine == machine
    assert made.n_failed == SIZE
    name = "error" if machine else "error[a]"
    assert table[name].to_pylist() == [describe(error)] * SIZE
    plan = plan_of(on_failure="abort", axes=axes)
    if machine:
        with pytest.raises(type(error)):
            draw_block(plan, giving(simulate), 0)
    else:
        assert draw_block(plan, giving(simulate), 0).n_failed == SIZE


def test_a_block_that_succeeds_does_not_accuse_the_machine():
    assert not stored({"x": X}, axes={})[0].machine
    assert not failed_block(plan_of(), Named(1), 0, "died").machine


def test_measures_see_nan_where_a_cell_failed():
    error = np.array([None, "x", None, None, None, None], dtype=object)
    columns = {
        "x": WIDE,
        "truth": 2,
        "hit": X > 1,
        "name": np.array(list("abcdef")),
        "error": error,
    }
    block, table = stored(columns)
    seen = with_failures_missing(block)
    assert set(seen) == {"x", "truth", "hit"}
    back = columns_of(plan_of(), table, ("x", "truth", "hit"))
    for name, column in seen.items():
        np.testing.assert_array_equal(column, back[name])


def test_measures_see_columns_as_they_are_where_nothing_failed():
    block, _ = stored({"x": WIDE, "truth": 2, "name": np.array(list("abcdef"))})
    seen = with_failures_missing(block)
    assert seen["truth"].ndim == 0
    np.testing.assert_array_equal(seen["x"], WIDE)


COLUMN = st.sampled_from(["float", "int", "bool", "wide", "wide bool", "scalar"])


@given(st.lists(COLUMN, min_size=1, max_size=4), st.sets(st.integers(0, SIZE - 1)), st.booleans())
def test_round_trip_with_failures(kinds, failed, by_cell):
    """Every value comes back where nothing failed, and none where something did."""
    rng = np.random.default_rng(5)
    columns = {f"c{i}": _column(rng, kind) for i, kind in enumerate(kinds)}
    error = np.full((SIZE, 2, 3) if by_cell else SIZE, None, dtype=object)
    for row in failed:
        error[(row, 1, 2) if by_cell else row] = "lost"
    back = read_back(columns | {"error": error})
    for name, column in columns.items():
        whole = np.broadcast_to(column, (SIZE, *np.shape(column)[1:])).astype(object)
        lost = np.broadcast_to(_lost(error, whole), whole.shape)
        expected = np.where(lost, np.nan, whole).astype(float)
        np.testing.assert_array_equal(back[name].astype(float), expected)
    np.testing.assert_array_equal(back["error"], error)


def _column(rng, kind):
    shape = (SIZE, 2, 3) if "wide" in kind else (SIZE,)
    return {
        "float": rng.random(shape),
        "wide": rng.random(shape),
        "int": rng.integers(0, 9, shape),
        "bool": rng.random(shape) < 0.5,
        "wide bool": rng.random(shape) < 0.5,
        "scalar": np.float64(2.5),
    }[kind]


def _lost(error, whole):
    """The rule in plain words: a cell is lost if its row is, or if it is the one that failed."""
    lost = np.array([one is not None for one in error.flat]).reshape(error.shape)
    if lost.ndim > whole.ndim:
        return np.zeros(whole.shape, dtype=bool)
    return lost.reshape(lost.shape + (1,) * (whole.ndim - lost.ndim))


# ---------------------------------------------------------------- tables
def test_rows_know_their_scenario_and_replicate():
    _, table = stored({"x": X}, number=3)
    assert table["rep"].to_pylist() == list(range(18, 24))
    assert set(table["scenario"].to_pylist()) == {scenario_key(Named(1))}


def test_blocks_with_and_without_errors_share_a_table():
    plan = plan_of(axes={})
    fine, _ = stored({"x": X}, axes={})
    broken = failed_block(plan, Named(2), 1, "died")
    table = KeepReplicates()(plan, [fine, broken])
    assert table["x"].to_pylist() == [*X, *[None] * SIZE]
    assert table["error"].to_pylist() == [None] * SIZE + ["died"] * SIZE
    assert pa.types.is_float64(table.schema.field("x").type)


def test_a_column_that_nobody_returned_is_named_with_the_nearest():
    _, table = stored({"estimate": X, "wide": WIDE})
    with pytest.raises(StudyError, match=r"reads column 'estimat'.*did you mean 'estimate'"):
        columns_of(plan_of(), table, ("estimat",))


def test_names_in_the_store_and_back():
    _, table = stored({"x": X, "wide": WIDE})
    assert "wide[b,mae]" in table.column_names
    assert list(simulated_columns(table.column_names)) == ["x", "wide"]


def test_addresses_are_read_as_they_are_written():
    address = Address("3f2a90c1d4e5b678", 1234)
    assert Address.parse(str(address)) == address


@pytest.mark.parametrize("text", ["", "3f2a", "3f2a/", "/3", "3f2a/x", "3f2a/-1", "3f2a/1/2"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(StudyError, match="is not the address of a replicate"):
        Address.parse(text)
