"""A block as a table and back: each cell in its place, what failed void, and nothing else."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstudy.errors import StudyError
from simstudy.store.arrow_schema import block_table, columns_of, nan_where_failed
from tests.factories import SIZE, WIDE, X, plan_of, read_back, stored


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


OF_EACH_KIND = {
    "x": X,
    "wide": WIDE,
    "narrow": WIDE[:, :1],
    "one": 3.5,
    "text": np.array(list("abcdef")),
    "count": X.astype(np.int32),
}


@pytest.mark.parametrize(
    "returned",
    [
        [OF_EACH_KIND] * 3,
        [OF_EACH_KIND, OF_EACH_KIND | {"error": [None, "lost", None, None, None, None]}],
        [{"x": X}, {"x": X.astype(np.float32)}, {"x": 2.0}],
        [{"x": X, "text": ["a"] * SIZE}, {"x": X, "text": ["longer"] * SIZE}],
    ],
    ids=["alike", "failed", "of other types", "other text"],
)
def test_blocks_together_are_the_rows_of_each_below_each_other(returned):
    each = [stored(columns, number=number) for number, columns in enumerate(returned)]
    together = block_table(plan_of(), [block for block, _ in each])
    apart = pa.concat_tables([table for _, table in each], promote_options="permissive")
    assert together.schema.equals(apart.schema)
    assert together.to_pylist() == apart.to_pylist()
    assert together.column("rep").to_pylist() == list(range(SIZE * len(each)))


def test_nan_voids_its_own_cell_only():
    wide = WIDE.copy()
    wide[4, 1, 2] = np.nan
    made, table = stored({"x": wide, "y": WIDE, "n": X.astype(int)})
    assert made.n_failed == 1
    assert "error" not in table.column_names, "no replicate failed as a whole"
    assert table["error_in_cell"].to_pylist()[4] == [None] * 5 + ["NaN in x"]
    assert table["x"].to_pylist()[4] == [*WIDE[4].ravel()[:5].tolist(), None]
    assert table["y"].to_pylist() == WIDE.reshape(-1, 6).tolist()
    assert table["n"].null_count == 0, "a column without the axes belongs to no cell"


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
    seen = nan_where_failed(block.columns)
    back = columns_of(plan_of(), table, ("x", "truth", "hit"))
    for name in back:
        np.testing.assert_array_equal(seen[name], back[name])


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


def test_a_column_that_nobody_returned_is_named_with_the_nearest():
    _, table = stored({"estimate": X, "wide": WIDE})
    with pytest.raises(StudyError, match=r"column 'estimat' is not.*did you mean 'estimate'"):
        columns_of(plan_of(), table, ("estimat",))


INTERRUPTED = """
import importlib.abc, signal, sys
import numpy as np, pyarrow as pa
from simstudy.store import arrow_schema

class Interrupt(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "pandas":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
try:
    arrow_schema._to_numpy(pa.chunked_array([arrow_schema._arrow(np.ones(2))]))
except KeyboardInterrupt:
    print("heard")
"""


def test_ctrl_c_is_heard_while_pandas_is_imported():
    """PyArrow imports it when it converts a first array, and swallows the interrupt."""
    told = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True)
    assert told.stdout == "heard\n", told.stderr
